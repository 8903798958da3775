"""Search of an identification, and the checks before it."""

from dataclasses import asdict
from typing import Any

import numpy as np

from trueup.errors import FitError, SimulationError
from trueup.fitting.searches._make_search import make_search as make_registered
from trueup.fitting.searches.device_first import DeviceFirst, least_squares
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.searches.methods import SEARCH_METHODS
from trueup.fitting.searches.multi_start import MultiStart
from trueup.sysid.experiment.search_names import SCIPY_METHODS, TORQUES, fit_methods
from trueup.sysid.experiment.settings import Experiment, SearchPart
from trueup.sysid.fit._inner_fit import inner_fit
from trueup.sysid.fit.problem import GrayBoxProblem, default_threads

_TUNING = 1.345 * 1.4826  # Huber's constant for 95 % efficiency, times the MAD of unit variance

OWN = "least-squares"
"""Methods that use trueup's least squares, from one or several starts."""

_SETTINGS = ("starts", "population", "restarts", "max_evaluations")
"""Settings of a search that only some methods of the registry support."""

_STORED = {OWN: "mujoco"}
"""Method -> its name in the settings of a run's history, also of earlier runs."""

TORQUE_SETTINGS: dict[str, Any] = {"cost_tolerance": 3e-5, "patience": 4}
"""Termination of a fit to torques. Convergence is slow if a link is at the physical limit, with a
change of the torque below its noise."""

PLATEAU: dict[str, Any] = {"plateau": 0.05}
"""Termination of a fit by simulation. Joints that come to rest make the cost rough, and a search
would follow its steps far below the noise."""

_PLATEAU = 60  # generations of CMA-ES without a change of 1e-4, after which least squares starts
_NEAR = 1e-6  # share of the reduction so far below which CMA-ES ends and least squares starts


def check_start(problem: GrayBoxProblem) -> None:
    """Raise SimulationError if the simulation fails at the start values."""
    failures: dict[int, str] = {}
    problem.costs(problem.space.start[None, :], failures)
    if failures:
        raise SimulationError(
            f"the simulation fails at the start values: {failures[0]} Correct the model, the start "
            f"values or the initial state, or reduce the time step"
        )


def make_search(experiment: Experiment, problem: GrayBoxProblem) -> tuple[Any, dict[str, Any]]:
    """Return the search of an experiment and the settings that its history depends on.

    Raises:
      FitError: settings that the selected method does not support.
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
        **(TORQUE_SETTINGS if part.by_torques else PLATEAU),
    )
    method = _STORED.get(part.method, part.method)
    plain = {"loss_scale": scale, "starts": part.starts, "method": method}
    if part.method not in SEARCH_METHODS or part.method == OWN:
        single = least_squares(problem, settings)
        if part.starts == 1:
            return single, plain
        on_device = isinstance(single, DeviceFirst)
        search = MultiStart(
            problem.space, settings, part.starts, seed=experiment.seed, device_first=on_device
        )
        return search, plain
    entry = SEARCH_METHODS[part.method]
    known, defaults = entry.settings(), SearchPart()
    chosen = {name: getattr(part, name) for name in _SETTINGS if _takes(part.method, name)}
    own = {name: value for name, value in chosen.items() if value != getattr(defaults, name)}
    population = own.pop("population", None)
    if entry.needs_residuals:
        own |= {name: value for name, value in asdict(settings).items() if name in known}
    elif "options" in known:
        # near the optimum, least squares converges faster
        own["options"] = {"tolfunrel": _NEAR}
        own["plateau"] = _PLATEAU
    search = make_registered(
        part.method,
        problem.space,
        seed=experiment.seed,
        population=population,
        settings=own,
        polish=True,
        polish_settings=settings,
    )
    return search, {**plain, **chosen}


def check_search(part: SearchPart) -> None:
    """Raise FitError for settings that the selected method or loss does not support."""
    if part.loss == "linear" and part.loss_scale != "auto":
        raise FitError(
            f"search.loss_scale is {part.loss_scale:g}, but the loss 'linear' has no scale: remove "
            "it, or choose a robust search.loss, such as huber"
        )
    defaults = SearchPart()
    for name in (*_SETTINGS, "time_limit", "difference"):
        if getattr(part, name) == getattr(defaults, name) or _takes(part.method, name):
            continue
        methods = [method for method in fit_methods() if _takes(method, name)]
        raise FitError(
            f"search.{name} is for the {'method' if len(methods) == 1 else 'methods'} "
            f"{', '.join(methods)}; the method is {part.method!r}, {_instead(part.method)}"
        )


def _takes(method: str, setting: str) -> bool:
    """Whether a setting of a search is one of a method's."""
    if setting == "time_limit":
        return method not in SCIPY_METHODS
    if setting == "difference":
        return method != "scipy"
    if setting == "starts" and method in (OWN, TORQUES):
        return True
    if method not in SEARCH_METHODS:
        return False
    entry = SEARCH_METHODS[method]
    if setting == "population":
        return entry.population is not None
    return setting in entry.settings()


def _instead(method: str) -> str:
    """Description of the settings of a method, for messages."""
    if method == "scipy":
        return "which starts from the given start for search.max_iters, with scipy's differences"
    if method in SCIPY_METHODS:
        return "which starts from the given start for search.max_iters"
    if _takes(method, "starts"):
        return "which scans the box with search.starts"
    if _takes(method, "restarts"):
        return "which has search.restarts"
    return "which has no such setting"


def _loss_scale(problem: GrayBoxProblem) -> float:
    """Scale of a robust loss, from the spread of the residuals of a plain fit."""
    plain = inner_fit(problem, LeastSquares(problem.space, LeastSquaresSettings(max_iters=30)))
    residual = problem.residuals(plain.x[None, :])[0, : problem.data_rows]
    spread = float(np.median(np.abs(residual - np.median(residual))))
    return max(_TUNING * spread, 1e-12)
