"""Finished runs side by side."""

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
      anyway: take runs whose inputs have changed too.

    Returns:
      Plain data: ``runs``; ``parameters``, for each name the record of every run (None where it has
      none) and under ``agreement`` whether the intervals ``overlap`` or ``differ``; and for each
      run ``scores``, ``status``, ``cost`` and, where there are some, ``verdict``. Where inputs have
      changed, ``made_although`` says which.

    Raises:
      RunDirectoryError: fewer than two directories, one is no run, has no result to compare, or was
        made from other inputs than there are now.
    """
    if len(directories) < 2:
        raise RunDirectoryError(
            f"compare needs two or more run directories, got {len(directories)}"
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
