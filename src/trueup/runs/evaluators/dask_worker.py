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
"""Time after which a worker begins to evaluate [s]. The process that watches over it learns within
0.05 s that it is there; where it has died by then, that process takes the next one, which is only
being started, for running, and fails when it is closed."""


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
    """Makes each worker hold a problem, those that join later too.

    Args:
      token: what tasks call it.
      payload: the problem, see :func:`trueup.runs.evaluators.worker_task.pack`.
      threads: threads that it may start; None leaves that to the problem.
    """

    def __init__(self, token: str, payload: bytes, threads: int | None):
        self.token = token
        self.payload = payload
        self.threads = threads

    def setup(self, worker: Any) -> None:
        """Take the problem; it is unpacked by the first task, which can say what is wrong."""
        _held[self.token] = _Held(self.payload, self.threads)

    def teardown(self, worker: Any) -> None:
        """Let go of the problem."""
        _held.pop(self.token, None)


def evaluate_chunk(token: str, kind: str, X: np.ndarray) -> Answer | Mistake:
    """Evaluate a chunk by the problem of this worker, one chunk at a time."""
    from distributed import get_worker

    held = _held[token]
    name = f"worker {get_worker().address}"
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
