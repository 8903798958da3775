"""What designs of recordings have in common, whether of a robot or of a servo on its bench."""

import functools
import os
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueup._marks import KEY, joined
from trueup._seeds import check_count, check_seed
from trueup._version import __version__
from trueup.design.comparison import compared_with
from trueup.design.problem import DesignProblem
from trueup.errors import ExperimentError, RunDirectoryError
from trueup.fitting.solution import Solution, Status
from trueup.reports import Page
from trueup.runs.job import JobRun, SearchJob
from trueup.runs.loop.budget import Budget
from trueup.runs.outcome import Outcome
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import read_solution
from trueup.runs.study_page.record import read_study
from trueup.runs.study_page.report import study_report

_LARGEST_LIBRARY = 1_000_000

SECONDS = 240.0
"""Time of the search [s] unless another is given."""


class RecordingDesign(SearchJob):
    """A search for pieces of motion, and the recording that they make.

    Args:
      after: run directory of the last recording's identification; None for none.
      predicted: run directory of the design of that recording, to be compared with its result.
      anyway: take runs whose verdict is "do not use", or whose inputs have changed, too; every
        file says so.
      library: pieces of the library; None where the job chooses.
      polish: designs that are evaluated for each turn of the polish of a piece.
      turns: turns of the polish over all pieces, if the limits allow so many.
      seed: seed of everything random.
      limits: limits of the search.
    """

    known_limits = ("max_seconds", "max_evaluations")

    def __init__(
        self,
        after: Path | None,
        predicted: Path | None,
        anyway: bool,
        library: int | None,
        polish: int,
        turns: int,
        seed: int | None,
        limits: Budget | None,
    ):
        if library is not None:
            check_count("the library of pieces", library, 1, _LARGEST_LIBRARY, ExperimentError)
        if seed is not None:
            check_seed(seed, ExperimentError)
        self.after, self.predicted, self.anyway = after, predicted, anyway
        self.library, self.polish, self.turns = library, polish, turns
        self.seed = seed
        self.limits = limits or Budget(max_seconds=SECONDS)
        self._excluded = False

    # --- what a kind of design says -------------------------------------------------------------

    @abstractmethod
    def make_problem(self) -> DesignProblem:
        """Information of pieces, and the criterion."""

    @property
    @abstractmethod
    def wider(self) -> str:
        """What lets more motions in, in words."""

    @abstractmethod
    def write_motion(self, directory: RunDirectory, x: np.ndarray) -> None:
        """Write what the robot or servo is to do ``x (slots, size)``."""

    @classmethod
    @abstractmethod
    def page_of(cls, directory: RunDirectory, summary: dict[str, Any]) -> Page:
        """The page of a design."""

    def prepare(self) -> None:
        # a wrong run is told before the time of the search is spent
        _ = self.comparison
        super().prepare()

    @functools.cached_property
    def comparison(self) -> dict[str, Any] | None:
        """The last prediction beside what was obtained; None where none is given."""
        if self.predicted is None:
            return None
        if self.after is None:
            raise ExperimentError(
                f"the prediction of {self.predicted} is compared with the run of that recording, "
                "and none is given: name it with --after"
            )
        return compared_with(self.predicted, self.after, anyway=self.anyway)

    @property
    @abstractmethod
    def mark_of_run(self) -> str | None:
        """Mark of the last run, where its inputs have changed."""

    @property
    def mark(self) -> str | None:
        former = None if self.comparison is None else self.comparison.get(KEY)
        return joined(self.mark_of_run, former)

    # --- run directory --------------------------------------------------------------------------

    def search_settings(self, directory: Path) -> dict[str, Any]:
        """Part of ``experiment.yaml`` that every design has."""

        def near(path: Path | None) -> str | None:
            return None if path is None else os.path.relpath(path, directory)

        return {
            "after": near(self.after),
            "predicted": near(self.predicted),
            "anyway": self.anyway,
            "library": self.library,
            "polish": self.polish,
            "turns": self.turns,
            "seed": self.seed,
            "seconds": self.limits.max_seconds,
            "evaluations": self.limits.max_evaluations,
        }

    @staticmethod
    def given_settings(content: dict[str, Any], directory: RunDirectory) -> dict[str, Any]:
        """Arguments of a job from that part of ``experiment.yaml``."""

        def far(path: str | None) -> Path | None:
            return None if path is None else Path(os.path.normpath(directory.path / path))

        return {
            "after": far(content["after"]),
            "predicted": far(content["predicted"]),
            "anyway": bool(content["anyway"]),
            "library": content["library"],
            "polish": int(content["polish"]),
            "turns": int(content["turns"]),
            "seed": content["seed"],
            "limits": Budget(
                max_seconds=content["seconds"], max_evaluations=content["evaluations"]
            ),
        }

    def continuing(self, former: Any) -> "RecordingDesign":
        self.library, self.polish, self.turns = former.library, former.polish, former.turns
        return self

    def settings(self, hashes: Sequence[str]) -> dict[str, Any]:
        keys = ("library", "polish", "turns", "seed")
        return {**{key: getattr(self, key) for key in keys}, "inputs": list(hashes)}

    def bare_summary(self, solution: Any) -> dict[str, Any]:
        return {
            "format_version": 1,
            "trueup": __version__,
            "kind": self.kind,
            "name": self.name,
            "status": solution.status.value,
            "success": solution.success,
            "message": solution.message,
            "cost": solution.cost,
            "parameters": [],
            "notes": list(self.notes),
            "stats": solution.stats,
        }

    def has_progress(self, directory: RunDirectory) -> bool:
        return not self._excluded and super().has_progress(directory)

    # --- search ---------------------------------------------------------------------------------

    def solve(self, run: JobRun) -> Solution:
        solution = super().solve(run)
        if solution.status is Status.START_FAILED:
            self._excluded = True
            raise ExperimentError(
                f"{solution.message}: the limits exclude every one of {self.library} motions "
                f"({self._reasons()}). {self.wider}"
            )
        if solution.status is Status.INTERRUPTED and self._moves(solution):
            # the best so far can be recorded at once, though its intervals are not predicted
            self.write_motion(run.directory, self.pieces_of(solution))
            stopped = solution.message.partition("; the run in ")[0]
            solution.message = f"{stopped}; the best motion so far lies in {run.directory.path}"
        return solution

    def pieces_of(self, solution: Solution) -> np.ndarray:
        """Rows ``(slots, size)`` of the best design.

        Raises:
          ExperimentError: no motion within the limits was found.
        """
        problem: DesignProblem = self.problem
        x = solution.x.reshape(problem.slots, -1).copy()
        if not self._moves(solution):
            raise ExperimentError(
                f"no motion that keeps the limits was found within {solution.stats['evaluations']} "
                f"tries ({self._reasons()}): give the search more time with --seconds. {self.wider}"
            )
        still = problem.simulator.family.still(x)
        best = int(np.argmax(np.where(still, -1.0, problem.shares)))
        x[still] = x[best]  # what a fit does not see shall move all the same
        return x

    def _moves(self, solution: Solution) -> bool:
        problem: DesignProblem = self.problem
        x = solution.x.reshape(problem.slots, -1)
        return not problem.simulator.family.still(x).all()

    def _reasons(self) -> str:
        found = [piece.reason for piece in self.problem.remembered() if piece.reason]
        words = [w for reason in found for w in reason.split(", ")]
        counted = sorted({w: words.count(w) for w in words}.items(), key=lambda item: -item[1])
        return ", ".join(f"{word} in {count}" for word, count in counted[:4]) or "no reason"

    # --- report ---------------------------------------------------------------------------------

    @classmethod
    def report(cls, directory: RunDirectory) -> Page:
        if not directory.solution.is_file() and directory.study.is_file():
            return study_report(read_study(directory))
        return cls.page_of(directory, read_solution(directory))

    def page(self, run: JobRun, outcome: Outcome) -> Page:
        return self.page_of(run.directory, outcome.summary)


def damaged(directory: RunDirectory, error: Exception) -> RunDirectoryError:
    """What is said of an ``experiment.yaml`` that no design can be made of."""
    return RunDirectoryError(f"{directory.experiment} is damaged: {str(error).splitlines()[0]}")
