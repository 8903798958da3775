"""Map of finite bounds to the unit cube, in search coordinates, and Sobol points in it."""

from typing import Any

import numpy as np

from trueup.errors import FitError, listing
from trueup.parameters import Space

_MOST_SOBOL_DIMENSIONS = 21201  # limit of scipy's direction numbers


def require_finite_bounds(space: Space, purpose: str) -> None:
    """Check that all bounds of a space are finite.

    Args:
      space: search space.
      purpose: what requires the bounds, as the start of a sentence.

    Raises:
      FitError: a bound is infinite in search coordinates, as is 0 on a log scale.
    """
    lower, upper = search_bounds(space)
    infinite = ~(np.isfinite(lower) & np.isfinite(upper))
    if infinite.any():
        names = [name for name, bad in zip(space.names, infinite, strict=True) if bad]
        raise FitError(
            f"{purpose} requires finite bounds for every parameter (above 0 on a log scale); "
            f"infinite: {listing(names)}. Give bounds, freeze the parameter, or use a method "
            "that does not require bounds, such as 'cmaes' or 'least-squares'"
        )


def search_bounds(space: Space) -> tuple[np.ndarray, np.ndarray]:
    """Bounds in search coordinates; that of 0 on a log scale is ``-inf``."""
    with np.errstate(divide="ignore"):
        return space.search_bounds


def from_unit(space: Space, unit: np.ndarray) -> np.ndarray:
    """Values of points of the unit cube ``(..., p)``."""
    lower, upper = space.search_bounds
    return space.from_search(lower + unit * (upper - lower))


def to_unit(space: Space, X: np.ndarray) -> np.ndarray:
    """Points of the unit cube of values ``(..., p)``; 0 for an element with equal bounds."""
    lower, upper = space.search_bounds
    span = upper - lower
    unit = (space.to_search(X) - lower) / np.where(span > 0, span, 1.0)
    return np.clip(np.where(span > 0, unit, 0.0), 0.0, 1.0)


class SobolPoints:
    """A scrambled Sobol sequence with random access.

    Args:
      dimension: number of elements.
      seed: seed of the scrambling.

    Raises:
      FitError: more elements than the sequence is defined for.
    """

    def __init__(self, dimension: int, seed: int):
        if dimension > _MOST_SOBOL_DIMENSIONS:
            raise FitError(
                f"Sobol points support up to {_MOST_SOBOL_DIMENSIONS} parameters, found "
                f"{dimension}: use the method 'random'"
            )
        self.dimension, self.seed = dimension, seed
        self._sampler: Any = None
        self._taken = 0

    def take(self, first: int, count: int) -> np.ndarray:
        """Points ``first`` to ``first + count`` of the sequence ``(count, p)`` in the unit cube."""
        if count == 0:
            return np.empty((0, self.dimension))
        if self._sampler is None or first < self._taken:
            from scipy.stats import qmc

            random = np.random.default_rng(self.seed)
            self._sampler = qmc.Sobol(self.dimension, scramble=True, rng=random)
            self._taken = 0
        if first > self._taken:
            self._sampler.fast_forward(first - self._taken)
        # scipy warns if the first draw is not a power of two, so draw one point first
        alone = 1 if first == 0 else 0
        parts = [self._sampler.random(n) for n in (alone, count - alone) if n]
        self._taken = first + count
        return np.vstack(parts)
