"""Whether a motion follows its derivatives as far as the interval of a parameter reaches.

Intervals come from derivatives at the optimum. Where the motion jumps or bends within them, as with
a law whose torque jumps, they promise nothing.
"""

from collections.abc import Sequence

import numpy as np

from trueup.actuators.search.problem import ServoProblem

LARGEST_DEPARTURE = 1.0
"""Departure above which an interval is not to be relied on: as much as the predicted change."""

REACH = 1.96
"""Standard errors to either side at which the motion is looked at: the ends of a 95 % interval."""


def departures(
    problem: ServoProblem, x: np.ndarray, covariance: np.ndarray, derivatives: Sequence[np.ndarray]
) -> np.ndarray:
    """How far the motion departs from the linear prediction at the ends of an interval.

    Each parameter moves to the ends of its 95 % interval, the others with it as the covariance
    says, all within their bounds.

    Args:
      problem: the problem of the logs.
      x: the optimum ``(p,)``.
      covariance: in units of the parameters ``(p, p)``; rows that are not finite are left out.
      derivatives: of the residuals at ``x``, a block a log ``(p, rows)``.

    Returns:
      Norm of the difference between the change of the motion and its prediction, over the norm of
      the prediction, the larger of the two directions ``(p,)``; NaN where there is no standard
      error, infinite where the simulation diverges.
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
    # a step that bounds cut to nothing says nothing
    ratio = np.sqrt(missed / np.maximum(predicted, 1e-300))
    ratio[predicted == 0] = 0.0
    ratio[[row - 1 for row in failures if row > 0]] = np.inf
    out[rows] = ratio.reshape(2, -1).max(axis=0)
    return out
