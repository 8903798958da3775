"""Section of a report on the repeats of a walk under unseen perturbations."""

import numpy as np

from trueup import reports
from trueup.gait.report._survival import Survival
from trueup.reports.figure import Figure, Json, LegendEntry, Plot, axis_title
from trueup.reports.numbers import rounded_to_span

STAYS, FALLS = "series-1", "series-2"
"""Colours of repeats that keep walking, and of those that fall or slow."""

_ROW, _TALLEST = 15, 640  # height per repeat, and largest total height [pixels]


def survival_section(found: Survival, prefix: str = "") -> reports.Section:
    """Section with the time and the distance of each repeat, and its perturbations.

    Args:
      found: repeats.
      prefix: prefix of the title.
    """
    content = [
        survival_figure(found),
        reports.Group(f"All {len(found.fell)} repeats", _table(found), collapsed=True),
    ]
    summary = f"{said(found)} {_perturbed(found)}"
    return reports.Section(f"{prefix}Under perturbations", summary=summary, content=content)


def said(found: Survival) -> str:
    """Summary of the number of repeats that keep walking and their distance."""
    slowed = int(found.slowed.sum())
    half = f"; {slowed} slowed to less than half the speed of the walk" if slowed else ""
    return (
        f"{found.survived} of {len(found.fell)} repeats under perturbations walk for the "
        f"{found.duration:g} s{half}. On average a repeat walks {found.walked.mean():.2f} m in "
        f"{found.lasted.mean():.2f} s; the shortest ends after {found.lasted.min():.2f} s and "
        f"{found.walked[int(found.lasted.argmin())]:.2f} m."
    )


def _perturbed(found: Survival) -> str:
    """Text on the perturbations and their sizes."""
    sizes = found.sizes
    parts = []
    if sizes.angle:
        parts.append(f"initial joint angles and lean (SD {sizes.angle:g} deg)")
    if sizes.speed:
        parts.append(f"the initial speed (SD {sizes.speed:g} m/s)")
    if sizes.friction:
        parts.append(f"the friction of the ground (up to ± {100.0 * sizes.friction:g} %)")
    if sizes.push:
        parts.append(f"a push against the trunk of 0.1 s (up to ± {sizes.push:g} N)")
    if sizes.noise:
        parts.append(
            f"noise of the measured signals (SD {sizes.noise:g} rad, m, body weights or fractions "
            "of the strength)"
        )
    if not parts:
        return "No perturbation: all sizes are 0."
    return f"Perturbed in each: {', '.join(parts)}. These draws are not used in searches."


def survival_figure(found: Survival) -> Figure:
    """Figure of the time and the distance of each repeat, longest first, with the pushes."""
    order = np.argsort(-(found.lasted + 1e-6 * found.walked), kind="stable")
    pushed = _pushed(found)
    height = int(min(70 + _ROW * len(order), _TALLEST))
    lasted = _bars(found, order, found.lasted, "s")
    if pushed.any():
        shown = [k for k, row in enumerate(order) if pushed[row]]
        rows = order[shown]
        lasted.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": rounded_to_span(found.draws.push_start[rows]),
                "y": shown,
                "marker": {"symbol": "line-ns-open", "size": 9, "color": "@ink"},
                "hovertext": [f"push of {found.draws.push[row]:.0f} N" for row in rows],
                "hoverinfo": "text",
                "legendgroup": "push",
                "name": "push",
            }
        )
    to_last: Json = {
        "type": "line",
        "xref": "x",
        "yref": "paper",
        "x0": found.duration,
        "x1": found.duration,
        "y0": 0,
        "y1": 1,
        "line": {"color": "@muted", "width": 1, "dash": "dash"},
    }
    plots = [
        _plot(lasted, order, "lasted", "s", "Time", height, [to_last]),
        _plot(_bars(found, order, found.walked, "m"), order, "walked", "m", "Distance", height),
    ]
    legend = [LegendEntry("keeps walking", STAYS, "bar", "up")]
    if _failed(found).any():
        legend.append(LegendEntry("falls or slows", FALLS, "bar", "down"))
    if pushed.any():
        legend.append(LegendEntry("time of the push", "ink", "line", "push"))
    legend.append(LegendEntry("duration of a complete walk", "muted", "dash"))
    caption = "One bar per repeat, the longest first; numbers refer to the table below."
    return Figure(tuple(plots), tuple(legend), "", caption, 2)


def _pushed(found: Survival) -> np.ndarray:
    """Whether each repeat was pushed before its end ``(n,)`` bool."""
    return (found.draws.push != 0.0) & (found.draws.push_start < found.lasted)


def _failed(found: Survival) -> np.ndarray:
    """Whether each repeat fell or slowed ``(n,)`` bool."""
    return found.fell | found.slowed


def _bars(found: Survival, order: np.ndarray, values: np.ndarray, unit: str) -> list[Json]:
    """Horizontal bars of the repeats that keep walking, and of the others."""
    bars: list[Json] = []
    failed = _failed(found)
    for group, fails, colour in (("up", False, STAYS), ("down", True, FALLS)):
        places = [k for k, row in enumerate(order) if bool(failed[row]) == fails]
        rows = order[places]
        if not len(rows):
            continue
        bars.append(
            {
                "type": "bar",
                "orientation": "h",
                "x": rounded_to_span(values[rows]),
                "y": places,
                "width": 0.7,
                "marker": {"color": f"@{colour}"},
                "hovertext": [_hover(found, int(row), float(values[row]), unit) for row in rows],
                "hoverinfo": "text",
                "legendgroup": group,
                "name": "keeps walking" if group == "up" else "falls or slows",
            }
        )
    return bars


def _hover(found: Survival, row: int, value: float, unit: str) -> str:
    return f"repeat {row + 1}: {value:.2f} {unit}, {found.ends[row]}"


def _plot(
    data: list[Json],
    order: np.ndarray,
    label: str,
    unit: str,
    title: str,
    height: int,
    shapes: list[Json] | None = None,
) -> Plot:
    few = len(order) <= 40
    layout: Json = {
        "xaxis": {"title": axis_title(label, unit), "rangemode": "tozero"},
        "yaxis": {
            "title": axis_title("repeat"),
            "range": [len(order) - 0.4, -0.6],
            "tickvals": list(range(len(order))) if few else [],
            "ticktext": [str(row + 1) for row in order] if few else [],
            "tickfont": {"size": 9},
            "showgrid": False,
            "zeroline": False,
        },
        "hovermode": "closest",
        "barmode": "overlay",
        "shapes": shapes or [],
    }
    return Plot(data, layout, title, height, description=f"{title} of each repeat in {unit}")


def _table(found: Survival) -> reports.Table:
    draws, turned, pushed = found.draws, np.rad2deg(found.turned), _pushed(found)
    columns = [
        reports.Column("repeat"),
        reports.Column("lasted", "s", digits=4),
        reports.Column("walked", "m", digits=4),
        reports.Column("end"),
        reports.Column("push", "N", digits=3, note="against the trunk, forwards positive"),
        *([reports.Column("heading", "deg", digits=3, note="0 is forwards")] * found.frontal),
        reports.Column("push at", "s", digits=3, align="right"),
        reports.Column("friction", "of its value", digits=3),
        reports.Column("angle", "deg", digits=3, note="largest change of an initial angle"),
        reports.Column("speed", "m/s", digits=3, note="change of the initial speed"),
    ]
    rows = [
        [
            i + 1,
            float(found.lasted[i]),
            float(found.walked[i]),
            found.ends[i],
            float(draws.push[i]) if pushed[i] else None,
            *([float(np.rad2deg(draws.heading[i])) if pushed[i] else None] * found.frontal),
            float(draws.push_start[i]) if pushed[i] else None,
            float(draws.friction[i]),
            float(turned[i]),
            float(found.quicker[i]),
        ]
        for i in range(len(found.fell))
    ]
    fallen = reports.Highlight("end", lambda end: end != "keeps walking", "warning")
    return reports.Table(columns, rows, highlights=[fallen])
