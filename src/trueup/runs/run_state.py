"""Progress of a run, read from its directory; the run may be in progress."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueup.errors import RunDirectoryError
from trueup.runs.store.damage import read_as_written
from trueup.runs.store.database import Store
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import read_solution


@dataclass(frozen=True)
class RunState:
    """State of a run, from its directory."""

    directory: RunDirectory
    kind: str
    state: str
    """``running``, ``stopped`` (it can be resumed), the status of the search, or ``finished``."""
    cost: float | None
    """Lowest cost; for a finished network the RMSE of its scores [N m]."""
    evaluations: int
    """Evaluated candidates; for networks the epochs of all folds and members."""
    generations: int
    failed: int
    """Number of invalid candidates."""
    seconds: float
    """Time of the search, of all sessions [s]."""
    age: float
    """Time since the last write [s]."""
    solution: dict[str, Any] | None
    """Content of ``solution.json``; None before the end."""


def study_state(directory: RunDirectory, kind: str) -> RunState:
    """State of a run from ``study.sqlite`` and ``solution.json``.

    Raises:
      RunDirectoryError: a file is damaged.
    """
    solution = read_solution(directory) if directory.solution.is_file() else None
    evaluations = generations = failed = 0
    seconds, cost = 0.0, None
    if directory.study.is_file():
        with Store.open(directory.study) as store:
            evaluations, failed, seconds = (
                store.evaluations,
                store.failed_evaluations(),
                store.seconds(),
            )
            best, last = store.best(), store.last_state()
        cost = None if best is None else best[2]
        generations = 0 if last is None else last[0] + 1
    with read_as_written(directory.solution):
        stats = (solution or {}).get("stats", {})
        ended = solution is not None and stats.get("evaluations", 0) >= evaluations
        state = str((solution or {}).get("status")) if ended else "stopped"
        if solution is not None and ended:
            cost = solution.get("cost", cost)
            evaluations = max(evaluations, stats.get("evaluations", 0))
        cost = None if cost is None else float(cost)
    return RunState(
        directory=directory,
        kind=kind,
        state="running" if is_running(directory) else state,
        cost=cost,
        evaluations=evaluations,
        generations=generations,
        failed=failed,
        seconds=seconds,
        age=age_of(directory),
        solution=solution if ended else None,
    )


def is_running(directory: RunDirectory) -> bool:
    """Whether a process holds the lock of the directory; nothing is written."""
    if not (directory.path / "run.lock").exists() or not os.access(directory.path, os.W_OK):
        return False
    try:
        with directory.lock():
            return False
    except RunDirectoryError:
        return True


def age_of(directory: RunDirectory) -> float:
    """Time since the last write of a file of the run [s]."""
    entries: list[Path] = [entry for entry in directory.path.iterdir() if entry.is_file()]
    latest = max((entry.stat().st_mtime for entry in entries), default=0.0)
    return max(0.0, time.time() - latest)


def training_state(
    directory: RunDirectory,
    kind: str,
    *,
    finished: bool,
    cost: float | None,
    steps: int,
    seconds: float,
) -> RunState:
    """State of a training run, with its steps as evaluations.

    Args:
      directory: run directory.
      kind: kind of work.
      finished: whether its results exist.
      cost: error of a finished one.
      steps: epochs or gradient steps so far.
      seconds: time that they took [s].
    """
    return RunState(
        directory=directory,
        kind=kind,
        state="running" if is_running(directory) else "finished" if finished else "stopped",
        cost=cost,
        evaluations=steps,
        generations=steps,
        failed=0,
        seconds=seconds,
        age=age_of(directory),
        solution=None,
    )
