"""Criterion of a set of pieces: predicted intervals relative to the prior ranges."""

from dataclasses import dataclass

import numpy as np

from trueup.parameters import ParameterDict, Space

NORMAL = 1.959964
"""Two-sided 95 % quantile of the normal distribution."""

_SHARPNESS = 4
"""Exponent of the norm of variances over parameters: a smooth approximation of the largest
interval."""


def half_scales(parameters: ParameterDict) -> np.ndarray:
    """Half of the prior range ``(p,)``, in search coordinates.

    Half of the bounds, or of the 95 % interval of a prior if that is narrower; for a parameter
    without bounds the magnitude of its value.
    """
    space = parameters.space()
    half = half_bounds(space)
    deviations = [
        np.inf if p.prior is None else p.prior.elements(p.size)[k][1]
        for p in parameters.free
        for k in range(p.size)
    ]
    slope = space.slope(space.start)
    return np.minimum(half, NORMAL * np.array(deviations) / np.where(slope > 0, slope, 1.0))


def half_bounds(space: Space) -> np.ndarray:
    """Half of the bounds ``(p,)`` in search coordinates; the magnitude without bounds."""
    lower, upper = space.search_bounds
    with np.errstate(invalid="ignore"):
        half = 0.5 * (upper - lower)
    value = np.abs(space.to_search(space.start))
    return np.where(np.isfinite(half), half, np.maximum(value, 1e-6))


@dataclass(frozen=True)
class Criterion:
    """Relative intervals from summed information, and scalar criteria of them."""

    scale: np.ndarray
    """Half of the prior ranges ``(p,)``."""
    known: np.ndarray
    """Precision matrix of prior knowledge ``(p, p)``."""

    @property
    def alone(self) -> "Criterion":
        """The criterion without prior knowledge."""
        return Criterion(self.scale, np.zeros_like(self.known))

    def intervals(self, gram: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """Half-width of the 95 % interval over half of the prior range ``(..., p)``, at most 1.

        Args:
          gram: ``J' J`` ``(..., p, p)`` in search coordinates.
          spread: ``J' R J`` ``(..., p, p)``.
        """
        box = np.diag((NORMAL / self.scale) ** 2)
        unit = np.outer(self.scale, self.scale)
        # divided by the scales, the matrix is well conditioned
        given = (self.known + box) * unit
        inverse = np.linalg.inv(gram * unit + given)
        covariance = inverse @ (spread * unit + given) @ inverse
        variance = np.einsum("...ii->...i", covariance)
        return np.minimum(NORMAL * np.sqrt(np.maximum(variance, 0.0)), 1.0)

    @staticmethod
    def volume(intervals: np.ndarray) -> np.ndarray:
        """Mean logarithm of the intervals over parameters and draws ``(...)`` (D-optimality)."""
        return np.log(intervals).mean(axis=(-1, -2))

    @staticmethod
    def largest(intervals: np.ndarray, counted: np.ndarray) -> np.ndarray:
        """Logarithm of a smooth largest interval of some parameters, mean over draws ``(...)``."""
        chosen = intervals[..., counted]
        power = (chosen ** (2 * _SHARPNESS)).mean(axis=-1) ** (0.5 / _SHARPNESS)
        return np.log(power).mean(axis=-1)
