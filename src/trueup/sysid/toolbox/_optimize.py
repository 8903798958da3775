"""Fit with the toolbox's signature: ``optimize(initial_params, residual_fn, ...)``."""

import logging
import warnings
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from trueup.errors import SimulationError, TrueupWarning, listing
from trueup.fitting import LeastSquares, Loss, Problem, Solution, Status, final_jacobian, minimise
from trueup.fitting.searches.part_first import part_first
from trueup.parameters import ParameterDict
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.toolbox.optimizer_options import Options, read_options
from trueup.sysid.toolbox.user_residual import problem_of

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

_logger = logging.getLogger("trueup.sysid")

ILL_CONDITIONED = 1e12
"""Condition number of ``J'J`` above which :func:`optimize` warns, with ``check_conditioning``."""


def optimize(
    initial_params: ParameterDict,
    residual_fn: Callable[..., Any],
    optimizer: Literal["scipy", "mujoco", "scipy_parallel_fd"] = "mujoco",
    verbose: bool = True,
    check_conditioning: bool = False,
    **optimizer_kwargs: Any,
) -> "tuple[ParameterDict, OptimizeResult]":
    """Find the parameters that minimise the sum of squared residuals.

    Args:
      initial_params: start values and bounds; they are not changed.
      residual_fn: from :func:`trueup.sysid.build_residual_fn`, or any function
        ``residual_fn(x, params) -> (residuals, ...)``. Only the former always evaluates candidates
        in batches.
      optimizer: ``"mujoco"``, Levenberg-Marquardt with Jacobian and line search in batches;
        ``"scipy"``, scipy's trust region with its own finite differences; ``"scipy_parallel_fd"``,
        the same with all columns of the Jacobian in one batch.
      verbose: print a table of the parameters at the end. Otherwise nothing is printed or logged.
      check_conditioning: warn if parameters are not distinguishable at the start values
        (``cond(J'J)`` above 1e12). Costs one Jacobian.
      **optimizer_kwargs: ``max_iters``, ``loss`` and ``f_scale`` (robust losses of every backend:
        ``linear``, ``soft_l1``, ``huber``, ``cauchy``, ``arctan``), ``x_scale``, ``xtol``,
        ``gtol``, ``ftol``; of ``mujoco`` also ``eps``, ``mu_min``, ``mu_max``, ``mu_factor``,
        ``norm``, ``iter_callback``, ``output``, ``trials``, ``time_limit``; of scipy ``diff_step``,
        ``max_nfev``, ``tr_solver``, ``tr_options``.

    Returns:
      The identified parameters, and a :class:`scipy.optimize.OptimizeResult` with ``x``, ``cost``,
      ``fun`` (residuals, then priors), ``jac`` and ``grad`` by central differences at ``x``, or at
      a point so near that it predicts the residuals at ``x``, ``active_mask``, ``status``
      (:class:`trueup.fitting.Status`), ``success``, ``message``, ``advice``, ``nfev``, ``history``,
      ``warnings``, ``names``, ``models`` (whether callbacks were written as fields or candidates
      compiled), and ``extras`` with ``objective`` and ``candidate`` of each iteration. A search
      over long recordings begins with their first quarter: ``nfev`` counts a candidate of that
      part as a quarter.

    Raises:
      FitError: an optimizer, an argument or a loss that does not exist.
      SimulationError: the simulation fails at the start values.
    """
    options = read_options(optimizer, optimizer_kwargs, initial_params.size)
    opt_params = initial_params.copy()
    if initial_params.size == 0:
        return opt_params, _nothing_to_fit(verbose)
    problem = problem_of(residual_fn, initial_params)
    start_cost = _start_cost(problem)
    notes = _start_at_bound(problem)
    if verbose:
        _warn(notes)
    if check_conditioning:
        conditioning = _ill_conditioned(problem)
        _warn(conditioning)
        notes += conditioning
    solution = _fit(problem, optimizer, options, start_cost)
    if not _confirmed(problem, solution):
        problem.space = replace(problem.space, start=solution.x)
        solution = _fit(problem, optimizer, options, _start_cost(problem))
    opt_params.update_from_vector(solution.x)
    result = _result(problem, solution, options, notes, optimizer)
    if verbose:
        _show(initial_params, opt_params, result)
    return opt_params, result


def _confirmed(problem: Problem, solution: Solution) -> bool:
    """Whether the simulated models equal those of the callbacks at the solution."""
    variants = problem.variants if isinstance(problem, GrayBoxProblem) else []
    return all(variant.confirm(solution.x) for variant in variants)


def _models(problem: Problem) -> list[str]:
    """Sentence on the callbacks of each model that has any."""
    if not isinstance(problem, GrayBoxProblem):
        return []
    return [f"{v.name}: {v.callbacks.sentence()}" for v in problem.variants if v.callbacks]


def _fit(problem: Problem, optimizer: str, options: Options, start_cost: float) -> Solution:
    if optimizer != "mujoco":
        from trueup.fitting.searches.scipy_least_squares import scipy_least_squares

        return scipy_least_squares(
            problem,
            options.settings,
            parallel=optimizer == "scipy_parallel_fd",
            **options.passed,
        )
    quick = part_first(problem, options.settings, start_cost)
    search: Any = quick or LeastSquares(problem.space, options.settings)
    solution = minimise(problem, search, _Follower(options), options.time_limit)
    if quick is not None and quick.linear is not None:
        solution.residuals, solution.jacobian = quick.linear
    return solution


class _Follower:
    """Reports each finished iteration to the caller's callback and stream."""

    def __init__(self, options: Options):
        self.options = options
        self.trace: list[Any] = []

    def __call__(self, search: Any) -> None:
        for record in search.history[len(self.trace) :]:
            self.trace.append(
                SimpleNamespace(
                    candidate=np.array(record["x"])[:, None],
                    objective=record["cost"],
                    reduction=record["reduction"],
                    regularizer=record["mu"],
                )
            )
            if self.options.iter_callback is not None:
                self.options.iter_callback(self.trace)
            if self.options.output is not None:
                self.options.output.write(
                    f"iteration {record['iteration']:3d}  cost {record['cost']:.6g}  "
                    f"regulariser {record['mu']:.1e}\n"
                )


def _start_cost(problem: Problem) -> float:
    failures: dict[int, str] = {}
    costs = problem.costs(problem.space.start[None, :], failures)
    if failures:
        raise SimulationError(
            f"the simulation fails at the start values: {failures[0]}. {Status.START_FAILED.advice}"
        )
    return float(costs[0, 0])


def _start_at_bound(problem: Problem) -> list[str]:
    space = problem.space
    at_bound = space.at_bound(space.start) & (space.upper > space.lower)
    if not at_bound.any():
        return []
    names = [name for name, is_there in zip(space.names, at_bound, strict=True) if is_there]
    return [
        f"{len(names)} of {space.size} free elements start at a bound: {listing(names)}. A search "
        f"may stall there; initial_params.move_off_bounds() moves them inwards"
    ]


def _ill_conditioned(problem: Problem) -> list[str]:
    """A warning if some combination of the parameters has a negligible effect on the residual."""
    space = problem.space
    jacobian = _per_value(problem, space.start, final_jacobian(problem, space.start)[1])
    _, singular, directions = np.linalg.svd(jacobian, full_matrices=False)
    smallest = singular[-1] if len(singular) == space.size else 0.0
    condition = (singular[0] / smallest) ** 2 if smallest > 0 else np.inf
    if condition <= ILL_CONDITIONED:
        return []
    weakest = directions[-1] if len(singular) == space.size else np.ones(space.size)
    involved = np.flatnonzero(np.abs(weakest) > 0.3 * np.abs(weakest).max())
    return [
        f"cond(J^T J) ~ {condition:.1e} at the start values: the data hardly determine "
        f"{listing(space.names[i] for i in involved)} individually. Freeze one, give "
        f"a prior, or record another experiment"
    ]


def _warn(sentences: list[str]) -> None:
    for sentence in sentences:
        warnings.warn(sentence, TrueupWarning, stacklevel=3)


def _per_value(problem: Problem, x: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
    """Jacobian with respect to the values, from that in search coordinates."""
    return jacobian if problem.space.is_linear else jacobian / problem.space.slope(x)


def _result(
    problem: Problem, solution: Solution, options: Options, notes: list[str], optimizer: str
) -> "OptimizeResult":
    from scipy.optimize import OptimizeResult

    space, x = problem.space, solution.x
    residual, jacobian = solution.residuals, solution.jacobian
    evaluations = int(solution.stats["evaluations"])
    if residual is None or jacobian is None:
        residual, jacobian, _ = final_jacobian(problem, x)
        evaluations += 2 * len(x) + 1
    jacobian = _per_value(problem, x, jacobian)
    weights = np.ones_like(residual)
    loss = Loss(options.settings.loss, options.settings.loss_scale)
    weights[: problem.data_rows] = loss.weights(residual[: problem.data_rows])[0]
    gradient = jacobian.T @ (weights * residual)
    active = np.where(x <= space.lower, -1, np.where(x >= space.upper, 1, 0))
    return OptimizeResult(
        x=x.copy(),
        names=list(space.names),
        cost=solution.cost,
        fun=residual,
        jac=jacobian,
        grad=gradient,
        optimality=float(np.abs(np.where(active == 0, gradient, 0.0)).max()),
        active_mask=active,
        nfev=evaluations,
        nit=max(int(solution.history[-1]["iteration"]), 0) if solution.history else 0,
        status=solution.status,
        success=solution.success,
        message=solution.message,
        advice=solution.status.advice,
        optimizer=optimizer,
        history=solution.history,
        warnings=notes,
        models=_models(problem),
        extras={
            "objective": [record["cost"] for record in solution.history],
            "candidate": [np.array(record["x"]) for record in solution.history],
        },
    )


def _nothing_to_fit(verbose: bool) -> "OptimizeResult":
    from scipy.optimize import OptimizeResult

    sentence = "no free parameter to fit: the set is empty, or all are frozen or tied"
    if verbose:
        _warn([sentence])
    return OptimizeResult(
        x=np.zeros(0),
        names=[],
        cost=np.nan,
        fun=np.zeros(0),
        jac=np.zeros((0, 0)),
        grad=np.zeros(0),
        active_mask=np.zeros(0, int),
        nfev=0,
        nit=0,
        status=Status.CONVERGED,
        success=True,
        message=sentence,
        advice="Free the parameters to identify.",
        history=[],
        warnings=[sentence],
        models=[],
        extras={},
    )


def _show(initial: ParameterDict, found: ParameterDict, result: "OptimizeResult") -> None:
    from rich.console import Console

    table = found.compare_parameters(initial.as_vector(), found.as_vector())
    _logger.info("%s", result.message)
    for sentence in result.models:
        _logger.info("%s", sentence)
    console = Console(soft_wrap=True)
    console.print(table, markup=False, highlight=False)
    console.print(f"{result.status.value}: {result.message}", markup=False, highlight=False)
