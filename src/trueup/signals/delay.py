"""Delay from a command to its response, by cross-correlation."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import SignalError
from trueup.signals._samples import Array, checked, interpolate_linear

# Significance level of a correlation, for all searched lags together: the probability of one as
# large by chance.
_CHANCE = 1e-3
# Below this correlation the command explains less than 4 % of the variance: no delay estimate.
_WEAKEST = 0.2
# A correlation above this is accepted without the test, which a periodic command cannot pass
# because it contains few independent samples.
_STRONG = 0.95
# Two peaks that differ by less than this share are ambiguous.
_TIE = 0.05
# Margin by which an inverted response must exceed a direct one to be selected.
_INVERTED = 1.1
# Maximum size of the common grid of two clocks of very different rate.
_LARGEST_GRID = 4_000_000


@dataclass(frozen=True)
class DelayEstimate:
    """Estimated delay of a response behind its command.

    Attributes:
        delay: Lag of the response [s]; negative where it leads the command.
        correlation: Normalised correlation at that lag, -1 to 1; negative for an inverted response.
        resolution: Sampling interval of the estimate [s], of the coarser clock where two
            differ. The parabola resolves about a fifth of it on a clean, smooth signal.
        reliable: Whether the peak is significant, unique, and inside the searched range.
        sentence: The finding in one sentence.
    """

    delay: float
    correlation: float
    resolution: float
    reliable: bool
    sentence: str


@dataclass(frozen=True)
class _Correlation:
    """Normalised correlation over lags, and its number of independent samples."""

    coefficients: Array
    independent: float

    @property
    def strength(self) -> tuple[bool, float]:
        """Whether the largest peak is accepted, and its height in standard deviations."""
        peak = float(np.max(np.abs(self.coefficients)))
        return self.shows_relation(peak), peak * math.sqrt(self.independent)

    def shows_relation(self, correlation: float) -> bool:
        """Whether a correlation is significant, or is very strong."""
        return abs(correlation) >= _STRONG or self.significant(correlation)

    def significant(self, correlation: float) -> bool:
        """Whether a correlation is significant."""
        from scipy.special import ndtri

        threshold = float(-ndtri(_CHANCE / (2.0 * self.coefficients.size)))
        height = abs(correlation) * math.sqrt(self.independent)
        return abs(correlation) >= _WEAKEST and height > threshold


def estimate_delay(
    times: ArrayLike,
    command: ArrayLike,
    response: ArrayLike,
    max_delay: float = 0.5,
    *,
    response_times: ArrayLike | None = None,
) -> DelayEstimate:
    """Estimate the delay from a command to its response by cross-correlation.

    Both signals are resampled to one regular clock, detrended linearly, and correlated as they
    are and differenced: differencing whitens a slow signal and so sharpens its peak (Box and
    Jenkins, Time Series Analysis, on prewhitening), but amplifies noise. Of the two correlations,
    the accepted one with the highest peak is used, in units of the standard
    deviation that Bartlett's formula gives for two unrelated signals with these autocorrelations
    (Bartlett, An Introduction to Stochastic Processes, 1955). A parabola through the peak and its
    neighbours gives the delay to a fraction of a sample.

    The estimate includes the lag of the dynamics of a drive or controller: cross-correlation does
    not distinguish it from transport delay.

    Args:
        times: Times of the command, and of the response unless ``response_times`` is given (n,)
            [s], increasing, not necessarily uniform.
        command: Command (n,), any unit.
        response: Response (n,), or (m,) on its own clock; any unit.
        max_delay: Largest delay to search, in both directions [s].
        response_times: Clock of the response where it has its own (m,) [s]. The command is then
            held between its samples, as the device that receives it does.

    Raises:
        SignalError: A signal is not one-dimensional, not finite or its clock does not increase;
            max_delay is not positive; the signals overlap for less than ``2 * max_delay``.
    """
    command_times, command = checked(times, command, "the command")
    same_clock = response_times is None
    response_times, response = checked(
        command_times if same_clock else response_times, response, "the response"
    )
    if command.ndim != 1 or response.ndim != 1:
        raise SignalError(
            f"expected one command and one response of shape (n,), found {command.shape} "
            f"and {response.shape}: pass one column of each"
        )
    if not (np.isfinite(max_delay) and max_delay > 0):
        raise SignalError(f"max_delay must be a positive time in seconds, found {max_delay!r}")

    command_step = float(np.median(np.diff(command_times)))
    response_step = float(np.median(np.diff(response_times)))
    start = max(command_times[0], response_times[0])
    duration = min(command_times[-1], response_times[-1]) - start
    step = min(command_step, response_step)
    lags = math.ceil(max_delay / step)
    count = math.floor(duration / step * (1.0 + 1e-12)) + 1 if duration > 0 else 0
    if count <= 2 * lags or count < 8:
        raise SignalError(
            f"command and response overlap for {max(duration, 0.0):.4g} s ({count} samples): "
            f"delays up to {max_delay:g} s require more than {2 * max_delay:g} s, and at "
            "least 8 samples"
        )
    if count > _LARGEST_GRID:
        raise SignalError(
            f"a common clock of {step:.3g} s over {duration:.4g} s has {count} samples: pass a "
            "shorter part of the recording"
        )

    resolution = max(step, command_step, response_step)
    grid = start + step * np.arange(count)
    if same_clock:
        command_values = interpolate_linear(grid, command_times, command)
    else:
        # The margin maps a grid point rounded to just before a sample to that sample.
        held = np.searchsorted(command_times, grid + 1e-6 * step, side="right") - 1
        command_values = command[held]
    response_values = interpolate_linear(grid, response_times, response)
    for name, signal in (("command", command_values), ("response", response_values)):
        if np.ptp(signal) <= 1e-12 * np.max(np.abs(signal)):
            return DelayEstimate(
                0.0, 0.0, resolution, False, f"No delay can be estimated: the {name} is constant."
            )

    comparisons = [_correlate(command_values, response_values, lags)]
    changes = np.diff(command_values), np.diff(response_values)
    if all(np.ptp(signal) > 0 for signal in changes):
        comparisons.append(_correlate(*changes, lags))
    best = max(comparisons, key=lambda comparison: comparison.strength)
    return _judge(best, lags, step, resolution, max_delay)


def _correlate(command: Array, response: Array, lags: int) -> _Correlation:
    """Correlate two signals over lags -lags..lags, each lag normalised by its own overlap."""
    from scipy.fft import irfft, next_fast_len, rfft
    from scipy.signal import detrend

    first = detrend(command, type="linear")
    second = detrend(response, type="linear")
    count = first.size
    length = next_fast_len(2 * count - 1, real=True)
    first_spectrum = np.asarray(rfft(first, length))
    second_spectrum = np.asarray(rfft(second, length))
    shifts = np.arange(-lags, lags + 1)

    cross = np.asarray(irfft(np.conj(first_spectrum) * second_spectrum, length))[shifts]
    # Energy of the samples that overlap at each shift, from running sums.
    first_energy = np.concatenate(([0.0], np.cumsum(first**2)))
    second_energy = np.concatenate(([0.0], np.cumsum(second**2)))
    forwards, backwards = np.maximum(shifts, 0), np.maximum(-shifts, 0)
    overlap_first = first_energy[count - forwards] - first_energy[backwards]
    overlap_second = second_energy[count - backwards] - second_energy[forwards]
    # An interval without energy has no correlation; the floor suppresses rounding noise.
    floor = 1e-6 * math.sqrt(first_energy[-1] * second_energy[-1])
    normaliser = np.sqrt(np.maximum(overlap_first * overlap_second, 0.0))
    coefficients = np.where(normaliser > floor, cross / np.maximum(normaliser, floor), 0.0)

    # Variance of a chance correlation: sum over lags of the product of both autocorrelations / n.
    first_auto = np.asarray(irfft(np.abs(first_spectrum) ** 2, length))[:count]
    second_auto = np.asarray(irfft(np.abs(second_spectrum) ** 2, length))[:count]
    products = (first_auto / first_auto[0]) * (second_auto / second_auto[0])
    inflation = max(1.0, float(products[0] + 2.0 * np.sum(products[1:])))
    return _Correlation(np.clip(coefficients, -1.0, 1.0), count / inflation)


def _judge(
    comparison: _Correlation, lags: int, step: float, resolution: float, max_delay: float
) -> DelayEstimate:
    """Select the peak, refine it, and decide whether it is reliable."""
    coefficients = comparison.coefficients
    sign = -1.0 if -coefficients.min() > _INVERTED * coefficients.max() else 1.0
    signed = sign * coefficients
    peaks = _peaks(signed)
    height = float(signed[peaks].max())
    equal = peaks[signed[peaks] >= (1.0 - _TIE) * height]
    # A response follows its command: among equal peaks, the shortest non-negative delay.
    causal = equal[equal >= lags]
    chosen = int(causal[0] if causal.size else equal[-1])
    rivals = causal[1:] if causal.size else equal[:-1]

    delay = (chosen - lags + _parabola_offset(signed, chosen)) * step
    correlation = float(coefficients[chosen])
    at_edge = chosen in (0, coefficients.size - 1)

    related = comparison.shows_relation(correlation)
    # Two slow humps of similar shape correlate at some lag; a response before its
    # command requires strong evidence.
    if delay < -0.5 * resolution:
        related = comparison.significant(correlation)
    if not related and abs(correlation) < 0.3:
        sentence = (
            f"No delay can be estimated: within {max_delay:g} s the response is not correlated "
            "with "
            f"the command (correlation at most {correlation:.2f})."
        )
    elif not related:
        sentence = (
            f"No delay can be estimated: the correlation within {max_delay:g} s "
            f"({correlation:.2f}) is not significant for signals that change this slowly."
        )
    elif at_edge:
        sentence = (
            f"No delay can be estimated: the correlation still rises at {delay:.3g} s, the end of "
            f"the searched range."
        )
    elif rivals.size:
        other = (int(rivals[0]) - lags) * step
        sentence = (
            f"The delay is ambiguous: {_milliseconds(delay)} and {_milliseconds(other)} explain "
            f"the response equally well (correlation {correlation:.2f}), because the command is "
            "periodic."
        )
    else:
        verb = "leads its command by" if delay < -0.5 * resolution else "lags its command by"
        inverted = ", and is inverted" if correlation < 0 else ""
        sentence = (
            f"The response {verb} {_milliseconds(abs(delay))}{inverted} "
            f"(correlation {correlation:.2f}, resolution {_milliseconds(resolution)})."
        )
    reliable = related and not at_edge and not rivals.size
    return DelayEstimate(float(delay), correlation, resolution, bool(reliable), sentence)


def _peaks(values: Array) -> np.ndarray:
    """Return the indices of local maxima, ends included; the middle of a flat top counts once."""
    from scipy.signal import find_peaks

    padded = np.concatenate(([-np.inf], values, [-np.inf]))
    return find_peaks(padded)[0] - 1


def _parabola_offset(values: Array, peak: int) -> float:
    """Return the vertex of the parabola through a peak and its neighbours, -0.5 to 0.5 samples."""
    if peak in (0, values.size - 1):
        return 0.0
    before, top, after = values[peak - 1], values[peak], values[peak + 1]
    curvature = before - 2.0 * top + after
    if curvature >= 0.0:
        return 0.0
    return float(np.clip(0.5 * (before - after) / curvature, -0.5, 0.5))


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"
