"""Reports of runs of gait optimisations: the best walk and its search."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueup.errors import TrueupError
from trueup.gait.costs.adult_norm import adult_norm, fits_condition, named_norm
from trueup.gait.costs.norms import GaitNorm
from trueup.gait.report._survival import REPEATS, Survival, survival
from trueup.gait.report.of_walk import look_at, progress_section, walk_report
from trueup.gait.report.walk_words import how_it_walks, trunk_notes
from trueup.gait.search.configuration import GaitConfiguration
from trueup.gait.search.fresh_perturbations import evaluation_repeats, is_reevaluated
from trueup.gait.search.problem import GaitProblem
from trueup.gait.search.run_files import TERMS_LOG, read_terms
from trueup.gait.search.staged_problem import StagedProblem
from trueup.gait.walk.perturbations import PerturbationSizes
from trueup.reports import Finding, Findings, Page, Step
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import read_solution
from trueup.runs.study_page.record import read_study
from trueup.runs.study_page.report import study_report, study_sections

DOSES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Fractions of the largest torque in the dose-response of the report of a run."""


def page_of_run(
    directory: RunDirectory,
    configuration: GaitConfiguration,
    problem: GaitProblem,
    start: np.ndarray | None = None,
    survivals: Sequence[Survival] | None = None,
    verdict: Mapping[str, Any] | None = None,
) -> Page:
    """Report of a run, which may be in progress.

    Args:
      directory: run directory.
      configuration: configuration of the run.
      problem: problem of the run.
      start: free entries of the initial vector ``(p,)``; None if unknown.
      survivals: perturbed repeats of the best walk in each scenario; None: they are simulated if
        candidates are evaluated over perturbed repeats, or if the end of the run included
        them.
      verdict: verdict on the best walk as JSON values; by default that of ``solution.json``.

    Raises:
      GaitError: the best walk cannot be simulated.
    """
    record = read_study(directory)
    least = float(np.min(record.history.costs[record.valid(), 0], initial=np.inf))
    comparable = True
    if isinstance(problem, StagedProblem):
        # a walk of an intermediate step is shown at the target speed and slope
        comparable = problem.is_of_target(least)
        (stage,), (least,) = (
            problem.stages_of(np.array([least])),
            problem.own_costs(np.array([least])),
        )
        problem.enter(int(stage))
        if is_reevaluated(problem, configuration.search):
            assert problem.perturbations is not None
            problem.perturbations = evaluation_repeats(problem.perturbations)
    rows = {row["name"]: row for row in record.parameters}
    names = problem.space.names
    if any(name not in rows for name in names):
        return study_report(record)
    free = [np.array([rows[name]["value"] for name in names])]
    if start is not None and not np.array_equal(start, free[0]):
        free.append(start)
    look = look_at(problem, *problem.parameters.complete(np.array(free)))
    solution = _solution(directory)
    if survivals is None:
        repeated = problem.perturbations or "survival" in solution
        survivals = survivals_of(problem, look.vector) if repeated else ()
    if verdict is None:
        verdict = solution.get("verdict")
    largest = configuration.max_torque
    doses = [part * largest for part in DOSES] if configuration.exo and largest > 0.0 else []
    page = walk_report(
        look,
        record.name,
        f"{record.status}: {record.message}" if record.status else "not finished",
        norm=norms_of(configuration),
        max_torques=doses,
        survivals=survivals,
        provenance=record.provenance,
        verdict=verdict,
        steps=_steps(verdict, directory),
    )
    words = [f"{how_it_walks(problem)}.", *trunk_notes(problem)]
    if is_reevaluated(problem, configuration.search):
        # candidates were evaluated over other perturbations; None before the end of the search
        former = _solution(directory).get("cost")
    else:
        former = least if comparable else None
    changed = _changed(former, float(look.costs[0]))
    page.add(Findings([*(Finding("info", one) for one in words), *changed]))
    path = directory.inside(TERMS_LOG)
    terms, unreadable = read_terms(path) if path.is_file() else ({}, [])
    if unreadable:
        numbers = ", ".join(str(number) for number in unreadable[:5])
        sentence = (
            f"{len(unreadable)} lines of {TERMS_LOG} cannot be read (the first: {numbers}): "
            "they are missing in the history of the terms."
        )
        page.add(Findings([Finding("warning", sentence)]))
    progress = progress_section(record, terms, problem)
    return page.add(*([] if progress is None else [progress]), *study_sections(record))


def page_without_walk(directory: RunDirectory, error: TrueupError) -> Page:
    """Report of a run with a best walk that cannot be simulated."""
    page = study_report(read_study(directory))
    return page.add(Findings([Finding("serious", f"The walk is not shown: {error}")]))


def survivals_of(
    problem: GaitProblem,
    vector: np.ndarray,
    n: int = REPEATS,
    sizes: PerturbationSizes | None = None,
) -> list[Survival]:
    """Repeats of a walk in each scenario under perturbations that are not used in searches.

    Args:
      problem: problem.
      vector: complete vector ``(size,)``.
      n: number of repeats.
      sizes: sizes of the perturbations; by default those of the search.
    """
    if sizes is None and problem.perturbations is not None:
        sizes = problem.perturbations.sizes
    return [survival(one.simulation, vector, n, sizes=sizes) for one in problem.scenarios]


def norms_of(configuration: GaitConfiguration) -> list[GaitNorm | None]:
    """Norm of each scenario: the tracked gait, or that of adults if it applies."""
    if configuration.references:
        return [named_norm(*reference) for reference in configuration.references]
    return [
        adult_norm() if fits_condition(speed, slope) else None
        for speed, slope in configuration.conditions
    ]


def _solution(directory: RunDirectory) -> dict[str, Any]:
    """Content of ``solution.json``; empty before the end of the search."""
    if not directory.solution.is_file():
        return {}
    return read_solution(directory)


def _changed(former: float | None, now: float) -> list[Finding]:
    """Finding for a best walk with another cost than in the search."""
    if former is None or abs(now - former) <= 1e-6 * max(abs(former), 1.0):
        return []
    words = f"The cost of the best walk was {former:.6g} in the search and is {now:.6g} now"
    return [Finding("serious", f"{words}: the model, trueup or MuJoCo has changed since.")]


def _steps(verdict: Mapping[str, Any] | None, directory: RunDirectory) -> list[Step]:
    """Steps after a search, with the commands."""
    run = shlex.quote(str(directory.path))
    steps = [Step("Watch the walk:", f"trueup gait video {run} --output walk.mp4")]
    if verdict is not None and verdict["grade"] == "use":
        export = f"trueup gait export {run} --output walk.mot"
        steps.append(Step("Write it for OpenSim, or as a table (.csv):", export))
    return steps
