"""Progress of a run and its remaining time, on the error stream.

On a terminal one status line is updated; elsewhere (a file, a batch system) one plain line is
written per minute. Nothing is written to the standard output.
"""

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

_PLAIN_INTERVAL = 60.0  # interval between lines without a terminal [s]
_TERMINAL_INTERVAL = 0.1  # interval between updates of the status line [s]


class Progress:
    """Show the progress of a run; a context manager.

    Args:
        verbose: False writes nothing at all.
        stream: where to write; the error stream unless given.
        clock: monotonic clock [s], for tests.
        since: time and share at which the work began, as in :attr:`since` of an earlier display
            of the same work; the remaining time is then that of the whole.
    """

    def __init__(
        self,
        verbose: bool = True,
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        since: tuple[float, float] | None = None,
    ):
        self._verbose = verbose
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._status: Any = None
        self._given = since
        self._started = clock() if since is None else since[0]
        self._first_fraction: float | None = None if since is None else since[1]
        self._last_shown: float | None = None
        self._last_text = ""

    def __enter__(self) -> "Progress":
        if self._given is None:
            self._started = self._clock()
        if self._verbose and self._stream.isatty():
            from rich.console import Console

            console = Console(file=self._stream, highlight=False)
            self._status = console.status("")
            self._status.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    @property
    def since(self) -> tuple[float, float] | None:
        """Time and share of the first shown fraction; None before."""
        first = self._first_fraction
        return None if first is None else (self._started, first)

    def update(self, text: str, fraction: float | None = None) -> None:
        """Show ``text`` with the remaining time.

        Args:
            text: status of the run, such as ``generation 12, cost 0.031``.
            fraction: used share of the budget, 0 to 1; None without a budget, so that no
                remaining time is shown. The share at the start of this session is that of the
                first call.
        """
        if self._first_fraction is None:
            self._first_fraction = fraction
        if not self._verbose:
            return
        now = self._clock()
        left = self.seconds_left(fraction)
        elapsed = f"{duration(now - self._started)} elapsed"
        self._last_text = f"{text}, {elapsed}" + (
            "" if left is None else f", about {duration(left)} left"
        )
        interval = _PLAIN_INTERVAL if self._status is None else _TERMINAL_INTERVAL
        # Without a terminal the first line is written after a minute, so a short run writes none.
        since = now - (self._last_shown if self._last_shown is not None else self._started)
        if self._status is not None and (self._last_shown is None or since >= interval):
            from rich.text import Text

            self._status.update(Text(self._last_text))  # Text: names may contain square brackets
            self._last_shown = now
        elif self._status is None and since >= interval:
            self.message(self._last_text)
            self._last_shown = now

    def message(self, text: str) -> None:
        """Write a permanent line."""
        if not self._verbose:
            return
        if self._status is not None:
            from rich.text import Text

            self._status.console.print(Text(text))
        else:
            self._stream.write(text + "\n")
            self._stream.flush()

    def seconds_left(self, fraction: float | None) -> float | None:
        """Estimate the remaining time [s] from the rate since the start; None if unknown."""
        if fraction is None or self._first_fraction is None:
            return None
        done = fraction - self._first_fraction
        if done <= 0.0:
            return None
        return (self._clock() - self._started) * max(0.0, 1.0 - fraction) / done


def duration(seconds: float) -> str:
    """Return a duration as text of at most two units: ``45 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(max(0.0, seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"
