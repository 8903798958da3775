"""What a finished run says of its parameters: verdict, knowledge, error of the model."""

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
    """Content of ``solution.json`` of a run that can be drawn from, and its verdict.

    Raises:
      RunDirectoryError: the run is not finished, damaged, or not to be used.
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
            f'the verdict on {directory.path} is "{verdict.grade.value}": {reason} Mend the fit '
            "first; --anyway takes it all the same, marked as such"
        )
    return solution, verdict


def mark_of(check: InputCheck, verdict: Verdict) -> str | None:
    """Mark of everything made from a run whose inputs have changed; None for none."""
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
    """Raise RunDirectoryError where a run knows other unknowns than its experiment has."""
    if known.names != names:
        only = sorted(set(known.names) ^ set(names))
        what = f"{listing(only, 6)} are not in both" if only else "their order differs"
        raise RunDirectoryError(
            f"{directory.solution} knows other unknowns than {directory.experiment} has: {what}. "
            "One of the files was changed: take it from a copy"
        )


def known_of(solution: dict[str, Any], directory: RunDirectory) -> Gaussian:
    """Knowledge of a run about its unknowns, from the content of its ``solution.json``.

    Raises:
      RunDirectoryError: the run keeps nothing of the kind, or the file is damaged.
    """
    if solution.get("known") is None:
        reason = (
            "the fit is no optimum, so nothing is known of the spread of its values"
            if "known" in solution
            else f"it was written before runs kept it: trueup study resume {directory.path}"
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
            f"{directory.solution} is damaged: it knows other unknowns than it has parameters"
            + (f" ({listing(only, 6)})" if only else ", or in another order")
        )
    return known


def widening_of(rows: list[dict[str, Any]]) -> np.ndarray:
    """Factor ``(p,)`` for the error of the model, from where held-out data alone would move values.

    ``model_error_ratio`` is that distance over what noise explains at 95 %. An element far off is
    widened to reach; all are widened by what the middle one of them shows.
    """
    ratios = np.array([row.get("model_error_ratio") or 0.0 for row in rows], float)
    shown = ratios[ratios > 0.0]
    if not shown.size:
        return np.ones(len(rows))
    # the middle of |t| / 1.96 of a right model is 0.6745 / 1.96
    common = float(np.median(shown)) * 1.96 / 0.6745
    return np.maximum(np.maximum(ratios, common), 1.0)
