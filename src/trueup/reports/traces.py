"""Traces: named curves with a style for each role."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import ReportError, did_you_mean, listing
from trueup.reports.decimation import decimate
from trueup.reports.figure import Json, LegendEntry, plotly_text
from trueup.reports.numbers import rounded_significant, rounded_to_span
from trueup.reports.palette import LIGHT, OTHER_SERIES

TraceStyle = Literal["measured", "initial", "fitted", "residual", "trivial", "other"]
"""Role of a trace, which sets its colour, width and dashes in every figure."""

_WIDTHS = {"measured": 3.6, "initial": 1.3, "fitted": 1.4, "residual": 1.1, "trivial": 1.2}
_DASHES = {"initial": "dash", "trivial": "dot"}
# Drawing order: measured at the bottom, compared curves on top, the fitted curve last.
_DRAWING_ORDER = ("measured", "trivial", "initial", "other", "residual", "fitted")


@dataclass(frozen=True)
class Trace:
    """A curve.

    Attributes:
        name: shown in the legend; traces of one name and style are one entry.
        times: instants [s], or any other horizontal coordinate, shape (n,).
        values: samples, shape (n,); values that are not finite are a gap.
        style: the role, which sets colour and dash. ``"other"`` takes the next free colour.
        step: the value holds until the next sample (commands held zero-order).

    Raises:
        ReportError: unknown style, or arrays of different shapes.
    """

    name: str
    times: ArrayLike
    values: ArrayLike
    style: str = "other"
    step: bool = False

    def __post_init__(self) -> None:
        styles = get_args(TraceStyle)
        if self.style not in styles:
            raise ReportError(
                f"trace {self.name!r} has the unknown style {self.style!r}: use one of "
                f"{listing(styles)}.{did_you_mean(self.style, styles)}"
            )
        times, values = np.asarray(self.times), np.asarray(self.values)
        if times.ndim != 1 or times.shape != values.shape:
            raise ReportError(
                f"trace {self.name!r} has times of shape {times.shape} and values of shape "
                f"{values.shape}: both must be one-dimensional and of equal length"
            )

    @property
    def group(self) -> str:
        """Key that the legend and all traces of this name and style share."""
        return f"{self.style}:{self.name}"


@dataclass(frozen=True)
class Look:
    """Style of the traces of one group: a token of the palette and a dash."""

    token: str
    dash: str = ""


def looks(traces: Sequence[Trace]) -> dict[str, Look]:
    """Return the style of each trace group.

    The groups of style "other" cycle through the colours that no role in the figure uses, then
    again with another dash.
    """
    roles = {LIGHT[trace.style] for trace in traces if trace.style != "other"}
    free = [token for token in OTHER_SERIES if LIGHT[token] not in roles]
    result: dict[str, Look] = {}
    others = 0
    for trace in traces:
        if trace.group in result:
            continue
        if trace.style == "other":
            turn, colour = divmod(others, len(free))
            result[trace.group] = Look(free[colour], ("", "dash", "dot")[turn % 3])
            others += 1
        else:
            result[trace.group] = Look(trace.style, _DASHES.get(trace.style, ""))
    return result


def drawing_order(traces: Sequence[Trace]) -> list[Trace]:
    """Return traces in the order in which they are drawn, the fitted one on top."""
    return sorted(traces, key=lambda trace: _DRAWING_ORDER.index(trace.style))


def line_json(
    trace: Trace,
    look: Look,
    *,
    log_x: bool = False,
    log_y: bool = False,
    markers: bool = False,
    axis: str = "y",
    width: float | None = None,
) -> Json:
    """Return a trace in the format of plotly.js: decimated, rounded, coloured by its role."""
    times, values = decimate(trace.times, trace.values)
    if width is None:
        width = _WIDTHS.get(trace.style, 1.5)
    line: Json = {"color": f"@{look.token}", "width": width}
    if look.dash:
        line["dash"] = look.dash
    if trace.step:
        line["shape"] = "hv"
    result: Json = {
        "type": "scatter",
        "mode": "lines+markers" if markers else "lines",
        "name": plotly_text(trace.name),
        "legendgroup": trace.group,
        "x": rounded_significant(times) if log_x else rounded_to_span(times),
        "y": rounded_significant(values) if log_y else rounded_to_span(values),
        "line": line,
    }
    if markers:
        result["marker"] = {"size": 5, "color": f"@{look.token}"}
    if axis != "y":
        result["yaxis"] = axis
    return result


def legend_for(traces: Sequence[Trace], styles: dict[str, Look]) -> tuple[LegendEntry, ...]:
    """Return one legend entry per trace group, in the given order."""
    entries = {
        trace.group: LegendEntry(
            trace.name, styles[trace.group].token, styles[trace.group].dash or "line", trace.group
        )
        for trace in traces
    }
    return tuple(entries.values())
