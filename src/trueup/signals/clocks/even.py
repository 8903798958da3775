"""Uniform clocks: the rate of a clock with jitter, and resampling to another rate."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from trueup.signals.filters import butterworth
from trueup.signals.recording import Recording, Stream

_UNIFORM = 0.02  # deviation from a uniform clock that is ignored, in steps
_DECIMATION = 1.25  # ratio of rates from which an anti-aliasing filter is applied
_DECIMATION_CORNER = 0.4  # corner of that filter, as a share of the new rate
_EDGE = 1e-9  # rounding of a clock that may delay a command [s]


def sampling_rate(times: np.ndarray) -> float:
    """Rate of a clock that may jitter [Hz]: its median step, or the mean one where it is rounded.

    Times rounded to whole milliseconds have steps of, say, 3 and 4 ms for 300 Hz: the mean of the
    steps near the median is robust to that rounding and to gaps.
    """
    steps = np.diff(times)
    typical = np.quantile(steps, 0.5, method="lower")
    regular = steps[(steps > 0.4 * typical) & (steps < 1.6 * typical)]
    return float(1.0 / regular.mean())


def on_grid(
    times: np.ndarray,
    columns: Mapping[str, np.ndarray],
    grid: np.ndarray,
    held: Collection[str],
    slack: float = _EDGE,
) -> dict[str, np.ndarray]:
    """Resample to a grid: commands are held until the next, measurements interpolated.

    Args:
        times: Increasing sample times, shape (n,) [s].
        columns: Samples by name, each of shape (n,).
        grid: Increasing times within them, shape (k,) [s].
        held: Names of the commands, which keep their type.
        slack: Time by which a sample after an instant counts as one at it [s]: the rounding of
            both clocks.
    """
    latest = np.clip(np.searchsorted(times, grid + slack, side="right") - 1, 0, None)
    return {
        name: values[latest] if name in held else np.interp(grid, times, values)
        for name, values in columns.items()
    }


def resampled(recording: Recording, rate: float, held: Collection[str] = ()) -> Recording:
    """Resample a recording to a uniform clock, from its first sample to its last.

    A clock within 2 % of a step of a uniform one keeps its samples. When the new rate is much
    lower, measurements are first low-pass filtered against aliasing, without delay (Butterworth,
    forwards and backwards).

    Args:
        recording: A recording with one clock, which increases, without missing values.
        rate: Sampling rate of the new clock [Hz].
        held: Columns that are commands: held between samples, never filtered.

    Returns:
        The recording, with a note of the change.

    Raises:
        RecordingError: There are several clocks.
        SignalError: The recording is too short for the anti-aliasing filter.
    """
    stream = recording.stream
    times, columns = stream.times, stream.columns
    own = sampling_rate(times)
    even = times[0] + np.arange(len(times)) / rate
    if np.abs(times - even).max() <= _UNIFORM / rate:
        as_recorded = replace(stream, times=even)
        return recording.noted(f"{rate:.6g} Hz as recorded", streams=(as_recorded,))
    note = f"resampled from {own:.6g} Hz to {rate:.6g} Hz"
    if own > _DECIMATION * rate:
        corner = _DECIMATION_CORNER * rate
        columns = _without_high_frequencies(stream, corner, held)
        note += f", measurements below {corner:.4g} Hz only (no delay)"
    steps = int(np.floor((times[-1] - times[0]) * rate + 1e-6))
    grid = times[0] + np.arange(steps + 1) / rate
    changed = replace(stream, times=grid, columns=on_grid(times, columns, grid, held))
    note += ": commands held, measurements interpolated"
    return recording.noted(note, streams=(changed,))


def _without_high_frequencies(
    stream: Stream, corner: float, held: Collection[str]
) -> dict[str, np.ndarray]:
    return {
        name: values
        if name in held
        else butterworth(stream.times, values, cutoff=corner, irregular="resample")
        for name, values in stream.columns.items()
    }
