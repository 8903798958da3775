"""Repetition of a servo fit from its optimum, without some of the data."""

from dataclasses import replace

import numpy as np

from trueup.actuators.bench.objective import OBJECTIVES
from trueup.actuators.search.problem import ServoProblem
from trueup.fitting._minimise import minimise
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.solution import Status

_BEND = (
    0.03  # scale of the robust loss relative to the objective, as in the last stage of the search
)


def refitted(problem: ServoProblem, x: np.ndarray) -> np.ndarray:
    """Optimum ``(p,)`` near that of all data.

    The fit is least squares with the loss that approximates the objective.

    Args:
      problem: problem of the remaining data.
      x: optimum of all data ``(p,)``.

    Raises:
      KeyboardInterrupt: Ctrl-C, so that an incomplete fit is not mistaken for a complete one.
    """
    cost = float(problem.costs(x[None, :])[0, 0])
    settings = LeastSquaresSettings(
        jacobian="exact",
        loss=OBJECTIVES[problem.objective.kind].descent_loss,
        loss_scale=max(_BEND * cost, np.finfo(float).tiny),
        max_iters=40,
        cost_tolerance=1e-5,
    )
    found = minimise(problem, LeastSquares(replace(problem.space, start=x.copy()), settings))
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return found.x
