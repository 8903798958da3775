"""Connection to a Dask scheduler with workers that hold a problem."""

import contextlib
import queue
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
from distributed import Client, Future, KilledWorker
from distributed.client import ClosedClientError

from trueup.errors import EvaluationError
from trueup.runs.evaluators.answers import Outcome
from trueup.runs.evaluators.chunks import Chunks
from trueup.runs.evaluators.dask_worker import WORKER, HoldProblem, evaluate_chunk
from trueup.runs.evaluators.worker_task import Mistake, raise_mistake

_LATENCY = 0.01  # s, from the end of a chunk to the start of the next on the same worker
_COUNT_AGAIN = 5.0  # interval between counts of the workers [s]
_POLL = 1.0  # polling interval of the cluster [s]
_FRUITLESS = 6  # maximum number of chunks that kill their workers before the first answer
_UNREACHABLE = (OSError, TimeoutError, CancelledError, ClosedClientError)


class DaskSession:
    """Evaluates chunks on the workers of a cluster.

    Args:
      client: connection to the scheduler.
      patience: maximum waiting time without a worker [s].
    """

    def __init__(self, client: Client, patience: float):
        self.chunks = Chunks(_LATENCY)
        self._client = client
        self._patience = patience
        self._token = uuid.uuid4().hex
        self._batches = 0
        self._count, self._counted = 0, 0.0
        self._answered = False

    @property
    def count(self) -> int:
        """Recent number of workers, after waiting for the first one.

        Raises:
          EvaluationError: no workers, or the scheduler is lost.
        """
        now = time.monotonic()
        if self._count and now < self._counted + _COUNT_AGAIN:
            return self._count
        while (count := self._worker_count()) == 0:
            if time.monotonic() > now + self._patience:
                raise self._no_workers()
            time.sleep(0.1)
        self._count, self._counted = count, time.monotonic()
        return count

    @contextlib.contextmanager
    def holding(self, payload: bytes, threads: int | None) -> Iterator[None]:
        """Send the problem to the workers, also to those that join later."""
        name = f"trueup-problem-{self._token}"
        with self._scheduler_needed():
            try:
                self._client.register_plugin(HoldProblem(self._token, payload, threads), name=name)
            except ImportError as error:
                raise self._other_packages(error) from error
        try:
            yield
        finally:
            if self._is_connected:
                # a worker that died has released the problem too
                with contextlib.suppress(*_UNREACHABLE):
                    self._client.unregister_worker_plugin(name)

    def evaluate(self, kind: str, X: np.ndarray, rows: list[slice]) -> list[Outcome]:
        """Evaluate slices of a batch; the outcomes cover it, in any order and cut.

        Raises:
          EvaluationError: the scheduler is lost, or all workers are lost for longer than the
            patience.
        """
        outcomes, suspects = self._evaluate_at_once(kind, X, rows)
        # Tasks that wait on a worker when it dies fail with the running one: so each suspect
        # is repeated alone, in smaller and smaller chunks.
        deaths = 0
        while suspects:
            self._answered = self._answered or bool(outcomes)
            deaths += 1
            if not self._answered and deaths > _FRUITLESS:
                raise EvaluationError(
                    "all workers died before evaluating a candidate: evaluate in this process (no "
                    "scheduler) to see the cause. If the memory is insufficient (SIGKILL), use "
                    "fewer workers per machine"
                )
            part = suspects.pop()
            middle = (part.start + part.stop) // 2
            halves = [slice(part.start, middle), slice(middle, part.stop)]
            for half in [h for h in halves if h.stop > h.start]:
                done, killers = self._evaluate_at_once(kind, X, [half])
                outcomes += done
                if killers and half.stop - half.start == 1:
                    outcomes.append(Outcome(half, None, "the workers that evaluated it died"))
                else:
                    suspects += killers
        return outcomes

    def _evaluate_at_once(
        self, kind: str, X: np.ndarray, rows: list[slice]
    ) -> tuple[list[Outcome], list[slice]]:
        """Outcomes of the answered chunks, and the chunks with dead workers."""
        self._batches += 1
        keys = [f"trueup-{self._token}-{self._batches}-{k}" for k in range(len(rows))]
        with self._scheduler_needed():
            futures = self._client.map(
                evaluate_chunk,
                [self._token] * len(rows),
                [kind] * len(rows),
                [X[part] for part in rows],
                key=keys,
                pure=False,
                retries=0,
            )
        part_of = dict(zip(keys, rows, strict=True))
        outcomes: list[Outcome] = []
        killers: list[slice] = []
        full: list[tuple[slice, Mistake]] = []
        try:
            for future in self._completed(futures):
                answer = self._result(future)
                if isinstance(answer, KilledWorker):
                    killers.append(part_of[str(future.key)])
                elif isinstance(answer, Mistake) and answer.of_machine:
                    full.append((part_of[str(future.key)], answer))
                elif isinstance(answer, Mistake):
                    raise_mistake(answer)
                else:
                    outcomes.append(Outcome(part_of[str(future.key)], answer))
            for part, mistake in full:
                answer = self._elsewhere(kind, X[part], mistake)
                if isinstance(answer, KilledWorker):
                    killers.append(part)
                else:
                    outcomes.append(Outcome(part, answer))
        except BaseException:
            if self._is_connected:
                with contextlib.suppress(*_UNREACHABLE):
                    self._client.cancel(futures)
            raise
        return outcomes, killers

    def _elsewhere(self, kind: str, X: np.ndarray, mistake: Mistake) -> Any:
        """The answer of a worker whose memory or disk is not full, or KilledWorker.

        Raises:
          Exception: that of the last worker, if all of them are full.
        """
        tried: set[str] = set()
        while True:
            tried.add(mistake.worker.removeprefix(WORKER))
            with self._scheduler_needed():
                workers: Any = self._client.nthreads()
                others = [address for address in workers if address not in tried]
                if not others:
                    raise_mistake(mistake)
                future = self._client.submit(
                    evaluate_chunk,
                    *(self._token, kind, X),
                    key=f"trueup-{self._token}-{uuid.uuid4().hex}",
                    pure=False,
                    retries=0,
                    workers=others,
                )
            (future,) = self._completed([future])
            answer = self._result(future)
            if not isinstance(answer, Mistake):
                return answer
            if not answer.of_machine:
                raise_mistake(answer)
            mistake = answer

    def _completed(self, futures: list[Future]) -> Iterator[Future]:
        """Futures as they finish or fail."""
        ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
        for future in futures:
            future.add_done_callback(ended.put)
        deadline = time.monotonic() + self._patience
        for _ in futures:
            while True:
                try:
                    future = ended.get(timeout=_POLL)
                    break
                except queue.Empty:
                    if self._worker_count():
                        deadline = time.monotonic() + self._patience
                    elif time.monotonic() > deadline:
                        raise self._no_workers() from None
            yield future

    def _result(self, future: Future) -> Any:
        """The answer of a finished future, or KilledWorker if its workers died.

        Raises:
          EvaluationError: the scheduler is lost, or the worker cannot run tasks of this process.
        """
        with self._scheduler_needed():
            while True:
                try:
                    return future.result(timeout=self._patience)
                except KilledWorker as error:
                    return error
                except TimeoutError:
                    # its worker died with the answer, which is recomputed
                    if not self._worker_count():
                        raise self._no_workers() from None
                except _UNREACHABLE:
                    raise
                except Exception as error:
                    raise self._other_packages(error) from error

    def _worker_count(self) -> int:
        with self._scheduler_needed():
            workers: Any = self._client.nthreads()
            return len(workers)

    @property
    def _is_connected(self) -> bool:
        return self._client.status == "running"

    @contextlib.contextmanager
    def _scheduler_needed(self) -> Iterator[None]:
        try:
            yield
        except _UNREACHABLE as error:
            what = "the connection broke" if isinstance(error, CancelledError) else str(error)
            raise EvaluationError(
                f"the Dask scheduler at {self._address} is lost: {what}. Resume with another "
                "scheduler, or with workers=1 in this process"
            ) from error

    @property
    def _address(self) -> str:
        scheduler = self._client.scheduler
        return "an unknown address" if scheduler is None else str(scheduler.addr)

    def _no_workers(self) -> EvaluationError:
        return EvaluationError(
            f"the Dask scheduler at {self._address} has had no worker for {self._patience:g} s: "
            f"start workers with  dask worker {self._address} --nworkers 2 --nthreads 1  or check "
            "the logs of ended ones"
        )

    def _other_packages(self, error: Exception) -> EvaluationError:
        return EvaluationError(
            f"a worker of the Dask scheduler at {self._address} cannot evaluate: "
            f"{type(error).__name__}: {error}. Workers require the same versions of Python, trueup "
            "and Dask as this process"
        )
