"""Distribution of parameters as a Gaussian within bounds, and draws from it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from trueup.errors import FitError, listing

SWEEPS = 60
"""Passes over all directions if bounds truncate the Gaussian; otherwise one pass is exact."""

_WELL_KNOWN = 0.25  # standard deviation as a share of the range
_ABSENT = 1e-12  # share of the largest precision below which only bounds limit a direction


@dataclass(frozen=True)
class Belief:
    """A Gaussian truncated by a box, in the search coordinates of parameters.

    The precision is zero in directions that the data do not determine. In these, draws depend on
    the box alone, or on a prior that is part of the precision, and not on the estimate.
    """

    names: tuple[str, ...]
    """Name of each element."""
    centre: np.ndarray
    """Optimum without bounds ``(p,)``."""
    precision: np.ndarray
    """Inverse of the covariance ``(p, p)``; singular if data do not determine all directions."""
    lower: np.ndarray
    """Lower bounds ``(p,)``, possibly ``-inf``."""
    upper: np.ndarray
    """Upper bounds ``(p,)``, possibly ``inf``."""

    def widened(self, factors: np.ndarray) -> "Belief":
        """The distribution with the standard deviation of each element ``(p,)`` times a factor."""
        shrink = 1.0 / np.asarray(factors, float)
        precision = self.precision * np.outer(shrink, shrink)
        return Belief(self.names, self.centre, precision, self.lower, self.upper)

    def independent(self) -> "Belief":
        """The distribution with the same marginal widths, but without correlation."""
        scale = self._scale()
        values, axes = self._directions(scale)
        present = values > _ABSENT * max(values.max(initial=0.0), 0.0)
        spread = scale**2 * (axes[:, present] ** 2 / values[present]).sum(axis=1)
        # with a component in an undetermined direction, only the bounds limit the parameter
        free = (axes[:, ~present] ** 2).sum(axis=1) > 1e-6
        precision = np.diag(np.where(free, 0.0, 1.0 / np.where(spread > 0, spread, 1.0)))
        return Belief(self.names, self.centre, precision, self.lower, self.upper)

    def determined_steps(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random steps ``(count, p)`` from the centre along well determined directions.

        Directions with a standard deviation above a quarter of the box, or without a limit, are
        excluded: the box limits them, and a linearisation at the centre is not valid there.
        """
        span = self.upper - self.lower
        scale = np.where(np.isfinite(span) & (span > 0), span, self._scale())
        values, axes = self._directions(scale)
        good = values > max(_ABSENT * values.max(initial=0.0), _WELL_KNOWN**-2)
        steps = rng.normal(size=(count, int(good.sum()))) / np.sqrt(values[good])
        return (steps @ axes[:, good].T) * scale

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draws ``(count, p)`` in search coordinates, all within the box.

        Gibbs sampling, with one chain per row: the axes of the Gaussian are drawn in turn, each
        exactly, from the Gaussian truncated by the box.

        Raises:
          FitError: neither data, prior nor bounds limit a parameter.
        """
        scale = self._scale()
        values, axes = self._directions(scale)
        values = np.where(values > _ABSENT * max(values.max(initial=0.0), 0.0), values, 0.0)
        self._check_limits(values, axes)
        low, high = (self.lower / scale)[None, :], (self.upper / scale)[None, :]
        centre = self.centre / scale
        place = np.tile(np.clip(centre, low[0], high[0]), (count, 1))
        for sweep in range(SWEEPS):
            for axis in rng.permutation(len(values)):
                self._move(place, centre, axes[:, axis], values[axis], low, high, rng)
            if sweep == 0 and self._is_free(place, low, high, values):
                break
        return np.clip(place * scale, self.lower, self.upper)

    def _is_free(
        self, place: np.ndarray, low: np.ndarray, high: np.ndarray, values: np.ndarray
    ) -> bool:
        """Whether all bounds are more than six standard deviations away."""
        if not (values > 0.0).all():
            return False
        middle, spread = place.mean(axis=0), place.std(axis=0)
        return bool(np.all(middle - low[0] > 6 * spread) and np.all(high[0] - middle > 6 * spread))

    @staticmethod
    def _move(
        place: np.ndarray,
        centre: np.ndarray,
        axis: np.ndarray,
        precision: Any,
        low: np.ndarray,
        high: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        """Draw a new position of each row along an axis."""
        moving = np.abs(axis) > 1e-12
        with np.errstate(invalid="ignore"):
            ends = np.stack([(low - place)[:, moving], (high - place)[:, moving]]) / axis[moving]
        first = np.minimum(ends.min(axis=0).max(axis=1), 0.0)
        last = np.maximum(ends.max(axis=0).min(axis=1), 0.0)
        share = rng.random(len(place))
        if precision == 0.0:
            step = first + share * (last - first)
        else:
            deviation = 1.0 / np.sqrt(precision)
            now = (place - centre) @ axis
            a, b = (now + first) / deviation, (now + last) / deviation
            # in the lower tail, where the distribution function does not lose precision
            turned = a > 0.0
            a, b = np.where(turned, -b, a), np.where(turned, -a, b)
            below, above = ndtr(a), ndtr(b)
            wanted = ndtri(below + share * (above - below))
            wanted = np.clip(np.where(np.isfinite(wanted), wanted, b), a, b)
            step = np.where(turned, -wanted, wanted) * deviation - now
        place += np.clip(step, first, last)[:, None] * axis

    def _scale(self) -> np.ndarray:
        """Scale of each coordinate ``(p,)``: its conditional standard deviation, or its range."""
        size = np.diag(self.precision)
        span = self.upper - self.lower
        known = size > 0.0
        return np.where(
            known,
            1.0 / np.sqrt(np.where(known, size, 1.0)),
            np.where(np.isfinite(span) & (span > 0), span, 1.0),
        )

    def _directions(self, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scaled = self.precision * np.outer(scale, scale)
        return np.linalg.eigh(0.5 * (scaled + scaled.T))

    def _check_limits(self, values: np.ndarray, axes: np.ndarray) -> None:
        free = (np.abs(axes[:, values == 0.0]) > 1e-3).any(axis=1)
        endless = free & ~(np.isfinite(self.lower) & np.isfinite(self.upper))
        if endless.any():
            lost = [name for name, end in zip(self.names, endless, strict=True) if end]
            raise FitError(
                f"the data do not determine {listing(lost)}, and there are no finite bounds and no "
                "prior to draw from: add bounds or a prior"
            )
