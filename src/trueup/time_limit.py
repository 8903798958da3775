"""A limit of time that holds within an evaluation, not only between two of them.

A search sets the limit; what takes long looks at it, between pieces of a batch of simulations for
instance. An evaluation that is cut off has no answer: the search keeps what it had before.
"""

import math
import time
from collections.abc import Callable
from contextvars import ContextVar, Token
from types import TracebackType


class TimeUpError(Exception):
    """The time of a limit has passed."""

    def __init__(self, limit: "TimeLimit"):
        super().__init__(f"{limit.seconds:g} s have passed")
        self.limit = limit


class TimeLimit:
    """A limit for what runs within the context.

    Args:
      seconds: time from now on [s]; infinite for none.
      clock: what counts as time; that on the wall where absent.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.perf_counter):
        self.seconds = seconds
        self._clock = clock
        self._end = clock() + seconds
        self._token: Token[tuple[TimeLimit, ...]] | None = None

    @property
    def has_passed(self) -> bool:
        """Whether the time is up."""
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
    """Raise TimeUpError where a limit has passed, the outermost first.

    Raises:
      TimeUpError: a limit has passed; its owner catches it.
    """
    for limit in _LIMITS.get():
        if limit.has_passed:
            raise TimeUpError(limit)
