"""Checkpoints of a study: schedule and files."""

import time
from collections.abc import Callable
from typing import Any

from trueup.runs.store.atomic import write_json
from trueup.runs.store.database import Store
from trueup.runs.store.event_log import EventLog
from trueup.runs.store.run_directory import RunDirectory

SHARE_OF_TIME = 0.02
"""Maximum share of the run time for checkpoints."""

LOGGED_STEP = 1e-3
"""Growth of the number of evaluations between two lines of the log, as a share of it.

A run of any length has so at most some thousands of them.
"""

_PARAMETERS_WAIT = 2.0  # interval to write better parameters between two checkpoints [s]
_LONGEST_WAIT = 10.0  # maximum interval between checkpoints, regardless of that share [s]
_FIRST_GUESS = 0.01  # initial estimate of the duration of a checkpoint [s]


class Checkpoints:
    """Checkpoints of a study: its store, the current parameters, and lines in the log.

    A generation that takes longer than fifty checkpoints is saved immediately. Faster ones share a
    checkpoint, so that saving takes 2 % of the time.
    """

    def __init__(self, directory: RunDirectory, store: Store, log: EventLog):
        self._directory = directory
        self._store = store
        self._log = log
        self._last = time.monotonic()
        self._seconds = _FIRST_GUESS
        self._logged = 0  # evaluations at the last line of the log
        self._written_cost: float | None = None
        self._written = self._last

    @property
    def is_due(self) -> bool:
        """Whether the next checkpoint is within its share of the time since the last one."""
        wait = min(self._seconds / SHARE_OF_TIME, _LONGEST_WAIT)
        return time.monotonic() - self._last >= wait

    def save(
        self,
        state: dict[str, Any],
        generation: int,
        cost: float,
        parameters: Callable[[], Any] | None,
    ) -> None:
        """Commit the recorded evaluations, and write the parameters if they are new.

        Raises:
            RunDirectoryError: a file cannot be written; the last checkpoint is intact.
        """
        started = time.monotonic()
        is_new = self._store.has_pending
        self._store.flush(state)
        self._write_parameters(cost, parameters)
        evaluations = self._store.evaluations
        if is_new and evaluations >= (1.0 + LOGGED_STEP) * self._logged:
            self._log.write("checkpoint", generation=generation, evaluations=evaluations, cost=cost)
            self._logged = evaluations
        self._last = time.monotonic()
        # exponential average with factor 1/2: one slow write on a busy disk has a short effect
        self._seconds += 0.5 * (self._last - started - self._seconds)

    def keep_parameters_fresh(self, cost: float, parameters: Callable[[], Any] | None) -> None:
        """Write better parameters between two distant checkpoints.

        Raises:
            RunDirectoryError: the file cannot be written; the previous one is intact.
        """
        if time.monotonic() - self._written >= _PARAMETERS_WAIT:
            self._write_parameters(cost, parameters)

    def _write_parameters(self, cost: float, parameters: Callable[[], Any] | None) -> None:
        if parameters is not None and cost != self._written_cost:
            write_json(self._directory.parameters, parameters())
            self._written_cost, self._written = cost, time.monotonic()
