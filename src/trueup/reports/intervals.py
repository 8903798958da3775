"""Figure of parameters with their intervals and bounds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import ReportError
from trueup.reports.figure import (
    Figure,
    Json,
    LegendEntry,
    Plot,
    checked_names,
    plotly_text,
    short_names,
)
from trueup.reports.numbers import broadcast, format_interval, format_number, rounded_to_span

# None and NaN are both missing values.
Numbers = ArrayLike | Sequence[float | None]

_ROW_HEIGHT = 56
_AT_BOUND = 1e-3
_INK = {"color": "@ink"}
_OVERHANG = 0.012


@dataclass(frozen=True)
class _Row:
    """One parameter, with positions relative to its track: 0 the lower bound, 1 the upper."""

    name: str
    text: str
    remark: str
    track_texts: tuple[str, str]
    value: float
    low: float
    high: float
    initial: float
    nominal: float
    hover: str
    tone: str


def interval_figure(
    names: Sequence[str],
    values: ArrayLike,
    *,
    half_widths: Numbers | None = None,
    low: Numbers | None = None,
    high: Numbers | None = None,
    lower: Numbers | None = None,
    upper: Numbers | None = None,
    initial: Numbers | None = None,
    nominal: Numbers | None = None,
    units: Sequence[str] | str = "",
    log: bool | Sequence[bool] = False,
    title: str = "",
    caption: str = "",
) -> Figure:
    """Return one line per parameter: its bounds as a track, its value and interval on it.

    Each parameter has its own track from its lower to its upper bound, independent of units. A
    parameter at a bound, or with an interval that is infinite or wider than its bounds, has the
    colour of a warning. Without bounds the track covers all values.

    Args:
        names: p names.
        values: identified values (p,).
        half_widths: half the width of the symmetric intervals (p,); or
        low: lower ends of the intervals (p,), with
        high: upper ends (p,). Infinite ends cover the track; NaN: no interval.
        lower: lower bounds (p,).
        upper: upper bounds (p,).
        initial: values at which the fit began (p,).
        nominal: values of the model as given (p,).
        units: one, or one per parameter.
        log: logarithmic track: one value, or one per parameter (requires positive bounds;
            otherwise it is linear).
        title: heading.
        caption: small print.

    Raises:
        ReportError: an array does not have one entry per name, or intervals are given in both ways.
    """
    centre = _column("values", values, len(names))
    names = checked_names(names, centre.size, "intervals")
    if half_widths is not None and (low is not None or high is not None):
        raise ReportError("give either half_widths or low and high, not both")
    if half_widths is not None:
        half = np.abs(_column("half_widths", half_widths, centre.size))
        interval_low, interval_high = centre - half, centre + half
    else:
        interval_low = _column("low", low, centre.size)
        interval_high = _column("high", high, centre.size)
    columns = [
        _column(name, array, centre.size)
        for name, array in (
            ("lower", lower),
            ("upper", upper),
            ("initial", initial),
            ("nominal", nominal),
        )
    ]
    unit_texts = [str(unit) for unit in broadcast(units, centre.size)]
    logs = [bool(flag) for flag in broadcast(log, centre.size)]
    rows = [
        _row(
            names[k],
            unit_texts[k],
            logs[k],
            centre[k],
            interval_low[k],
            interval_high[k],
            *(column[k] for column in columns),
        )
        for k in range(centre.size)
    ]
    return Figure((_plot(rows),), _legend(rows), title, caption)


def _column(name: str, array: Numbers | None, count: int) -> np.ndarray:
    if array is None:
        return np.full(count, np.nan)
    column = np.array([np.nan if v is None else v for v in np.ravel(array)], dtype=float)  # type: ignore[arg-type]
    if column.size != count:
        raise ReportError(
            f"intervals: {name} must have one entry per name, found {column.size} for {count} names"
        )
    return column


def _row(
    name: str,
    unit: str,
    log: bool,
    value: float,
    low: float,
    high: float,
    lower: float,
    upper: float,
    initial: float,
    nominal: float,
) -> _Row:
    shown = np.array([value, low, high, initial, nominal])
    finite = shown[np.isfinite(shown)]
    margin = 0.15 * (np.ptp(finite) if finite.size else 0.0) or 0.15 * abs(value) or 1.0
    start = lower if np.isfinite(lower) else float(finite.min() - margin)
    end = upper if np.isfinite(upper) else float(finite.max() + margin)
    if not end > start:
        start, end = start - abs(margin), end + abs(margin)
    log = log and start > 0

    def position(x: float) -> float:
        if np.isnan(x):
            return np.nan
        if log:
            share = (np.log(max(x, 1e-300)) - np.log(start)) / (np.log(end) - np.log(start))
        else:
            share = (x - start) / (end - start)
        return float(np.clip(share, -_OVERHANG, 1 + _OVERHANG))

    unconstrained = bool(np.isfinite([lower, upper]).all() and low <= lower and high >= upper)
    infinite = bool(np.isinf([low, high]).any())
    at_bound = min(abs(position(value)), abs(1 - position(value))) < _AT_BOUND and (
        np.isfinite(lower) or np.isfinite(upper)
    )
    number = _value_text(value, low, high)
    remark = "not determined" if infinite or unconstrained else "at a bound" if at_bound else ""
    texts = (
        format_number(lower, 4) if np.isfinite(lower) else "",
        format_number(upper, 4) if np.isfinite(upper) else "",
    )
    details = [
        ("value", value),
        ("from", low),
        ("to", high),
        ("initial", initial),
        ("nominal", nominal),
        ("lower bound", lower),
        ("upper bound", upper),
    ]
    hover = f"<b>{plotly_text(name)}</b>" + (f" [{plotly_text(unit)}]" if unit else "")
    hover += "".join(
        f"<br>{label} {format_number(float(x))}" for label, x in details if not np.isnan(x)
    )
    return _Row(
        name,
        f"{number} {unit}".strip(),
        remark,
        texts,
        position(value),
        position(low),
        position(high),
        position(initial),
        position(nominal),
        hover,
        "warning" if remark else "fitted",
    )


def _value_text(value: float, low: float, high: float) -> str:
    if np.isnan(low) or np.isnan(high):
        return format_number(float(value))
    above, below = high - value, value - low
    if np.isinf([above, below]).any() or np.isclose(above, below, rtol=0.02):
        return format_interval(float(value), float(max(above, below)))
    return (
        f"{format_number(float(value), 4)} ({format_number(float(low), 4)} to "
        f"{format_number(float(high), 4)})"
    )


def _plot(rows: list[_Row]) -> Plot:
    count = len(rows)
    positions = np.arange(count)
    tones = [f"@{row.tone}" for row in rows]
    hovers = [row.hover for row in rows]
    data = [
        _points(
            rows,
            "nominal",
            "nominal",
            {"symbol": "diamond-tall-open", "size": 11, "color": "@muted", "line": {"width": 1.5}},
        ),
        _points(
            rows,
            "initial",
            "initial",
            {"symbol": "circle-open", "size": 10, "color": "@initial", "line": {"width": 2}},
        ),
        _points(
            rows,
            "value",
            "identified",
            {
                "symbol": "circle",
                "size": 10,
                "color": tones,
                "line": {"width": 1.5, "color": "@paper"},
            },
        ),
    ]
    data = [trace for trace in data if any(x is not None for x in trace["x"])]
    for trace in data:
        trace |= {"hovertext": hovers, "hoverinfo": "text", "y": positions.tolist()}
    shapes: list[Json] = []
    for k, row in enumerate(rows):
        shapes.append(_line(k, 0, 1, "@track", 4))
        if np.isfinite([row.low, row.high]).all():
            shapes.append(_line(k, row.low, row.high, f"@{row.tone}", 8, 0.5))
    layout: Json = {
        "hovermode": "closest",
        "margin": {"l": 2, "r": 2, "t": 6, "b": 6},
        "xaxis": {"range": [-0.014, 1.014], "visible": False},
        "yaxis": {"range": [count - 0.35, -0.72], "visible": False},
        "shapes": shapes,
        "annotations": _annotations(rows, wide=True),
    }
    described = "; ".join(f"{row.name} {row.text} {row.remark}".strip() for row in rows)
    return Plot(
        data,
        layout,
        "",
        14 + _ROW_HEIGHT * count,
        {"annotations": _annotations(rows, wide=False)},
        description=described,
    )


def _points(rows: list[_Row], attribute: str, name: str, marker: Json) -> Json:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "legendgroup": name,
        "x": rounded_to_span([getattr(row, attribute) for row in rows]),
        "marker": marker,
        "cliponaxis": False,
    }


def _line(
    row: int, start: float, end: float, colour: str, width: float, opacity: float = 1.0
) -> Json:
    # Rounding to 1e-4 of a track is not visible.
    return {
        "type": "line",
        "x0": round(start, 4),
        "x1": round(end, 4),
        "y0": row,
        "y1": row,
        "layer": "below",
        "opacity": opacity,
        "line": {"color": colour, "width": width},
    }


def _annotations(rows: list[_Row], *, wide: bool) -> list[Json]:
    """Return the texts of the rows: name and value above the track, the bounds below its ends.

    On a narrow screen name and remark are above the track, the value between the bounds.
    """
    names = short_names([row.name for row in rows], 60 if wide else 32)
    annotations: list[Json] = []
    for k, (row, name) in enumerate(zip(rows, names)):
        above: Json = {"y": k, "yshift": 19, "showarrow": False}
        below: Json = {"y": k, "yshift": -14, "showarrow": False}
        colour = {"color": "@warning" if row.remark else "@muted"}
        small = {"size": 10, "color": "@muted"}
        value = " · ".join(filter(None, (row.text, row.remark))) if wide else row.remark
        texts = [
            above | {"x": 0, "xanchor": "left", "text": name, "font": {"size": 13, **_INK}},
            above | {"x": 1, "xanchor": "right", "text": value, "font": colour},
            below | {"x": 0, "xanchor": "left", "text": row.track_texts[0], "font": small},
            below | {"x": 1, "xanchor": "right", "text": row.track_texts[1], "font": small},
        ]
        if not wide:
            texts.append(below | {"x": 0.5, "text": row.text, "font": colour})
        annotations += [text | {"text": plotly_text(text["text"])} for text in texts]
    return [annotation for annotation in annotations if annotation["text"]]


def _legend(rows: list[_Row]) -> tuple[LegendEntry, ...]:
    entries = [LegendEntry("identified, with its interval", "fitted", "point", "identified")]
    if any(row.tone == "warning" for row in rows):
        entries.append(LegendEntry("at a bound or not determined", "warning", "point"))
    if any(np.isfinite(row.initial) for row in rows):
        entries.append(LegendEntry("initial", "initial", "ring", "initial"))
    if any(np.isfinite(row.nominal) for row in rows):
        entries.append(LegendEntry("nominal", "muted", "diamond", "nominal"))
    entries.append(LegendEntry("range of the bounds", "track", "area"))
    return tuple(entries)
