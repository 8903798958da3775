"""Zero-phase filters: forward-backward Butterworth, and Savitzky-Golay.

Both need samples at equal intervals. A clock with jitter is an error, or, on request, the signal
is interpolated to a regular clock, filtered, and interpolated back to its own times.
"""

import functools
import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import SignalError, did_you_mean, listing
from trueup.signals._samples import (
    GAP_STEPS,
    Array,
    interpolate_linear,
    uniform_step,
    unpack,
)

Band = Literal["lowpass", "highpass", "bandpass", "bandstop"]
Irregular = Literal["refuse", "resample"]

#: The transient of the filter has decayed to this share where the padding meets the data.
_TRANSIENT_LEFT = 1e-9
#: A cutoff below one period per recording would require unbounded padding.
_MOST_PADDING = 20
#: Lowest corner, in periods over the length of a signal.
_LOWEST = 0.01


def butterworth(
    times: Any,
    values: ArrayLike | None = None,
    *,
    cutoff: float | Sequence[float],
    order: int = 4,
    band: Band = "lowpass",
    irregular: Irregular = "refuse",
) -> Any:
    """Filter forwards and backwards with a Butterworth filter: zero phase, no delay.

    Running a filter twice squares its gain, to 1/2 at the corner. The corner is
    moved before the design so that the gain of the two passes together is 1/sqrt(2) at
    ``cutoff`` (Winter, Biomechanics and Motor Control of Human Movement, 4th edition, section
    3.4.4.2; here in the warped frequency of the bilinear transform, where it is exact). The ends
    are continued by point reflection until the transient of the filter has died out.

    Args:
        times: Sample times (n,) [s], or a TimeSeries that holds both times and values.
        values: Values (n,) or (n, channels); None with a TimeSeries.
        cutoff: Corner frequency [Hz]; a pair (low, high) for ``bandpass`` and ``bandstop``.
        order: Order of the filter of one pass; the two passes together roll off with twice that.
        band: What passes: ``lowpass``, ``highpass``, ``bandpass`` or ``bandstop``.
        irregular: What to do with a clock that is not uniform within 1 % of a step: ``refuse``,
            or ``resample`` to a regular clock and back by linear interpolation.

    Returns:
        Filtered values of the same shape, or a TimeSeries with the same times and names.

    Raises:
        SignalError: The corner is not between zero and half the sampling rate, the signal is too
            short, not finite, or its clock cannot be used.
    """
    _check_choice("band", band, get_args(Band))
    if isinstance(order, bool) or not isinstance(order, int | np.integer) or not 1 <= order <= 20:
        raise SignalError(
            f"order of a Butterworth filter must be an integer from 1 to 20, found {order!r}"
        )

    def smooth(data: Array, step: float) -> Array:
        from scipy.signal import sosfiltfilt

        corners = _corners(cutoff, band, order, step, data.shape[0])
        needed = 3 * (order + 1)
        if data.shape[0] < needed:
            raise SignalError(
                f"a Butterworth filter of order {order} needs at least {needed} samples, the "
                f"signal has {data.shape[0]}: use a lower order or a longer recording"
            )
        sections, slowest = _design(order, tuple(np.atleast_1d(corners).tolist()), band, step)
        transient = math.ceil(math.log(_TRANSIENT_LEFT) / math.log(slowest)) if slowest > 0 else 1
        padding = min(max(transient, needed), _MOST_PADDING * data.shape[0])
        # Unlike scipy's own padding, this one may be longer than the data: it reflects again.
        widths = [(padding, padding)] + [(0, 0)] * (data.ndim - 1)
        padded = np.pad(data, widths, mode="reflect", reflect_type="odd")
        filtered = sosfiltfilt(sections, padded, axis=0, padlen=0)
        return np.ascontiguousarray(filtered[padding : padding + data.shape[0]])

    return _apply(times, values, irregular, smooth)


@functools.lru_cache(maxsize=256)
def _design(order: int, corners: tuple[float, ...], band: str, step: float) -> tuple[Array, float]:
    """Second-order sections of a filter, and the magnitude of its slowest pole.

    It takes longer than to filter a short recording, and one filter has many signals.
    """
    from scipy.signal import butter, sos2zpk

    low, *high = corners
    of_band: Any = corners if high else low
    sections: Any = butter(order, of_band, btype=band, output="sos", fs=1.0 / step)
    return sections, float(np.max(np.abs(np.asarray(sos2zpk(sections)[1]))))


def causal_butterworth(values: ArrayLike, rate: float, cutoff: float, order: int = 4) -> Array:
    """Filter once, forwards, with a causal low-pass Butterworth filter; the output is delayed.

    The initial state is the steady state of the first sample, so that there is no transient.

    Args:
        values: Values (n,) on an even clock.
        rate: Its samples a second [Hz].
        cutoff: Corner frequency [Hz].
        order: Order of the filter.

    Raises:
        SignalError: The corner is not between zero and half the rate.
    """
    from scipy.signal import butter, sosfilt, sosfilt_zi

    if not 0 < cutoff < 0.5 * rate:
        raise SignalError(
            f"cutoff must be between 0 and {0.5 * rate:g} Hz, half the sampling rate of "
            f"{rate:g} Hz; found {cutoff:g} Hz"
        )
    samples = np.asarray(values, dtype=np.float64)
    sections = butter(order, cutoff, fs=rate, output="sos")
    return sosfilt(sections, samples, zi=sosfilt_zi(sections) * samples[0])[0]


def savitzky_golay(
    times: Any,
    values: ArrayLike | None = None,
    *,
    window: float,
    polynomial: int = 3,
    derivative: int = 0,
    irregular: Irregular = "refuse",
) -> Any:
    """Smooth or differentiate by fitting a polynomial to a sliding window (Savitzky, Golay 1964).

    Near the ends, where the window does not fit, the polynomial of the first or last full window
    is evaluated.

    Args:
        times: Sample times (n,) [s], or a TimeSeries that holds both times and values.
        values: Values (n,) or (n, channels); None with a TimeSeries.
        window: Length of the window [s]; rounded to the nearest odd number of samples.
        polynomial: Degree of the polynomial, less than the number of samples in the window.
        derivative: 0 smooths; 1 gives the time derivative [unit/s], 2 the second [unit/s^2].
        irregular: What to do with a clock that is not uniform within 1 % of a step: ``refuse``,
            or ``resample`` to a regular clock and back by linear interpolation.

    Returns:
        Values of the same shape, or a TimeSeries with the same times and names.

    Raises:
        SignalError: The window is longer than the signal or too short for the polynomial, a value
            is not finite, or the clock cannot be used.
    """
    for name, number in (("polynomial", polynomial), ("derivative", derivative)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
            raise SignalError(f"{name} must be a non-negative integer, found {number!r}")
    if derivative > polynomial:
        raise SignalError(
            f"derivative {derivative} of a polynomial of degree {polynomial} is zero everywhere: "
            f"use a degree of at least {derivative + 1}"
        )
    if not (isinstance(window, Real) and math.isfinite(window) and window > 0):
        raise SignalError(f"window must be a positive length in seconds, found {window!r}")

    length = float(window)

    def smooth(data: Array, step: float) -> Array:
        from scipy.signal import savgol_filter

        samples = 2 * round((length / step - 1.0) / 2.0) + 1
        if samples > data.shape[0]:
            raise SignalError(
                f"the window of {length:g} s is {samples} samples, the signal has only "
                f"{data.shape[0]} ({(data.shape[0] - 1) * step:g} s): use a shorter window"
            )
        if samples <= polynomial:
            raise SignalError(
                f"the window of {length:g} s is {max(samples, 1)} samples of {step:g} s, too few "
                f"for a polynomial of degree {polynomial}: use a window of at least "
                f"{(2 * (polynomial // 2 + 1) + 1) * step:g} s"
            )
        return np.asarray(
            savgol_filter(
                data, samples, polynomial, deriv=derivative, delta=step, axis=0, mode="interp"
            )
        )

    return _apply(times, values, irregular, smooth)


def _apply(
    signal: Any,
    values: ArrayLike | None,
    irregular: str,
    smooth: Callable[[Array, float], Array],
) -> Any:
    """Run a filter for regular samples on a signal whose clock may be irregular."""
    _check_choice("irregular", irregular, get_args(Irregular))
    times, data, restore = unpack(signal, values)
    if data.ndim == 2 and data.shape[1] == 0:
        return restore(data.copy())
    step = uniform_step(times)
    if step is not None:
        return restore(smooth(data, step))
    steps = np.diff(times)
    typical = float(np.median(steps))
    longest = int(np.argmax(steps))
    if steps[longest] > GAP_STEPS * typical:
        raise SignalError(
            f"the clock has a gap of {steps[longest]:.4g} s at {times[longest]:.6g} s, where a "
            f"step is {typical:.4g} s: filter the parts before and after it separately"
        )
    if irregular == "refuse":
        raise SignalError(
            f"the clock is not uniform: its steps range from {steps.min():.4g} to "
            f"{steps.max():.4g} s "
            f"(median {typical:.4g} s); resample the signal first, or pass irregular='resample'"
        )
    count = math.ceil((times[-1] - times[0]) / typical) + 1
    grid = np.linspace(times[0], times[-1], count)
    filtered = smooth(interpolate_linear(grid, times, data), float(grid[1] - grid[0]))
    return restore(interpolate_linear(times, grid, filtered))


def _corners(
    cutoff: float | Sequence[float], band: str, order: int, step: float, count: int
) -> Any:
    """Check the corner frequencies [Hz] and move them for the two passes of the filter."""
    wanted = 2 if band in ("bandpass", "bandstop") else 1
    corners = np.atleast_1d(np.asarray(cutoff, dtype=np.float64))
    nyquist = 0.5 / step
    if corners.shape != (wanted,):
        raise SignalError(
            f"{band} takes {'a pair (low, high)' if wanted == 2 else 'one corner frequency'} in "
            f"Hz as cutoff, found {cutoff!r}"
        )
    if not np.all(np.isfinite(corners)) or np.any(corners <= 0) or np.any(corners >= nyquist):
        raise SignalError(
            f"cutoff {_numbers(corners)} Hz is not between 0 and {nyquist:.6g} Hz, half the "
            f"sampling rate of {1.0 / step:.6g} Hz: choose a lower corner or record faster"
        )
    lowest = _LOWEST / (count * step)
    if np.any(corners < lowest):
        raise SignalError(
            f"cutoff {_numbers(corners)} Hz is far below {1 / (count * step):.3g} Hz, one period "
            f"over the {count * step:.4g} s of the signal: choose a higher cutoff"
        )
    if wanted == 2 and corners[0] >= corners[1]:
        raise SignalError(
            f"cutoff must be (low, high) with low < high, found {_numbers(corners)} Hz"
        )

    # One pass has |H|^2 = 1 / (1 + (f / fc)^(2 order)) in the warped frequency; two passes have
    # |H|^4 = 1/2 at the wanted corner where (f / fc)^(2 order) = sqrt(2) - 1.
    stretch = (math.sqrt(2.0) - 1.0) ** (-0.5 / order)
    warped = np.tan(np.pi * corners * step)
    if band == "lowpass":
        moved = warped * stretch
    elif band == "highpass":
        moved = warped / stretch
    else:
        width = (warped[1] - warped[0]) * (stretch if band == "bandpass" else 1.0 / stretch)
        # The product of the corners, the centre of the band squared, is kept; only the width
        # changes.
        upper = 0.5 * (width + math.sqrt(width**2 + 4.0 * warped[0] * warped[1]))
        moved = np.array([upper - width, upper])
    frequencies = np.arctan(moved) / (np.pi * step)
    return float(frequencies[0]) if wanted == 1 else frequencies


def _numbers(values: Array) -> str:
    return " and ".join(f"{value:g}" for value in values)


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SignalError(
            f"Unknown {name} {value!r}. Available: {listing(choices)}."
            f"{did_you_mean(str(value), choices)}"
        )
