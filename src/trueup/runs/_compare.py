"""Finished runs side by side."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trueup.errors import RunDirectoryError
from trueup.runs.experiment_file import read_experiment
from trueup.runs.solution_file import interval_of, read_solution
from trueup.studies import RunDirectory


def compare(directories: Sequence[str | os.PathLike[str]]) -> dict[str, Any]:
    """Values, intervals, scores and costs of finished runs.

    Args:
      directories: two or more run directories.

    Returns:
      Plain data: ``runs``; ``parameters``, for each name the record of every run (None where it has
      none) and under ``agreement`` whether the intervals ``overlap`` or ``differ``; and for each
      run ``scores``, ``status``, ``cost`` and, where there are some, ``verdict``.

    Raises:
      RunDirectoryError: fewer than two directories, one is no run, or has no result to compare.
    """
    if len(directories) < 2:
        raise RunDirectoryError(
            f"compare needs two or more run directories, got {len(directories)}"
        )
    summaries = [_summary(Path(directory)) for directory in directories]
    names = list(dict.fromkeys(r["name"] for s in summaries for r in s["parameters"]))
    records = [{r["name"]: r for r in s["parameters"]} for s in summaries]
    parameters = []
    for name in names:
        found = [by_name.get(name) for by_name in records]
        present = [record for record in found if record is not None]
        parameters.append({"name": name, "runs": found, "agreement": _agreement(present)})
    return {
        "runs": [str(directory) for directory in directories],
        "parameters": parameters,
        "scores": [s.get("scores", []) for s in summaries],
        "status": [s["status"] for s in summaries],
        "cost": [s["cost"] for s in summaries],
        "verdict": [s.get("verdict") for s in summaries],
    }


def _summary(path: Path) -> dict[str, Any]:
    directory = RunDirectory.open(path)
    kind, _ = read_experiment(directory)
    if kind == "network":
        raise RunDirectoryError(
            f"{directory.path} is the training of a network, which has no parameters to compare: "
            "its scores stand in metrics.json and report.html"
        )
    return read_solution(directory)


def _agreement(records: list[dict[str, Any]]) -> str:
    ends = [interval_of(record) for record in records]
    if len(ends) < 2 or any(end is None for end in ends):
        return ""
    known = [end for end in ends if end is not None]
    overlap = max(low for low, _ in known) <= min(high for _, high in known)
    return "overlap" if overlap else "differ"
