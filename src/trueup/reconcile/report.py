"""Report of reconciled runs."""

from pathlib import Path
from typing import Any

import numpy as np

from trueup import reports
from trueup.reports.symptoms import page_of_reason

_MOST_FIGURES = 40


def reconcile_report(content: dict[str, Any]) -> reports.Page:
    """Build the page: runs that do not fit, common values, values of each run.

    Args:
      content: content of ``reconcile.json``.
    """
    runs, parameters = content["runs"], content["parameters"]
    page = reports.Page(
        "Reconciled runs", subtitle=f"{len(runs)} runs, {len(parameters)} parameters"
    )
    lines = [("serious", f"{o['run']}: {o['reason']}.") for o in content["outlying"]]
    page_of_runs = page_of_reason("runs")
    if lines and page_of_runs:
        lines.append(("info", page_of_runs.sentence))
    lines = lines or [("good", "All runs are consistent.")]
    lines += [
        ("warning", f"{c['run']} is a copy of {c['of']}: they count as one run.")
        for c in content["copies"]
    ]
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
            reports.format_estimate(p["common"], p["low"], p["high"]),
            number(p["spread"], 3),
            reports.format_range(p["spread_low"], p["spread_high"]),
            p["unit"],
        ]
        for p in content["parameters"]
    ]
    percent = f"{100 * content['level']:.3g} %"
    columns = [
        "parameter",
        reports.Column(f"common, {percent} interval", align="right"),
        "spread",
        f"{percent} of the spread",
        "unit",
    ]
    notes = "Spread: standard deviation between runs; outlying runs are excluded from both."
    page.add(
        reports.Section(
            "Common values", "common", content=[reports.Table(columns, rows, notes=notes)]
        )
    )
    page.add(reports.Section("Each run", "runs", content=_figures(content)))
    return page


def _figures(content: dict[str, Any]) -> list[Any]:
    """One figure per parameter: the intervals of all runs and of the common value."""
    out: list[Any] = []
    outlying = {o["run"] for o in content["outlying"]}
    labels = [
        f"{Path(run).name} (does not fit)" if run in outlying else Path(run).name
        for run in content["runs"]
    ]
    for row in content["parameters"][:_MOST_FIGURES]:
        low, high = np.array([*row["intervals"], (row["low"], row["high"])], float).T
        values = np.append(np.asarray(row["values"], float), row["common"])
        shown = np.concatenate([low, high, values])
        shown = shown[np.isfinite(shown)]
        unit = f" [{row['unit']}]" if row["unit"] else ""
        out.append(
            reports.interval_figure(
                [*labels, "common"],
                values,
                low=low,
                high=high,
                lower=np.full(len(values), shown.min()),
                upper=np.full(len(values), shown.max()),
                title=row["name"] + unit,
            )
        )
    return out
