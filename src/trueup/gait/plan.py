"""Plan of a gait optimisation: its stages and their duration."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from trueup.gait.begin import begun_search, search_at_start, search_limits, start_mark
from trueup.gait.search.problem import GaitProblem
from trueup.gait.search.staged_search import StagedSearch
from trueup.gait.spec import GaitSpec
from trueup.runs import Execution


def plan_gait(spec: GaitSpec, execution: Execution) -> dict[str, Any]:
    """Stages with their walks, and their duration [s] if all walks are complete."""
    start_mark(spec)  # raises if the inputs of the walk have changed
    problem, spec = begun_search(spec)
    search = search_at_start(problem, spec.configuration)
    left = search_limits(spec, search).max_generations
    counts = (
        [stage.all_generations for stage in search.stages]
        if isinstance(search, StagedSearch)
        else [left]
    )
    X = search.ask()
    rate = _seconds_per_second(lambda: search.evaluate(problem, X, {}), problem, X)
    stages, whole = [], 0.0
    for (name, own), count in zip(spec.configuration.staged, counts, strict=True):
        generations = count if count is None or left is None else min(count, left)
        left = None if left is None else left - (generations or 0)
        candidates = own.popsize or len(X)
        walks = len(problem.scenarios) * max(own.perturbed_repeats, 1)
        whole += (generations or 0) * candidates * walks * own.sim_time
        stages.append(
            {
                "name": name,
                "generations": generations,
                "candidates": candidates,
                "walks_of_each": walks,
                "duration_s": own.sim_time,
            }
        )
    return {
        "unknowns": problem.space.size,
        "stages": stages,
        "seconds_at_most": None if None in counts else rate * whole,
        "notes": list(spec.notes),
    }


def _seconds_per_second(evaluate: Callable[[], Any], problem: GaitProblem, X: np.ndarray) -> float:
    """Time of the evaluation of candidates per simulated time."""
    # the first evaluation also loads compiled code, once in a search, which takes longer than walks
    # that fall soon
    problem.costs(X[:2])
    began = time.perf_counter()
    evaluate()
    seconds = time.perf_counter() - began
    return seconds / max(_simulated(problem, len(X)), 1e-9)


def _simulated(problem: GaitProblem, candidates: int) -> float:
    """Total simulated time of the last batch of candidates [s]."""
    lasted = [v for name, v in problem.terms.items() if name.rpartition(".")[2] == "lasted"]
    repeats = 1 if problem.perturbations is None else problem.perturbations.repeats
    return candidates * repeats * float(np.sum([np.nanmean(values) for values in lasted]))
