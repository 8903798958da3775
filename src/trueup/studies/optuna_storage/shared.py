"""An evaluator whose candidates are evaluated by every process that shares its storage."""

import contextlib
import dataclasses
import math
import secrets
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from trueup.errors import EvaluationError, StorageError
from trueup.studies.optuna_storage.claims import (
    Posting,
    SharedTrials,
    digest_of_batch,
    digest_of_problem,
)
from trueup.studies.optuna_storage.database import Database
from trueup.studies.optuna_storage.ownership import adopt_study, default_storage, run_identity
from trueup.studies.run_directory import RunDirectory

_SHORTEST_WAIT = 0.01  # [s] between two looks at the storage
_LONGEST_WAIT = 0.25
_BETWEEN_COUNTS = 0.5  # [s] at most: so soon is a new worker left its share
_MOST_LOSSES = 3  # claims on one candidate that may be lost


class SharedStorage:
    """Evaluate the candidates of a study in every process that shares its storage.

    The candidates of a generation become waiting trials of an Optuna study. Processes that run
    :func:`work` on the same problem claim some of them, evaluate them in one call and write the
    answers back; so does this one. They may come and go at any time, on any machine that reaches
    the storage. Each candidate is evaluated once, except where a process dies over it: then others
    do it again, and a late answer is dropped. The numbers are those of a run without sharing, bit
    for bit, with any database.

    A storage that goes away (a server that restarts) is waited for. A run that was killed and is
    resumed finds the answers that were written meanwhile.

    Only costs are shared. A search that evaluates residuals does so in this process.

    Args:
        directory: of the run.
        storage: URL of the database; unless given, an SQLite file ``trials.sqlite`` in the run
            directory, which serves the processes of one machine.
        study_name: name of the study; unless given, that of the run directory.
        load: continue the numbering of a study that exists.
        evaluates: whether this process evaluates candidates too.
        batch_size: most candidates that it takes at once; unless given, half of its fair share of
            what waits.
        lease: a worker that gives no sign of life for so long is taken for dead [s].
        patience: how long a storage that is away is waited for [s].
    """

    def __init__(
        self,
        directory: RunDirectory,
        storage: str | None = None,
        study_name: str | None = None,
        *,
        load: bool = False,
        evaluates: bool = True,
        batch_size: int | None = None,
        lease: float = 30.0,
        patience: float = 300.0,
    ):
        self.directory = directory
        self.storage = storage or default_storage(directory)
        self.study_name = study_name or directory.path.name
        self.load = load
        self.evaluates = evaluates
        self.batch_size = batch_size
        self.lease = lease
        self.patience = patience

    @contextlib.contextmanager
    def over(self, problem: Any) -> Iterator[Any]:
        """``problem`` with costs from all processes that share the storage.

        Raises:
            StorageError: the storage cannot be reached, or the study belongs to another run.
            MissingExtraError: optuna is not installed.
            EvaluationError: (from an evaluation) the storage stayed away, or a candidate was lost
                with three processes.
        """
        run = run_identity(self.directory)
        database = Database.open(self.storage, create=not self.load)
        try:
            objectives = tuple(getattr(problem, "objectives", ("cost",)))
            space = problem.space
            study = adopt_study(database, self.study_name, run, space, objectives, load=self.load)
            trials = SharedTrials(database, study, space, self.patience)
            posting = Posting(run, digest_of_problem(space, objectives), self.lease)
            coordinator = _Coordinator(self, problem, trials, posting)
            coordinator.begin()
            try:
                yield _SharedProblem(problem, coordinator)
            finally:
                coordinator.end()
        finally:
            database.close()


class _SharedProblem:
    """A problem whose costs are computed by whoever shares the storage."""

    def __init__(self, problem: Any, coordinator: "_Coordinator"):
        self._problem = problem
        self._coordinator = coordinator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)

    def costs(self, X: np.ndarray, failures: dict[int, str] | None = None) -> np.ndarray:
        """Costs ``(n, k)`` of candidates ``X (n, p)``."""
        X = np.atleast_2d(np.asarray(X, float))
        try:
            costs, invalid = self._coordinator.evaluate(X)
        except StorageError as error:
            raise EvaluationError(str(error)) from error
        if failures is not None:
            failures.update(invalid)
        return costs


class _Coordinator:
    def __init__(
        self, settings: SharedStorage, problem: Any, trials: SharedTrials, posting: Posting
    ):
        self.settings = settings
        self.problem = problem
        self.trials = trials
        self.posting = posting
        self.watch = _Watch(trials, settings.lease)
        self._name = f"run-{secrets.token_hex(4)}"
        self._claims = 0
        self._former: dict[int, tuple[str, list[int]]] = {}
        self._replayed: int | None = None

    def begin(self) -> None:
        """Find what an earlier sitting has posted, and give back what it had claimed."""
        self._former = self.trials.batches(self.posting.run)
        if self._former:
            batch = max(self._former)
            numbers = self._former[batch][1]
            self.posting = dataclasses.replace(
                self.posting, batch=batch, first=numbers[0], last=numbers[-1]
            )
        self.trials.set_posting(self.posting)
        self.trials.release("run-", self.posting, lost=False)
        self.trials.forget_losses(self.posting)

    def end(self) -> None:
        """Tell the workers that nothing follows."""
        closed = dataclasses.replace(self.posting, is_open=False)
        # Away: the workers stop by themselves when it does not come back.
        with contextlib.suppress(StorageError):
            self.trials.patience = min(self.trials.patience, 5.0)
            self.trials.set_posting(closed)

    def evaluate(self, X: np.ndarray) -> tuple[np.ndarray, dict[int, str]]:
        """Costs ``(n, k)`` of candidates, and why some are invalid."""
        batch = self._find_former(X)
        if batch is None:
            self.posting, numbers = self.trials.post(self.posting, X)
        else:
            numbers = self._former[batch][1]
        if batch is None or batch == self.posting.batch:  # the ones before it are finished
            self._finish()
        return self.trials.answers(numbers)

    def _find_former(self, X: np.ndarray) -> int | None:
        """The batch that an earlier sitting posted for these candidates, if there is one.

        What it posted after its last checkpoint is asked for again, in the same order.
        """
        digest = digest_of_batch(X)
        if self._replayed is None:
            same = [batch for batch, (other, _) in self._former.items() if other == digest]
            found = max(same, default=None)
        else:
            follows = self._former.get(self._replayed + 1)
            found = self._replayed + 1 if follows and follows[0] == digest else None
        if found is None:
            self._former = {}
        self._replayed = found
        return found

    def _finish(self) -> None:
        """Evaluate, and wait for the others, until every trial that is posted has its answer."""
        wait = _SHORTEST_WAIT
        deserted = time.monotonic()
        while True:
            states = list(self.trials.states(self.posting).values())
            waiting = states.count("WAITING")
            if not waiting and "RUNNING" not in states:
                return
            self._give_back(self.watch.dead())
            if self.settings.evaluates and waiting and self._evaluate_some(waiting):
                wait = _SHORTEST_WAIT
                continue
            if self.settings.evaluates or self.watch.living:
                deserted = time.monotonic()
            elif time.monotonic() - deserted > self.settings.patience:
                raise EvaluationError(
                    f"no process has worked on the study {self.settings.study_name!r} for "
                    f"{self.settings.patience:.0f} s: start some, and continue"
                )
            time.sleep(wait)
            wait = min(1.5 * wait, _LONGEST_WAIT)

    def _evaluate_some(self, waiting: int) -> bool:
        limit = self.settings.batch_size or share_of(waiting, self.watch.living + 1)
        self._claims += 1
        claim = self.trials.claim(self.posting, f"{self._name}:{self._claims}", limit)
        if claim is None:
            return False
        failures: dict[int, str] = {}
        costs = np.asarray(self.problem.costs(claim.X, failures), float)
        self.trials.report(claim, costs.reshape(len(claim.X), -1), failures)
        return True

    def _give_back(self, dead: list[str]) -> None:
        for worker in dead:
            losses = self.trials.release(f"{worker}:", self.posting, lost=True)
            self.trials.set_worker(worker, None)
            if losses >= _MOST_LOSSES:
                raise EvaluationError(
                    f"a candidate was lost with {losses} processes one after the other, the last "
                    f"being {worker}: see what ends them, and continue"
                )


class _Watch:
    """Tells which workers are alive, by their counts and the clock of this process alone.

    Time in which this process did not look counts at most half a lease: the storage may have been
    away, and nobody could give a sign of life.
    """

    def __init__(self, trials: SharedTrials, lease: float):
        self._trials = trials
        self._lease = lease
        self._seen: dict[str, tuple[int, float]] = {}  # count, and for how long it has stood [s]
        self._last = 0.0
        self._interruptions = 0

    @property
    def living(self) -> int:
        """Number of workers."""
        return len(self._seen)

    def dead(self) -> list[str]:
        """Workers that gave no sign of life for the length of a lease."""
        since = time.monotonic() - self._last
        if since < min(self._lease / 10.0, _BETWEEN_COUNTS):
            return []
        counts = self._trials.workers()
        self._last = time.monotonic()
        if self._interruptions != self._trials.database.interruptions:
            self._interruptions = self._trials.database.interruptions
            self._seen = {}
        stood = min(since, self._lease / 2.0)
        former, self._seen = self._seen, {}
        for worker, count in counts.items():
            last, age = former.get(worker, (None, 0.0))
            self._seen[worker] = (count, age + stood if count == last else 0.0)
        return [worker for worker, (_, age) in self._seen.items() if age > self._lease]


def share_of(waiting: int, processes: int) -> int:
    """How many of the waiting candidates to take: half of a fair share, for some are slower."""
    return max(1, math.ceil(waiting / (2 * processes))) if processes > 1 else max(1, waiting)
