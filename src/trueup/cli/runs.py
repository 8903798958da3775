"""``trueup report`` and ``trueup compare``: commands on finished runs."""

from pathlib import Path
from typing import Any

from trueup.cli.identify import interval_text
from trueup.cli.output import Output
from trueup.cli.run_kinds import IDENTIFICATION, NETWORK, kind_of, report_of
from trueup.errors import RunDirectoryError
from trueup.studies import RunDirectory
from trueup.sysid.report import save_path_of
from trueup.sysid.results.outputs import read_summary


def run_report(directory: Path, target: Path | None, output: Output) -> int:
    """Write the report of a run, of whatever kind it is; returns the exit code."""
    run = RunDirectory.open(directory)
    page = report_of(run)
    path = page.save(save_path_of(target) if target else run.report)
    output.result({"report": str(path)})
    output.text(f"Report: {path}")
    return 0


def _summary(directory: Path) -> dict[str, Any]:
    run = RunDirectory.open(directory)
    if not run.solution.is_file() and kind_of(run) == NETWORK:
        raise RunDirectoryError(
            f"{run.path} is the training of a network, which has no parameters to compare: its "
            "scores stand in metrics.json and report.html"
        )
    if not run.solution.is_file() and kind_of(run) != IDENTIFICATION:
        raise RunDirectoryError(
            f"{run.path} has no solution.json: the run did not finish; continue it with  "
            f"trueup study resume {run.path}"
        )
    return read_summary(run)


def run_compare(directories: list[Path], output: Output) -> int:
    """Print runs side by side; returns the exit code."""
    if len(directories) < 2:
        raise RunDirectoryError(
            f"compare needs two or more run directories, got {len(directories)}"
        )
    summaries = [_summary(d) for d in directories]
    labels = [str(d) for d in directories]
    names = list(dict.fromkeys(r["name"] for s in summaries for r in s["parameters"]))
    records = [{r["name"]: r for r in s["parameters"]} for s in summaries]
    rows, compared = [], []
    for name in names:
        found = [r.get(name) for r in records]
        overlap = _overlap([f for f in found if f is not None])
        rows.append([name, *(_value(f) for f in found), overlap])
        compared.append({"name": name, "runs": found, "agreement": overlap})
    output.table(["parameter", *labels, "intervals"], rows)
    keys = list(
        dict.fromkeys(
            (r["part"], r["channel"])
            for s in summaries
            for r in s.get("scores", ())
            if r["predictor"] == "identified"
        )
    )
    scores = [
        [f"{channel}, {part}", *(_score(s, part, channel) for s in summaries)]
        for part, channel in keys
    ]
    if scores:
        output.table(["fit of channel", *labels], scores)
    costs = [["cost", *(f"{s['cost']:.6g}" for s in summaries)]]
    output.table(["", *labels], [*costs, ["ended", *(s["status"] for s in summaries)]])
    output.result(
        {
            "runs": labels,
            "parameters": compared,
            "scores": [s.get("scores", []) for s in summaries],
            "status": [s["status"] for s in summaries],
            "cost": [s["cost"] for s in summaries],
        }
    )
    return 0


def _value(record: dict[str, Any] | None) -> str:
    if record is None:
        return "-"
    if "low" not in record:  # a search over costs gives no intervals
        return f"{record['value']:.5g}"
    return f"{record['value']:.5g} ({interval_text(record['low'], record['high'])})"


def _overlap(records: list[dict[str, Any]]) -> str:
    if len(records) < 2 or not all("low" in record for record in records):
        return ""
    overlap = max(r["low"] for r in records) <= min(r["high"] for r in records)
    return "overlap" if overlap else "differ"


def _score(summary: dict[str, Any], part: str, channel: str) -> str:
    for r in summary.get("scores", ()):
        if (r["part"], r["channel"], r["predictor"]) == (part, channel, "identified"):
            return f"{r['fit_percent']:.2f} % (RMSE {r['rmse']:.3g})"
    return "-"
