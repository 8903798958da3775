"""``trueup report`` and ``trueup compare``: commands on finished runs."""

from pathlib import Path
from typing import Any

from trueup.cli.identify import interval_text
from trueup.cli.output import Output
from trueup.errors import RunDirectoryError
from trueup.studies import RunDirectory
from trueup.sysid.outputs import read_signals, read_summary
from trueup.sysid.report import identification_report, save_path_of


def run_report(directory: Path, target: Path | None, output: Output) -> int:
    """Write the report of a run again; returns the exit code."""
    run = RunDirectory.open(directory)
    page = identification_report(read_summary(run), read_signals(run))
    path = page.save(save_path_of(target) if target else run.report)
    output.result({"report": str(path)})
    output.text(f"Report: {path}")
    return 0


def run_compare(directories: list[Path], output: Output) -> int:
    """Print runs side by side; returns the exit code."""
    if len(directories) < 2:
        raise RunDirectoryError(
            f"compare needs two or more run directories, got {len(directories)}"
        )
    summaries = [read_summary(RunDirectory.open(d)) for d in directories]
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
            for r in s["scores"]
            if r["predictor"] == "identified"
        )
    )
    scores = [
        [f"{channel}, {part}", *(_score(s, part, channel) for s in summaries)]
        for part, channel in keys
    ]
    output.table(["fit of channel", *labels], scores)
    output.result(
        {
            "runs": labels,
            "parameters": compared,
            "scores": [s["scores"] for s in summaries],
            "status": [s["status"] for s in summaries],
        }
    )
    return 0


def _value(record: dict[str, Any] | None) -> str:
    if record is None:
        return "-"
    return f"{record['value']:.5g} ({interval_text(record['low'], record['high'])})"


def _overlap(records: list[dict[str, Any]]) -> str:
    if len(records) < 2:
        return ""
    overlap = max(r["low"] for r in records) <= min(r["high"] for r in records)
    return "overlap" if overlap else "differ"


def _score(summary: dict[str, Any], part: str, channel: str) -> str:
    for r in summary["scores"]:
        if (r["part"], r["channel"], r["predictor"]) == (part, channel, "identified"):
            return f"{r['fit_percent']:.2f} % (RMSE {r['rmse']:.3g})"
    return "-"
