"""What a gait optimisation came to, and the files that tell it."""

import dataclasses
from typing import Any

import numpy as np

from trueup.cli.gait_show import terms_of
from trueup.cli.gait_start import KIND
from trueup.errors import GaitError
from trueup.fitting import Solution
from trueup.gait import GaitConfiguration, GaitProblem, Survival
from trueup.gait.search.fresh_perturbations import candidates_left_over, judged_anew
from trueup.gait.search.run_files import write_vectors
from trueup.studies import RunDirectory, Store, atomic


def judged_solution(directory: RunDirectory, problem: GaitProblem, solution: Solution) -> Solution:
    """The solution with the best of the candidates that the last generations left over."""
    with Store.open(directory.study) as store:
        history = store.history()
    costs = history.costs[:, 0]
    left_over = candidates_left_over(history.X, costs, history.generation)
    judged = judged_anew(problem, np.unique(np.vstack([left_over, solution.x]), axis=0))
    parameters = dict(zip(problem.space.names, map(float, judged.x), strict=True))
    # what other searches start from
    content = {"parameters": parameters, "cost": judged.cost}
    atomic.write_json(directory.parameters, content)
    return dataclasses.replace(
        solution,
        x=judged.x,
        cost=judged.cost,
        parameters=parameters,
        message=f"{judged.message}. The search itself: {solution.message}",
    )


def write_results(
    configuration: GaitConfiguration,
    directory: RunDirectory,
    problem: GaitProblem,
    solution: Solution,
    notes: list[str],
) -> dict[str, Any]:
    """Write vectors, ``solution.json`` and the report; returns what ``solution.json`` holds."""
    with Store.open(directory.study) as store:
        history = store.history()
    last = np.flatnonzero(history.generation == history.generation.max())
    best_last = history.X[last[int(np.nanargmin(history.costs[last, 0]))]]
    write_vectors(directory.path, configuration, problem, solution.x, best_last)
    problem.costs(solution.x[None])
    terms = {name: float(value[0]) for name, value in problem.terms.items()}
    space = problem.space
    summary = {
        "kind": KIND,
        "name": directory.path.name,
        "status": solution.status.value,
        "message": solution.message,
        "advice": solution.status.advice,
        "cost": solution.cost,
        "parameters": [
            {
                "name": name,
                "value": float(solution.x[i]),
                "lower": float(space.lower[i]),
                "upper": float(space.upper[i]),
            }
            for i, name in enumerate(space.names)
        ],
        "terms": terms,
        "walked_m": terms_of(terms, "walked"),
        "lasted_s": terms_of(terms, "lasted"),
        "fell": bool(terms_of(terms, "fell")),
        "stats": solution.stats,
        "notes": notes,
    }
    survivals = []
    if problem.perturbations is not None:
        from trueup.cli.gait_report import survivals_of

        survivals = survivals_of(problem, problem.parameters.complete(solution.x[None])[0])
        names = [scenario.name for scenario in problem.scenarios]
        named = zip(names, survivals, strict=True)
        summary["survival"] = {name: found.plain() for name, found in named}
    atomic.write_json(directory.solution, summary)
    _write_report(configuration, directory, problem, survivals)
    return summary


def _write_report(
    configuration: GaitConfiguration,
    directory: RunDirectory,
    problem: GaitProblem,
    survivals: list[Survival],
) -> None:
    from trueup.cli.gait_report import page_of_run, page_without_walk

    try:
        page = page_of_run(directory, configuration, problem, problem.space.start, survivals)
    except GaitError as error:
        page = page_without_walk(directory, error)
    page.save(directory.report)
