"""When and how the state of a study goes to the disk."""

import time
from collections.abc import Callable
from typing import Any

from trueup.runs.store.atomic import write_json
from trueup.runs.store.database import Store
from trueup.runs.store.event_log import EventLog
from trueup.runs.store.run_directory import RunDirectory

SHARE_OF_TIME = 0.02
"""Largest part of the run time that checkpoints may take."""

_PARAMETERS_WAIT = 2.0  # [s] after which better parameters are written between two checkpoints
_LONGEST_WAIT = 10.0  # [s] where even that share would let checkpoints wait for longer
_FIRST_GUESS = 0.01  # [s] that a checkpoint takes, before one was made


class Checkpoints:
    """Save a study: its store, the parameters so far, and a line in the log.

    A generation that takes longer than fifty checkpoints is saved at once. Faster ones share a
    checkpoint, so that saving takes 2 % of the time.
    """

    def __init__(self, directory: RunDirectory, store: Store, log: EventLog):
        self._directory = directory
        self._store = store
        self._log = log
        self._last = time.monotonic()
        self._seconds = _FIRST_GUESS
        self._written_cost: float | None = None
        self._written = self._last

    @property
    def is_due(self) -> bool:
        """Whether the time since the last checkpoint pays for the next one."""
        wait = min(self._seconds / SHARE_OF_TIME, _LONGEST_WAIT)
        return time.monotonic() - self._last >= wait

    def save(
        self,
        state: dict[str, Any],
        generation: int,
        cost: float,
        parameters: Callable[[], Any] | None,
    ) -> None:
        """Commit what the store has recorded, and write the parameters where they are new.

        Raises:
            RunDirectoryError: something cannot be written; the last checkpoint is whole.
        """
        started = time.monotonic()
        is_new = self._store.has_pending
        self._store.flush(state)
        self._write_parameters(cost, parameters)
        if is_new:
            self._log.write(
                "checkpoint", generation=generation, evaluations=self._store.evaluations, cost=cost
            )
        self._last = time.monotonic()
        # Half the weight on the newest: one slow write on a busy disk does not rule for long.
        self._seconds += 0.5 * (self._last - started - self._seconds)

    def keep_parameters_fresh(self, cost: float, parameters: Callable[[], Any] | None) -> None:
        """Write better parameters between two checkpoints, where those are far apart.

        Raises:
            RunDirectoryError: the file cannot be written; the former one is whole.
        """
        if time.monotonic() - self._written >= _PARAMETERS_WAIT:
            self._write_parameters(cost, parameters)

    def _write_parameters(self, cost: float, parameters: Callable[[], Any] | None) -> None:
        if parameters is not None and cost != self._written_cost:
            write_json(self._directory.parameters, parameters())
            self._written_cost, self._written = cost, time.monotonic()
