"""Line figure for coordinates other than time: the history of a cost, a sweep, a spectrum."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import ReportError
from trueup.reports.figure import Figure, Json, Plot, axis_title
from trueup.reports.traces import Trace, drawing_order, legend_for, line_json, looks

_MARKERS_UP_TO = 60


def line_figure(
    curves: Sequence[Trace] | Mapping[str, ArrayLike],
    *,
    x_label: str,
    y_label: str,
    x_unit: str = "",
    y_unit: str = "",
    log_x: bool = False,
    log_y: bool = False,
    markers: bool | None = None,
    title: str = "",
    caption: str = "",
    height: int = 260,
) -> Figure:
    """Return curves on one pair of axes.

    Args:
        curves: traces (``times`` is the horizontal coordinate), or a mapping from name to values
            over 0, 1, 2, ... (iterations).
        x_label: name of the horizontal axis.
        y_label: name of the vertical axis.
        x_unit: unit of the horizontal axis.
        y_unit: unit of the vertical axis.
        log_x: logarithmic horizontal axis; values that are not positive are omitted.
        log_y: logarithmic vertical axis; values that are not positive are omitted.
        markers: points on the curves; ``None``: if they are short.
        title: heading.
        caption: small print.
        height: height [pixels].

    Raises:
        ReportError: no curve.
    """
    if isinstance(curves, Mapping):
        curves = [
            Trace(name, np.arange(np.size(values)), np.asarray(values, dtype=float))
            for name, values in curves.items()
        ]
    if not curves:
        raise ReportError("a figure of curves requires at least one curve")
    shown = [_drawable(curve, log_x, log_y) for curve in curves]
    if markers is None:
        markers = max(np.size(curve.values) for curve in shown) <= _MARKERS_UP_TO
    styles = looks(shown)
    data = [
        line_json(curve, styles[curve.group], log_x=log_x, log_y=log_y, markers=markers)
        for curve in drawing_order(shown)
    ]
    layout: Json = {
        "xaxis": {"title": axis_title(x_label, x_unit)},
        "yaxis": {"title": axis_title(y_label, y_unit)},
    }
    if log_x:
        layout["xaxis"]["type"] = "log"
    if log_y:
        layout["yaxis"]["type"] = "log"
    names = ", ".join(curve.name for curve in shown)
    plot = Plot(
        data, layout, "", height, zoom=True, description=f"{y_label} over {x_label}: {names}"
    )
    legend = legend_for(shown, styles) if len({c.group for c in shown}) > 1 else ()
    return Figure((plot,), legend, title, caption)


def _drawable(curve: Trace, log_x: bool, log_y: bool) -> Trace:
    x, y = np.asarray(curve.times, dtype=float), np.asarray(curve.values, dtype=float)
    if log_x:
        y = np.where(x > 0, y, np.nan)
    if log_y:
        y = np.where(y > 0, y, np.nan)
    return Trace(curve.name, x, y, curve.style, curve.step)
