"""A process that evaluates candidates of a study that another one runs."""

import os
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from trueup.errors import StorageError
from trueup.studies.optuna_storage.claims import Posting, SharedTrials, digest_of_problem
from trueup.studies.optuna_storage.database import Database
from trueup.studies.optuna_storage.shared import share_of

_WAIT = 0.02  # [s] between two looks at the storage, growing
_LONGEST_WAIT = 0.5
_SIGNS_A_LEASE = 5.0


def work(
    problem: Any,
    storage: str,
    study_name: str,
    *,
    batch_size: int | None = None,
    patience: float = 300.0,
    on_answer: Callable[[int], None] | None = None,
) -> int:
    """Evaluate candidates of a shared study until it ends; return how many.

    The study is the one of a run with :class:`SharedStorage` on the same problem. This process may
    start before it, and outlives a run that is killed and resumed.

    Args:
        problem: offers ``space`` and ``costs``; the one that the run searches.
        storage: URL of the database, reached from this machine.
        study_name: name of the study.
        batch_size: most candidates to take at once; unless given, half of a fair share of what
            waits.
        patience: how long to wait for a storage that is away, a study that is not there yet, and
            the next candidate [s].
        on_answer: called with the number of evaluated candidates after each answer.

    Raises:
        StorageError: the storage or the study stayed away for that time, or the study is that of
            another problem.
        MissingExtraError: optuna is not installed.
    """
    database = _reach(storage, patience)
    try:
        study = _wait_for_study(database, study_name, patience)
        trials = SharedTrials(database, study, problem.space, patience)
        name = f"worker-{os.getpid()}-{secrets.token_hex(4)}"  # no host name leaves the machine
        return _Worker(problem, trials, name, study_name, batch_size, on_answer).run()
    finally:
        database.close()


class _Worker:
    def __init__(
        self,
        problem: Any,
        trials: SharedTrials,
        name: str,
        study_name: str,
        batch_size: int | None,
        on_answer: Callable[[int], None] | None,
    ):
        self.problem = problem
        self.trials = trials
        self.name = name
        self.study_name = study_name
        self.batch_size = batch_size
        self.on_answer = on_answer
        self._evaluated = 0
        self._claims = 0
        self._posting: Posting | None = None

    def run(self) -> int:
        began = time.monotonic()
        wait = _WAIT
        signs: _SignsOfLife | None = None
        try:
            while True:
                posting = self._posting = self._read()
                if posting is not None and signs is None:
                    signs = _SignsOfLife(self.trials, self.name, posting.lease)
                    signs.start()
                if posting is not None and self._evaluate_some(posting):
                    began, wait = time.monotonic(), _WAIT
                    continue
                if posting is not None and not posting.is_open:
                    return self._evaluated
                if time.monotonic() - began > self.trials.patience:
                    raise StorageError(
                        f"the study {self.study_name!r} had no candidate for "
                        f"{self.trials.patience:.0f} s: start its run, or resume it, then this "
                        "process again"
                    )
                time.sleep(wait)
                wait = min(1.5 * wait, _LONGEST_WAIT)
        finally:
            if signs is not None:
                signs.stop()
                self._leave()

    def _read(self) -> Posting | None:
        posting = self.trials.posting()
        if posting is None:
            return None
        objectives = tuple(getattr(self.problem, "objectives", ("cost",)))
        if posting.problem != digest_of_problem(self.problem.space, objectives):
            raise StorageError(
                f"the study {self.study_name!r} is that of another problem: its parameters, "
                "bounds, scales or objectives differ from those given here"
            )
        return posting

    def _evaluate_some(self, posting: Posting) -> bool:
        waiting = sum(state == "WAITING" for state in self.trials.states(posting).values())
        if not waiting:
            return False
        # Together with the process of the run.
        limit = self.batch_size or share_of(waiting, len(self.trials.workers()) + 1)
        self._claims += 1
        claim = self.trials.claim(posting, f"{self.name}:{self._claims}", limit)
        if claim is None:
            return False
        failures: dict[int, str] = {}
        costs = np.asarray(self.problem.costs(claim.X, failures), float)
        self._evaluated += self.trials.report(claim, costs.reshape(len(claim.X), -1), failures)
        if self.on_answer is not None:
            self.on_answer(self._evaluated)
        return True

    def _leave(self) -> None:
        """Give back what is claimed, and leave the list of workers."""
        self.trials.patience = min(self.trials.patience, 5.0)
        try:
            if self._posting is not None:
                self.trials.release(f"{self.name}:", self._posting, lost=False)
            self.trials.set_worker(self.name, None)
        except StorageError:
            return  # away: the run gives it back when the lease has run out


class _SignsOfLife:
    """Raise the count of a worker in a thread, so that its claims stay its own."""

    def __init__(self, trials: SharedTrials, name: str, lease: float):
        self._trials = trials
        self._name = name
        self._pause = lease / _SIGNS_A_LEASE
        self._count = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="signs of life", daemon=True)

    def start(self) -> None:
        self._trials.set_worker(self._name, 0)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._pause):
            self._count += 1
            # The next sign tries again; the loop of the worker tells of a storage that is away.
            try:
                self._trials.set_worker(self._name, self._count, patience=0.0)
            except StorageError:
                continue


def _reach(storage: str, patience: float) -> Database:
    began = time.monotonic()
    while True:
        try:
            return Database.open(storage, create=False)
        except StorageError:
            if time.monotonic() - began >= patience:
                raise
        time.sleep(_LONGEST_WAIT)


def _wait_for_study(database: Database, name: str, patience: float) -> int:
    began = time.monotonic()
    while True:
        study = database.find_study(name)
        if study is not None:
            return study
        if time.monotonic() - began >= patience:
            return database.existing_study(name)
        time.sleep(_LONGEST_WAIT)
