"""Angles and counters that start again after a period, and their continuation.

A sensor of one turn jumps from +pi to -pi, from 360 to 0 degrees, or from 4095 to 0 counts where
the joint turns on. The jump is the period less the motion of one sample, so that the continuation
is certain while the joint moves less than half a period between two samples.
"""

import math
from dataclasses import dataclass

import numpy as np

from trueup.signals._samples import Array

TURN = 2.0 * math.pi
"""One turn [rad]."""

_TURNS = (TURN, 360.0, 1.0)
_MULTIPLES = (1, 2, 4)
_SCALES = (1.0, 1e2, 1e3)  # hundredths of a degree, thousandths of a radian
_COUNTS = tuple(float(2**bits) for bits in range(10, 33))
_CROWDED = 0.9  # least share of the period that values which wrap cover
_ROUNDING = 1.02  # noise about the ends of the period
_HALF = 0.5
_LEVELS = 8  # fewest levels: a value that is switched has two
_CONTINUES = 0.1  # largest change of the step across a jump, as a share of the period
_SPARSE = 0.4  # largest step of an angle that can be continued, as a share of the period


@dataclass(frozen=True)
class Wraps:
    """Jumps of an angle that starts again after a period."""

    period: float
    """Value in the unit of the values."""
    jumps: int
    sure: bool
    """Whether the motion before and after each jump continues across it."""


def unwrapped(values: Array, period: float) -> Array:
    """Values continued across their jumps; those that are not finite stay.

    Args:
        values: Samples (n,).
        period: Value after which they start again, in their unit.
    """
    out = np.array(values, dtype=np.float64)
    good = np.isfinite(out)
    out[good] = np.unwrap(out[good], period=period)
    return out


def largest_step(values: Array, period: float) -> float:
    """Largest change between two samples of unwrapped values, as a share of the period."""
    steps = np.abs(np.diff(values[np.isfinite(values)]))
    return float(steps.max(initial=0.0)) / period


def is_sparse(step: float) -> bool:
    """Whether a step, as a share of the period, leaves open which way the joint has turned."""
    return step > _SPARSE


def wraps_at(values: Array, period: float) -> Wraps | None:
    """Jumps of values that stay within one period; None if they do not wrap there.

    Args:
        values: Samples (n,).
        period: Candidate, in their unit.
    """
    steps = np.diff(values)
    span = float(np.ptp(values)) if values.size else 0.0
    if steps.size < 3 or not _CROWDED * period <= span <= _ROUNDING * period:
        return None
    jumps = np.flatnonzero(np.abs(steps) > _HALF * period)
    if jumps.size == 0 or np.unique(values[:: max(1, values.size // 1000)]).size < _LEVELS:
        return None
    steps = steps - period * np.round(steps / period)
    before, after = steps[np.maximum(jumps - 1, 0)], steps[np.minimum(jumps + 1, steps.size - 1)]
    low, high = np.minimum(before, after), np.maximum(before, after)
    off = np.maximum(low - steps[jumps], steps[jumps] - high)
    continues = bool(np.all(off < _CONTINUES * period)) and not is_sparse(
        float(np.abs(steps).max()) / period
    )
    return Wraps(period, int(jumps.size), continues)


def found_wraps(values: Array, periods: tuple[float, ...] = ()) -> Wraps | None:
    """Period and jumps of values in an unknown unit; None if they do not wrap.

    Args:
        values: Samples (n,).
        periods: Candidates; by default turns in rad, degrees and turns, and powers of two.
    """
    finite = values[np.isfinite(values)]
    known = periods or tuple(
        sorted({m * s * turn for turn in _TURNS for m in _MULTIPLES for s in _SCALES})
    )
    if not periods and finite.size and np.array_equal(finite, np.round(finite)):
        known = (*_COUNTS, *known)
    found = [wraps for period in known if (wraps := wraps_at(finite, period)) is not None]
    return max(found, key=lambda wraps: (wraps.sure, -wraps.period), default=None)


def sure_period(values: Array) -> float:
    """Period of values that wrap without doubt, in their unit; 0 for others."""
    found = found_wraps(values)
    return found.period if found is not None and found.sure else 0.0


def turns_of(unit: str | None) -> tuple[float, ...]:
    """Periods of an angle in a unit: one turn and some multiples; empty for other units."""
    turn = {None: TURN, "": 0.0, "rad": TURN, "deg": 360.0, "turn": 1.0}.get(unit, 0.0)
    return tuple(m * turn for m in _MULTIPLES) if turn else ()
