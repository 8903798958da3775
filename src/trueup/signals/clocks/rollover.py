"""Counters of time that started again.

A counter of microseconds in 32 bits starts again after 71.6 minutes, one of milliseconds in 16 bits
after 65.5 s. Its times are continued. A clock that goes back by anything else is that of another
run, see :mod:`trueup.signals.clocks.run_starts`.
"""

from dataclasses import dataclass

import numpy as np

from trueup.signals.units import find_unit

_BITS = (16, 24, 31, 32)
_TICKS = (1e-9, 1e-6, 1e-3)  # units of a counter whose times were converted before logging [s]
_DAY = 86400.0  # time of day, which starts again at midnight [s]
_LONGEST = 20.0  # steps that may be lost while a counter rolls over
_FEWEST = 10  # steps forward

_LARGEST = 2.0**64
"""Largest value of a counter of 64 bits; a time in nanoseconds is less."""


@dataclass(frozen=True)
class Rollover:
    """Times continued where a counter starts again."""

    times: np.ndarray
    """``(n,)``, in the unit of the counter."""
    period: float
    """Value in that unit."""
    count: int
    """Number of times that the counter starts again."""


def unrolled(times: np.ndarray, unit: str, period: float | None = None) -> Rollover | None:
    """Continue times of a counter; None if no counter explains that they go back.

    Args:
        times: Times as logged (n,).
        unit: Their unit.
        period: Value after which they start again, in that unit; None to find it among counters of
            16, 24, 31 and 32 bits and the time of day.
    """
    if np.any(np.abs(times) >= _LARGEST):
        return None  # their differences may overflow
    steps = np.diff(times)
    back = np.flatnonzero(steps < 0)
    forth = steps[steps > 0]
    if back.size == 0 or forth.size < _FEWEST:
        return None
    usual = float(np.median(forth))
    for candidate in _periods(unit) if period is None else (period,):
        if period is None and float(np.ptp(times)) > candidate:
            continue
        across = steps[back] + candidate
        # times of 4295 s with three decimals, or single precision, are off by their rounding
        slack = 1e-6 * candidate
        if np.all((across > -slack) & (across <= _LONGEST * usual + slack)):
            added = np.zeros(len(times))
            added[back + 1] = candidate
            return Rollover(times + np.cumsum(added), candidate, int(back.size))
    return None


def _periods(unit: str) -> tuple[float, ...]:
    factor = find_unit(unit).factor
    counts = [float(2**bits) for bits in _BITS]
    seconds = [count * tick for tick in _TICKS for count in counts] + [_DAY]
    return (*counts, *(period / factor for period in seconds))
