"""Autoregressive models of residuals: order, coefficients, correlation time."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

MAX_ORDER = 30


@dataclass(frozen=True)
class AutoregressiveModel:
    """Noise ``n`` with ``n[t] + a[1] n[t-1] + ... + a[m] n[t-m] = e[t]``, ``e`` white.

    Args:
        coefficients: ``(m + 1,)``, the polynomial ``1, a[1], ..., a[m]``.
        innovation_variance: Variance of ``e``.
        samples: Number of samples it was fitted to.
    """

    coefficients: np.ndarray
    innovation_variance: float
    samples: int

    @property
    def order(self) -> int:
        """Number of past samples in the model."""
        return len(self.coefficients) - 1

    @cached_property
    def memory(self) -> float:
        """Samples after which the slowest mode has decayed to 1/e (0 for white noise)."""
        if self.order == 0:
            return 0.0
        radius = float(np.abs(np.roots(self.coefficients)).max(initial=0.0))
        if radius <= 0.0:
            return 0.0
        return -1.0 / np.log(min(radius, 1.0 - 1e-9))

    @property
    def long_run_deviation(self) -> float:
        """Root of the spectral density at frequency zero, which slow errors scale with."""
        return float(np.sqrt(self.innovation_variance) / self.coefficients.sum())

    def coefficient_covariance(self) -> np.ndarray:
        """Return the asymptotic covariance ``(m, m)`` of ``a[1:]``.

        It is ``innovation variance * inverse autocovariance / T`` (Brockwell and Davis 1991,
        theorem 8.1.1); the inverse has a closed form in the coefficients (Gohberg and
        Semencul 1972), which is accurate for nearly singular noise.
        """
        m = self.order
        lag = np.subtract.outer(np.arange(m), np.arange(m))
        lower = lag >= 0
        first = np.where(lower, self.coefficients[np.where(lower, lag, 0)], 0.0)
        second = np.where(lower, self.coefficients[np.where(lower, m - lag, 0)], 0.0)
        return (first @ first.T - second @ second.T) / self.samples


def reflections_by_burg(signal: np.ndarray, max_order: int) -> np.ndarray:
    """Return the reflection coefficients ``(max_order,)`` of a signal ``(T,)``.

    Burg 1975: each stage minimises forward plus backward prediction error, so the model is always
    stable and, unlike Yule-Walker's, is not biased by windowing where memory is long.
    """
    forward = np.array(signal, dtype=float)
    backward = forward.copy()
    floor = forward @ forward * 1e-28
    reflections = np.zeros(max_order)
    for stage in range(max_order):
        ahead, behind = forward[1:], backward[:-1]
        energy = ahead @ ahead + behind @ behind
        if energy <= floor:
            break
        k = -2.0 * (ahead @ behind) / energy
        reflections[stage] = k
        forward, backward = ahead + k * behind, behind + k * ahead
    return reflections


def reflections_by_autocovariance(autocovariance: np.ndarray) -> np.ndarray:
    """Return the reflection coefficients of autocovariances ``(m + 1,)`` (Levinson 1947)."""
    order = len(autocovariance) - 1
    polynomial = np.ones(1)
    error = float(autocovariance[0])
    reflections = np.zeros(order)
    for stage in range(order):
        if error <= 0.0:
            break
        k = -float(polynomial @ autocovariance[stage + 1 : 0 : -1]) / error
        k = float(np.clip(k, -1.0, 1.0))
        reflections[stage] = k
        extended = np.append(polynomial, 0.0)
        polynomial = extended + k * extended[::-1]
        error *= 1.0 - k * k
    return reflections


def polynomial_of(reflections: np.ndarray) -> np.ndarray:
    """Return the polynomial ``1, a[1], ..., a[m]`` of reflection coefficients (step-up)."""
    polynomial = np.ones(1)
    for k in reflections:
        extended = np.append(polynomial, 0.0)
        polynomial = extended + k * extended[::-1]
    return polynomial


def order_by_aic(reflections: np.ndarray, samples: int) -> int:
    """Return the order that minimises Akaike's criterion ``T log(variance) + 2 m`` (1974)."""
    with np.errstate(divide="ignore"):
        log_variance = np.concatenate([[0.0], np.cumsum(np.log1p(-(reflections**2)))])
    criterion = samples * np.maximum(log_variance, -700.0) + 2.0 * np.arange(len(log_variance))
    return int(np.argmin(criterion))


def largest_order(samples: int) -> int:
    """Return the largest order for a number of samples: ``min(30, T / 10)``."""
    return int(min(MAX_ORDER, samples // 10))


def fit_autoregressive(
    signal: np.ndarray,
    max_order: int | None = None,
    reflection_correction: np.ndarray | None = None,
    order: int | None = None,
) -> AutoregressiveModel:
    """Fit an autoregressive model to a zero-mean signal ``(T,)``.

    Args:
        signal: The signal; its mean is not removed, because residuals of a fit are centred.
        max_order: Largest order tried; default ``min(30, T / 10)``.
        reflection_correction: Added to the reflection coefficients, to correct for the noise
            absorbed by the fitted parameters.
        order: Order to use; default by Akaike's criterion.

    A root ``z`` near one is biased by ``-2 z / T`` (Kendall 1954), but intervals scale with
    ``1 / (1 - z)``, whose convexity compensates for it: with ``var(z) = (1 - z^2) / T``
    its relative bias is ``-2 z / (T (1 - z)) + (1 + z) / (T (1 - z))``, the inverse sample length.
    So the root is not corrected; a correction would only widen the intervals.

    Returns:
        The model.
    """
    samples = len(signal)
    scale = float(np.abs(signal).max(initial=0.0))
    highest = largest_order(samples) if max_order is None else max_order
    if scale == 0.0 or highest < 1:
        return AutoregressiveModel(np.ones(1), float(np.mean(np.square(signal))), samples)
    reflections = reflections_by_burg(signal / scale, highest)
    chosen = order_by_aic(reflections, samples) if order is None else order
    reflections = reflections[:chosen]
    if reflection_correction is not None:
        limit = 1.0 - 0.5 * (1.0 - np.abs(reflections))
        reflections = np.clip(reflections + reflection_correction[:chosen], -limit, limit)
    coefficients = polynomial_of(reflections)
    innovations = whitened(signal, coefficients)[chosen:]
    return AutoregressiveModel(coefficients, float(np.mean(np.square(innovations))), samples)


def whitened(signal: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Return the one-step prediction errors ``(T,)``; the first ``m`` are transient."""
    if len(coefficients) == 1:
        return np.asarray(signal, dtype=float)
    from scipy.signal import lfilter

    return np.asarray(lfilter(coefficients, [1.0], signal))
