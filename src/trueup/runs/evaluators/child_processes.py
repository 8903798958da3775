"""Start of worker processes of a study: limited threads, Ctrl-C ignored."""

import contextlib
import os
import signal
from collections.abc import Iterable, Iterator
from multiprocessing import resource_tracker

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)
"""Environment variables that limit the threads of compiled libraries, read when these load."""


def thread_limits(threads: int) -> dict[str, str]:
    """Environment of a worker with a limited number of threads."""
    return dict.fromkeys(THREAD_VARIABLES, str(threads))


def default_threads(workers: int) -> int:
    """Threads per worker, so that all workers together use each core of this machine once."""
    return max(1, (os.cpu_count() or 1) // workers)


@contextlib.contextmanager
def environment(variables: dict[str, str]) -> Iterator[None]:
    """Set environment variables for processes started within the context."""
    with restored_environment(variables):
        os.environ.update(variables)
        yield


@contextlib.contextmanager
def restored_environment(names: Iterable[str]) -> Iterator[None]:
    """Restore environment variables of these names at the end of the context."""
    former = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in former.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Processes and threads started within the context ignore Ctrl-C from their start.

    A terminal sends Ctrl-C to every process of its foreground group, but the study controls its
    workers. A Ctrl-C within the context takes effect afterwards.
    """
    # started with the first process, this one would end the blocking
    resource_tracker.ensure_running()
    former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
