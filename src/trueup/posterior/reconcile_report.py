"""The page of reconciled runs."""

from typing import Any

import numpy as np

from trueup import reports
from trueup.posterior.reconciled import ReconciledRuns

_MOST_FIGURES = 40


def reconcile_report(found: ReconciledRuns) -> reports.Page:
    """Build the page: which run does not fit, common values, values of each run."""
    content = found.content()
    page = reports.Page(
        "Runs reconciled", subtitle=f"{len(found.runs)} runs, {len(found.names)} parameters"
    )
    lines = [("serious", f"{o['run']}: {o['reason']}.") for o in content["outlying"]]
    lines = lines or [("good", "Every run fits the others.")]
    varying = [p["name"] for p in content["parameters"] if not p["same"]]
    if varying:
        lines.append(
            ("info", f"Differ between runs by more than their intervals: {', '.join(varying)}.")
        )
    page.add(reports.Section("Runs that do not fit", "outlying", content=[reports.Findings(lines)]))
    number = reports.format_number
    rows = [
        [
            p["name"],
            number(p["common"]),
            f"{number(p['low'])} to {number(p['high'])}",
            number(p["spread"]),
            f"{number(p['spread_low'])} to {number(p['spread_high'])}",
            p["unit"],
        ]
        for p in content["parameters"]
    ]
    percent = f"{100 * content['level']:.3g} %"
    columns = ["parameter", "common", percent, "spread", f"{percent} of the spread", "unit"]
    notes = "Spread: standard deviation between runs; outlying runs are in neither."
    page.add(
        reports.Section(
            "Common values", "common", content=[reports.Table(columns, rows, notes=notes)]
        )
    )
    page.add(reports.Section("Each run", "runs", content=_figures(found)))
    return page


def _figures(found: ReconciledRuns) -> list[Any]:
    """One figure a parameter: the intervals of all runs and of the common value."""
    out: list[Any] = []
    common = found.from_search(found.pooled.common)
    ends = found.from_search(found.pooled.intervals.T).T
    outlying = {o.index for o in found.pooled.outlying}
    labels = [
        f"{run.name} (does not fit)" if i in outlying else run.name
        for i, run in enumerate(found.runs)
    ]
    for i, name in enumerate(found.names[:_MOST_FIGURES]):
        low = np.append(found.intervals[:, i, 0], ends[i, 0])
        high = np.append(found.intervals[:, i, 1], ends[i, 1])
        values = np.append(found.values[:, i], common[i])
        shown = np.concatenate([low, high, values])
        track = np.array([np.nanmin(shown), np.nanmax(shown)])
        unit = f" [{found.units[i]}]" if found.units[i] else ""
        out.append(
            reports.interval_figure(
                [*labels, "common"],
                values,
                low=low,
                high=high,
                lower=np.full(len(values), track[0]),
                upper=np.full(len(values), track[1]),
                title=name + unit,
            )
        )
    return out
