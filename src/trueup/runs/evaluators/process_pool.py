"""Evaluation by processes of this machine, for problems that do not use its cores themselves."""

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
_TRIES = 3  # workers that a single candidate may end before it is taken to be at fault


class ProcessPool:
    """Evaluate in processes of this machine, each of them with its copy of the problem.

    For problems that evaluate one candidate after another; one that batches natively, such as a
    :class:`trueup.sysid.GrayBoxProblem`, is faster in this process, where it uses all cores.

    A worker that dies is replaced, and its candidates are evaluated again, in ever smaller chunks;
    a candidate that ends every worker is invalid, with that reason. An exception on a worker is
    raised in the study, with a note that holds the traceback of the worker.

    Args:
      workers: number of processes; unless given, one a core.
      threads: threads that compiled libraries may use in each; unless given, the cores are shared
        among the workers.

    Raises:
      FitError: not a positive number.
    """

    def __init__(self, workers: int | None = None, *, threads: int | None = None):
        self.workers = (os.cpu_count() or 1) if workers is None else workers
        if self.workers < 1 or (threads is not None and threads < 1):
            raise FitError(
                f"a process pool needs at least one worker and one thread: found workers={workers}"
                f", threads={threads}"
            )
        self.threads = threads or default_threads(self.workers)

    @contextlib.contextmanager
    def over(self, problem: Any) -> Iterator[Any]:
        """A problem with the answers of ``problem``, computed by the processes.

        Raises:
          EvaluationError: the problem cannot be sent, or the processes do not start; within the
            context, when the workers are lost for good.
        """
        pool = _Pool(pack(problem, by_value=False), self.workers, self.threads)
        try:
            pool.start()
            yield RemoteProblem(problem, pool)
        finally:
            pool.close()


class _Pool:
    """The workers, and what each of them is doing."""

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
        """Start all workers at once, and wait until each holds the problem."""
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
        """Evaluate slices of a batch; the outcomes cover it, in any order and cut.

        Raises:
          EvaluationError: workers die whatever they are given, or do not start any more.
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
        """Replace workers that died idle, and those at work on a batch that was given up."""
        for worker in [w for w in self._workers if w.chunk or not w.process.is_alive()]:
            worker.process.kill()
            worker.process.join()
            self._remove(worker)
            self._add().send(self._payload)

    def _mourn(self, worker: PoolWorker, chunk: "_Chunk", todo: "deque[_Chunk]") -> Outcome | None:
        """Replace a worker that died; the outcome of its candidate if that is at fault."""
        cause = worker.cause_of_death()
        self._remove(worker)
        self._deaths += 1
        if not self._answered and self._deaths >= 2 * self.count + 2:
            raise EvaluationError(
                f"{self._deaths} workers died, the last one {cause}, and none has evaluated a "
                "candidate: evaluate in this process (without workers) to see why. A lack of "
                "memory ends processes by SIGKILL: fewer workers need less"
            )
        self._add().send(self._payload)
        if chunk.size > 1:
            # behind what is not suspected
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
        """Take what a new worker says about the problem that it was sent."""
        answer = worker.receive()
        if answer == READY:
            worker.ready = True
            return
        if isinstance(answer, Mistake):
            raise_mistake(answer)
        raise EvaluationError(
            f"a worker {worker.cause_of_death()} before it was ready; its own message is above. A "
            "script that starts workers needs its main part under  if __name__ == '__main__':"
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
