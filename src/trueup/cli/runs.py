"""``trueup report`` and ``trueup compare``: commands on finished runs."""

from pathlib import Path
from typing import Any

from trueup import runs
from trueup._marks import KEY
from trueup.cli.output import Output
from trueup.reports import format_estimate
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import interval_of
from trueup.sysid.report import save_path_of


def run_report(directory: Path, target: Path | None, output: Output, anyway: bool = False) -> int:
    """Write the report of a run of any kind; returns the exit code."""
    run = RunDirectory.open(directory)
    page = runs.report(run, anyway=anyway)
    path = page.save(save_path_of(target) if target else run.report)
    output.result({"report": str(path), **({} if page.mark is None else {KEY: page.mark})})
    output.text(f"Report: {path}")
    return 0


def run_compare(directories: list[Path], output: Output, anyway: bool = False) -> int:
    """Print runs side by side; returns the exit code."""
    found = runs.compare(directories, anyway=anyway)
    labels, scores = found["runs"], found["scores"]
    rows = [
        [p["name"], *(_value(record) for record in p["runs"]), p["agreement"]]
        for p in found["parameters"]
    ]
    output.table(["parameter", *labels, "intervals"], rows)
    keys = list(
        dict.fromkeys(
            (r["part"], r["channel"])
            for run in scores
            for r in run
            if r["predictor"] == "identified"
        )
    )
    if keys:
        shown = [
            [f"{channel}, {part}", *(_score(run, part, channel) for run in scores)]
            for part, channel in keys
        ]
        output.table(["fit of channel", *labels], shown)
    output.table(
        ["", *labels],
        [
            ["cost", *(f"{cost:.6g}" for cost in found["cost"])],
            ["ended", *found["status"]],
            *_verdicts(found["verdict"]),
        ],
    )
    output.result(found)
    return 0


def _value(record: dict[str, Any] | None) -> str:
    if record is None:
        return "-"
    ends = interval_of(record)
    if ends is None:  # a search over costs has no intervals
        return f"{record['value']:.5g}"
    return format_estimate(record["value"], *ends)


def _score(scores: list[dict[str, Any]], part: str, channel: str) -> str:
    for r in scores:
        if (r["part"], r["channel"], r["predictor"]) == (part, channel, "identified"):
            error = f"RMSE {r['rmse']:.3g}"
            fit = r["fit_percent"]
            return error if fit is None else f"{fit:.2f} % ({error})"
    return "-"


def _verdicts(verdicts: list[dict[str, Any] | None]) -> list[list[str]]:
    if not any(verdicts):
        return []
    return [["verdict", *(str(v["grade"]) if v else "-" for v in verdicts)]]
