"""Problems for evaluators: slow ones, deadly ones, faulty ones."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np

from trueup.errors import FitError
from trueup.fitting.problem import LARGE_COST, LARGE_RESIDUAL, Problem, ResidualGroup
from trueup.parameters import Space


def box(size):
    """A space of some elements between -5 and 5."""
    return Space(
        names=tuple("abcdefgh"[:size]),
        lower=np.full(size, -5.0),
        upper=np.full(size, 5.0),
        start=np.ones(size),
        log=np.zeros(size, bool),
    )


class Sphere(Problem):
    """Two costs; candidates beyond 4 are invalid. Notes which process evaluated how many."""

    objectives = ("near", "far")

    def __init__(self, pause=0.0, journal=None):
        self.space = box(3)
        self.pause = pause
        self.journal = journal and str(journal)
        self.threads = None

    def limit_threads(self, threads):
        self.threads = threads

    def costs(self, X, failures=None):
        for x in X:
            time.sleep(self.pause)
            self.each(x)
        if self.journal:
            name = Path(self.journal) / f"{os.getpid()}.{time.monotonic_ns()}"
            name.write_text(f"{len(X)} {self.threads} {os.environ.get('OMP_NUM_THREADS')}")
        costs = np.stack([((X - 0.3) ** 2).sum(axis=1), ((X + 1.0) ** 2).sum(axis=1)], axis=1)
        for row in np.flatnonzero(np.abs(X).max(axis=1) > 4.0):
            costs[row] = LARGE_COST
            failures[int(row)] = f"{X[row, 0]:.9g} is out of reach"
        return costs

    def each(self, x):
        """What happens at each candidate."""


class KillsOnce(Sphere):
    """The process that meets the flag's absence dies, once, in the middle of a chunk."""

    def __init__(self, flag, **options):
        super().__init__(**options)
        self.flag = str(flag)

    def each(self, x):
        try:
            os.close(os.open(self.flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)


class Deadly(Sphere):
    """A candidate whose first element is above ``limit`` ends its process."""

    limit = 3.0

    def each(self, x):
        if x[0] > self.limit:
            os.kill(os.getpid(), signal.SIGKILL)


class StationaryError(Exception):
    """Cannot travel: it holds a lock."""

    def __init__(self, message):
        super().__init__(message)
        self.lock = threading.Lock()


class Faulty(Sphere):
    """A mistake in the problem."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def each(self, x):
        if self.error == "own":
            raise FitError("the key 'mass' is not known")
        if self.error == "untravelled":
            raise StationaryError("this and that")
        if self.error == "exit":
            raise SystemExit(7)
        raise KeyError("mass")


class NotRebuilt(Sphere):
    """Travels, and cannot be rebuilt."""

    def __setstate__(self, state):
        raise FileNotFoundError("model.xml is not here")


class Curves(Problem):
    """Residuals of two recorded curves in blocks; how long a block is may depend on the batch."""

    def __init__(self, blocks_vary=False, deadly=False):
        self.space = box(3)
        self.times = np.linspace(0.0, 1.0, 40)
        self.groups = (
            ResidualGroup("first", ("y",), self.times, 0),
            ResidualGroup("second", ("y",), self.times, 40),
        )
        self.data_rows = 80
        self.blocks_vary = blocks_vary
        self.deadly = deadly

    @property
    def residual_size(self):
        return self.data_rows + 1

    def acting_on(self, rows):
        return np.array([True, rows.start < 40, rows.start >= 40])

    def residual_blocks(self, X, failures):
        if self.deadly and (np.abs(X) > 4.0).any():
            os.kill(os.getpid(), signal.SIGKILL)
        bad = X[:, 0] < -4.0
        failures.update((int(row), "too low") for row in np.flatnonzero(bad))
        size = 10 if self.blocks_vary and len(X) % 2 else 20
        buffer = np.empty((len(X), size))  # the same memory for every block
        for group, offset, truth in zip(self.groups, (1, 2), (2.0, -0.5), strict=True):
            for first in range(0, 40, size):
                t = group.times[first : first + size]
                model = X[:, :1] * t + X[:, offset : offset + 1] ** 2
                buffer[:] = np.where(bad[:, None], LARGE_RESIDUAL, model - 1.5 * t - truth**2)
                yield slice(group.first + first, group.first + first + size), buffer
        yield slice(80, 81), 0.1 * X[:, :1]
