"""Time limit that is checked within an evaluation, not only between evaluations.

A search sets the limit; long computations check it, for example between chunks of a batch of
simulations. An interrupted evaluation has no answer: the search keeps its previous state.
"""

import math
import time
from collections.abc import Callable
from contextvars import ContextVar, Token
from types import TracebackType


class TimeUpError(Exception):
    """A time limit expired."""

    def __init__(self, limit: "TimeLimit"):
        super().__init__(f"the time limit of {limit.seconds:g} s expired")
        self.limit = limit


class TimeLimit:
    """A time limit for the code within the context.

    Args:
      seconds: time from now on [s]; infinite for none.
      clock: clock of the limit; the wall clock by default.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.perf_counter):
        self.seconds = seconds
        self._clock = clock
        self._end = clock() + seconds
        self._token: Token[tuple[TimeLimit, ...]] | None = None

    @property
    def has_passed(self) -> bool:
        """Whether the limit has expired."""
        return math.isfinite(self._end) and self._clock() > self._end

    def __enter__(self) -> "TimeLimit":
        self._token = _LIMITS.set((*_LIMITS.get(), self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._token is not None
        _LIMITS.reset(self._token)


_LIMITS: ContextVar[tuple[TimeLimit, ...]] = ContextVar("time limits", default=())


def check_time() -> None:
    """Raise TimeUpError if a limit has expired, the outermost first.

    Raises:
      TimeUpError: a limit has expired; its owner catches it.
    """
    for limit in _LIMITS.get():
        if limit.has_passed:
            raise TimeUpError(limit)
