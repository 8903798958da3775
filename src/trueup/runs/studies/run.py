"""Execution of a study, from its problem to its report."""

import csv
import dataclasses
import io
import time
from pathlib import Path
from typing import Any

import numpy as np

from trueup._rich_display import RichDisplay
from trueup.errors import RunDirectoryError, listing
from trueup.fitting import SEARCH_METHODS, ParetoFront, Problem, Solution, Status, judge_search
from trueup.parameters import Space
from trueup.runs.execution import Execution
from trueup.runs.loop._warm_start import warm_start
from trueup.runs.outcome import Outcome
from trueup.runs.session import Session
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import solution_content
from trueup.runs.studies.named_problem import (
    NamedProblem,
    named_problem,
    problem_of_file,
    send_by_value,
)
from trueup.runs.studies.settings import search_of
from trueup.runs.studies.spec import StudySpec
from trueup.runs.study_page.report import report_of_search

FRONT_FILE = "pareto_front.csv"


@dataclasses.dataclass
class StudyResult(RichDisplay):
    """Result of :func:`trueup.runs.study`."""

    displayed_by = "trueup.runs.display:of_run"

    problem: Problem
    """The problem; its space contains the start values."""
    solution: Solution
    """The best candidate, and the status of the search."""
    directory: Path
    """Run directory."""
    summary: dict[str, Any]
    """Content of ``solution.json``."""

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.directory / "report.html"


def run_study(spec: StudySpec, session: Session) -> Outcome:
    """Execute a study; errors as :func:`trueup.runs.start`."""
    named, spec = problem_at_start(spec)
    problem = named.problem
    search = search_of(spec.settings, problem, spec.limits)
    inputs = [] if named.file is None else [named.file]
    if session.execution.scheduler is not None:
        send_by_value(named)
    with session.begin(spec, inputs, problem=problem, distributed=True) as run:
        # the history depends on the problem and on every setting of the search
        settings = {"problem": spec.problem, "inputs": run.hashes, **spec.settings.to_dict()}
        solution = run.search(problem, search, settings)

        def judge(solution: Solution) -> Outcome:
            converges = SEARCH_METHODS[spec.settings.method].converges
            verdict = judge_search(problem.space, solution, converges)
            summary = {**bare(solution), "verdict": verdict.to_dict()}
            result = StudyResult(problem, solution, run.directory.path, summary)
            return Outcome(result, summary, complete=has_ended(solution, converges))

        def bare(solution: Solution) -> dict[str, Any]:
            return solution_content(spec.name, spec.kind, problem.space, solution, spec.notes)

        def write(outcome: Outcome) -> None:
            if solution.front is not None:
                write_front(run.directory, problem.space.names, solution.front)

        return run.finish(
            solution,
            bare=bare,
            judge=judge,
            write=write,
            page=lambda outcome: report_of_search(run.directory),
        )


def plan_study(spec: StudySpec, execution: Execution) -> dict[str, Any]:
    """First candidates of a study, and their evaluation time [s]."""
    named, spec = problem_at_start(spec)
    problem = named.problem
    X = search_of(spec.settings, problem, spec.limits).ask()
    failures: dict[int, str] = {}
    started = time.perf_counter()
    problem.costs(X, failures)
    seconds = time.perf_counter() - started
    return {
        "method": spec.settings.method,
        "parameters": list(problem.space.names),
        "objectives": list(problem.objectives),
        "population": len(X),
        "seconds_per_generation": seconds,
        "invalid": {str(i): reason for i, reason in failures.items()},
        "notes": list(spec.notes),
    }


def problem_at_start(spec: StudySpec) -> tuple[NamedProblem, StudySpec]:
    """The problem with the start values of its space, and the spec with the same start values.

    Raises:
      RunDirectoryError: the problem of a run to resume now has other parameters.
    """
    named = spec.named or _named_again(spec)
    problem, space = named.problem, named.problem.space
    if spec.start is None:
        problem.space, notes = _started(spec, space)
        start = dict(zip(space.names, problem.space.start.tolist(), strict=True))
        return named, spec.model_copy(update={"start": start, "notes": tuple(notes)})
    if tuple(spec.start) != space.names:
        raise RunDirectoryError(
            f"the parameters of the problem of {spec.name} have changed: expected "
            f"{listing(spec.start)}, found {listing(space.names)}"
        )
    problem.space = dataclasses.replace(space, start=np.array(list(spec.start.values()), float))
    return named, spec


def _named_again(spec: StudySpec) -> NamedProblem:
    """The problem of a file or a name."""
    spec.check_whole()
    if spec.file is None:
        return named_problem(spec.problem, spec.dimension)
    return problem_of_file(spec.file, spec.problem, spec.dimension)


def _started(spec: StudySpec, space: Space) -> tuple[Space, list[str]]:
    """The space with its start values, and notes on them."""
    if spec.start_from is None:
        return space, []
    warm = warm_start(spec.start_from, space)
    return warm.space(space), warm.sentences


def has_ended(solution: Solution, converges: bool) -> bool:
    """Whether a search is complete; one that never converges is complete at its limits."""
    limits = (Status.EVALUATION_LIMIT, Status.ITERATION_LIMIT, Status.TIME_LIMIT)
    return solution.success or (not converges and solution.status in limits)


def write_front(directory: RunDirectory, names: tuple[str, ...], front: ParetoFront) -> Path:
    """Write the Pareto front as a table: a row per candidate, costs first."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*front.objectives, *names])
    table.writerows(np.column_stack([front.costs, front.x]).tolist())
    return atomic.write_text(directory.inside(FRONT_FILE), text.getvalue())
