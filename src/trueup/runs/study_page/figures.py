"""Figures of a search: cost, its state variables, parameters, populations, Pareto front."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from trueup.reports.figure import (
    Figure,
    Json,
    LegendEntry,
    Plot,
    axis_title,
    plotly_text,
    short_names,
)
from trueup.reports.lines import line_figure
from trueup.reports.numbers import rounded_significant, rounded_to_span
from trueup.reports.traces import Trace
from trueup.runs.study_page.statistics import (
    Groups,
    best_so_far,
    evenly,
    quantiles_of_groups,
    sorted_costs,
    wants_log,
)

_LINES = 40  # highlighted candidates in parallel coordinates
_OTHERS = 120  # other candidates


def cost_figure(costs: np.ndarray, groups: Groups, label: str = "cost") -> Figure:
    """Cost over evaluations: best so far, and the spread of the population.

    Args:
        costs: cost of each evaluation ``(n,)``, NaN where invalid.
        groups: grouped generations.
        label: name of the cost.
    """
    best, low, median, high = quantiles_of_groups(costs, groups)
    so_far = best_so_far(costs)[groups.last]
    reached = np.where(so_far >= 0, costs[so_far], np.nan)
    log = wants_log(np.concatenate([reached, best, median, high]))
    x = rounded_to_span(groups.evaluations)
    number = rounded_significant if log else rounded_to_span
    data: list[Json] = [
        *_band(x, _shown(low, log), _shown(high, log), number),
        _line(x, number(_shown(median, log)), "median", "measured", 1.4),
        _line(x, number(_shown(best, log)), "best of generation", "series-2", 1.1),
        _line(x, number(_shown(reached, log)), "best so far", "fitted", 2.4),
    ]
    layout: Json = {
        "xaxis": {"title": axis_title("evaluations")},
        "yaxis": {"title": axis_title(label), **_log_axis(log)},
    }
    legend = (
        LegendEntry("best so far", "fitted", "line", "best so far"),
        LegendEntry("best of generation", "series-2", "line", "best of generation"),
        LegendEntry("median", "measured", "line", "median"),
        LegendEntry("10 to 90 % of the population", "track", "area", "spread"),
    )
    plot = Plot(data, layout, "", 320, zoom=True, description=f"{label} over evaluations")
    caption = "Invalid candidates are omitted."
    if groups.count < len(np.unique(groups.of)) or groups.first[-1:] > groups.count:
        caption += " Several generations share a point."
    return Figure((plot,), legend, "", caption)


def search_figures(
    generations: Sequence[dict[str, Any]], skipped: Sequence[str] = ()
) -> list[Figure]:
    """One small figure for each state variable of the search, such as a step size.

    Args:
        generations: one record per generation, with ``evaluations``.
        skipped: keys shown elsewhere.
    """
    own = ("generation", "evaluations", "seconds", *skipped)
    keys = [k for k in dict.fromkeys(k for g in generations for k in g) if k not in own]
    evaluations = [g["evaluations"] for g in generations]
    figures = []
    for key in keys:
        values = np.array([_as_number(g.get(key)) for g in generations])
        finite = values[np.isfinite(values)]
        if len(finite) < 2 or np.ptp(finite) == 0:
            continue
        figures.append(
            line_figure(
                [Trace(_words(key), evaluations, values, "fitted")],
                x_label="evaluations",
                y_label=_words(key),
                log_y=wants_log(values),
                title=_words(key),
                height=210,
            )
        )
    return figures


def parameter_figures(
    X: np.ndarray,
    costs: np.ndarray,
    groups: Groups,
    rows: Sequence[dict[str, Any]],
) -> list[Figure]:
    """One small figure per parameter: best value so far, and the spread of the population.

    Args:
        X: candidates ``(n, p)``.
        costs: their costs ``(n,)``, NaN where invalid.
        groups: grouped generations.
        rows: ``name``, and where known ``unit``, ``lower``, ``upper``, ``scale``.
    """
    so_far = best_so_far(costs)[groups.last]
    x = rounded_to_span(groups.evaluations)
    figures = []
    for i, row in enumerate(rows):
        _, low, median, high = quantiles_of_groups(X[:, i], groups)
        best = np.where(so_far >= 0, X[so_far, i], np.nan)
        log = row.get("scale") == "log"
        number = rounded_significant if log else rounded_to_span
        data = [
            *_band(x, low, high, number),
            _line(x, number(median), "median", "measured", 1.2),
            _line(x, number(best), "best so far", "fitted", 2.0),
        ]
        layout: Json = {
            "xaxis": {"title": axis_title("evaluations")},
            "yaxis": {"title": axis_title("", row.get("unit") or ""), **_log_axis(log)},
            "shapes": [
                {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": b, "y1": b,
                 "line": {"color": "@serious", "width": 1, "dash": "dot"}}
                for b in _near_bounds(row, low, high, best)
            ],
        }  # fmt: skip
        plot = Plot(data, layout, row["name"], 190, description=f"{row['name']} over evaluations")
        figures.append(Figure((plot,), _SPREAD_LEGEND))
    return figures


_SPREAD_LEGEND = (
    LegendEntry("best so far", "fitted", "line", "best so far"),
    LegendEntry("median", "measured", "line", "median"),
    LegendEntry("10 to 90 % of the population", "track", "area", "spread"),
    LegendEntry("bound", "serious", "dot"),
)


def population_figure(costs: np.ndarray, groups: Groups, label: str = "cost") -> Figure:
    """Heat map of the sorted costs of each generation, the best at the bottom.

    Args:
        costs: cost of each evaluation ``(n,)``, NaN where invalid.
        groups: grouped generations.
        label: name of the cost.
    """
    Z = sorted_costs(costs, groups)
    log = wants_log(Z)
    with np.errstate(invalid="ignore", divide="ignore"):
        shown = np.log10(np.where(Z > 0, Z, np.nan)) if log else Z
    finite = shown[np.isfinite(shown)]
    low, high = (
        (float(finite.min()), float(np.quantile(finite, 0.98))) if len(finite) else (0.0, 1.0)
    )
    ticks = np.linspace(low, high, 5)
    texts = [f"{10**t:.1e}" if log else f"{t:.3g}" for t in ticks]
    rows = len(Z)
    trace: Json = {
        "type": "heatmap",
        "z": [_rounded(line) for line in shown],
        "x": groups.first.tolist(),
        "y": np.round((np.arange(rows) + 0.5) / rows * 100, 3).tolist(),
        "zmin": low,
        "zmax": high if high > low else low + 1.0,
        "hovertemplate": "generation %{x}<br>%{y:.0f} % of the population<extra></extra>",
        "colorscale": [[0, "@positive"], [0.5, "@middle"], [1, "@negative"]],
        "colorbar": {
            "thickness": 10,
            "outlinewidth": 0,
            "len": 1,
            "tickvals": ticks.tolist(),
            "ticktext": texts,
            "title": {"text": plotly_text(label), "side": "right"},
        },
    }
    layout: Json = {
        "hovermode": "closest",
        "xaxis": {"title": axis_title("generation"), "showgrid": False},
        "yaxis": {"title": axis_title("population, best first", "%"), "showgrid": False},
    }
    plot = Plot(
        [trace],
        layout,
        "",
        280,
        {"data.showscale": False},
        description=f"sorted {label} of the population of each generation",
    )
    caption = (
        "Blank: invalid candidates. Costs above the 98 % quantile are clipped to the last colour."
    )
    return Figure((plot,), (), "", caption)


def parallel_figure(
    X: np.ndarray, good: np.ndarray, others: np.ndarray, rows: Sequence[dict[str, Any]], label: str
) -> Figure:
    """Parallel coordinates: one line per candidate across all parameters, the best on top.

    The parameters are listed vertically, from the lower to the upper bound (or the range of the
    values without bounds), to fit many of them and long names.

    Args:
        X: candidates ``(n, p)``.
        good: highlighted rows, best first; at least one.
        others: rows of other valid candidates.
        rows: ``name``, ``value`` (drawn as the best), and where known ``lower``, ``upper``,
            ``scale``.
        label: description of the highlighted candidates.
    """
    every = np.concatenate([good, others])
    drawn_good, drawn_others = good[evenly(len(good), _LINES)], others[evenly(len(others), _OTHERS)]
    best = np.array([[row["value"] for row in rows]], float)
    y = np.arange(len(rows))
    lines = [
        (X[drawn_others], "others", "track", 0.9),
        (X[drawn_good], label, "fitted", 1.0),
        (best, "the best", "series-2", 2.4),
    ]
    data = []
    for values, name, token, width in lines:
        places = [_between(values[:, i], row, X[every, i]) for i, row in enumerate(rows)]
        data.append(_polylines(np.stack(places, axis=1), y, name, token, width))
    names = [str(row["name"]) for row in rows]
    layout: Json = {
        "hovermode": False,
        "margin": {"r": 46},
        "xaxis": {
            "range": [-0.02, 1.02],
            "tickvals": [0, 0.5, 1],
            "ticktext": ["lower bound", "middle", "upper bound"],
        },
        "yaxis": {
            "tickvals": y.tolist(),
            "ticktext": [plotly_text(name) for name in short_names(names, 30)],
            "range": [len(rows) - 0.4, -0.6],
        },
    }
    legend = (
        LegendEntry("the best", "series-2", "line", "the best"),
        LegendEntry(label, "fitted", "line", label),
        LegendEntry("others", "track", "line", "others"),
    )
    narrow = {
        "yaxis.ticktext": [plotly_text(name) for name in short_names(names, 13)],
        "xaxis.ticktext": ["lower", "middle", "upper"],
        "margin.r": 20,
    }
    height = int(np.clip(100 + 30 * len(rows), 190, 1600))
    description = f"candidates across {', '.join(names[:12])}"
    plot = Plot(data, layout, "", height, narrow, description=description)
    drawn = len(drawn_good) + len(drawn_others)
    caption = f"{drawn} of {len(every)} valid candidates are shown." if drawn < len(every) else ""
    return Figure((plot,), legend, "", caption)


def front_figure(costs: np.ndarray, front: np.ndarray, objectives: Sequence[str]) -> Figure:
    """Pareto front over all evaluated candidates, one plot per pair of objectives.

    Args:
        costs: costs of valid evaluations ``(n, k)``.
        front: costs along the front ``(m, k)``.
        objectives: names of the costs.
    """
    some = costs[evenly(len(costs), 1500)]
    plots = []
    for i, j in list(combinations(range(len(objectives)), 2))[:6]:
        # clip costs far beyond the front, which would compress it
        reach = front.max(axis=0) + 2.0 * np.maximum(np.ptp(front, axis=0), 1e-12)
        near = some[(some[:, [i, j]] <= reach[[i, j]]).all(axis=1)]
        order = np.argsort(front[:, i], kind="stable")
        data: list[Json] = [
            _points(near[:, i], near[:, j], "evaluated", "measured", 3),
            _points(front[order, i], front[order, j], "Pareto front", "fitted", 7),
        ]
        layout: Json = {
            "hovermode": "closest",
            "xaxis": {"title": axis_title(objectives[i])},
            "yaxis": {"title": axis_title(objectives[j])},
        }
        described = f"Pareto front of {objectives[i]} and {objectives[j]}"
        plots.append(Plot(data, layout, "", 320, zoom=True, description=described))
    legend = (
        LegendEntry("Pareto front", "fitted", "point", "Pareto front"),
        LegendEntry("evaluated", "measured", "point", "evaluated"),
    )
    return Figure(plots, legend, "", "Lower is better in every cost.", min(2, len(plots)))


def _band(x: list, low: np.ndarray, high: np.ndarray, number: Any) -> list[Json]:
    base: Json = {
        "type": "scatter",
        "mode": "lines",
        "legendgroup": "spread",
        "hoverinfo": "skip",
        "line": {"width": 0, "color": "@track"},
    }
    return [
        {**base, "x": x, "y": number(low)},
        {**base, "x": x, "y": number(high), "fill": "tonexty", "fillcolor": "@track"},
    ]


def _line(x: list, y: list, name: str, token: str, width: float) -> Json:
    return {
        "type": "scatter",
        "mode": "lines" if len(x) > 1 else "markers",
        "name": name,
        "legendgroup": name,
        "x": x,
        "y": y,
        "line": {"color": f"@{token}", "width": width},
        "marker": {"color": f"@{token}", "size": 6},
    }


def _points(x: np.ndarray, y: np.ndarray, name: str, token: str, size: int) -> Json:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "legendgroup": name,
        "x": rounded_to_span(x),
        "y": rounded_to_span(y),
        "marker": {"color": f"@{token}", "size": size},
    }


def _polylines(U: np.ndarray, y: np.ndarray, name: str, token: str, width: float) -> Json:
    """Candidates ``(m, p)`` as one trace, with gaps between them."""
    across = [[*rounded_to_span(u, 3), None] for u in U]
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(y) == 1 else "lines",
        "name": name,
        "legendgroup": name,
        "x": [v for line in across for v in line],
        "y": [*y.tolist(), None] * len(U),
        "connectgaps": False,
        "line": {"color": f"@{token}", "width": width},
        "marker": {"color": f"@{token}", "size": 4},
    }


def _between(values: np.ndarray, row: dict[str, Any], every: np.ndarray) -> np.ndarray:
    """Relative position of values within the bounds, 0 to 1; without bounds, within their range."""
    low, high = (float(row.get(key, np.nan)) for key in ("lower", "upper"))
    low = low if np.isfinite(low) else float(every.min())
    high = high if np.isfinite(high) else float(every.max())
    if row.get("scale") == "log" and low > 0:
        values, low, high = np.log(np.maximum(values, low)), np.log(low), np.log(high)
    return (values - low) / (high - low) if high > low else np.full(len(values), 0.5)


def _near_bounds(
    row: dict[str, Any], low: np.ndarray, high: np.ndarray, best: np.ndarray
) -> list[float]:
    """Bounds close to the population; a distant one would compress the curve."""
    shown = np.concatenate([low, high, best])
    shown = shown[np.isfinite(shown)]
    if not len(shown):
        return []
    reach = 0.15 * float(np.ptp(shown))
    bounds = [float(row[key]) for key in ("lower", "upper") if key in row]
    return [b for b in bounds if shown.min() - reach <= b <= shown.max() + reach]


def _shown(values: np.ndarray, log: bool) -> np.ndarray:
    return np.where(values > 0, values, np.nan) if log else values


def _log_axis(log: bool) -> Json:
    return {"type": "log"} if log else {}


def _rounded(line: np.ndarray) -> list[float | None]:
    return [round(float(v), 3) if np.isfinite(v) else None for v in line]


def _as_number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else np.nan


def _words(key: str) -> str:
    return key.replace("_", " ")
