"""Limits of the wall time of a training and of its parts."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

PLANNED = 0.95
"""Fraction of a time limit for which epochs are planned: their number is not reduced for a small
variation of their duration."""


@dataclass(frozen=True)
class TimeLimit:
    """A time limit, from a moment on."""

    began: float
    """Moment of ``time.perf_counter``."""
    seconds: float
    """Duration of the limit [s]."""

    @classmethod
    def of(cls, seconds: float) -> "TimeLimit":
        """The limit from now on."""
        return cls(time.perf_counter(), seconds)

    @property
    def elapsed(self) -> float:
        """Time since the beginning [s]."""
        return time.perf_counter() - self.began

    def left(self, share: float = 1.0) -> float:
        """Time until a fraction of the limit [s]; negative after it."""
        return share * self.seconds - self.elapsed

    def part(self, share: float, index: int, count: int) -> float:
        """Time of one of the parts up to a fraction of the limit [s].

        What earlier parts did not use, or used too much, is divided among the remaining ones.
        """
        return self.left(share) / (count - index)


def epochs_within(
    done: int, elapsed: Sequence[float], planned: int, every: int, seconds: float
) -> int:
    """Number of epochs of a training within its time limit, at most as planned.

    Args:
        done: number of completed epochs.
        elapsed: time at the latest validations, the last of them now [s].
        planned: planned number of epochs.
        every: number of epochs from validation to validation; the last epoch is validated.
        seconds: time limit [s].
    """
    if len(elapsed) < 2:
        return planned
    between = (elapsed[-1] - elapsed[0]) / (len(elapsed) - 1)
    more = int(max(0.0, seconds - elapsed[-1]) / max(between, 1e-9))
    return min(planned, done + more * every)
