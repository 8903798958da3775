"""Decimation by minimum and maximum: fewer points, every peak kept."""

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import ReportError

POINTS_PER_TRACE = 1000


def decimate(
    times: ArrayLike, values: ArrayLike, points: int = POINTS_PER_TRACE
) -> tuple[np.ndarray, np.ndarray]:
    """Return at most ``points`` of the samples, so that the drawn curve keeps its envelope.

    The samples between the first and the last are cut into equal buckets; of each bucket the
    samples with the smallest and the largest finite value stay, in their order. The first and the
    last sample stay as well. A bucket without a finite value keeps one sample, so that a gap stays
    a gap. A trace that is short enough is returned whole.

    Args:
        times: instants, shape (n,).
        values: samples, shape (n,).
        points: largest number of samples returned, at least 4.

    Raises:
        ReportError: the shapes differ or ``points`` is below 4.
    """
    times = np.asarray(times, dtype=float)
    values = np.asarray(values, dtype=float)
    if times.ndim != 1 or times.shape != values.shape:
        raise ReportError(
            f"a trace has times of shape {times.shape} and values of shape {values.shape}: "
            "both have to be one-dimensional and equally long"
        )
    if points < 4:
        raise ReportError(f"a trace cannot be decimated to {points} points: ask for at least 4")
    if values.size <= points:
        return times, values
    kept = _kept_indices(values, points)
    return times[kept], values[kept]


def bucket_size(samples: int, points: int = POINTS_PER_TRACE) -> int:
    """Return how many inner samples share a bucket when ``samples`` are decimated."""
    return -(-(samples - 2) // ((points - 2) // 2))


def _kept_indices(values: np.ndarray, points: int) -> np.ndarray:
    inner = values[1:-1]
    size = bucket_size(values.size, points)
    buckets = -(-inner.size // size)
    # Repeating the last sample to fill the last bucket is harmless: argmin and argmax return the
    # first of equal samples, which is the real one.
    padded = np.concatenate([inner, np.full(buckets * size - inner.size, inner[-1])])
    grid = padded.reshape(buckets, size)
    finite = np.isfinite(grid)
    lowest = np.where(finite, grid, np.inf).argmin(axis=1)
    highest = np.where(finite, grid, -np.inf).argmax(axis=1)
    starts = np.arange(buckets) * size
    inside = np.stack([starts + lowest, starts + highest], axis=1).ravel() + 1
    return np.unique(np.concatenate([[0], inside, [values.size - 1]]))
