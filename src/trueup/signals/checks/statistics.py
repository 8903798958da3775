"""Statistics of a signal: noise level, resolution, runs of equal values, direction."""

import numpy as np

from trueup.signals._samples import Array

# Residual about the fitted lattice, in steps, below which values count as multiples of a step.
# Values without a lattice give 0.29 = 1 / sqrt(12), the standard deviation of rounding.
_LATTICE_RESIDUAL = 0.12


def noise_level(values: Array) -> float:
    """Return the standard deviation of white noise on a smooth signal, from second differences.

    A second difference of white noise has six times its variance, one of a smooth signal is nearly
    zero; the median keeps steps and spikes out of the estimate.
    """
    if values.size < 8:
        return 0.0
    curvature = np.diff(values, n=2)
    return float(1.4826 * np.median(np.abs(curvature - np.median(curvature))) / np.sqrt(6.0))


def resolution(values: Array) -> float:
    """Return the step of which all values are multiples, or 0 where there is no such step.

    It is also found where the values were rounded again on printing: the step is fitted
    to all levels, not read from two.
    """
    levels = np.unique(values)
    if levels.size < 2:
        return 0.0
    distances = np.diff(levels)
    # Levels that differ by floating-point rounding only are one level.
    rounding = 16.0 * np.spacing(np.max(np.abs(levels)))
    distances = distances[distances > rounding]
    if distances.size == 0:
        return 0.0
    if distances.size == 1:
        return float(distances[0])
    counts = np.rint(distances / distances.min())
    step = float(np.sum(distances * counts) / np.sum(counts**2))
    counts = np.rint(distances / step)
    residual = np.sqrt(np.mean((distances - counts * step) ** 2))
    return step if step > 0 and residual < _LATTICE_RESIDUAL * step else 0.0


def runs(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first index of each run of True, and the index after its last."""
    edges = np.diff(np.concatenate(([0], mask.astype(np.int8), [0])))
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)


def turns_one_way(values: Array, limit: float) -> bool:
    """Whether an angle ends far from its start, like a wheel; a joint returns.

    Args:
        values: Angles (n,) [rad].
        limit: Distance between first and last that is far [rad].
    """
    net = abs(float(values[-1] - values[0]))
    return net > limit and net > 0.7 * float(np.ptp(values))
