"""Joint knowledge of the parameters of a servo fit: what draws for a simulator come from."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trueup.fitting.uncertainty import CovarianceEstimate
from trueup.fitting.uncertainty.gaussian import Gaussian, gaussian_of_fit
from trueup.fitting.uncertainty.start_noise import inverse_of
from trueup.parameters import Space


def known_of_servo(
    space: Space,
    x: np.ndarray,
    at_bound: np.ndarray,
    curvature: np.ndarray,
    gradient: np.ndarray,
    covariance: CovarianceEstimate,
    jacobians: Sequence[np.ndarray],
) -> Gaussian:
    """Knowledge of the parameters from the noise of the logs, in search coordinates.

    The centre is the optimum without bounds: of a parameter on a bound it lies beyond, and the
    bound cuts the Gaussian.

    Args:
      space: the parameters.
      x: the optimum ``(p,)``.
      at_bound: which parameters are on a bound ``(p,)`` bool.
      curvature: second derivatives ``(p, p)`` of the cost in search coordinates.
      gradient: its derivatives ``(p,)``, likewise.
      covariance: of the estimates in search coordinates, every parameter free.
      jacobians: of the residuals in search coordinates, ``(T, channels, p)`` a log.
    """
    known = gaussian_of_fit(
        space.names, space.to_search(x), at_bound, curvature, gradient, covariance
    )
    determined = ~covariance.undetermined
    # growth of the squared error, whatever loss the fit minimised
    rows = [each.reshape(-1, space.size) for each in jacobians]
    squares = inverse_of(sum((each.T @ each for each in rows), np.zeros((space.size,) * 2)))
    own, plain = (np.diag(m)[determined] for m in (covariance.determined_part, squares))
    ratio = own[plain > 0.0] / plain[plain > 0.0]
    return replace(known, inflation=float(np.median(ratio)) if ratio.size else 1.0)


def widening_of_spread(known: Gaussian, standard_errors: np.ndarray | None) -> np.ndarray:
    """Factor ``(p,)`` on each standard deviation that reaches those of fits to parts of the logs.

    Args:
      known: knowledge from the noise.
      standard_errors: of fits to parts, in search coordinates ``(p,)``; None where the residuals
        are noise alone.
    """
    factors = np.ones(len(known.names))
    if standard_errors is None:
        return factors
    determined = np.diag(known.precision) > 0.0
    own = np.sqrt(np.diag(inverse_of(known.precision)))
    np.divide(standard_errors, own, out=factors, where=determined & (own > 0.0))
    return np.maximum(factors, 1.0)
