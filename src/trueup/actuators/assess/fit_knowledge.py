"""Joint distribution of the parameters of a servo fit, the source of draws for a simulator."""

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
    """Gaussian of the parameters due to noise of the logs, in search coordinates.

    The mean is the optimum without bounds: for a parameter on a bound it lies beyond that bound,
    which truncates the Gaussian.

    Args:
      space: the parameters.
      x: the optimum ``(p,)``.
      at_bound: which parameters are on a bound ``(p,)`` bool.
      curvature: second derivatives ``(p, p)`` of the cost in search coordinates.
      gradient: gradient ``(p,)`` of the cost in search coordinates.
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
    """Factor ``(p,)`` on each standard deviation that covers the spread of fits to parts of logs.

    Args:
      known: distribution due to noise.
      standard_errors: of fits to parts, in search coordinates ``(p,)``; None if the residuals
        are pure noise.
    """
    factors = np.ones(len(known.names))
    if standard_errors is None:
        return factors
    determined = np.diag(known.precision) > 0.0
    own = np.sqrt(np.diag(inverse_of(known.precision)))
    np.divide(standard_errors, own, out=factors, where=determined & (own > 0.0))
    return np.maximum(factors, 1.0)
