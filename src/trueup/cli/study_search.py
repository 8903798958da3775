"""What the options of a study ask for: search, budget, evaluator, trackers."""

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar

from trueup._secrets import mask
from trueup.cli.study_options import BudgetOptions, ExecutionOptions
from trueup.errors import FitError, listing
from trueup.fitting import SEARCH_METHODS, Problem, make_search, parse_cma_options
from trueup.parameters import Space
from trueup.studies import Budget
from trueup.studies.trackers.registry import TRACKERS, make_trackers

_LARGEST_SIGMA = 10.0

SEARCH_KEYS = ("method", "seed", "population", "sigma", "cma_options", "restarts", "polish")
"""Options that the history depends on."""

_EXECUTION = ("workers", "scheduler", "storage", "load_study", *TRACKERS)

Options = TypeVar("Options", bound=ExecutionOptions)


def resolved_method(method: str, problem: Problem) -> str:
    """The method that ``auto`` means for a problem with several objectives."""
    return "nsgaii" if method == "auto" and len(problem.objectives) > 1 else method


def budget_of(options: BudgetOptions, former: dict[str, Any] | None = None) -> Budget:
    """The budget of the options; what they leave out is that of a former sitting."""
    keys = ("max_evaluations", "max_generations", "max_seconds", "target_cost")
    given = {key: getattr(options, key) for key in keys}
    return Budget(**{k: (former or {}).get(k) if v is None else v for k, v in given.items()})


def execution_record(options: ExecutionOptions) -> dict[str, Any]:
    """What a resumed study takes over of how it was run; no password is kept."""
    record = {key: getattr(options, key, None) for key in _EXECUTION}
    if record["storage"] and mask(record["storage"]) != record["storage"]:
        record["storage"] = None
    return record


def with_former_execution(options: Options, former: dict[str, Any]) -> Options:
    """Options with what they leave out as it was in the former sitting."""
    known = {key for key in _EXECUTION if hasattr(options, key)}
    if options.workers is not None or options.scheduler is not None:
        known -= {"workers", "scheduler"}
    changes = {k: former.get(k) for k in known if not getattr(options, k) and former.get(k)}
    return dataclasses.replace(options, **changes)


def check_execution(
    options: ExecutionOptions, name: str, space: Space, objectives: Sequence[str]
) -> None:
    """Raise where the options of evaluators and trackers do not fit together or cannot be had.

    Args:
      options: the options.
      name: name of the run, which its study in a storage takes.
      space: the unknowns.
      objectives: names of the costs.

    Raises:
      FitError: a study to load, and no storage.
      StorageError: the storage cannot be reached, or has a study of that name, or the study to
        load is of another problem.
      EvaluationError: the scheduler cannot be reached.
      MissingExtraError: a package that an option needs is not installed.
    """
    if options.load_study and not options.storage:
        raise FitError("--load-study names a study of a storage: give the --storage too")
    if options.storage:
        from trueup.studies.optuna_storage.ownership import check_new_run

        load = options.load_study
        check_new_run(options.storage, load or name, space, objectives, load=load is not None)
    trackers_of(options, name)
    evaluator = evaluator_of(options)
    if hasattr(evaluator, "check"):
        evaluator.check()


def evaluator_of(options: ExecutionOptions) -> Any:
    """The evaluator that the options name."""
    from trueup.studies.evaluators._make import make_evaluator

    return make_evaluator(1 if options.workers is None else options.workers, options.scheduler)


def trackers_of(options: ExecutionOptions, name: str) -> list[Any]:
    """The trackers that the options name."""
    trackers: list[Any] = []
    load_study = options.load_study
    if options.storage:
        from trueup.studies.optuna_storage import OptunaMirror

        trackers.append(
            OptunaMirror(options.storage, load_study or name, load=load_study is not None)
        )
    trackers += make_trackers(kind for kind in TRACKERS if getattr(options, kind))
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
    method = settings["method"]
    for_cma: dict[str, Any] = {"cma_options": "", "restarts": "none"}
    if method != "scatter":
        for_cma["sigma"] = None
    foreign = [key for key, default in for_cma.items() if settings[key] != default]
    if method not in ("cmaes", "auto") and foreign:
        options = listing(f"--{key.replace('_', '-')}" for key in foreign)
        those = "CMA-ES and scatter" if foreign == ["sigma"] else "CMA-ES"
        raise FitError(f"{options} is for {those}; --method is {method}")
    if method in ("random", "sobol", "scatter") and budget == Budget():
        raise FitError(
            f"--method {method} has no end of its own: give --max-evaluations, "
            "--max-generations, --max-seconds or --target-cost"
        )
    if SEARCH_METHODS[method].needs_residuals and not problem.has_residuals:
        others = [name for name, m in SEARCH_METHODS.items() if not m.needs_residuals]
        raise FitError(
            f"--method {method} needs residuals and this problem has costs only: use one of "
            f"{listing(others)}"
        )
    own: dict[str, Any] = {}
    if method in ("cmaes", "auto"):
        own["restarts"] = settings["restarts"]
        own["options"] = parse_cma_options(settings["cma_options"])
    if settings["sigma"] is not None:
        if not 0.0 < settings["sigma"] <= _LARGEST_SIGMA:
            raise FitError(
                f"--sigma is {settings['sigma']:g}; it is a part of each range, above 0 and at "
                f"most {_LARGEST_SIGMA:g}"
            )
        own["deviation"] = settings["sigma"]
    return make_search(
        method,
        space,
        seed=settings["seed"],
        population=settings["population"],
        settings=own,
        polish=settings["polish"] and problem.has_residuals,
        objectives=len(problem.objectives),
    )
