"""Worker process of a pool: start, pipe, end."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from multiprocessing.connection import Connection, wait
from typing import Any

from trueup.runs.evaluators.child_processes import (
    environment,
    interrupts_blocked,
    thread_limits,
)
from trueup.runs.evaluators.worker_task import evaluate, mistake_of, unpack

READY = "ready"
"""Message of a worker that holds the problem."""

_GRACE = 2.0  # time for an idle process to end [s]


class PoolWorker:
    """A process that holds the problem and evaluates one chunk at a time.

    It ignores Ctrl-C, which the study handles, and ends with the process that started it.

    Args:
      number: index of the worker, for its name.
      threads: threads that compiled libraries may use in it.
    """

    def __init__(self, number: int, threads: int):
        self.ready = False
        """Whether it holds the problem and waits for chunks."""
        self.chunk: Any = None
        """Current chunk."""
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(theirs, threads), name=f"trueup worker {number}", daemon=True
        )
        try:
            with environment(thread_limits(threads)), interrupts_blocked():
                self.process.start()
        finally:
            theirs.close()

    def send(self, message: bytes) -> None:
        """Send bytes; a dead worker is detected when its answer is received."""
        with contextlib.suppress(OSError):
            self.connection.send_bytes(message)

    def receive(self) -> Any:
        """The next answer, or None if the worker is dead."""
        try:
            return pickle.loads(self.connection.recv_bytes())
        except (OSError, EOFError):
            return None

    def cause_of_death(self) -> str:
        """Cause of a process's end, in words."""
        self.process.join(_GRACE)
        if self.process.is_alive():  # it has closed its pipe, and cannot be used any more
            self.process.kill()
            self.process.join()
        code = self.process.exitcode or 0
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"was ended by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def close(self) -> None:
        """Release an idle worker; terminate a busy one."""
        if self.chunk is not None or not self.ready:
            self.process.kill()
        self.connection.close()

    def join(self) -> None:
        """Wait for the end of the process, and kill it after a timeout."""
        self.process.join(_GRACE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


def first_heard(workers: list[PoolWorker]) -> list[PoolWorker]:
    """Wait until some workers have answered or died, and return these."""
    sources: dict[Any, PoolWorker] = {}
    for worker in workers:
        sources[worker.connection] = worker
        sources[worker.process.sentinel] = worker
    heard = [sources[source] for source in wait(list(sources))]
    return list(dict.fromkeys(heard))


def _serve(connection: Connection, threads: int) -> None:
    """Body of a worker: the problem first, then chunks until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    name = f"{multiprocessing.current_process().name} (process {os.getpid()})"
    with contextlib.suppress(EOFError, OSError):  # the study is over
        payload = connection.recv_bytes()
        try:
            problem = unpack(payload, threads)
        except Exception as error:
            mistake = mistake_of(error, name)
            mistake.rebuilding = True
            _send(connection, mistake, name)
            return
        _send(connection, READY, name)
        while True:
            kind, X = pickle.loads(connection.recv_bytes())
            try:
                answer = evaluate(problem, kind, X)
            except Exception as error:
                answer = mistake_of(error, name)
            _send(connection, answer, name)


def _send(connection: Connection, answer: Any, name: str) -> None:
    try:
        message = pickle.dumps(answer, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        message = pickle.dumps(mistake_of(error, name))
    connection.send_bytes(message)


def _end_with_parent() -> None:
    """End this process immediately after the one that started it has ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
