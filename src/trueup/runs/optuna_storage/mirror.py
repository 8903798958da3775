"""A study written into an Optuna storage while it runs, so that Optuna's tools show it."""

import threading
import time
import warnings
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup.errors import RunDirectoryError, StorageError, TrueupWarning
from trueup.fitting.solution import Solution
from trueup.runs.loop.generation import Generation
from trueup.runs.optuna_storage.database import Database
from trueup.runs.optuna_storage.ownership import (
    adopt_study,
    default_storage,
    run_identity,
    scales_in_study,
)
from trueup.runs.optuna_storage.trial_ranges import TrialRanges
from trueup.runs.optuna_storage.trials import NewTrial, insert_trials, storage_time
from trueup.runs.store.database import Store
from trueup.runs.store.history import History
from trueup.runs.trackers.tracker import Study

if TYPE_CHECKING:
    from sqlalchemy import Connection

_MIRRORED = "trueup:mirrored:"  # attribute of a study, and a run: its generations there

_SHARE_OF_TIME = 0.05  # largest part of the run time in which the mirror is written
_SHORTEST_PAUSE = 1.0  # [s] between two writings
_LONGEST_PAUSE = 60.0  # [s] however slow the storage is
_TRIALS_AT_ONCE = 2000  # in one transaction, where the storage has to catch up


class OptunaMirror:
    """A tracker that writes every evaluated candidate into an Optuna storage as a finished trial.

    The mirror follows what the run directory has committed, generations at a time, in a thread of
    its own. So it is never ahead of the run, holds nothing in memory, and catches up after a resume
    or a time in which the storage was away: no trial is missing, none stands twice.

    A valid candidate is a trial in the state COMPLETE with all its costs, which are minimised; an
    invalid one is in the state FAIL, with its reason as an attribute. Attributes tell its
    generation and its number therein. Optuna needs finite ranges: those of parameters without
    bounds are made up, and named in the study's attribute ``parameters without bounds``.

    Args:
        storage: URL of the database, such as ``sqlite:///study.db``. Unless given, a file
            ``trials.sqlite`` in the run directory.
        study_name: name of the study; unless given, that of the run directory.
        load: continue the numbering of a study that exists, whoever made it. Otherwise it must not
            exist, except from this run.
        patience: how long the end of a run waits for a storage that is away [s].
    """

    name = "the Optuna storage"

    def __init__(
        self,
        storage: str | None = None,
        study_name: str | None = None,
        *,
        load: bool = False,
        patience: float = 20.0,
    ):
        self._storage = storage
        self._study_name = study_name
        self._load = load
        self._patience = patience
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._has_warned = False
        self._next = 0.0

    def start(self, study: Study) -> None:
        """Reach the storage, and make or find the study.

        Raises:
            StorageError: the storage cannot be reached, or the study belongs to another run, does
                not exist although it is to be loaded, or has other parameters.
            MissingExtraError: optuna is not installed.
        """
        self._directory = study.directory
        self._run = run_identity(study.directory)
        url = self._storage or default_storage(study.directory)
        self._database = Database.open(url, create=not self._load)
        try:
            self._study = self._adopt(study)
            scales = scales_in_study(self._database, self._study, study.space)
            self._ranges = TrialRanges(study.space, scales)
            self._describe(study)
        except BaseException:
            self._database.close()
            raise
        self._next = 0.0

    def generation(self, generation: Generation) -> None:
        """See whether it is time to write, and let a thread do that."""
        if self._error is not None and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"{self._error}. The run goes on; what is missing there is added when it is back",
                TrueupWarning,
                stacklevel=2,
            )
        if time.monotonic() < self._next or self._is_writing:
            return
        self._thread = threading.Thread(target=self._write, name="Optuna mirror", daemon=True)
        self._thread.start()

    def end(self, solution: Solution) -> None:
        """Write what is left.

        Raises:
            StorageError: the storage is away; a resume writes what is missing.
        """
        try:
            if self._thread is not None:
                self._thread.join()
            self._follow(self._patience)
        except StorageError as error:
            raise StorageError(
                f"{error}. The study there lacks the last evaluations: resume the run to add them"
            ) from error
        finally:
            self._database.close()

    def _adopt(self, study: Study) -> int:
        """Number of the study that is written to."""
        name = self._study_name or study.directory.path.name
        return adopt_study(
            self._database, name, self._run, study.space, study.objectives, load=self._load
        )

    @property
    def _is_writing(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _write(self) -> None:
        began = time.monotonic()
        try:
            self._follow(0.0)
            self._error = None
        except (StorageError, RunDirectoryError) as error:
            self._error = error
        finally:
            self._database.storage.remove_session()
            now = time.monotonic()
            pause = max((now - began) / _SHARE_OF_TIME, _SHORTEST_PAUSE)
            self._next = now + min(pause, _LONGEST_PAUSE)

    def _follow(self, patience: float) -> None:
        """Write the generations that are committed and not there yet."""
        key = f"{_MIRRORED}{self._run}"
        there = self._database.transact(
            lambda c: self._database.attribute(c, self._study, key) or 0, patience
        )
        with Store.open(self._directory.study, verify=False) as store:
            history = store.history(first=there)
        for first, last in _portions(history):
            self._database.transact(
                lambda c, first=first, last=last: self._insert(c, history, first, last), patience
            )

    def _insert(self, connection: "Connection", history: History, first: int, last: int) -> None:
        """Write the rows ``first`` to ``last`` of a history, whole generations."""
        key = f"{_MIRRORED}{self._run}"
        self._database.lock(connection, self._study)
        # Another attempt may have come through without its receipt.
        there = self._database.attribute(connection, self._study, key) or 0
        rows = [i for i in range(first, last) if history.generation[i] >= there]
        if not rows:
            return
        trials = self._trials(history, rows)
        insert_trials(self._database, connection, self._study, self._ranges, trials)
        reached = int(history.generation[rows[-1]]) + 1
        self._database.set_attribute(connection, self._study, key, reached)

    def _trials(self, history: History, rows: list[int]) -> list[NewTrial]:
        ends = {record["generation"]: record["seconds"] for record in history.generations}
        # The history tells how long each generation took, and not at what time of the day.
        began = storage_time() - timedelta(seconds=max(ends.values()))
        trials = []
        for i in rows:
            number, costs = int(history.generation[i]), history.costs[i]
            reason = history.reasons.get(i)
            if reason is None and np.isnan(costs).any():
                reason = "the cost is not a number"
            shown: dict[str, Any] = {"generation": number, "candidate": int(history.candidate[i])}
            if reason is not None:
                shown["reason"] = reason
            end = ends[number]
            start = ends.get(number - 1, end if number else 0.0)
            trials.append(
                NewTrial(
                    x=history.X[i],
                    costs=costs,
                    is_valid=reason is None,
                    attributes=shown,
                    started=began + timedelta(seconds=start),
                    completed=began + timedelta(seconds=end),
                )
            )
        return trials

    def _describe(self, study: Study) -> None:
        """Write what the dashboard shows of the study itself."""
        shown = {"search": study.search}
        if self._ranges.unbounded:
            shown["parameters without bounds"] = ", ".join(self._ranges.unbounded)
        self._database.show(self._study, shown)


def _portions(history: History) -> list[tuple[int, int]]:
    """Cut a history into stretches of whole generations, ``(first row, row after the last)``."""
    size = len(history.generation)
    if size == 0:
        return []
    starts = np.flatnonzero(np.diff(history.generation, prepend=-1))
    cuts = [0]
    for start in starts.tolist():
        if start - cuts[-1] >= _TRIALS_AT_ONCE:
            cuts.append(start)
    return list(zip(cuts, [*cuts[1:], size], strict=True))
