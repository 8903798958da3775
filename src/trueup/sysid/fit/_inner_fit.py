"""Inner fits, such as one fold of a cross-validation."""

import os
import time
from collections.abc import Callable

import numpy as np

from trueup.fitting._minimise import Search, minimise
from trueup.fitting.losses import Loss
from trueup.fitting.problem import Problem
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.solution import Solution, Status
from trueup.sysid.torque.reduced import searched


def busy_seconds() -> float:
    """CPU time of this process divided by the number of cores [s].

    Unlike the wall clock it does not depend on the load of the machine, so that a limit is
    reproducible.
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
      problem: problem to minimise.
      search: the optimiser.
      time_limit: time limit, by ``clock`` [s].
      clock: clock of the limit.

    Raises:
      KeyboardInterrupt: Ctrl-C, because an incomplete fit must not be used in the following steps.
    """
    solution = minimise(searched(problem, search), search, time_limit=time_limit, clock=clock)
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return solution


def with_known_cost(problem: Problem, solution: Solution, loss: Loss) -> Solution:
    """Set the cost of a solution with a time limit that expired before its first batch.

    Args:
      problem: problem of the search.
      solution: the solution; modified if its cost is unknown.
      loss: robust loss of the search.
    """
    if not np.isfinite(solution.cost):
        solution.cost = float(loss.costs(problem.residuals(solution.x[None, :]))[0])
        solution.message = (
            f"{solution.status.value} before the first batch of simulations: values "
            f"unchanged, cost {solution.cost:.6g}"
        )
    return solution


def joined(former: Solution, latter: Solution, clause: str) -> Solution:
    """The latter of two consecutive searches with the history and the counts of both.

    Args:
      former: result of the first search.
      latter: result of the second; modified.
      clause: end of its message.
    """
    counted = former.stats.get("evaluations", 0)
    latter.message += clause
    latter.history = former.history + [
        {**record, "evaluations": record["evaluations"] + counted} for record in latter.history[1:]
    ]
    for key, value in former.stats.items():
        added = key in ("seconds", "evaluations", "failed_evaluations")
        latter.stats[key] = latter.stats[key] + value if added else value
    return latter


REFIT_ITERATIONS = 5
"""Maximum iterations of a fit that starts at the optimum of nearly the same data."""

_NEAR_ENOUGH = 1e-6  # relative reduction of the cost at which such a fit ends


class AfterFit:
    """Time budget of the steps after a fit: half of the fit's, at least 10 s.

    It is measured by :func:`busy_seconds`.

    Args:
      fit_seconds: duration of the fit [s].
      time_limit: total time limit [s]; None: no limit.
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
        """Remaining time [s], not negative."""
        return max(self._end - busy_seconds(), 0.0)


def refit(
    problem: Problem,
    x: np.ndarray,
    loss: Loss | None = None,
    time_limit: float = np.inf,
    max_iters: int = REFIT_ITERATIONS,
) -> Solution | None:
    """Refit to other data of the same system from a known optimum, in a few iterations.

    Args:
      problem: the problem of the other data.
      x: the optimum ``(p,)``.
      loss: robust loss.
      time_limit: time limit [s].
      max_iters: maximum number of iterations.

    Returns:
      The fit; None if it did not finish within the time.

    Raises:
      KeyboardInterrupt: Ctrl-C.
    """
    loss = loss or Loss()
    if time_limit <= 0:
        return None
    settings = LeastSquaresSettings(
        max_iters=max_iters,
        cost_tolerance=_NEAR_ENOUGH,
        loss=loss.name,
        loss_scale=loss.scale,
    )
    begin = np.clip(x, problem.space.lower, problem.space.upper)
    search = LeastSquares(problem.space, settings, begin)
    fit = inner_fit(problem, search, time_limit, busy_seconds)
    ended = fit.success or fit.status is Status.ITERATION_LIMIT
    return fit if ended and np.isfinite(fit.cost) else None
