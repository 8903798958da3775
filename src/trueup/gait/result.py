"""Result of a gait optimisation: the best walk, its cost and its verdict."""

import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup._rich_display import RichDisplay
from trueup.fitting import SEARCH_METHODS, SearchEnd, Solution, Status, Verdict
from trueup.gait.report._survival import Survival
from trueup.gait.report.of_run import norms_of, survivals_of
from trueup.gait.report.walk_verdict import judge_walk
from trueup.gait.report.walk_words import mean_term
from trueup.gait.search.configuration import GaitConfiguration
from trueup.gait.search.fresh_perturbations import (
    evaluation_repeats,
    final_candidates,
    is_reevaluated,
    means_of_generations,
    reevaluated,
)
from trueup.gait.search.problem import GaitProblem
from trueup.gait.search.staged_problem import StagedProblem
from trueup.gait.spec import GaitSpec
from trueup.runs import Outcome
from trueup.runs.store.history import History
from trueup.simulation.warp.devices import find_device

LIMITS = (Status.ITERATION_LIMIT, Status.EVALUATION_LIMIT, Status.TIME_LIMIT)
"""Regular ends of a search."""


@dataclass(frozen=True)
class GaitResult(RichDisplay):
    """Result of a gait optimisation.

    Attributes:
      configuration: resolved configuration.
      problem: problem, with the perturbations of the result.
      solution: solution of the search.
      vector: complete vector of the best walk ``(size,)``.
      terms: cost terms of the best walk.
      survivals: repeats under unseen perturbations in each scenario; empty for a walk that falls
        without perturbations.
      verdict: whether the walk is steady and natural.
      notes: notes on the initial values.
      directory: run directory.
    """

    displayed_by = "trueup.runs.display:of_run"

    configuration: GaitConfiguration
    problem: GaitProblem
    solution: Solution
    vector: np.ndarray
    terms: dict[str, float]
    survivals: tuple[Survival, ...]
    verdict: Verdict
    notes: tuple[str, ...]
    directory: Path

    @property
    def report(self) -> Path:
        """Path of the HTML report."""
        return self.directory / "report.html"


def judged_gait(
    spec: GaitSpec,
    problem: GaitProblem,
    solution: Solution,
    history: History,
    directory: Path,
    verbose: bool,
) -> Outcome:
    """Evaluate the best walk under perturbations that no candidate was evaluated over.

    Args:
      spec: spec of the run.
      problem: its problem; set to the stage of the best walk.
      solution: solution of the search.
      history: all evaluations of the search.
      directory: run directory.
      verbose: report long computations on the error stream.
    """
    configuration = spec.configuration
    if isinstance(problem, StagedProblem) and np.isfinite(solution.cost):
        solution = _of_its_stage(problem, solution)
    if is_reevaluated(problem, configuration.search) and np.isfinite(solution.cost):
        if verbose:
            words = "Evaluating the candidates of the last generations over other repeats ..."
            print(words, file=sys.stderr)
        solution = _reevaluated(problem, solution, history)
        assert problem.perturbations is not None  # otherwise nothing was evaluated over repeats
        problem.perturbations = evaluation_repeats(problem.perturbations)
    elif find_device(configuration.device) is not None and np.isfinite(solution.cost):
        solution = _in_double_precision(problem, solution, history)
    vector = problem.parameters.complete(solution.x[None])[0]
    problem.costs(solution.x[None])
    terms = {name: float(value[0]) for name, value in problem.terms.items()}
    survivals: tuple[Survival, ...] = ()
    if problem.perturbations is not None or not mean_term(terms, "fell"):
        survivals = tuple(survivals_of(problem, vector))
    verdict = judge_walk(
        problem,
        vector,
        norms=norms_of(spec.local),
        survivals=survivals,
        search=SearchEnd.of(solution, converges=SEARCH_METHODS[configuration.search].converges),
    )
    result = GaitResult(
        configuration,
        problem,
        solution,
        vector,
        terms,
        survivals,
        verdict,
        spec.notes,
        directory,
    )
    ended = solution.success or solution.status in LIMITS
    complete = bool(np.isfinite(solution.cost)) and ended
    return Outcome(result, _summary(spec, result), complete=complete)


def _of_its_stage(problem: StagedProblem, solution: Solution) -> Solution:
    """The solution with the cost of its stage, to which the problem is set."""
    cost = np.array([solution.cost])
    problem.enter(int(problem.stages_of(cost)[0]))
    said = own = float(problem.own_costs(cost)[0])
    if not problem.is_of_target(solution.cost):
        own = float(problem.costs(solution.x[None])[0, 0])
    message = solution.message.replace(f"cost {said:.6g}", f"cost {own:.6g}")
    return dataclasses.replace(solution, cost=own, message=message)


def _reevaluated(problem: GaitProblem, solution: Solution, history: History) -> Solution:
    """The solution with the best of the final candidates and the means of the last generations."""
    costs = history.costs[:, 0]
    rows = np.full(len(costs), True)
    if isinstance(problem, StagedProblem):
        steps = problem.steps_of(costs)
        rows = steps == steps[np.nanargmin(costs)]
    of_stage = history.X[rows], costs[rows], history.generation[rows]
    kept = final_candidates(*of_stage), means_of_generations(*of_stage), solution.x
    judged = reevaluated(problem, np.unique(np.vstack(kept), axis=0))
    if isinstance(problem, StagedProblem):
        judged = judged._replace(cost=float(problem.own_costs(np.array([judged.cost]))[0]))
    return dataclasses.replace(
        solution,
        x=judged.x,
        cost=judged.cost,
        parameters=dict(zip(problem.space.names, map(float, judged.x), strict=True)),
        message=f"{judged.message}. Search: {solution.message}",
    )


def _in_double_precision(problem: GaitProblem, solution: Solution, history: History) -> Solution:
    """The solution, or a candidate of the last generations with a lower cost on the CPU.

    The difference between single and double precision grows within a few strides, and a marginal
    walk that a device has seen complete may fall.
    """
    own = float(problem.costs(solution.x[None])[0, 0])
    if own == solution.cost:
        return solution
    rows = np.full(len(history.X), True)
    if isinstance(problem, StagedProblem):
        steps = problem.steps_of(history.costs[:, 0])
        rows = steps == steps[np.nanargmin(history.costs[:, 0])]
    kept = final_candidates(history.X[rows], history.costs[rows, 0], history.generation[rows])
    candidates = np.vstack([solution.x[None], kept])
    costs = problem.costs(candidates)[:, 0]
    best = int(np.argmin(costs))
    x = candidates[best]
    return dataclasses.replace(
        solution,
        x=x,
        cost=float(costs[best]),
        parameters=dict(zip(problem.space.names, map(float, x), strict=True)),
        message=f"Best of {len(costs)} candidates of the last generations in double precision: "
        f"cost {costs[best]:.6g}. Search: {solution.message}",
    )


def _summary(spec: GaitSpec, result: GaitResult) -> dict[str, Any]:
    """Content of ``solution.json``."""
    solution, terms, space = result.solution, result.terms, result.problem.space
    return {
        "kind": spec.kind,
        "name": spec.name,
        "status": solution.status.value,
        "message": solution.message,
        "advice": solution.status.advice,
        "verdict": result.verdict.to_dict(),
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
        "walked_m": mean_term(terms, "walked"),
        "lasted_s": mean_term(terms, "lasted"),
        "fell": bool(mean_term(terms, "fell")),
        "stats": solution.stats,
        "notes": list(spec.notes),
        **_survival_records(result.problem, result.survivals),
    }


def _survival_records(problem: GaitProblem, survivals: Sequence[Survival]) -> dict[str, Any]:
    """Repeats of each scenario by name; empty if not simulated."""
    if not survivals:
        return {}
    names = [scenario.name for scenario in problem.scenarios]
    return {"survival": {name: one.to_dict() for name, one in zip(names, survivals, strict=True)}}
