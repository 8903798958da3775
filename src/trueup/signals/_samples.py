"""Validation of samples: plain arrays or a TimeSeries become checked arrays."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueup.errors import SignalError

Array = NDArray[np.float64]

#: A clock whose samples lie within this share of a step of a regular grid counts as uniform.
UNIFORM_TOLERANCE = 0.01

#: A step longer than this many median steps is a gap.
GAP_STEPS = 5.0


def is_time_series(thing: Any) -> bool:
    """Whether ``thing`` has the attributes of a TimeSeries: a clock and data."""
    return hasattr(thing, "times") and hasattr(thing, "data")


def unpack(signal: Any, values: ArrayLike | None) -> tuple[Array, Array, Callable[[Array], Any]]:
    """Return times, values and a function that wraps filtered values in the type of the input.

    Args:
        signal: A TimeSeries (then ``values`` is None), or sample times (n,) [s].
        values: Values (n,) or (n, channels) of those times.

    Raises:
        SignalError: Lengths differ, the clock does not increase, or a value is not finite.
    """
    if is_time_series(signal):
        if values is not None:
            raise SignalError(
                "a TimeSeries contains its values: pass either a TimeSeries or times and values"
            )
        times, data = checked(signal.times, signal.data)
        return times, data, lambda filtered: replace(signal, data=filtered)
    if values is None:
        raise SignalError("values are missing: pass times and values, or a TimeSeries")
    times, data = checked(signal, values)
    return times, data, lambda filtered: filtered


def checked(times: ArrayLike, values: ArrayLike, name: str = "the signal") -> tuple[Array, Array]:
    """Return checked times (n,) [s] and values (n,) or (n, channels) as float arrays.

    Raises:
        SignalError: Lengths differ, the clock does not increase, or a value is not finite.
    """
    clock = np.asarray(times, dtype=np.float64)
    data = np.asarray(values, dtype=np.float64)
    if clock.ndim != 1 or data.ndim not in (1, 2):
        raise SignalError(
            f"{name} has times of shape {clock.shape} and values of shape {data.shape}: expected "
            "times (n,) and values (n,) or (n, channels)"
        )
    if clock.size != data.shape[0]:
        raise SignalError(
            f"{name} has {clock.size} times and {data.shape[0]} values: expected one row of values "
            "for each time"
        )
    if clock.size < 2:
        raise SignalError(f"{name} has {clock.size} samples: expected at least 2")
    if not np.all(np.isfinite(clock)):
        raise SignalError(f"{name} has a time that is NaN or infinite: remove that row")
    steps = np.diff(clock)
    if np.any(steps <= 0.0):
        where = int(np.argmax(steps <= 0.0))
        raise SignalError(
            f"the clock of {name} does not increase: {clock[where]:.6g} s is followed by "
            f"{clock[where + 1]:.6g} s (sample {where + 1}); sort the rows and drop duplicates"
        )
    finite = np.isfinite(data)
    if not finite.all():
        first = int(np.argmax(~finite.reshape(clock.size, -1).all(axis=1)))
        raise SignalError(
            f"{name} has {np.count_nonzero(~finite)} values that are NaN or infinite, the first at "
            f"sample {first} ({clock[first]:.6g} s): cut them out or fill them first"
        )
    return clock, data


def uniform_step(times: Array) -> float | None:
    """Return the step [s] of a uniform clock, or None where it is not uniform."""
    step = (times[-1] - times[0]) / (times.size - 1)
    grid = times[0] + step * np.arange(times.size)
    deviation = np.max(np.abs(times - grid))
    # Times printed with few digits, or far from zero, deviate by their rounding.
    rounding = 4.0 * np.spacing(np.max(np.abs(times)))
    return step if deviation <= UNIFORM_TOLERANCE * step + rounding else None


def interpolate_linear(at: Array, times: Array, values: Array) -> Array:
    """Interpolate values (n,) or (n, channels) linearly; the ends are held."""
    if values.ndim == 1:
        return np.interp(at, times, values)
    columns = [np.interp(at, times, column) for column in values.T]
    return np.stack(columns, axis=1) if columns else np.empty((at.size, 0))
