"""A study: a search over a problem of the user's own, or over a test problem."""

import csv
import dataclasses
import io
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import RunDirectoryError, listing
from trueup.fitting import SEARCH_METHODS, ParetoFront, Problem, Solution, Status, judge_search
from trueup.parameters import Space
from trueup.reports import Page
from trueup.runs.job import Job, Outcome, Run, SearchJob
from trueup.runs.loop._warm_start import warm_start
from trueup.runs.loop.budget import Budget
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import solution_content, space_records
from trueup.runs.studies.named_problem import (
    NamedProblem,
    named_problem,
    problem_of_file,
    send_by_value,
)
from trueup.runs.studies.settings import StudySettings, resolved_method, search_of
from trueup.runs.study_page.record import read_study
from trueup.runs.study_page.report import study_report

FRONT_FILE = "pareto_front.csv"


@dataclass
class StudyResult:
    """Result of :func:`trueup.runs.study`."""

    problem: Problem
    """The problem; its space holds the start values."""
    solution: Solution
    """The best candidate, and how the search ended."""
    directory: Path
    """Run directory."""
    summary: dict[str, Any]
    """Plain data of everything, as ``solution.json`` holds it."""

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.directory / "report.html"


@dataclass
class _FormerProblem:
    """The problem that a study was started with, made again when it is needed."""

    directory: RunDirectory
    record: dict[str, Any]
    parameters: dict[str, dict[str, Any]]
    folder: Path | None
    made: NamedProblem | None = None
    """The same problem, where it is at hand."""

    @property
    def function(self) -> str:
        return self.record["function"]

    def make(self) -> NamedProblem:
        """The problem with the start values that it had.

        Raises:
          RunDirectoryError: its file is gone, or it has other parameters.
        """
        named = self.made or self._named_again()
        space = named.problem.space
        if tuple(self.parameters) != space.names:
            raise RunDirectoryError(
                f"the problem of {self.directory.path} has other parameters by now: it had "
                f"{listing(self.parameters)}, it has {listing(space.names)}"
            )
        start = np.array([row["start"] for row in self.parameters.values()], float)
        named.problem.space = dataclasses.replace(space, start=start)
        return named

    def _named_again(self) -> NamedProblem:
        record, path = self.record, self.directory.path
        if not record["function"]:
            raise RunDirectoryError(
                f"the problem of {path} was an object in Python, which no file makes again: resume "
                "it with  trueup.runs.study(problem, directory, resume=True)"
            )
        if "file" not in record:
            return named_problem(record["function"], record.get("dimension"))
        file = path / record["file"]
        if self.folder is not None:
            file = self.folder / file.name
        if not file.is_file():
            raise RunDirectoryError(
                f"the problem of {path} was in {file.resolve()}, which is gone: say where "
                f"{file.name} is with --folder"
            )
        return problem_of_file(file, record["function"], record.get("dimension"))


class StudyJob(SearchJob):
    """A study as a piece of work.

    Args:
      problem: what is searched, as :func:`named_problem` takes it.
      settings: how it is searched.
      limits: where the search stops at the latest.
      dimension: number of parameters of a test problem.
      start: earlier result to start from: a parameter file, a run directory or a plain vector.
      name: name of the run; that of its run directory where it is known.
    """

    kind = "study"
    noun = "a study"
    distributed = True

    def __init__(
        self,
        problem: str | Callable[..., Any] | Problem | _FormerProblem,
        settings: StudySettings | None = None,
        limits: Budget | None = None,
        *,
        dimension: int | None = None,
        start: str | os.PathLike[str] | None = None,
        name: str | None = None,
    ):
        self._former = problem if isinstance(problem, _FormerProblem) else None
        self._named = (
            None if isinstance(problem, _FormerProblem) else named_problem(problem, dimension)
        )
        self._settings = settings or StudySettings()
        self._start = start
        self.limits = limits or Budget()
        self.seed = self._settings.seed
        self.name = name or self.named.name
        self.notes = []

    @property
    def named(self) -> NamedProblem:
        """The problem, and how to make it again."""
        if self._named is None:
            assert self._former is not None
            self._named = self._former.make()
        return self._named

    @property
    def resolved(self) -> StudySettings:
        """Settings with the method that ``auto`` stands for."""
        if self._former is not None:
            return self._settings  # as they were resolved when it was started
        method = resolved_method(self._settings.method, self.named.problem)
        return dataclasses.replace(self._settings, method=method)

    def inputs(self) -> Sequence[Path]:
        return [] if self.named.file is None else [self.named.file]

    def plain(self, directory: Path) -> dict[str, Any]:
        named = self.named
        problem: dict[str, Any] = {"function": named.function, "dimension": named.dimension}
        if named.file is not None:
            problem = {"file": os.path.relpath(named.file, directory), **problem}
        return {
            "name": self.name,
            "problem": problem,
            "objectives": list(named.problem.objectives),
            "search": self.resolved.to_dict(),
            "budget": dataclasses.asdict(self.limits),
            "parameters": space_records(self.problem.space),
            "notes": list(self.notes),
        }

    @classmethod
    def from_plain(
        cls, content: dict[str, Any], directory: RunDirectory, folder: Path | None
    ) -> "StudyJob":
        needed = ("name", "problem", "parameters", "search")
        if missing := [key for key in needed if key not in content]:
            raise RunDirectoryError(
                f"{directory.experiment} is damaged: it lacks {listing(missing)}"
            )
        job = cls(
            _FormerProblem(directory, content["problem"], content["parameters"], folder),
            StudySettings(**content["search"]),
            Budget(**(content.get("budget") or {})),
            name=content["name"],
        )
        job.notes = list(content.get("notes") or ())
        return job

    def identity(self) -> dict[str, Any]:
        function = self._former.function if self._former is not None else self.named.function
        return {"problem": function, **self.resolved.to_dict()}

    def continuing(self, former: Job) -> Job:
        assert isinstance(former, StudyJob)
        if former._former is not None:
            former._former.made = self._named
        return former.limited(self.limits)

    def make_problem(self) -> Problem:
        problem = self.named.problem
        if self._former is None:
            problem.space, self.notes = self._started(problem.space)
        return problem

    def make_search(self) -> Any:
        return search_of(self.resolved, self.problem, self.limits)

    def settings(self, hashes: Sequence[str]) -> dict[str, Any]:
        resolved = self.resolved.to_dict()
        return {"problem": self.named.function, "inputs": list(hashes), **resolved}

    def solve(self, run: Run) -> Solution:
        if self.execution.scheduler is not None:
            send_by_value(self.named)
        return super().solve(run)

    def finish(self, run: Run, solution: Solution) -> Outcome:
        problem: Problem = self.problem
        summary = solution_content(self.name, self.kind, problem.space, solution, self.notes)
        limits = (Status.EVALUATION_LIMIT, Status.ITERATION_LIMIT, Status.TIME_LIMIT)
        converges = SEARCH_METHODS[self.resolved.method].converges
        summary["verdict"] = judge_search(problem.space, solution, converges).plain()
        endless = not converges and solution.status in limits
        result = StudyResult(problem, solution, run.directory.path, summary)
        return Outcome(result, summary, complete=solution.success or endless)

    def write(self, run: Run, outcome: Outcome) -> None:
        solution = outcome.result.solution
        if solution.front is not None:
            write_front(run.directory, self.problem.space.names, solution.front)

    @classmethod
    def report(cls, directory: RunDirectory) -> Page:
        return study_report(read_study(directory))

    def plan(self) -> dict[str, Any]:
        problem, X = self.problem, self.search.ask()
        failures: dict[int, str] = {}
        started = time.perf_counter()
        problem.costs(X, failures)
        seconds = time.perf_counter() - started
        return {
            "method": self.resolved.method,
            "parameters": list(problem.space.names),
            "objectives": list(problem.objectives),
            "population": len(X),
            "seconds_per_generation": seconds,
            "invalid": {str(i): reason for i, reason in failures.items()},
            "notes": list(self.notes),
        }

    def _started(self, space: Space) -> tuple[Space, list[str]]:
        """The space with its start values, and what was done about them."""
        execution = self.execution
        if execution.load_study and execution.storage:
            from trueup.runs.optuna_storage import load_study

            objectives = self.named.problem.objectives
            found = load_study(execution.storage, execution.load_study, space, objectives)
            if found.x is None:
                return space, found.notes()
            return dataclasses.replace(space, start=found.x.copy()), found.notes()
        if self._start is None:
            return space, []
        warm = warm_start(self._start, space)
        return warm.space(space), warm.sentences


def write_front(directory: RunDirectory, names: tuple[str, ...], front: ParetoFront) -> Path:
    """Write the Pareto front as a table: a row a candidate, costs first."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*front.objectives, *names])
    table.writerows(np.column_stack([front.costs, front.x]).tolist())
    return atomic.write_text(directory.inside(FRONT_FILE), text.getvalue())
