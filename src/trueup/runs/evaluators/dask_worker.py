"""Task of a Dask worker; imports Dask, so import it only where Dask is installed."""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from distributed import WorkerPlugin

from trueup.runs.evaluators.answers import Answer
from trueup.runs.evaluators.worker_task import Mistake, evaluate, mistake_of, unpack

_SETTLING = 0.5
"""Delay before a worker evaluates [s]. Its nanny detects it within 0.05 s; if the worker has died
by then, the nanny takes the next one, which is still starting, as running, and fails on closing."""

WORKER = "worker "
"""Word before the address in the name of a worker."""


@dataclass
class _Held:
    payload: bytes
    threads: int | None
    problem: Any = None
    unpacked: bool = False
    since: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)


_held: dict[str, _Held] = {}
"""Token -> problem that this worker holds."""


class HoldProblem(WorkerPlugin):
    """Plugin that keeps a problem on each worker, also on those that join later.

    Args:
      token: identifier for tasks.
      payload: the problem, see :func:`trueup.runs.evaluators.worker_task.pack`.
      threads: threads that it may start; None: no limit.
    """

    def __init__(self, token: str, payload: bytes, threads: int | None):
        self.token = token
        self.payload = payload
        self.threads = threads

    def setup(self, worker: Any) -> None:
        """Store the problem; the first task unpickles it, so that it can report errors."""
        _held[self.token] = _Held(self.payload, self.threads)

    def teardown(self, worker: Any) -> None:
        """Release the problem."""
        _held.pop(self.token, None)


def evaluate_chunk(token: str, kind: str, X: np.ndarray) -> Answer | Mistake:
    """Evaluate a chunk with the problem of this worker, one chunk at a time."""
    from distributed import get_worker

    held = _held[token]
    name = f"{WORKER}{get_worker().address}"
    with held.lock:
        try:
            if not held.unpacked:
                held.problem = unpack(held.payload, held.threads)
                held.unpacked = True
                time.sleep(max(held.since + _SETTLING - time.monotonic(), 0.0))
        except Exception as error:
            mistake = mistake_of(error, name)
            mistake.rebuilding = True
            return mistake
        try:
            return evaluate(held.problem, kind, X)
        except Exception as error:
            return mistake_of(error, name)
