"""Linearity of the motion within the interval of each parameter.

Intervals come from derivatives at the optimum. If the motion jumps or bends within them, as with
a law with discontinuous torque, they are unreliable.
"""

from collections.abc import Sequence

import numpy as np

from trueup.actuators.search.problem import ServoProblem

LARGEST_DEPARTURE = 1.0
"""Relative deviation above which an interval is unreliable: the size of the predicted change."""

REACH = 1.96
"""Distance at which the motion is evaluated [standard errors]: the ends of a 95 % interval."""


def departures(
    problem: ServoProblem, x: np.ndarray, covariance: np.ndarray, derivatives: Sequence[np.ndarray]
) -> np.ndarray:
    """Relative deviation of the motion from its linear prediction at the ends of an interval.

    Each parameter moves to the ends of its 95 % interval and the others follow by their
    covariance with it, all within their bounds.

    Args:
      problem: the problem of the logs.
      x: the optimum ``(p,)``.
      covariance: in units of the parameters ``(p, p)``; rows that are not finite are skipped.
      derivatives: of the residuals at ``x``, a block ``(p, rows)`` per log.

    Returns:
      Norm of the difference between the change of the motion and its prediction, over the norm of
      the prediction, the larger of the two directions ``(p,)``; NaN without a standard
      error, infinite if the simulation diverges.
    """
    space = problem.space
    errors = np.sqrt(np.diag(covariance))
    known = np.isfinite(covariance).all(axis=0) & (errors > 0)
    out = np.full(space.size, np.nan)
    rows = np.flatnonzero(known)
    if rows.size == 0:
        return out
    steps = REACH * covariance[rows] / errors[rows, None]
    X = np.clip(x + np.concatenate([steps, -steps]), space.lower, space.upper)
    moves = X - x
    failures: dict[int, str] = {}
    missed, predicted = np.zeros(len(X)), np.zeros(len(X))
    blocks = problem.residual_blocks(np.vstack([x, X]), failures)
    for (_, values), slopes in zip(blocks, derivatives, strict=True):
        linear = moves @ slopes
        missed += np.square(values[1:] - values[0] - linear).sum(axis=1)
        predicted += np.square(linear).sum(axis=1)
    # a step that the bounds reduce to zero carries no information
    ratio = np.sqrt(missed / np.maximum(predicted, 1e-300))
    ratio[predicted == 0] = 0.0
    ratio[[row - 1 for row in failures if row > 0]] = np.inf
    out[rows] = ratio.reshape(2, -1).max(axis=0)
    return out
