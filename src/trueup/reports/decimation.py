"""Min-max decimation, which keeps every peak."""

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import ReportError

POINTS_PER_TRACE = 1000


def decimate(
    times: ArrayLike, values: ArrayLike, points: int = POINTS_PER_TRACE
) -> tuple[np.ndarray, np.ndarray]:
    """Return at most ``points`` of the samples, preserving the envelope of the curve.

    The samples between the first and the last are divided into equal buckets; of each bucket the
    samples with the smallest and the largest finite value are kept, in order, and so are the first
    and the last sample. A bucket without a finite value keeps one sample, to preserve the gap. A
    short trace is returned unchanged.

    Args:
        times: instants, shape (n,).
        values: samples, shape (n,).
        points: maximum number of returned samples, at least 4.

    Raises:
        ReportError: the shapes differ or ``points`` is below 4.
    """
    times = np.asarray(times, dtype=float)
    values = np.asarray(values, dtype=float)
    if times.ndim != 1 or times.shape != values.shape:
        raise ReportError(
            f"a trace has times of shape {times.shape} and values of shape {values.shape}: "
            "both must be one-dimensional and of equal length"
        )
    if points < 4:
        raise ReportError(f"points of a decimated trace must be at least 4, found {points}")
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
    # The last bucket is filled by repeating the last sample: argmin and argmax return the first of
    # equal samples, which is the original.
    padded = np.concatenate([inner, np.full(buckets * size - inner.size, inner[-1])])
    grid = padded.reshape(buckets, size)
    finite = np.isfinite(grid)
    lowest = np.where(finite, grid, np.inf).argmin(axis=1)
    highest = np.where(finite, grid, -np.inf).argmax(axis=1)
    starts = np.arange(buckets) * size
    inside = np.stack([starts + lowest, starts + highest], axis=1).ravel() + 1
    return np.unique(np.concatenate([[0], inside, [values.size - 1]]))
