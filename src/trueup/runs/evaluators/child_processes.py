"""Start of the processes that work for a study: few threads each, Ctrl-C ignored."""

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
    """Environment of a worker that may use so many threads."""
    return dict.fromkeys(THREAD_VARIABLES, str(threads))


def default_threads(workers: int) -> int:
    """Threads a worker, so that all workers together use the cores of this machine once."""
    return max(1, (os.cpu_count() or 1) // workers)


@contextlib.contextmanager
def environment(variables: dict[str, str]) -> Iterator[None]:
    """Environment variables that a process started meanwhile inherits."""
    with restored_environment(variables):
        os.environ.update(variables)
        yield


@contextlib.contextmanager
def restored_environment(names: Iterable[str]) -> Iterator[None]:
    """Environment variables of these names are afterwards as before."""
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
    """Processes and threads started meanwhile are deaf to Ctrl-C from their first moment on.

    A terminal sends Ctrl-C to every process of its foreground group; what happens to workers is for
    the study to decide. A Ctrl-C that comes meanwhile takes effect afterwards.
    """
    # started with the first process, this one would end the blocking
    resource_tracker.ensure_running()
    former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
