"""Likelihood of residuals with autocorrelated noise whose size is unknown."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.fitting.problem import ResidualGroup
from trueup.fitting.uncertainty.autoregressive import whitened
from trueup.fitting.uncertainty.noise import fit_noise

_LEAST = 1e-300  # energy of an exact fit, whose logarithm has to remain finite


@dataclass(frozen=True)
class _Whitening:
    """Filter that makes the residuals of a group white, with unit variance and no correlation."""

    rows: slice
    channels: int
    coefficients: tuple[np.ndarray, ...]
    mixing: np.ndarray
    transient: int

    def energies(self, residuals: np.ndarray) -> tuple[np.ndarray, int]:
        """Sums of squares ``(n,)`` of residuals ``(n, m)``, and the number of terms."""
        part = residuals[:, self.rows].reshape(len(residuals), -1, self.channels)
        white = np.stack(
            [whitened(part[:, :, c], a) for c, a in enumerate(self.coefficients)], axis=-1
        )[:, self.transient :]
        mixed = white @ self.mixing
        return np.einsum("ntc,ntc->n", mixed, mixed), mixed[0].size


class NoiseLikelihood:
    """Log density of residuals, with the noise model of the intervals.

    Each channel of a group is autoregressive, or white, and innovations are correlated across
    channels, as estimated at the fit. The size of the noise of each group is unknown: with
    Jeffreys' prior ``1 / s^2`` its integral is ``-N/2 log(sum of squares)`` for ``N`` samples, so
    that samples of a linear problem are those of Student's t (Gelman et al., Bayesian Data
    Analysis, section 14.2). Rows of priors have unit variance.

    Args:
      residual: residuals at the fit ``(m,)``.
      groups: rows of each recorded sequence; rows run over time, channels within a time.
      priors: factor from each row after the data to units of its standard deviation ``(k,)``.
      white: whether noise is white.
      parameters: number of fitted parameters, which have absorbed a part of the noise.
    """

    def __init__(
        self,
        residual: np.ndarray,
        groups: Sequence[ResidualGroup],
        priors: np.ndarray,
        *,
        white: bool = False,
        parameters: int = 0,
    ):
        self._priors = np.asarray(priors, float)
        self._data_rows = len(residual) - len(self._priors)
        lost = min(parameters / max(self._data_rows, 1), 0.5)
        self._groups = [_whitening(residual, group, white, lost) for group in groups]

    def log_density(self, residuals: np.ndarray) -> np.ndarray:
        """Log density ``(n,)`` of residuals ``(n, m)``, up to a constant."""
        total = np.zeros(len(residuals))
        for group in self._groups:
            energy, count = group.energies(residuals)
            total -= 0.5 * count * np.log(np.maximum(energy, _LEAST))
        scaled = residuals[:, self._data_rows :] * self._priors
        return total - 0.5 * np.einsum("nk,nk->n", scaled, scaled)


def _whitening(residual: np.ndarray, group: ResidualGroup, white: bool, lost: float) -> _Whitening:
    part = residual[group.rows].reshape(len(group.times), len(group.channels))
    noise = fit_noise(part, 0 if white else None, lost_share=lost)
    values, vectors = np.linalg.eigh(noise.covariance)
    largest = values.max(initial=0.0)
    # a channel without error has no information on the size of its noise
    inverse = np.where(values > 1e-12 * largest, values, np.inf) if largest > 0 else values + 1.0
    return _Whitening(
        group.rows,
        part.shape[1],
        tuple(model.coefficients for model in noise.models),
        vectors / np.sqrt(inverse),
        noise.transient,
    )
