"""The search of an identification, and what is checked before it."""

from typing import Any

import numpy as np

from trueup.errors import FitError, SimulationError
from trueup.fitting.cma_es import CmaEs, CmaEsSettings
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.searches.multi_start import MultiStart
from trueup.fitting.searches.polish import Polished
from trueup.sysid.experiment.settings import Experiment, SearchPart
from trueup.sysid.fit._inner_fit import inner_fit
from trueup.sysid.fit.problem import GrayBoxProblem, default_threads

_TUNING = 1.345 * 1.4826  # Huber's constant for 95 % efficiency, times the MAD of unit variance

SCIPY_METHODS = ("scipy", "scipy_parallel_fd")
"""Methods whose fits run in one piece: no several starts, no time limit, no resume."""

# Settings of a search that only some methods have.
_METHODS_OF = {
    "starts": ("mujoco", "inverse-dynamics"),
    "time_limit": ("mujoco", "cmaes", "inverse-dynamics"),
    "difference": ("mujoco", "scipy_parallel_fd", "cmaes", "inverse-dynamics"),
    "population": ("cmaes",),
    "restarts": ("cmaes",),
    "max_evaluations": ("cmaes",),
}
_INSTEAD = {
    "mujoco": "which scans the box with search.starts",
    "inverse-dynamics": "which scans the box with search.starts",
    "cmaes": "which has search.restarts",
    "scipy": "which goes from the given start for search.max_iters, with scipy's differences",
    "scipy_parallel_fd": "which goes from the given start for search.max_iters",
}

TORQUE_SETTINGS: dict[str, Any] = {"cost_tolerance": 3e-5, "patience": 4}
"""End of a fit to torques. Links at the edge of what is physical are approached ever more slowly,
and the torque is the same to its noise."""

_NEAR = 1e-6  # share of the reduction so far below which CMA-ES hands over


def check_start(problem: GrayBoxProblem) -> None:
    """Raise SimulationError where the simulation fails at the start values."""
    failures: dict[int, str] = {}
    problem.costs(problem.space.start[None, :], failures)
    if failures:
        raise SimulationError(
            f"the simulation fails at the start values: {failures[0]} Correct the model, the start "
            f"values or the initial state, or shorten the time step"
        )


def make_search(
    experiment: Experiment, problem: GrayBoxProblem
) -> tuple[LeastSquares | MultiStart | Polished, dict[str, Any]]:
    """The search of an experiment and the settings that its history depends on.

    Raises:
      FitError: settings of another method than the one that was chosen.
    """
    part = experiment.search
    check_search(part)
    scale = 1.0
    if part.loss != "linear":
        scale = _loss_scale(problem) if part.loss_scale == "auto" else float(part.loss_scale)
    settings = LeastSquaresSettings(
        max_iters=part.max_iters,
        difference=part.difference,
        trials=max(2, min(default_threads(), 8)),
        loss=part.loss,
        loss_scale=scale,
        **(TORQUE_SETTINGS if part.method == "inverse-dynamics" else {}),
    )
    plain = {"loss_scale": scale, "starts": part.starts, "method": part.method}
    if part.method == "cmaes":
        chosen = {
            "population": part.population,
            "restarts": part.restarts,
            "max_evaluations": part.max_evaluations,
        }
        # where the best valley is found, least squares is quicker to its bottom
        near = CmaEsSettings(**chosen, options={"tolfunrel": _NEAR})
        first = CmaEs(problem.space, near, experiment.seed)
        return Polished(first, problem.space, settings), {**plain, **chosen}
    if part.starts > 1:
        return MultiStart(problem.space, settings, part.starts, seed=experiment.seed), plain
    return LeastSquares(problem.space, settings), plain


def check_search(part: SearchPart) -> None:
    """Raise FitError where settings of a search are for another method or loss than the chosen."""
    if part.loss == "linear" and part.loss_scale != "auto":
        raise FitError(
            f"search.loss_scale is {part.loss_scale:g}, and the loss 'linear' does not bend: leave "
            "it out, or choose a robust search.loss, such as huber"
        )
    defaults = SearchPart()
    for name, methods in _METHODS_OF.items():
        if part.method not in methods and getattr(part, name) != getattr(defaults, name):
            raise FitError(
                f"search.{name} is for the {'method' if len(methods) == 1 else 'methods'} "
                f"{', '.join(methods)}; the method is {part.method!r}, {_INSTEAD[part.method]}"
            )


def _loss_scale(problem: GrayBoxProblem) -> float:
    """Bend of a robust loss: from the spread of the residuals of a plain fit."""
    plain = inner_fit(problem, LeastSquares(problem.space, LeastSquaresSettings(max_iters=30)))
    residual = problem.residuals(plain.x[None, :])[0, : problem.data_rows]
    spread = float(np.median(np.abs(residual - np.median(residual))))
    return max(_TUNING * spread, 1e-12)
