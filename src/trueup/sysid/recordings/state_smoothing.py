"""Half width of the local state fit, selected by leave-one-out cross-validation.

A wide fit reduces noise; one across a reversal or a jerk biases the velocity, and with it mass and
friction. A local quadratic predicts each position from its neighbours: if the error of a narrower
fit is clearly smaller, the motion is not quadratic within the wider one.
"""

from collections.abc import Iterable

import numpy as np

from trueup.signals import TimeSeries
from trueup.sysid.recordings.measured_state import StateColumns

WIDEST = 0.02
"""Largest half width [s]."""

_SAMPLES = (2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200)
"""Candidate half widths [samples]."""
_BEND = 1.2  # accepted error ratio of a wider fit to the best one, to reduce velocity noise
_MOST = 100_000  # maximum number of evaluated samples of a recording


def chosen_half_width(recordings: Iterable[tuple[TimeSeries, StateColumns]]) -> float:
    """Half width [s] for all measured positions of some recordings; at most :data:`WIDEST`.

    Args:
      recordings: measured signals, and their state columns.
    """
    widths = [
        _half_width(recorded.times[:_MOST], recorded.data[:_MOST, sorted(set(positions))])
        for recorded, columns in recordings
        if (positions := columns.positions.values())
    ]
    return min(widths, default=WIDEST)


def _half_width(times: np.ndarray, data: np.ndarray) -> float:
    if len(times) < 3:
        return WIDEST
    step = float(np.median(np.diff(times)))
    tried = [m for m in _SAMPLES if m * step <= WIDEST and 2 * m + 1 <= len(times) // 4]
    if len(tried) < 2:
        return WIDEST
    edge = max(tried)
    errors = np.stack([_left_out(data, m)[edge - m : len(data) - edge - m] for m in tried])
    size = np.sqrt(np.mean(np.square(errors), axis=1))
    # errors relative to the best fit of each position, so that joints have equal weight
    best = size.min(axis=0)
    moving = best > 0
    if not moving.any():
        return WIDEST
    worse = np.sqrt(np.mean(np.square(size[:, moving] / best[moving]), axis=1))
    fitting = [m for m, factor in zip(tried, worse, strict=True) if factor <= _BEND * worse.min()]
    return WIDEST if max(fitting) == max(tried) else max(fitting) * step


def _left_out(data: np.ndarray, m: int) -> np.ndarray:
    """Errors ``(T - 2 m, columns)`` of quadratics through ``m`` samples on either side of one."""
    t = np.arange(-m, m + 1) / m
    basis = np.stack([np.ones_like(t), t, t**2], axis=1)
    weights = np.linalg.pinv(basis)[0]
    fitted = np.stack([np.convolve(c, weights[::-1], "valid") for c in data.T], axis=1)
    # leave-one-out: remove the contribution of the sample to its own fit
    return (data[m : len(data) - m] - fitted) / (1.0 - weights[m])
