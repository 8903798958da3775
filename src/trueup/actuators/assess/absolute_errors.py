"""Derivatives of a sum of absolute errors, for Newton-type estimates at its minimum.

The first derivative of ``|r|`` is its sign. The second derivative is that of the expected sum:
twice the density of the error at zero. The errors are divided by their local size, their density is
estimated from all samples near zero and divided by the local size again: the estimate uses many
samples, and is lower where errors are large. Bandwidth: Hall and Sheather, "On the Distribution of
a Studentized Quantile", Journal of the Royal Statistical Society B 50 (1988), equation for the
median at 95 %;
theory in Koenker, "Quantile Regression" (2005), sections 3.2 and 3.4.
"""

from collections.abc import Sequence

import numpy as np

_NEIGHBOURS = 101  # window of the local mean absolute error [samples]
_SMALLEST = 0.05  # smallest local size, as a fraction of the mean over all logs
_NORMAL_MEAN = 0.7979  # mean absolute value of a standard normal variable


def signs_and_densities(
    residuals: Sequence[np.ndarray],
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Weights and second derivatives of absolute errors.

    Args:
      residuals: errors of each log ``(T, C)``; 0 for missing measurements.

    Returns:
      Weights that turn the errors into their signs, and twice the density at 0, of the same shapes.
    """
    measured = [residual != 0.0 for residual in residuals]
    whole = np.concatenate([r[m] for r, m in zip(residuals, measured, strict=True)])
    mean = float(np.abs(whole).mean()) if whole.size else 0.0
    if mean == 0.0:
        ones = [np.ones_like(residual) for residual in residuals]
        return ones, ones
    sizes = [np.maximum(_local_size(residual), _SMALLEST * mean) for residual in residuals]
    relative = np.concatenate(
        [(r / s)[m] for r, s, m in zip(residuals, sizes, measured, strict=True)]
    )
    near = _bandwidth(relative.size) / _NORMAL_MEAN
    density = max(float(np.mean(np.abs(relative) < near)), 1.0 / relative.size) / (2.0 * near)
    tiny = 1e-9 * mean
    return (
        [1.0 / np.maximum(np.abs(residual), tiny) for residual in residuals],
        [2.0 * density / size for size in sizes],
    )


def _local_size(residual: np.ndarray) -> np.ndarray:
    """Mean absolute error in a window around each sample ``(T, C)``."""
    from scipy.ndimage import uniform_filter1d

    return np.asarray(uniform_filter1d(np.abs(residual), _NEIGHBOURS, axis=0, mode="reflect"))


def _bandwidth(samples: int) -> float:
    """Half-width of the window around the median, in standard deviations of a normal variable."""
    from scipy.special import ndtri

    share = samples ** (-1 / 3) * 1.96 ** (2 / 3) * (1.5 / (2.0 * np.pi)) ** (1 / 3)
    return float(2.0 * ndtri(0.5 + min(share, 0.3)))
