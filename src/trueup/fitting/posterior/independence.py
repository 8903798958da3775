"""Proposals around the fit that do not depend on the present place of a walker."""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

_DOF = 8.0  # heavier tails than the posterior, so that no walker is stuck in one
_SCALE = 1.1  # of the standard deviations


class AroundFit:
    """Student's t around a fit, uniform between the bounds in undetermined elements.

    Where the posterior is nearly Gaussian, most of its draws are accepted, and successive samples
    are nearly independent (independence sampler, Tierney 1994, Ann. Statist. 22:1701); elsewhere
    the moves of the ensemble do the work.

    Args:
      centre: the fit in search coordinates ``(p,)``.
      spread: covariance ``(p, p)``; an infinite variance is uniform.
      low: lower bounds ``(p,)``.
      high: upper bounds ``(p,)``.
    """

    def __init__(self, centre: np.ndarray, spread: np.ndarray, low: np.ndarray, high: np.ndarray):
        self._centre, self._low, self._high = centre, low, high
        self._wide = ~np.isfinite(np.diag(spread))
        self._held = np.flatnonzero(~self._wide)
        block = spread[np.ix_(self._held, self._held)]
        values, vectors = np.linalg.eigh(0.5 * (block + block.T))
        # an element that is exactly known does not move
        values = np.maximum(values, 1e-12 * values.max(initial=0.0))
        # lower triangle of a root of the covariance
        triangle: Any = np.linalg.qr((vectors * np.sqrt(values)).T, mode="r")
        self._root = _SCALE * triangle.T

    def draw(self, count: int, rng: Any) -> np.ndarray:
        """Draws ``(n, p)``; those beyond the bounds have no density under the posterior."""
        out = np.tile(self._centre, (count, 1))
        wide = np.flatnonzero(self._wide)
        span = self._high[wide] - self._low[wide]
        out[:, wide] = self._low[wide] + span * rng.uniform(size=(count, len(wide)))
        normal = rng.normal(size=(count, len(self._held)))
        size = np.sqrt(_DOF / rng.chisquare(_DOF, size=count))
        out[:, self._held] += size[:, None] * (normal @ self._root.T)
        return out

    def log_density(self, z: np.ndarray) -> np.ndarray:
        """Log density ``(n,)`` of places ``(n, p)`` within the bounds, up to a constant."""
        if not len(self._held):
            return np.zeros(len(z))
        away = (z - self._centre)[:, self._held]
        scaled = solve_triangular(self._root, away.T, lower=True)
        exponent = -0.5 * (_DOF + len(self._held))
        return exponent * np.log1p(np.einsum("pn,pn->n", scaled, scaled) / _DOF)

    def propose(self, places: np.ndarray, rng: Any) -> tuple[np.ndarray, np.ndarray]:
        """New places, and the log of the ratio of proposal densities, as emcee asks for them."""
        new = self.draw(len(places), rng)
        return new, self.log_density(places) - self.log_density(new)
