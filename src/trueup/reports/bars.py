"""Bar charts: singular values, and directions in parameter space."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import ReportError
from trueup.reports.figure import (
    Figure,
    Json,
    LegendEntry,
    Plot,
    axis_title,
    checked_names,
    plotly_text,
    short_names,
)
from trueup.reports.numbers import format_number, rounded_significant, rounded_to_span

_ROW_HEIGHT = 28
_LETTERS_ABREAST = 48


def bar_figure(
    names: Sequence[str] | None,
    values: ArrayLike,
    *,
    label: str,
    unit: str = "",
    name_label: str = "",
    log: bool = False,
    threshold: float | None = None,
    threshold_label: str = "",
    title: str = "",
    caption: str = "",
    horizontal: bool | None = None,
    height: int = 240,
) -> Figure:
    """Return one bar per value.

    Args:
        names: one per bar; ``None`` numbers them from 1.
        values: shape (n,). On a logarithmic axis a value that is not positive is shown as text at
            the axis.
        label: name of the axis of values.
        unit: its unit.
        name_label: name of the other axis.
        log: logarithmic axis of values.
        threshold: a line; bars below it have the colour of a warning.
        threshold_label: meaning of the line.
        title: heading.
        caption: small print.
        horizontal: horizontal bars, for long names; ``None``: automatic.
        height: height of vertical bars [pixels]; horizontal bars take 28 pixels each.

    Raises:
        ReportError: values are not one-dimensional, or the number of names differs.
    """
    bars = np.asarray(values, dtype=float)
    if bars.ndim != 1 or bars.size == 0:
        raise ReportError(
            f"bars require a one-dimensional array of values, found shape {bars.shape}"
        )
    if names is None:
        names = [str(number) for number in range(1, bars.size + 1)]
    names = checked_names(names, bars.size, "bars")
    if horizontal is None:
        horizontal = bars.size * max(map(len, names)) > _LETTERS_ABREAST
    drawable = np.where(bars > 0, bars, np.nan) if log else bars
    lengths = rounded_significant(drawable) if log else rounded_to_span(drawable)
    low = np.zeros(bars.size, bool) if threshold is None else ~(bars >= threshold)
    colours = ["@warning" if is_low else "@series-1" for is_low in low]
    positions = list(range(bars.size))
    texts = [f"{plotly_text(name)}: {format_number(v)}" for name, v in zip(names, bars.tolist())]
    trace: Json = {
        "type": "bar",
        "marker": {"color": colours},
        "hovertext": texts,
        "hoverinfo": "text",
        "width": 0.62,
    }
    value_axis: Json = {"title": axis_title(label, unit)}
    if log:
        value_axis |= {"type": "log", **_log_range(bars, threshold)}
    name_axis: Json = {
        "title": axis_title(name_label),
        "tickvals": positions,
        "ticktext": [plotly_text(name) for name in short_names(names, 34)],
        "showgrid": False,
        "zeroline": False,
    }
    layout: Json
    if horizontal:
        trace |= {"orientation": "h", "x": lengths, "y": positions}
        name_axis |= {"range": [bars.size - 0.4, -0.6], "automargin": True}
        layout = {"xaxis": value_axis, "yaxis": name_axis, "hovermode": "closest"}
        height = 60 + _ROW_HEIGHT * bars.size
    else:
        trace |= {"x": positions, "y": lengths}
        name_axis |= {"range": [-0.6, bars.size - 0.4], "automargin": True}
        layout = {"xaxis": name_axis, "yaxis": value_axis, "hovermode": "closest"}
    if threshold is not None:
        layout["shapes"] = [_threshold_line(threshold, horizontal)]
    layout["annotations"] = _not_drawable(names, bars, drawable, horizontal)
    narrow = {
        f"{'yaxis' if horizontal else 'xaxis'}.ticktext": [
            plotly_text(name) for name in short_names(names, 20)
        ]
    }
    legend: tuple[LegendEntry, ...] = ()
    if threshold is not None and threshold_label:
        legend = (LegendEntry(threshold_label, "warning", "dash"),)
    plot = Plot([trace], layout, "", height, narrow, description=f"{label}: {'; '.join(texts)}")
    return Figure((plot,), legend, title, caption)


def direction_figure(
    names: Sequence[str],
    directions: ArrayLike,
    *,
    titles: Sequence[str] | None = None,
    title: str = "",
    caption: str = "",
    smallest: float = 0.02,
    columns: int = 1,
) -> Figure:
    """Return directions in parameter space as signed bars.

    Each direction is scaled so that its longest entry is 1 and positive; entries below ``smallest``
    of it are omitted and counted. Moving all parameters along a direction with a zero singular
    value does not change the prediction.

    Args:
        names: parameters, p of them.
        directions: one direction (p,) or several (k, p).
        titles: one per direction, such as its singular value.
        title: heading.
        caption: small print.
        smallest: share of the longest entry below which entries are omitted.
        columns: number of directions next to each other if the width permits.

    Raises:
        ReportError: shapes and names do not match, or a direction is zero or not finite.
    """
    rows = np.atleast_2d(np.asarray(directions, dtype=float))
    if rows.ndim != 2 or rows.shape[0] == 0:
        raise ReportError(f"directions must have shape (p,) or (k, p), found {rows.shape}")
    names = checked_names(names, rows.shape[1], "directions")
    if titles is not None:
        titles = checked_names(titles, rows.shape[0], "titles of directions")
    plots = [
        _direction_plot(names, row, titles[k] if titles else "", smallest)
        for k, row in enumerate(rows)
    ]
    legend = (LegendEntry("goes up", "positive", "bar"),)
    if (rows * rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)][:, None] < 0).any():
        legend += (LegendEntry("decreases at the same time", "negative", "bar"),)
    return Figure(tuple(plots), legend, title, caption, columns)


def _direction_plot(names: list[str], row: np.ndarray, title: str, smallest: float) -> Plot:
    largest = row[np.argmax(np.abs(row))]
    if not np.isfinite(row).all() or largest == 0:
        raise ReportError("a direction must be finite and not zero")
    scaled = row / largest
    order = np.argsort(-np.abs(scaled), kind="stable")
    order = order[np.abs(scaled[order]) >= smallest]
    shown = scaled[order]
    shown_names = [names[index] for index in order]
    texts = [f"{value:+.3g}" for value in shown]
    if len(order) < len(names):
        left_out = f"{len(names) - len(order)} of {len(names)} parameters not involved"
        title = f"{title} · {left_out}" if title else left_out
    trace: Json = {
        "type": "bar",
        "orientation": "h",
        "x": rounded_to_span(shown),
        "y": list(range(len(order))),
        "text": texts,
        "textposition": "outside",
        "cliponaxis": False,
        "width": 0.6,
        "marker": {"color": ["@positive" if v > 0 else "@negative" for v in shown]},
        "hovertext": [f"{plotly_text(n)}: {t}" for n, t in zip(shown_names, texts)],
        "hoverinfo": "text",
    }
    layout: Json = {
        "hovermode": "closest",
        "xaxis": {
            "range": [-1.3 if (shown < 0).any() else -0.05, 1.3],
            "title": axis_title("relative change"),
            "tickvals": [-1, -0.5, 0, 0.5, 1],
            "zeroline": True,
        },
        "yaxis": {
            "tickvals": list(range(len(order))),
            "ticktext": [plotly_text(name) for name in short_names(shown_names, 34)],
            "range": [len(order) - 0.4, -0.6],
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        },
    }
    narrow = {"yaxis.ticktext": [plotly_text(name) for name in short_names(shown_names, 20)]}
    described = "; ".join(f"{n} {t}" for n, t in zip(shown_names, texts))
    height = 62 + _ROW_HEIGHT * len(order)
    return Plot([trace], layout, title, height, narrow, description=f"direction: {described}")


def _log_range(bars: np.ndarray, threshold: float | None) -> Json:
    # A bar on a logarithmic axis has no natural baseline: it is half a decade below the smallest.
    shown = bars[np.isfinite(bars) & (bars > 0)]
    if threshold is not None and threshold > 0:
        shown = np.append(shown, threshold)
    if shown.size == 0:
        return {"range": [-1, 1]}
    low, high = np.log10(shown.min()), np.log10(shown.max())
    margin = max(0.5, 0.08 * (high - low))
    return {"range": [round(float(low - margin), 3), round(float(high + 0.4 * margin), 3)]}


def _threshold_line(threshold: float, horizontal: bool) -> Json:
    value, across = ("x", "y") if horizontal else ("y", "x")
    return {
        "type": "line",
        f"{value}0": threshold,
        f"{value}1": threshold,
        f"{across}ref": "paper",
        f"{across}0": 0,
        f"{across}1": 1,
        "line": {"color": "@warning", "width": 1.2, "dash": "dash"},
    }


def _not_drawable(
    names: list[str], bars: np.ndarray, drawable: np.ndarray, horizontal: bool
) -> list[Json]:
    value, across = ("x", "y") if horizontal else ("y", "x")
    return [
        {
            "text": format_number(float(bars[index])),
            f"{value}ref": "paper",
            value: 0,
            across: int(index),
            f"{value}anchor": "left" if horizontal else "bottom",
            "showarrow": False,
            "font": {"color": "@warning"},
        }
        for index in np.flatnonzero(~np.isfinite(drawable))
    ]
