"""Report of an explanation: verdict, ranked table, figure, values."""

from typing import Any

import numpy as np

from trueup import reports
from trueup.explain.next_steps import next_steps
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import read_solution

_STATES = {
    "named": "named",
    "not named": "",
    "no effect": "no effect here",
    "not in the model": "not in the model",
}

_LEFT = -10.0  # left end of the figure [%]


def report_of_run(directory: RunDirectory) -> reports.Page:
    """Report of a run directory.

    Raises:
      RunDirectoryError: the run has not finished.
    """
    return explanation_report(read_solution(directory))


def explanation_report(summary: dict[str, Any]) -> reports.Page:
    """Build the page.

    Args:
      summary: content of ``solution.json``.
    """
    page = reports.Page(
        f"Gap between simulation and recording: {summary['name']}",
        subtitle=summary["message"].split(". ")[0].rstrip(".") + ".",
        provenance=summary.get("provenance") or {},
    )
    page.add(reports.verdict_section(summary["verdict"]))
    steps = reports.Steps(next_steps(summary), title="")
    page.add(reports.Section("What next", "next", content=[steps]))
    page.add(_causes(summary))
    page.add(_gap(summary))
    page.add(_parameters(summary))
    if summary["notes"]:
        notes = [reports.Note(note) for note in summary["notes"]]
        page.add(reports.Section("Notes", "notes", content=notes))
    return page


def _causes(summary: dict[str, Any]) -> reports.Section:
    rows = summary["causes"]
    columns = ["rank", "cause", "explains", *_interval_title(summary), "unknowns", "state"]
    table = reports.Table(columns, [cause_row(row) for row in rows])
    shown = [r for r in rows if r["rank"] and np.isfinite(r["explained"])]
    low, high, values = (
        np.clip([100 * r[key] for r in shown], _LEFT, 100.0) for key in ("low", "high", "explained")
    )
    figure = reports.interval_figure(
        [r["label"] for r in shown],
        values,
        low=low,
        high=high,
        lower=np.full(len(shown), _LEFT - 5.0),
        upper=np.full(len(shown), 105.0),
        units="%",
        title="Fraction of the held-out error above noise that each cause explains alone",
        caption="Causes that increase the error are left of 0. Interval: noise, spread over time.",
    )
    text = reports.Text(
        "One linearisation with the unknowns of all causes gives what each promises. Those that "
        "promise most are fitted alone to the training part; the share of the others is that of "
        "one step. Errors are those on the held-out part."
    )
    return reports.Section("Causes", "causes", content=[text, table, figure])


def cause_row(row: dict[str, Any]) -> list[str]:
    """Cells of the ranked table."""
    if row["rank"] is None:
        return ["", row["label"], "", "", "", _STATES[row["state"]]]
    return [
        str(row["rank"]),
        row["label"],
        share_text(row["explained"]),
        f"{share_text(row['low'])} to {share_text(row['high'])}",
        str(row["unknowns"]),
        _state(row),
    ]


def _state(row: dict[str, Any]) -> str:
    if row["state"] == "together":
        return f"not distinguishable from {', '.join(row['together'])}"
    if row["state"] == "not named" and not row.get("fitted", True):
        return "one step"
    return _STATES[row["state"]]


def _interval_title(summary: dict[str, Any]) -> list[str]:
    return [f"{100 * summary['level']:.3g} %"]


def share_text(share: float) -> str:
    """A fraction in percent, or "worse" if the error is larger."""
    if not np.isfinite(share):
        return "fails"
    return f"{100 * share:.1f} %" if share > -1 else "worse"


def _gap(summary: dict[str, Any]) -> reports.Section:
    gap = summary["gap"]
    number = reports.format_number

    def times(error: float) -> str:
        return number(error / gap["noise"], 3) if gap["noise"] > 0 else ""

    named = ", ".join(summary["chosen"]) or "nothing"
    rows = [
        ["the initial model", number(gap["model"], 3), times(gap["model"])],
        [f"named: {named}", number(gap["explained"], 3), times(gap["explained"])],
        ["noise", number(gap["noise"], 3), "1"],
    ]
    if gap["all_free"] is not None:
        rows.insert(2, ["all causes freed", number(gap["all_free"], 3), times(gap["all_free"])])
    judged = reports.Text(f"Held-out data: {', '.join(summary['held_out'])}.")
    table = reports.Table(["held-out error", "weighted RMS", "ratio to noise"], rows)
    torques = summary.get("torques")
    shown = [reports.Text(torques["sentence"])] if torques else []
    return reports.Section("The gap", "gap", content=[judged, table, *shown])


def _parameters(summary: dict[str, Any]) -> reports.Section:
    content: list[Any] = []
    number = reports.format_number
    for row in summary["causes"]:
        if not row.get("parameters"):
            continue
        body = [
            [
                p["name"],
                number(p["model"], 4) if np.isfinite(p["model"]) else "none",
                reports.format_estimate(p["value"], p["low"], p["high"]),
                p["unit"],
                "on a bound" if p["at_bound"] else "changed" if p["changed"] else "",
            ]
            for p in row["parameters"]
        ]
        (level,) = _interval_title(summary)
        freed = reports.Column(f"freed, {level} interval", align="right")
        columns = ["unknown", "model", freed, "unit", "remark"]
        title = f"{row['label']}: {row['check']}"
        content.append(reports.Group(title, reports.Table(columns, body)))
    note = reports.Note(
        "Values of named causes come from their joint fit, those of the others "
        "from the fit of the cause alone: for a wrong cause they are wrong."
    )
    return reports.Section("Values", "values", content=[note, *content])
