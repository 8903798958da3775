"""Common steps of the runs of both designs, of a robot and of a servo on its bench."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueup._version import __version__
from trueup.design.comparison import compared_with
from trueup.design.problem import DesignProblem
from trueup.design.search import EXCEEDS, DesignSearch
from trueup.design.spec import RecordingDesignSpec
from trueup.errors import ExperimentError
from trueup.fitting.solution import Solution, Status
from trueup.reports import Page
from trueup.runs import Run, RunInterrupted
from trueup.runs.loop.early_errors import has_evaluations
from trueup.runs.store.database import Store
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import read_solution
from trueup.runs.study_page.record import read_study
from trueup.runs.study_page.report import study_report


def compared_prediction(spec: RecordingDesignSpec) -> dict[str, Any] | None:
    """Comparison of the last prediction with its result; None without one.

    Raises:
      ExperimentError: a prediction without a run of its recording.
      RunDirectoryError: one of the runs is missing, or they have nothing in common.
    """
    if spec.predicted is None:
        return None
    if spec.after is None:
        raise ExperimentError(
            f"the prediction of {spec.predicted} requires the run of that recording "
            "for comparison: pass it with --after"
        )
    return compared_with(spec.predicted, spec.after, anyway=spec.anyway)


def search_settings(spec: RecordingDesignSpec, hashes: Sequence[str]) -> dict[str, Any]:
    """Settings that determine the history."""
    keys = ("library", "polish", "turns", "seed")
    return {**{key: getattr(spec, key) for key in keys}, "inputs": list(hashes)}


def search_pieces(
    run: Run,
    problem: DesignProblem,
    search: DesignSearch,
    settings: dict[str, Any],
    *,
    wider: str,
    write_motion: Callable[[np.ndarray], None],
) -> Solution:
    """Search the pieces of a recording.

    Args:
      run: the run.
      problem: information of pieces.
      search: the search before its first batch.
      settings: settings that determine the history.
      wider: advice on allowing more motions.
      write_motion: function that writes the motion of pieces ``(slots, size)``.

    Raises:
      ExperimentError: the limits exclude every motion.
      RunInterrupted: Ctrl-C. The best motion so far is written and can be recorded, but
        its intervals are not predicted.
    """
    try:
        solution = run.search(problem, search, settings)
    except RunInterrupted as stop:
        if stop.solution is None or not moves(problem, stop.solution):
            raise
        write_motion(best_pieces(problem, stop.solution, wider))
        stopped = stop.solution.message.partition("; the run in ")[0]
        words = f"{stopped}; the best motion so far is in {run.directory.path}"
        raise run.stopped(replace(stop.solution, message=words)) from None
    if solution.status is Status.START_FAILED:
        raise ExperimentError(
            f"{solution.message}: the limits exclude every one of {len(search.library)} motions "
            f"({_reasons(problem)}). {wider}"
        )
    return solution


def has_motion(directory: RunDirectory) -> bool:
    """Whether a run has found a motion within the limits."""
    if not has_evaluations(directory):
        return False
    with Store.open(directory.study) as store:
        return bool((store.history().costs < EXCEEDS).any())


def best_pieces(problem: DesignProblem, solution: Solution, wider: str) -> np.ndarray:
    """Rows ``(slots, size)`` of the best design.

    Args:
      problem: information of pieces.
      solution: result of the search.
      wider: advice on allowing more motions.

    Raises:
      ExperimentError: no motion within the limits was found.
    """
    if not moves(problem, solution):
        raise ExperimentError(
            f"no motion within the limits was found in {solution.stats['evaluations']} "
            f"evaluations ({_reasons(problem)}): increase the time of the search with --seconds. "
            f"{wider}"
        )
    x = solution.x.reshape(problem.slots, -1).copy()
    still = problem.simulator.family.still(x)
    best = int(np.argmax(np.where(still, -1.0, problem.shares)))
    x[still] = x[best]  # held-out pieces must move too
    return x


def moves(problem: DesignProblem, solution: Solution) -> bool:
    """Whether any piece of a design moves."""
    x = solution.x.reshape(problem.slots, -1)
    return not problem.simulator.family.still(x).all()


def _reasons(problem: DesignProblem) -> str:
    """Exceeded limits, the most frequent first."""
    found = [piece.reason for piece in problem.simulated_pieces() if piece.reason]
    words = [w for reason in found for w in reason.split(", ")]
    counted = sorted({w: words.count(w) for w in words}.items(), key=lambda item: -item[1])
    return ", ".join(f"{word} in {count}" for word, count in counted[:4]) or "no reason"


def search_summary(spec: RecordingDesignSpec, solution: Solution) -> dict[str, Any]:
    """Content of ``solution.json`` for an unfinished run, with the search only."""
    return {
        "format_version": 1,
        "trueup": __version__,
        "kind": spec.kind,
        "name": spec.name,
        "status": solution.status.value,
        "success": solution.success,
        "message": solution.message,
        "cost": solution.cost,
        "parameters": [],
        "notes": list(spec.notes),
        "stats": solution.stats,
    }


def report_of_design(
    directory: RunDirectory, page_of: Callable[[RunDirectory, dict[str, Any]], Page]
) -> Page:
    """Report of a design, or of its search while it is running.

    Args:
      directory: run directory.
      page_of: function that builds the report from the directory and the content of
        ``solution.json``.
    """
    if not directory.solution.is_file() and directory.study.is_file():
        return study_report(read_study(directory))
    return page_of(directory, read_solution(directory))
