"""How far a run is, read from its folder; the run may be in progress."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueup.cli.run_kinds import NETWORK, kind_of
from trueup.errors import RunDirectoryError
from trueup.studies import RunDirectory, Store, atomic


@dataclass(frozen=True)
class RunState:
    """What a run directory tells about its run."""

    directory: RunDirectory
    kind: str
    state: str
    """``running``, ``stopped`` (it can be resumed), how the search ended, or ``finished``."""
    cost: float | None
    """Lowest cost; of a finished network the RMSE of its scores [N m]."""
    evaluations: int
    """Candidates; of networks epochs, those of all folds and members."""
    generations: int
    failed: int
    seconds: float
    """Time of the search, all sittings [s]."""
    age: float
    """Time since something was written [s]."""
    solution: dict[str, Any] | None
    """Content of ``solution.json``; a network has none."""


def run_state(path: Path) -> RunState:
    """Read the state of a run.

    Raises:
      RunDirectoryError: the folder is no run, or a file in it is damaged.
    """
    directory = RunDirectory.open(path)
    kind = kind_of(directory) if directory.experiment.is_file() else "unknown"
    if kind == NETWORK:
        return _network_state(directory)
    solution = atomic.read_json(directory.solution) if directory.solution.is_file() else None
    if solution is not None and not isinstance(solution, dict):
        raise RunDirectoryError(f"{directory.solution} is damaged: it holds no mapping")
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
    stats = (solution or {}).get("stats", {})
    ended = solution is not None and stats.get("evaluations", 0) >= evaluations
    state = str((solution or {}).get("status")) if ended else "stopped"
    if solution is not None and ended:
        cost = solution.get("cost", cost)
        evaluations = max(evaluations, stats.get("evaluations", 0))
    return RunState(
        directory=directory,
        kind=kind,
        state="running" if _is_running(directory) else state,
        cost=None if cost is None else float(cost),
        evaluations=evaluations,
        generations=generations,
        failed=failed,
        seconds=seconds,
        age=max(0.0, time.time() - _last_written(directory.path)),
        solution=solution if ended else None,
    )


def _network_state(directory: RunDirectory) -> RunState:
    """The state of a training, whose results stand in ``metrics.json``."""
    metrics = directory.inside("metrics.json")
    finished, cost, seconds = metrics.is_file(), None, 0.0
    if finished:
        content = atomic.read_json(metrics)
        try:
            cost = float(content["rmse"])
            parts = content.get("folds", {"": content}).values()
            seconds = float(sum(part["training_seconds"] for part in parts))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise RunDirectoryError(f"{metrics} is damaged: {error!r}") from error
    epochs = 0
    for history in directory.path.rglob("history.jsonl"):
        with history.open("rb") as lines:
            epochs += sum(1 for _ in lines)
    return RunState(
        directory=directory,
        kind=NETWORK,
        state="running" if _is_running(directory) else "finished" if finished else "stopped",
        cost=cost,
        evaluations=epochs,
        generations=epochs,
        failed=0,
        seconds=seconds,
        age=max(0.0, time.time() - _last_written(directory.path)),
        solution=None,
    )


def _is_running(directory: RunDirectory) -> bool:
    """Whether a living process holds the folder; nothing is written to find out."""
    if not (directory.path / "run.lock").exists() or not os.access(directory.path, os.W_OK):
        return False
    try:
        with directory.lock():
            return False
    except RunDirectoryError:
        return True


def _last_written(folder: Path) -> float:
    return max(
        (entry.stat().st_mtime for entry in folder.iterdir() if entry.is_file()), default=0.0
    )
