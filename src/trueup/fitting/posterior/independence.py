"""Proposals around the fit that do not depend on the present place of a walker."""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln

_DOF = 8.0  # heavier tails than the posterior, so that no walker is stuck in one
_SCALE = 1.1  # of the standard deviations
_FAR_SHARE = 0.2  # of the draws
_LOOSE = 0.05  # least standard deviation of an element that is drawn far away [of its range]


class AroundFit:
    """Student's t around a fit, uniform between the bounds in undetermined elements.

    Where the posterior is nearly Gaussian, most of its draws are accepted, and successive samples
    are nearly independent (independence sampler, Tierney 1994, Ann. Statist. 22:1701); elsewhere
    the moves of the ensemble do the work. A part of the draws is uniform between the bounds in
    the elements that the data determine badly: a ridge can have narrow parts far from the fit.

    Args:
      centre: the fit in search coordinates ``(p,)``.
      spread: covariance ``(p, p)``; an infinite variance is uniform.
      low: lower bounds ``(p,)``.
      high: upper bounds ``(p,)``.
    """

    def __init__(self, centre: np.ndarray, spread: np.ndarray, low: np.ndarray, high: np.ndarray):
        self._low, self._high = low, high
        deviations = np.sqrt(np.diag(spread))
        self._wide = np.flatnonzero(~np.isfinite(deviations))
        held = np.flatnonzero(np.isfinite(deviations))
        self._near = _Student(centre, spread, held)
        # Only what the data leave loose is looked for elsewhere: a place that is wrong in a
        # determined element would never be accepted.
        span = high - low
        loose = held[np.isfinite(span[held]) & (deviations[held] > _LOOSE * span[held])]
        self._loose = loose
        self._far = _Student(centre, spread, np.setdiff1d(held, loose))
        self._far_share = _FAR_SHARE if len(loose) else 0.0
        self._log_far = -float(np.log(span[loose]).sum())

    def draw(self, count: int, rng: Any) -> np.ndarray:
        """Draws ``(n, p)``; those beyond the bounds have no density under the posterior."""
        out = self._near.draw(count, rng)
        self._uniform(out, np.arange(count), self._wide, rng)
        if self._far_share:
            far = np.flatnonzero(rng.uniform(size=count) < self._far_share)
            self._uniform(out, far, self._loose, rng)
        return out

    def _uniform(self, out: np.ndarray, rows: np.ndarray, elements: np.ndarray, rng: Any) -> None:
        low, span = self._low[elements], (self._high - self._low)[elements]
        draws = rng.uniform(size=(len(rows), len(elements)))
        out[np.ix_(rows, elements)] = low + span * draws

    def log_density(self, z: np.ndarray) -> np.ndarray:
        """Log density ``(n,)`` of places ``(n, p)`` within the bounds, up to a constant."""
        near = self._near.log_density(z)
        if not self._far_share:
            return near
        far = self._far.log_density(z) + self._log_far
        return np.logaddexp(np.log1p(-self._far_share) + near, np.log(self._far_share) + far)

    def propose(self, places: np.ndarray, rng: Any) -> tuple[np.ndarray, np.ndarray]:
        """New places, and the log of the ratio of proposal densities, as emcee asks for them."""
        new = self.draw(len(places), rng)
        return new, self.log_density(places) - self.log_density(new)


class _Student:
    """Student's t of some elements, the others at the centre."""

    def __init__(self, centre: np.ndarray, spread: np.ndarray, elements: np.ndarray):
        self._centre, self._elements = centre, elements
        block = spread[np.ix_(elements, elements)]
        values, vectors = np.linalg.eigh(0.5 * (block + block.T))
        # an element that is exactly known does not move
        values = np.maximum(values, 1e-12 * values.max(initial=0.0))
        # lower triangle of a root of the covariance
        triangle: Any = np.linalg.qr((vectors * np.sqrt(values)).T, mode="r")
        self._root = _SCALE * triangle.T
        size = len(elements)
        with np.errstate(divide="ignore"):
            log_root = np.log(np.abs(np.diag(self._root))).sum()
        self._log_top = float(
            gammaln(0.5 * (_DOF + size))
            - gammaln(0.5 * _DOF)
            - 0.5 * size * np.log(_DOF * np.pi)
            - log_root
        )

    def draw(self, count: int, rng: Any) -> np.ndarray:
        """Draws ``(n, p)``."""
        out = np.tile(self._centre, (count, 1))
        normal = rng.normal(size=(count, len(self._elements)))
        size = np.sqrt(_DOF / rng.chisquare(_DOF, size=count))
        out[:, self._elements] += size[:, None] * (normal @ self._root.T)
        return out

    def log_density(self, z: np.ndarray) -> np.ndarray:
        """Log density ``(n,)`` of places ``(n, p)``."""
        if not len(self._elements):
            return np.zeros(len(z))
        away = (z - self._centre)[:, self._elements]
        scaled = solve_triangular(self._root, away.T, lower=True)
        exponent = -0.5 * (_DOF + len(self._elements))
        squares = np.einsum("pn,pn->n", scaled, scaled)
        return self._log_top + exponent * np.log1p(squares / _DOF)
