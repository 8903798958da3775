"""Comparison of finished runs."""

import os
from collections.abc import Sequence
from typing import Any

from trueup._marks import KEY, joined
from trueup.errors import RunDirectoryError
from trueup.runs.kinds import function_of, kind_of
from trueup.runs.store.input_check import check_inputs
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import interval_of


def compare(
    directories: Sequence[str | os.PathLike[str]], *, anyway: bool = False
) -> dict[str, Any]:
    """Values, intervals, scores and costs of finished runs.

    Args:
      directories: two or more run directories.
      anyway: accept runs with changed inputs.

    Returns:
      Plain data: ``runs``; ``parameters``, for each name the record of every run (None if missing)
      and under ``agreement`` whether the intervals ``overlap`` or ``differ``; and for each run
      ``scores``, ``status``, ``cost`` and, if available, ``verdict``. ``made_although`` lists
      changed inputs.

    Raises:
      RunDirectoryError: fewer than two directories, one is not a run, has no result, or its inputs
        have changed.
    """
    if len(directories) < 2:
        raise RunDirectoryError(
            f"compare requires at least two run directories, found {len(directories)}"
        )
    opened = [RunDirectory.open(directory) for directory in directories]
    marks = [check_inputs(directory, anyway=anyway).mark for directory in opened]
    summaries = [function_of(kind_of(each), "compared")(each) for each in opened]
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
        **({KEY: joined(*marks)} if any(marks) else {}),
    }


def _agreement(records: list[dict[str, Any]]) -> str:
    ends = [interval_of(record) for record in records]
    if len(ends) < 2 or any(end is None for end in ends):
        return ""
    known = [end for end in ends if end is not None]
    overlap = max(low for low, _ in known) <= min(high for _, high in known)
    return "overlap" if overlap else "differ"
