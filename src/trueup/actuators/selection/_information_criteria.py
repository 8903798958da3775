"""Akaike's and the Bayesian information criterion for autocorrelated residuals.

Samples of a simulated motion are not independent: an error lasts as long as the motion that
causes it. Treated as independent, they would favour any model that is slightly better. The
log-likelihood is therefore divided by the variance inflation ``c = samples / effective samples``
before the penalty for parameters (quasi-likelihood: Burnham, Anderson 2002, "Model Selection and
Multimodel Inference", section 2.5). ``c`` is that of the model with the smallest error and common
to all models, so that their likelihoods are comparable.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.actuators.bench.objective import OBJECTIVES
from trueup.actuators.logs.servo_log import Array
from trueup.errors import FitError, listing

LIKELIHOODS = {name: kind.likelihood for name, kind in OBJECTIVES.items()}
"""Objective of a fit -> distribution of residuals whose maximum likelihood it gives."""


@dataclass(frozen=True)
class InformationCriteria:
    """Criteria of one model; only differences between models of the same data are meaningful."""

    aic: float
    """Akaike's criterion of the quasi-likelihood."""
    bic: float
    """Bayesian (Schwarz) criterion of the quasi-likelihood."""
    aic_difference: float
    """Akaike's criterion minus the smallest among the models."""
    bic_difference: float
    """Bayesian criterion minus the smallest among the models."""
    own_effective_samples: float
    """Effective samples from the residuals of this model."""


def effective_samples(residual: Array) -> float:
    """Number of independent samples with the same information on the mean.

    ``n / (1 + 2 sum of autocorrelations)`` (Bayley, Hammersley 1946, Supplement to the Journal of
    the Royal Statistical Society 8); the sum ends when two neighbouring autocorrelations together
    are no longer positive, and is monotone before (initial monotone sequence: Geyer 1992,
    Statistical Science 7, section 3.3). The mean is not subtracted,
    because the residuals of a right model have zero mean.

    Args:
        residual: residuals of one log in order, ``(n,)``.

    Returns:
        Effective samples, 1 to n.
    """
    residual = np.asarray(residual, float)
    n = residual.size
    power = float(residual @ residual)
    if n < 2 or not power > 0:
        return float(n)
    spectrum = np.fft.rfft(residual, 2 * n)
    autocorrelation = np.fft.irfft(np.abs(spectrum) ** 2)[:n] / power
    pairs = autocorrelation[: 2 * (n // 2)].reshape(-1, 2).sum(axis=1)
    ended = np.flatnonzero(pairs <= 0)
    positive = pairs[: ended[0]] if ended.size else pairs
    time = 2.0 * float(np.minimum.accumulate(positive).sum()) - 1.0
    return float(np.clip(n / max(time, 1.0), 1.0, n))


def information_criteria(
    residuals: Sequence[Sequence[Array]], parameters: Sequence[int], kind: str = "mae"
) -> tuple[list[InformationCriteria], float]:
    """Criteria of several models of the same logs.

    With ``n_e`` effective samples and the error ``s`` (mean absolute, or root mean square) averaged
    over the logs, as a fit averages it, minus twice the quasi-log-likelihood is
    ``2 n_e (log(2 s) + 1)`` for Laplace-distributed residuals and
    ``n_e (log(2 pi s^2) + 1)`` for normal ones. Akaike's criterion adds 2 for each parameter, the
    Bayesian one ``log(n_e)``; the scale of the residuals is a parameter too.

    Args:
        residuals: of each model, those of each log.
        parameters: number of fitted parameters of each model.
        kind: objective of the fits.

    Returns:
        Criteria of each model, and the effective samples used for all of them. A model that
        diverged has infinite ones.

    Raises:
        FitError: unknown objective, or no models.
    """
    if kind not in LIKELIHOODS:
        raise FitError(f"unknown objective {kind!r}; available: {listing(LIKELIHOODS)}")
    if not residuals:
        raise FitError("no models to compute information criteria for")
    scales = np.array([_scale(of_logs, kind) for of_logs in residuals])
    own = [
        sum(effective_samples(r) for r in of_logs) if np.isfinite(scale) else np.nan
        for of_logs, scale in zip(residuals, scales, strict=True)
    ]
    best = int(np.argmin(scales))
    common = own[best] if np.isfinite(scales[best]) else np.nan
    minus_twice = _minus_twice_log_likelihood(scales, common, kind)
    counts = np.asarray(parameters, float) + 1.0
    aic = minus_twice + 2.0 * counts
    bic = minus_twice + counts * np.log(common)
    found = [
        InformationCriteria(
            aic=float(a),
            bic=float(b),
            aic_difference=float(a - np.nanmin(aic)),
            bic_difference=float(b - np.nanmin(bic)),
            own_effective_samples=float(n),
        )
        for a, b, n in zip(aic, bic, own, strict=True)
    ]
    return found, float(common)


def _scale(residuals: Sequence[Array], kind: str) -> float:
    if LIKELIHOODS[kind] == "Laplace":
        value = np.mean([np.mean(np.abs(r)) for r in residuals])
    else:
        value = np.sqrt(np.mean([np.mean(r**2) for r in residuals]))
    return float(value) if np.isfinite(value) else float("inf")


def _minus_twice_log_likelihood(scales: Array, samples: float, kind: str) -> Array:
    scales = np.maximum(scales, np.finfo(float).tiny)
    if LIKELIHOODS[kind] == "Laplace":
        return 2.0 * samples * (np.log(2.0 * scales) + 1.0)
    return samples * (np.log(2.0 * np.pi * scales**2) + 1.0)
