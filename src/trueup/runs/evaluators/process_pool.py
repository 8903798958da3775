"""Evaluation by a pool of processes on this machine, for single-threaded problems."""

import contextlib
import os
import pickle
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from trueup.errors import EvaluationError, FitError
from trueup.runs.evaluators.answers import Answer, Outcome
from trueup.runs.evaluators.child_processes import default_threads
from trueup.runs.evaluators.chunks import Chunks
from trueup.runs.evaluators.pool_worker import READY, PoolWorker, first_heard
from trueup.runs.evaluators.remote_problem import RemoteProblem
from trueup.runs.evaluators.worker_task import Mistake, pack, raise_mistake

_LATENCY = 1e-3  # s, from the end of a chunk to the start of the next on the same worker
_TRIES = 3  # number of workers that a single candidate must kill to be invalid


class ProcessPool:
    """Evaluate in processes of this machine, each of them with its copy of the problem.

    For problems that evaluate one candidate at a time; one that evaluates batches, such as a
    :class:`trueup.sysid.GrayBoxProblem`, is faster in this process, where it uses all cores.

    A worker that dies is replaced, and its candidates are reevaluated in smaller and smaller
    chunks; a candidate that kills every worker is invalid, with that reason. An exception on a
    worker is raised in the study, with a note that contains the traceback of the worker.

    Args:
      workers: number of processes; None: one per core.
      threads: threads of compiled libraries in each; None: the cores are shared among the workers.

    Raises:
      FitError: not a positive number.
    """

    def __init__(self, workers: int | None = None, *, threads: int | None = None):
        self.workers = (os.cpu_count() or 1) if workers is None else workers
        if self.workers < 1 or (threads is not None and threads < 1):
            raise FitError(
                "a process pool requires at least one worker and one thread: found "
                f"workers={workers}"
                f", threads={threads}"
            )
        self.threads = threads or default_threads(self.workers)

    @contextlib.contextmanager
    def over(self, problem: Any) -> Iterator[Any]:
        """A problem with the answers of ``problem``, computed by the processes.

        Raises:
          EvaluationError: the problem cannot be sent, or the processes do not start; within the
            context, if the workers are permanently lost.
        """
        pool = _Pool(pack(problem, by_value=False), self.workers, self.threads)
        try:
            pool.start()
            yield RemoteProblem(problem, pool)
        finally:
            pool.close()


class _Pool:
    """The workers and their current chunks."""

    def __init__(self, payload: bytes, count: int, threads: int):
        self.chunks = Chunks(_LATENCY)
        self.count = count
        self._payload = payload
        self._threads = threads
        self._workers: list[PoolWorker] = []
        self._started = 0
        self._answered = False
        self._deaths = 0

    def start(self) -> None:
        """Start all workers, and wait until each has the problem."""
        for _ in range(self.count):
            self._add()
        for worker in self._workers:
            worker.send(self._payload)
        while waiting := [w for w in self._workers if not w.ready]:
            for worker in first_heard(waiting):
                self._greet(worker)

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.close()
        for worker in self._workers:
            worker.join()
        self._workers.clear()

    def evaluate(self, kind: str, X: np.ndarray, rows: list[slice]) -> list[Outcome]:
        """Evaluate slices of a batch; the outcomes cover it, in any order and division.

        Raises:
          EvaluationError: workers die for every chunk, or do not start any more.
        """
        self._replace_stale()
        todo = deque(_Chunk(part) for part in rows)
        outcomes: list[Outcome] = []
        left = len(X)
        while left:
            for worker in self._workers:
                if todo and worker.ready and worker.chunk is None:
                    worker.chunk = todo.popleft()
                    worker.send(pickle.dumps((kind, X[worker.chunk.rows])))
            for worker in first_heard([w for w in self._workers if w.chunk or not w.ready]):
                if not worker.ready:
                    self._greet(worker)
                    continue
                chunk, answer = worker.chunk, worker.receive()
                worker.chunk = None
                if isinstance(answer, Mistake):
                    raise_mistake(answer)
                if isinstance(answer, Answer):
                    self._answered = True
                    outcome = Outcome(chunk.rows, answer)
                else:
                    outcome = self._mourn(worker, chunk, todo)
                if outcome is not None:
                    outcomes.append(outcome)
                    left -= outcome.rows.stop - outcome.rows.start
        return outcomes

    def _replace_stale(self) -> None:
        """Replace workers that died idle, and those busy with an aborted batch."""
        for worker in [w for w in self._workers if w.chunk or not w.process.is_alive()]:
            worker.process.kill()
            worker.process.join()
            self._remove(worker)
            self._add().send(self._payload)

    def _mourn(self, worker: PoolWorker, chunk: "_Chunk", todo: "deque[_Chunk]") -> Outcome | None:
        """Replace a dead worker; return the outcome of its candidate if that is the cause."""
        cause = worker.cause_of_death()
        self._remove(worker)
        self._deaths += 1
        if not self._answered and self._deaths >= 2 * self.count + 2:
            raise EvaluationError(
                f"{self._deaths} workers died before evaluating a candidate, the last one {cause}: "
                "evaluate in this process (without workers) to see the cause. If the memory is "
                "insufficient (SIGKILL), use fewer workers"
            )
        self._add().send(self._payload)
        if chunk.size > 1:
            # after all chunks that are not suspected
            todo.extend(chunk.halves())
            return None
        chunk.deaths += 1
        if chunk.deaths < _TRIES:
            todo.append(chunk)
            return None
        return Outcome(
            chunk.rows, None, f"{chunk.deaths} workers died evaluating it, the last one {cause}"
        )

    def _greet(self, worker: PoolWorker) -> None:
        """Process the reply of a new worker to the problem that it was sent."""
        answer = worker.receive()
        if answer == READY:
            worker.ready = True
            return
        if isinstance(answer, Mistake):
            raise_mistake(answer)
        raise EvaluationError(
            f"a worker {worker.cause_of_death()} before it was ready; its message is above. A "
            "script that starts workers requires the guard  if __name__ == '__main__':"
        )

    def _add(self) -> PoolWorker:
        self._started += 1
        worker = PoolWorker(self._started, self._threads)
        self._workers.append(worker)
        return worker

    def _remove(self, worker: PoolWorker) -> None:
        self._workers.remove(worker)
        worker.connection.close()
        worker.process.close()


class _Chunk:
    def __init__(self, rows: slice):
        self.rows = rows
        self.deaths = 0

    @property
    def size(self) -> int:
        return self.rows.stop - self.rows.start

    def halves(self) -> "list[_Chunk]":
        middle = (self.rows.start + self.rows.stop) // 2
        return [_Chunk(slice(self.rows.start, middle)), _Chunk(slice(middle, self.rows.stop))]
