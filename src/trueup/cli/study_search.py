"""What the options of a study ask for: search, budget, evaluator, trackers."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from trueup.cli.study_options import BudgetOptions, ExecutionOptions
from trueup.errors import FitError, listing
from trueup.fitting import LeastSquares, MultiStart, Problem
from trueup.parameters import Space
from trueup.studies import Budget

WITHOUT_END = ("nsgaii", "random", "sobol")
"""Methods that never converge: a budget that is used up is their end."""

SEARCH_KEYS = ("method", "seed", "population", "sigma", "cma_options", "restarts")
"""Options that the history depends on."""


def resolved_method(method: str, problem: Problem) -> str:
    """The method that ``auto`` means for a problem."""
    if method != "auto":
        return method
    if len(problem.objectives) > 1:
        return "nsgaii"
    if not problem.has_residuals:
        return "cmaes"
    bounds = np.concatenate([problem.space.lower, problem.space.upper])
    return "multi-start" if np.isfinite(bounds).all() else "least-squares"


def budget_of(options: BudgetOptions, former: dict[str, Any] | None = None) -> Budget:
    """The budget of the options; what they leave out is that of a former sitting."""
    keys = ("max_evaluations", "max_generations", "max_seconds", "target_cost")
    given = {key: getattr(options, key) for key in keys}
    return Budget(**{k: (former or {}).get(k) if v is None else v for k, v in given.items()})


def evaluator_of(options: ExecutionOptions) -> Any:
    """Where candidates are evaluated."""
    from trueup.studies.evaluators._make import make_evaluator

    return make_evaluator(1 if options.workers is None else options.workers, options.scheduler)


def trackers_of(options: ExecutionOptions, name: str, load_study: str | None = None) -> list[Any]:
    """Who is told."""
    trackers: list[Any] = []
    if options.storage:
        from trueup.studies.optuna_storage import OptunaMirror

        trackers.append(
            OptunaMirror(options.storage, load_study or name, load=load_study is not None)
        )
    elif load_study:
        raise FitError("--load-study names a study of a storage: give the --storage too")
    if options.wandb:
        from trueup.studies.trackers import WandbTracker

        trackers.append(WandbTracker(project=os.environ.get("WANDB_PROJECT"), name=name))
    if options.tensorboard:
        from trueup.studies.trackers import TensorBoardTracker

        trackers.append(TensorBoardTracker())
    return trackers


def search_of(settings: dict[str, Any], problem: Problem, space: Space, budget: Budget) -> Any:
    """The search at its start.

    Args:
      settings: values of :data:`SEARCH_KEYS`, the method resolved.
      problem: the problem.
      space: its unknowns, with the start values.
      budget: where the study stops.

    Raises:
      FitError: an option that does not fit the method or the problem.
    """
    method, seed, population = settings["method"], settings["seed"], settings["population"]
    for_cma = {"sigma": None, "cma_options": "", "restarts": "none"}
    foreign = [key for key, default in for_cma.items() if settings[key] != default]
    if method != "cmaes" and foreign:
        options = listing(f"--{key.replace('_', '-')}" for key in foreign)
        raise FitError(f"{options} is for --method cmaes; the method is {method}")
    if method in ("multi-start", "least-squares") and population is not None:
        raise FitError(f"--population means nothing to --method {method}")
    if method in ("random", "sobol") and budget == Budget():
        raise FitError(
            f"--method {method} has no end of its own: give --max-evaluations, "
            "--max-generations, --max-seconds or --target-cost"
        )
    if method in ("multi-start", "least-squares") and not problem.has_residuals:
        raise FitError(
            f"--method {method} needs residuals and this problem has costs only: use cmaes, "
            "nsgaii, random or sobol"
        )
    return _SEARCHES[method](space, seed, population, settings)


def _cmaes(space: Space, seed: int, population: int | None, settings: dict[str, Any]) -> Any:
    from trueup.fitting._cma_options import parse_cma_options
    from trueup.fitting.cma_es import CmaEs
    from trueup.fitting.cma_es_settings import CmaEsSettings

    chosen = CmaEsSettings(
        population=population,
        restarts=settings["restarts"],
        options=parse_cma_options(settings["cma_options"]),
        **({} if settings["sigma"] is None else {"deviation": settings["sigma"]}),
    )
    return CmaEs(space, chosen, seed)


def _nsgaii(space: Space, seed: int, population: int | None, settings: dict[str, Any]) -> Any:
    from trueup.fitting.nsga2 import NSGA2, NSGA2Settings

    return NSGA2(space, NSGA2Settings(population or NSGA2Settings.population), seed)


def _random(space: Space, seed: int, population: int | None, settings: dict[str, Any]) -> Any:
    from trueup.fitting.random_search import RandomSearch

    return RandomSearch(space, population or 32, seed=seed)


def _sobol(space: Space, seed: int, population: int | None, settings: dict[str, Any]) -> Any:
    from trueup.fitting.random_search import SobolSearch

    return SobolSearch(space, population or 32, seed=seed)


def _multi_start(space: Space, seed: int, population: int | None, settings: dict[str, Any]) -> Any:
    return MultiStart(space, seed=seed)


def _least_squares(
    space: Space, seed: int, population: int | None, settings: dict[str, Any]
) -> Any:
    return LeastSquares(space)


_SEARCHES: dict[str, Callable[..., Any]] = {
    "cmaes": _cmaes,
    "nsgaii": _nsgaii,
    "random": _random,
    "sobol": _sobol,
    "multi-start": _multi_start,
    "least-squares": _least_squares,
}
