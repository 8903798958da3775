"""scipy's trust-region least squares, with the columns of the Jacobian in a batch or one by one."""

import time
from typing import Any

import numpy as np

from trueup.fitting.linearisation import difference_jacobian, difference_points
from trueup.fitting.problem import LARGE_RESIDUAL, Failures, Problem
from trueup.fitting.searches.least_squares import LeastSquaresSettings
from trueup.fitting.solution import Solution, Status

_STATUS = {
    0: Status.ITERATION_LIMIT,
    1: Status.CONVERGED,
    2: Status.CONVERGED,
    3: Status.CONVERGED,
    4: Status.CONVERGED,
}


def scipy_least_squares(
    problem: Problem,
    settings: LeastSquaresSettings | None = None,
    *,
    parallel: bool = True,
    **options: Any,
) -> Solution:
    """Minimise with :func:`scipy.optimize.least_squares` (method ``trf``).

    Args:
      problem: the problem.
      settings: iterations, robust loss and finite-difference step.
      parallel: evaluate all columns of the Jacobian in one batch; otherwise scipy evaluates them
        one by one.
      options: passed to scipy, such as ``x_scale``, ``ftol``, ``xtol``, ``gtol``.
    """
    from scipy.optimize import least_squares

    settings = settings or LeastSquaresSettings()
    space = problem.space
    start = time.perf_counter()
    counts = {"evaluations": 0, "failed": 0}
    history: list[dict[str, Any]] = []

    def evaluate(points: np.ndarray) -> np.ndarray:
        failures: Failures = {}
        values = problem.residuals(points, failures)
        counts["evaluations"] += len(points)
        counts["failed"] += len(failures)
        return np.clip(values, -LARGE_RESIDUAL, LARGE_RESIDUAL)

    def residual(z: np.ndarray) -> np.ndarray:
        return evaluate(space.from_search(z)[None])[0]

    def jacobian(z: np.ndarray) -> np.ndarray:
        points, steps = difference_points(
            space, space.from_search(z), settings.difference, False, np.zeros(space.size, bool)
        )
        values = evaluate(points)
        cost = 0.5 * float(values[0] @ values[0])
        history.append(_record(len(history), cost, counts["evaluations"], points[0]))
        columns = difference_jacobian(values, steps, False, space)
        if space.together is not None:
            for group in problem.groups:
                acting = problem.acting_on(group.rows)
                if acting is not None:
                    columns[np.ix_(~acting, np.arange(group.rows.start, group.rows.stop))] = 0.0
        return columns.T

    chosen: dict[str, Any] = {"x_scale": "jac", **options}
    found = least_squares(
        residual,
        space.to_search(space.start),
        jac=jacobian if parallel else "2-point",  # type: ignore[arg-type]
        bounds=space.search_bounds,
        max_nfev=max(settings.max_iters, 1),
        loss=settings.loss,
        f_scale=settings.loss_scale,
        **chosen,
    )
    x = space.from_search(found.x)
    history.append(_record(len(history), float(found.cost), counts["evaluations"], x))
    return Solution(
        parameters=dict(zip(space.names, map(float, x), strict=True)),
        x=x,
        cost=float(found.cost),
        status=_STATUS[int(found.status)],
        message=f"scipy: {found.message} ({counts['evaluations']} simulations)",
        history=history,
        stats={
            "seconds": time.perf_counter() - start,
            "evaluations": counts["evaluations"],
            "failed_evaluations": counts["failed"],
        },
    )


def _record(iteration: int, cost: float, evaluations: int, x: np.ndarray) -> dict[str, Any]:
    return {
        "iteration": iteration,
        "cost": cost,
        "reduction": 0.0,
        "mu": 0.0,
        "ratio": 0.0,
        "step": 0.0,
        "evaluations": evaluations,
        "x": x.tolist(),
    }
