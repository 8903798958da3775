"""Verdict, parameter distribution and model error of a finished run."""

from typing import Any

import numpy as np

from trueup._marks import joined
from trueup.errors import FitError, RunDirectoryError, listing
from trueup.fitting.judgement.verdict import Grade, Verdict
from trueup.fitting.uncertainty.gaussian import Gaussian
from trueup.runs import InputCheck, read_solution
from trueup.runs.store.damage import read_as_written
from trueup.runs.store.run_directory import RunDirectory


def finished(directory: RunDirectory, anyway: bool) -> tuple[dict[str, Any], Verdict]:
    """Content of ``solution.json`` of a finished run, and its verdict.

    Raises:
      RunDirectoryError: the run is not finished, damaged, or has the verdict "do not use".
    """
    solution = read_solution(directory)
    if "verdict" not in solution:
        raise RunDirectoryError(
            f"{directory.path} was not assessed: finish it with  trueup study resume "
            f"{directory.path}"
        )
    try:
        verdict = Verdict.from_dict(solution["verdict"])
    except FitError as error:
        raise RunDirectoryError(f"{directory.solution} is damaged: {error}") from error
    if verdict.grade is Grade.DO_NOT_USE and not anyway:
        reason = next((r.sentence for r in verdict.reasons if r.grade is verdict.grade), "")
        raise RunDirectoryError(
            f'the verdict on {directory.path} is "{verdict.grade.value}": {reason} Correct the fit '
            "first, or use it with --anyway, which marks the result"
        )
    return solution, verdict


def mark_of(check: InputCheck, verdict: Verdict) -> str | None:
    """Mark of results of a run with changed inputs or the verdict "do not use"; None for none."""
    refused = None
    if verdict.grade is Grade.DO_NOT_USE:
        run = check.directory.path.name
        refused = f'made although the verdict on the run {run} is "{verdict.grade.value}"'
    return joined(check.mark, refused)


def values_of(solution: dict[str, Any], directory: RunDirectory) -> np.ndarray:
    """Identified values ``(p,)``, from the content of ``solution.json``.

    Raises:
      RunDirectoryError: the file is damaged.
    """
    with read_as_written(directory.solution):
        return np.array([row["value"] for row in solution["parameters"]], float)


def check_names(known: Gaussian, names: tuple[str, ...], directory: RunDirectory) -> None:
    """Raise RunDirectoryError if the unknowns of a run are not those of its experiment."""
    if known.names != names:
        only = sorted(set(known.names) ^ set(names))
        what = f"{listing(only, 6)} are not in both" if only else "their order differs"
        raise RunDirectoryError(
            f"the unknowns of {directory.solution} are not those of {directory.experiment}: "
            f"{what}. One of the files was changed: restore it from a copy"
        )


def known_of(solution: dict[str, Any], directory: RunDirectory) -> Gaussian:
    """Distribution of the unknowns of a run, from the content of its ``solution.json``.

    Raises:
      RunDirectoryError: the run has no distribution, or the file is damaged.
    """
    if solution.get("known") is None:
        reason = (
            "the fit is not at an optimum"
            if "known" in solution
            else "it was written by an earlier version: update it with  trueup study resume "
            f"{directory.path}"
        )
        raise RunDirectoryError(f"{directory.path} has no intervals to draw from: {reason}")
    try:
        known = Gaussian.from_dict(solution["known"])
    except FitError as error:
        raise RunDirectoryError(f"{directory.solution} is damaged: {error}") from error
    with read_as_written(directory.solution):
        names = tuple(row["name"] for row in solution["parameters"])
    if known.names != names:
        only = sorted(set(known.names) ^ set(names))
        raise RunDirectoryError(
            f"{directory.solution} is damaged: its unknowns are not those of its parameters"
            + (f" ({listing(only, 6)})" if only else ", or have another order")
        )
    return known


def widening_of(rows: list[dict[str, Any]]) -> np.ndarray:
    """Factors ``(p,)`` on standard deviations for model error, from estimates of held-out data.

    ``model_error_ratio`` is the distance of an estimate from held-out data alone, over that which
    noise explains at 95 %. Each element is widened to reach its estimate, and at least by the
    factor that follows from the median of the ratios.
    """
    ratios = np.array([row.get("model_error_ratio") or 0.0 for row in rows], float)
    shown = ratios[ratios > 0.0]
    if not shown.size:
        return np.ones(len(rows))
    # the median of |t| / 1.96 is 0.6745 / 1.96 without model error
    common = float(np.median(shown)) * 1.96 / 0.6745
    return np.maximum(np.maximum(ratios, common), 1.0)
