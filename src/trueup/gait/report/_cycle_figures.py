"""Figures over the gait cycle: mean and deviation of each leg, norm band, shaded stance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.gait.models.anatomy import LEGS
from trueup.gait.walk.gait_cycle import Curve
from trueup.reports.figure import Figure, Json, LegendEntry, Plot, axis_title
from trueup.reports.numbers import rounded_to_span
from trueup.reports.traces import Look, Trace, line_json

COLOURS = ("series-1", "series-2")
"""Colours of the right and the left leg."""

WIDTHS = (4.0, 1.6)
"""Line widths of the legs [pixels]: a thinner left line does not cover an equal right one."""

NORM, START = "measured", "trivial"


@dataclass(frozen=True)
class CyclePanel:
    """One quantity over the gait cycle.

    Attributes:
      title: name of the quantity.
      unit: unit.
      legs: curve of the right and of the left leg; None without a complete stride.
      norm: mean and standard deviation of a norm.
      start: curve of the walk to compare with.
      dashed: additional curves of the legs, drawn dashed.
      dashed_name: name of the dashed curves.
      span: range of the vertical axis; by default that of the curves.
      bars: intervals of the cycle marked by a bar at the bottom, start and end [0, 1]; for one
        across the touch-down the end is below the start.
    """

    title: str
    unit: str
    legs: tuple[Curve | None, Curve | None]
    norm: Curve | None = None
    start: Curve | None = None
    dashed: tuple[Curve | None, Curve | None] = (None, None)
    dashed_name: str = ""
    span: tuple[float, float] | None = None
    bars: Sequence[tuple[float, float]] = ()


def cycle_figure(
    panels: Sequence[CyclePanel],
    stance: tuple[float | None, float | None],
    *,
    title: str = "",
    caption: str = "",
    columns: int = 2,
    height: int = 220,
    norm: str = "norm",
    start: str = "start of the search",
    bars: str = "",
) -> Figure:
    """Panels over the gait cycle of each leg.

    Args:
      panels: quantities.
      stance: fraction of the cycle with the right and the left foot on the ground [0, 1]; the
        longer one is shaded, the end of each is marked in the colour of the leg.
      title: heading.
      caption: caption.
      columns: number of panels per row.
      height: height of a panel [pixels].
      norm: name of the norm.
      start: name of the walk to compare with.
      bars: name of the quantity marked by the bars.
    """
    legend = [
        LegendEntry(f"{leg} leg", COLOURS[k], "line", leg)
        for k, leg in enumerate(LEGS)
        if any(panel.legs[k] is not None for panel in panels)
    ]
    if any(curve is not None for panel in panels for curve in panel.dashed):
        names = dict.fromkeys(panel.dashed_name for panel in panels if panel.dashed_name)
        legend += [LegendEntry(name, "ink", "dash") for name in names]
    if any(panel.norm is not None for panel in panels):
        legend.append(LegendEntry(norm, NORM, "area", "norm"))
    if any(panel.start is not None for panel in panels):
        legend.append(LegendEntry(start, START, "dot", "start"))
    if any(panel.bars for panel in panels):
        legend.append(LegendEntry(bars, NORM, "area"))
    if any(stance):
        legend.append(LegendEntry("stance", "shade", "area"))
    plots = [_plot(panel, stance, height) for panel in panels]
    return Figure(tuple(plots), tuple(legend), title, caption, columns)


def _plot(panel: CyclePanel, stance: tuple[float | None, float | None], height: int) -> Plot:
    data: list[Json] = []
    if panel.norm is not None:
        data += _curve(panel.norm, Look(NORM), "norm", opacity=0.4)
    for k, leg in enumerate(LEGS):
        if (curve := panel.legs[k]) is not None:
            data += _curve(curve, Look(COLOURS[k]), leg, opacity=0.22, width=WIDTHS[k])
        if (dashed := panel.dashed[k]) is not None:
            look = Look(COLOURS[k], "dash")
            data += _curve(Curve(dashed.mean), look, leg, name=panel.dashed_name)
    if panel.start is not None:
        data += _curve(Curve(panel.start.mean), Look(START, "dot"), "start")
    layout: Json = {
        "xaxis": {
            "title": axis_title("gait cycle", "%"),
            "range": [0, 100],
            "tickvals": [0, 20, 40, 60, 80, 100],
        },
        "yaxis": {"title": axis_title("", panel.unit), "zeroline": True},
        "shapes": [*_stance_shapes(stance), *_bar_shapes(panel.bars)],
        "margin": {"r": 16},  # room for half of the last label
    }
    if panel.span is not None:
        layout["yaxis"]["range"] = list(panel.span)
    said = f"{panel.title} in {panel.unit or 'parts'} over the gait cycle, each leg"
    return Plot(data, layout, panel.title, height, description=said)


def _curve(
    curve: Curve,
    look: Look,
    group: str,
    *,
    name: str = "",
    opacity: float = 0.2,
    width: float = 1.2,
) -> list[Json]:
    """Band of one standard deviation, if known, and the mean."""
    mean, name = np.asarray(curve.mean, dtype=float), name or group
    x = np.linspace(0.0, 100.0, len(mean))
    line = line_json(Trace(name, x, mean), look, width=width) | {"legendgroup": group}
    if curve.sd is None:
        return [line]
    outline = np.concatenate([mean + curve.sd, (mean - curve.sd)[::-1]])
    band: Json = {
        "type": "scatter",
        "mode": "lines",
        "x": rounded_to_span(np.concatenate([x, x[::-1]])),
        "y": rounded_to_span(outline),
        "fill": "toself",
        "fillcolor": f"@{look.token}",
        "opacity": opacity,
        "line": {"width": 0},
        "legendgroup": group,
        "hoverinfo": "skip",
        "name": name,
    }
    return [band, line]


def _stance_shapes(stance: tuple[float | None, float | None]) -> list[Json]:
    known = [100.0 * part for part in stance if part is not None]
    if not known:
        return []
    whole: Json = {"xref": "x", "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    shapes: list[Json] = [
        whole
        | {
            "type": "rect",
            "x0": 0,
            "x1": round(max(known), 2),
            "line": {"width": 0},
            "fillcolor": "@shade",
        }
    ]
    for colour, part in zip(COLOURS, stance, strict=True):
        if part is not None:
            at = round(100.0 * part, 2)
            line = {"color": f"@{colour}", "width": 1, "dash": "dot"}
            shapes.append(whole | {"type": "line", "x0": at, "x1": at, "line": line})
    return shapes


def _bar_shapes(spans: Sequence[tuple[float, float]]) -> list[Json]:
    """Bars along the bottom; one across the touch-down is drawn as two."""
    parts = []
    for begin, end in spans:
        parts += [(begin, end)] if begin < end else [(begin, 1.0), (0.0, end)]
    return [
        {
            "type": "rect",
            "xref": "x",
            "yref": "paper",
            "x0": round(100.0 * begin, 2),
            "x1": round(100.0 * end, 2),
            "y0": 0.0,
            "y1": 0.07,
            "layer": "below",
            "line": {"width": 0},
            "fillcolor": f"@{NORM}",
            "opacity": 0.7,
        }
        for begin, end in parts
    ]
