"""Detection of values that are implausible in their declared unit."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import UnitError, did_you_mean, listing
from trueup.signals.checks.statistics import turns_one_way

# A joint stays within two turns; beyond that it is a wheel, or not in radians.
_LARGEST_ANGLE = 4.0 * math.pi
# Joints and their motors stay below this speed, about 10 000 rpm [rad/s].
_LARGEST_ANGULAR_VELOCITY = 1000.0
_LARGEST_LENGTH = 100.0
_SLOWEST_STEP = 1.0
_LONGEST_RECORDING = 3.0 * 3600.0


def suspect_units(name: str, values: ArrayLike, kind: str) -> str | None:
    """Return a sentence if values look like another unit, else None.

    Args:
        name: Name of the column, for the sentence.
        values: Values taken as SI, shape (n,); NaN is ignored.
        kind: ``angle`` [rad], ``angular velocity`` [rad/s], ``length`` [m] or ``time`` [s].

    Raises:
        UnitError: Unknown kind.
    """
    if kind not in _KINDS:
        raise UnitError(
            f"Unknown kind of values {kind!r}.{did_you_mean(kind, _KINDS)} Kinds: "
            f"{listing(_KINDS)}."
        )
    samples = np.asarray(values, dtype=np.float64).ravel()
    samples = samples[np.isfinite(samples)]
    return _KINDS[kind](name, samples) if samples.size else None


def _angle(name: str, values: np.ndarray) -> str | None:
    largest = float(np.max(np.abs(values)))
    if largest <= _LARGEST_ANGLE:
        return None
    if turns_one_way(values, _LARGEST_ANGLE):
        return None
    if largest > 720.0 and np.array_equal(values, np.round(values)):
        guess = "encoder counts: give its offset, scale and resulting unit"
    else:
        guess = "degrees: give its unit as deg"
    return (
        f"{name} reaches {largest:.4g} rad, {largest / (2 * math.pi):.0f} turns: it looks like "
        f"{guess}."
    )


def _angular_velocity(name: str, values: np.ndarray) -> str | None:
    largest = float(np.max(np.abs(values)))
    if largest <= _LARGEST_ANGULAR_VELOCITY:
        return None
    return (
        f"{name} reaches {largest:.4g} rad/s, {largest * 30 / math.pi:.0f} rpm: is it in deg/s, "
        "rpm or encoder counts? Give its unit."
    )


def _length(name: str, values: np.ndarray) -> str | None:
    largest = float(np.max(np.abs(values)))
    if largest <= _LARGEST_LENGTH:
        return None
    return f"{name} reaches {largest:.4g} m: it looks like millimetres: give its unit as mm."


def _time(name: str, values: np.ndarray) -> str | None:
    if values.size < 2:
        return None
    step = float(np.median(np.diff(values)))
    duration = float(np.ptp(values))
    if step > _SLOWEST_STEP:
        # A recording of a machine has 2 to some 10 000 samples a second.
        if step < 500.0:
            unit, word, scale = "ms", "milliseconds", 1e3
        elif step < 5e5:
            unit, word, scale = "us", "microseconds", 1e6
        else:
            unit, word, scale = "ns", "nanoseconds", 1e9
        return (
            f"{name} has a median step of {step:.4g} s: it looks like {word}, "
            f"{scale / step:.4g} samples a second: give the time unit as {unit}."
        )
    if duration > _LONGEST_RECORDING:
        return (
            f"{name} spans {duration / 3600.0:.3g} hours with a median step of {step:.4g} s: is "
            "it in seconds? Give the time unit, or read a part of it."
        )
    return None


_KINDS: dict[str, Callable[[str, np.ndarray], str | None]] = {
    "angle": _angle,
    "angular velocity": _angular_velocity,
    "length": _length,
    "time": _time,
}
