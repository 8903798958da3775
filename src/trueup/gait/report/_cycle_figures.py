"""Figures over the gait cycle: mean and deviation of each leg, a norm's band, shaded stance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.gait.models.anatomy import LEGS
from trueup.gait.walk.gait_cycle import Curve
from trueup.reports.figure import Figure, Json, LegendEntry, Plot, axis_title
from trueup.reports.numbers import rounded_to_span

COLOURS = ("series-1", "series-2")
"""Colours of the right and the left leg."""

WIDTHS = (4.0, 1.6)
"""Widths of their lines: the left leg's does not hide that of an equal right leg [pixels]."""

NORM, START = "measured", "trivial"


@dataclass(frozen=True)
class CyclePanel:
    """One quantity over the gait cycle.

    Attributes:
      title: what it is.
      unit: its unit.
      legs: curve of the right and of the left leg, None where there is no complete stride.
      norm: mean and deviation of a norm.
      start: curve of the walk to compare with.
      dashed: further curves of the legs, drawn dashed.
      dashed_name: what they are called.
      span: values from which to which are shown; as many as there are where absent.
    """

    title: str
    unit: str
    legs: tuple[Curve | None, Curve | None]
    norm: Curve | None = None
    start: Curve | None = None
    dashed: tuple[Curve | None, Curve | None] = (None, None)
    dashed_name: str = ""
    span: tuple[float, float] | None = None


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
) -> Figure:
    """Panels over the gait cycle of each leg.

    Args:
      panels: the quantities.
      stance: part of the cycle in which the right and the left foot are on the ground, 0 to 1; the
        longer one is shaded, the end of each is marked in the leg's colour.
      title: heading.
      caption: small print.
      columns: panels beside each other.
      height: height of a panel [pixels].
      norm: name of the norm.
      start: name of the walk to compare with.
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
    if any(stance):
        legend.append(LegendEntry("stance", "shade", "area"))
    plots = [_plot(panel, stance, height) for panel in panels]
    return Figure(tuple(plots), tuple(legend), title, caption, columns)


def _plot(panel: CyclePanel, stance: tuple[float | None, float | None], height: int) -> Plot:
    data: list[Json] = []
    if panel.norm is not None:
        data += _curve(panel.norm, NORM, "norm", "norm", opacity=0.4)
    for k, leg in enumerate(LEGS):
        if (curve := panel.legs[k]) is not None:
            data += _curve(curve, COLOURS[k], leg, leg, opacity=0.22, width=WIDTHS[k])
        if (dashed := panel.dashed[k]) is not None:
            data += _curve(Curve(dashed.mean), COLOURS[k], leg, panel.dashed_name, dash="dash")
    if panel.start is not None:
        data += _curve(Curve(panel.start.mean), START, "start", "start", dash="dot")
    layout: Json = {
        "xaxis": {
            "title": axis_title("gait cycle", "%"),
            "range": [0, 100],
            "tickvals": [0, 20, 40, 60, 80, 100],
        },
        "yaxis": {"title": axis_title("", panel.unit), "zeroline": True},
        "shapes": _stance_shapes(stance),
        "margin": {"r": 16},  # half of the last label
    }
    if panel.span is not None:
        layout["yaxis"]["range"] = list(panel.span)
    said = f"{panel.title} in {panel.unit or 'parts'} over the gait cycle, each leg"
    return Plot(data, layout, panel.title, height, description=said)


def _curve(
    curve: Curve,
    colour: str,
    group: str,
    name: str,
    opacity: float = 0.2,
    dash: str = "",
    width: float = 1.2,
) -> list[Json]:
    mean = np.asarray(curve.mean, dtype=float)
    x = rounded_to_span(np.linspace(0.0, 100.0, len(mean)))
    data: list[Json] = []
    if curve.sd is not None:
        low, high = mean - curve.sd, mean + curve.sd
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": [*x, *reversed(x)],
                "y": rounded_to_span(np.concatenate([high, low[::-1]])),
                "fill": "toself",
                "fillcolor": f"@{colour}",
                "opacity": opacity,
                "line": {"width": 0},
                "legendgroup": group,
                "hoverinfo": "skip",
                "name": name,
            }
        )
    line: Json = {"color": f"@{colour}", "width": width}
    if dash:
        line["dash"] = dash
    data.append(
        {
            "type": "scatter",
            "mode": "lines",
            "x": x,
            "y": rounded_to_span(mean),
            "line": line,
            "legendgroup": group,
            "name": name,
        }
    )
    return data


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
