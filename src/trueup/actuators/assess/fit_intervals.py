"""Intervals of a bounded fit: effects of active bounds and of a search that stopped early.

A parameter on its bound is fixed for the others, but its true value may lie inside, anywhere in its
own interval. The others would then shift too, in the linearised fit by ``-H_oo^-1 H_oa`` times its
shift, with ``H`` the second derivatives of the cost, ``o`` the others and ``a`` those on a bound.
The intervals of the others cover all of these values.

If the derivatives show that the optimum is some distance away, the interval reaches from there
to where the search stopped: a stochastic search stops anywhere around the optimum.
"""

from dataclasses import dataclass

import numpy as np

from trueup.fitting.uncertainty import CovarianceEstimate
from trueup.fitting.uncertainty.start_noise import inverse_of
from trueup.parameters import Space

_FAR = 1.0  # distance from the optimum beyond which a search stopped early [standard errors]


@dataclass(frozen=True)
class FitIntervals:
    """Intervals in units of the parameters, and which ones a search that stopped early widens."""

    ends: np.ndarray
    """Lower and upper ends ``(p, 2)``; infinite where the logs do not determine a parameter."""
    stopped_early: np.ndarray
    """Which parameters are more than a standard error from the linearised optimum ``(p,)``."""


def fit_intervals(
    space: Space,
    x: np.ndarray,
    covariance: CovarianceEstimate,
    curvature: np.ndarray,
    gradient: np.ndarray,
    factors: np.ndarray | None = None,
    bias: np.ndarray | None = None,
) -> FitIntervals:
    """Intervals of the parameters of a fit.

    Args:
      space: the parameters.
      x: where the search stopped ``(p,)``.
      covariance: covariance of the parameters in search coordinates.
      curvature: second derivatives ``(p, p)`` of the cost in search coordinates.
      gradient: gradient ``(p,)`` of the cost in search coordinates.
      factors: factors on the two sides of each interval ``(p, 2)``; default: 1.
      bias: width added to both sides ``(p,)``; default: 0.
    """
    free, active = ~covariance.active, covariance.active
    lower, upper = space.search_bounds
    z = space.to_search(x)
    factors = np.ones((space.size, 2)) if factors is None else factors
    bias = np.zeros(space.size) if bias is None else bias
    below, above = bias.copy(), bias.copy()
    inverse = inverse_of(curvature[np.ix_(free, free)])
    step = np.zeros(space.size)
    step[free] = -inverse @ gradient[free]
    errors = np.where(covariance.undetermined, np.inf, covariance.standard_errors)
    early = free & (np.abs(step) > _FAR * errors)
    if early.any():
        below += np.maximum(-step, 0.0)
        above += np.maximum(step, 0.0)
    if active.any() and free.any():
        inwards = np.where(z[active] - lower[active] <= upper[active] - z[active], 1.0, -1.0)
        reach = covariance.half_widths[active] + inwards * covariance.preferred_step[active]
        reach = np.clip(reach, 0.0, (upper - lower)[active]) * inwards
        moves = -inverse @ curvature[np.ix_(free, active)] * reach
        below[free] += np.maximum(-moves, 0.0).sum(axis=1)
        above[free] += np.maximum(moves, 0.0).sum(axis=1)
    low = np.maximum(z - factors[:, 0] * covariance.half_widths - below, np.minimum(lower, z))
    high = np.minimum(z + factors[:, 1] * covariance.half_widths + above, np.maximum(upper, z))
    ends = np.array(space.unclipped(np.array([low, high]))).T
    ends[covariance.undetermined] = [-np.inf, np.inf]
    return FitIntervals(ends, early)
