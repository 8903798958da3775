"""Fits that are a part of something larger, such as one fold of a cross-validation."""

import os
import time
from collections.abc import Callable

import numpy as np

from trueup.fitting._minimise import Search, minimise
from trueup.fitting.losses import Loss
from trueup.fitting.problem import Problem
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.solution import Solution, Status


def busy_seconds() -> float:
    """Time that this process has kept all cores busy [s].

    Unlike a clock on the wall it does not depend on what else the machine does, so that the same
    work ends in the same place.
    """
    return time.process_time() / (os.cpu_count() or 1)


def inner_fit(
    problem: Problem,
    search: Search,
    time_limit: float = np.inf,
    clock: Callable[[], float] = time.perf_counter,
) -> Solution:
    """Run a search to its end, in memory.

    Args:
      problem: what is minimised.
      search: the optimiser.
      time_limit: seconds of ``clock`` after which it stops.
      clock: what counts as time.

    Raises:
      KeyboardInterrupt: Ctrl-C. Half a fit must not pass for a whole one in what goes on from it.
    """
    solution = minimise(problem, search, time_limit=time_limit, clock=clock)
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return solution


def with_known_cost(problem: Problem, solution: Solution, loss: Loss) -> Solution:
    """A solution whose time limit passed before its first batch, with the cost of its values.

    Args:
      problem: what was minimised.
      solution: changed where its cost is not known.
      loss: robust loss of the search.
    """
    if not np.isfinite(solution.cost):
        solution.cost = float(loss.costs(problem.residuals(solution.x[None, :]))[0])
        solution.message = (
            f"{solution.status.value} before the first batch of simulations: nothing was "
            f"changed, cost {solution.cost:.6g}"
        )
    return solution


REFIT_ITERATIONS = 5
"""Iterations of a fit that begins at the optimum of nearly the same data."""

_NEAR_ENOUGH = 1e-6  # relative reduction of the cost that such a fit no longer looks for


class AfterFit:
    """Time for what follows a fit: half of the fit's, or 10 s where that is longer.

    It counts while the process keeps all cores busy.

    Args:
      fit_seconds: duration of the fit [s].
      time_limit: limit for everything together [s]; None for none.
    """

    SHARE = 0.5
    LEAST = 10.0

    def __init__(self, fit_seconds: float = 0.0, time_limit: float | None = None):
        allowed = max(self.LEAST, self.SHARE * fit_seconds)
        if time_limit is not None:
            allowed = min(allowed, max(time_limit - fit_seconds, 0.0))
        self.seconds = allowed
        self._end = busy_seconds() + allowed

    @property
    def left(self) -> float:
        """Seconds left; never negative."""
        return max(self._end - busy_seconds(), 0.0)


def refit(
    problem: Problem, x: np.ndarray, loss: Loss | None = None, time_limit: float = np.inf
) -> Solution | None:
    """Fit other data of the same system from a known optimum, in a few iterations.

    Args:
      problem: the problem of the other data.
      x: the optimum ``(p,)``.
      loss: robust loss.
      time_limit: seconds.

    Returns:
      The fit; None where it did not come to an end within the time.

    Raises:
      KeyboardInterrupt: Ctrl-C.
    """
    loss = loss or Loss()
    if time_limit <= 0:
        return None
    settings = LeastSquaresSettings(
        max_iters=REFIT_ITERATIONS,
        cost_tolerance=_NEAR_ENOUGH,
        loss=loss.name,
        loss_scale=loss.scale,
    )
    begin = np.clip(x, problem.space.lower, problem.space.upper)
    search = LeastSquares(problem.space, settings, begin)
    fit = inner_fit(problem, search, time_limit, busy_seconds)
    ended = fit.success or fit.status is Status.ITERATION_LIMIT
    return fit if ended and np.isfinite(fit.cost) else None
