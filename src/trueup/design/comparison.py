"""Comparison of predicted intervals with those of the recording."""

import os
from typing import Any

import numpy as np

from trueup._marks import KEY, joined
from trueup.errors import RunDirectoryError
from trueup.runs.store.damage import read_as_written
from trueup.runs.store.input_check import RESULT, check_inputs
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import interval_of, read_solution


def compared_with(
    design: str | os.PathLike[str], run: str | os.PathLike[str], *, anyway: bool = False
) -> dict[str, Any]:
    """Compare the intervals that a design predicted with those of the recording's identification.

    Args:
      design: run directory of the design.
      run: run directory of the identification.
      anyway: accept runs with changed inputs.

    Returns:
      ``parameters`` with ``name``, ``predicted`` and ``obtained`` half-widths in the unit of the
      parameter and their ``ratio``; ``median`` and ``within``, the fraction within 25 %; if inputs
      have changed, ``made_although`` lists them.

    Raises:
      RunDirectoryError: one is not such a run, inputs have changed, or they have no parameter
        in common.
    """
    first, second = RunDirectory.open(design), RunDirectory.open(run)
    # the run that the design started from may be replaced by the one with its recording
    marks = [
        check_inputs(first, anyway=anyway, except_for=(RESULT,)).mark,
        check_inputs(second, anyway=anyway).mark,
    ]
    planned, found = read_solution(first), read_solution(second)
    if planned.get("kind") not in ("design", "bench design"):
        raise RunDirectoryError(f"{first.path} is not the design of a recording (trueup design)")
    with read_as_written(second.solution):
        got = {r["name"]: r for r in found["parameters"]}
    rows = []
    for row in planned["parameters"]:
        ends = interval_of(got.get(row["name"], {}))
        if ends is None or row["unknown"] or None in ends:
            continue
        expected = 0.5 * (row["high"] - row["low"])
        obtained = 0.5 * (ends[1] - ends[0])
        if expected > 0 and np.isfinite(obtained) and obtained > 0:
            rows.append(
                {
                    "name": row["name"],
                    "predicted": expected,
                    "obtained": obtained,
                    "ratio": obtained / expected,
                }
            )
    if not rows:
        raise RunDirectoryError(
            f"{first.path} and {second.path} have no parameter with an interval in common"
        )
    ratios = np.array([r["ratio"] for r in rows])
    return {
        "design": str(first.path),
        "run": str(second.path),
        "parameters": rows,
        "median": float(np.median(ratios)),
        "within": float(np.mean((ratios > 0.8) & (ratios < 1.25))),
        **({KEY: joined(*marks)} if any(marks) else {}),
    }
