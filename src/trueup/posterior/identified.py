"""Knowledge of a finished identification, ready to be drawn from and simulated."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import FitError, RunDirectoryError
from trueup.fitting.uncertainty.gaussian import Gaussian
from trueup.fitting.verdict import Grade, Verdict
from trueup.parameters import ParameterDict
from trueup.posterior.belief import Belief
from trueup.runs import read_job, read_solution
from trueup.studies import RunDirectory
from trueup.studies.damage import read_as_written
from trueup.sysid.assess.horizons import HORIZONS
from trueup.sysid.fit.identification_job import IdentificationJob
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.window_states import without_window_states


@dataclass(frozen=True)
class IdentifiedRun:
    """A finished identification and what is known of its unknowns."""

    directory: RunDirectory
    job: IdentificationJob
    solution: dict[str, Any]
    """Content of ``solution.json``."""
    verdict: Verdict
    parameters: ParameterDict
    """Unknowns at their start values, without the states of windows."""
    fit: np.ndarray
    """Identified values ``(p,)``."""
    known: Gaussian
    """Knowledge from the training data."""
    widening: np.ndarray
    """Factor on the standard deviation of each element, for the error of the model ``(p,)``."""

    @property
    def belief(self) -> Belief:
        """Knowledge from training data, bounds and the error of the model together."""
        lower, upper = self.parameters.space().search_bounds
        known = self.known
        return Belief(known.names, known.centre, known.precision, lower, upper).widened(
            self.widening
        )

    def held_out_problem(self) -> GrayBoxProblem | None:
        """Problem that simulates the held-out recordings; None where nothing is held out.

        Recordings that are fitted in windows are simulated over the longest horizon of a score.
        """
        prepared = self.job.prepared
        if not prepared.held_out:
            return None
        settings = prepared.settings
        if settings.window:
            settings = replace(settings, window=max(settings.window, HORIZONS[-1]))
        return GrayBoxProblem(self.parameters, prepared.held_out, settings, prepared.rules)


def identified_run(
    directory: str | os.PathLike[str], *, anyway: bool = False, folder: Path | None = None
) -> IdentifiedRun:
    """Read a finished identification.

    Args:
      directory: run directory.
      anyway: take a run whose verdict is "do not use" too.
      folder: where the inputs are, if they have moved away from the run.

    Raises:
      RunDirectoryError: it is no finished identification, has no intervals, or its verdict is "do
        not use".
    """
    opened = RunDirectory.open(directory)
    job = read_job(opened, folder)
    if not isinstance(job, IdentificationJob):
        raise RunDirectoryError(
            f"{opened.path} is {job.noun}; draws are made from an identification of a model "
            "(trueup identify)"
        )
    solution = read_solution(opened)
    if "verdict" not in solution:
        raise RunDirectoryError(
            f"{opened.path} was not assessed: finish it with  trueup study resume {opened.path}"
        )
    try:
        verdict = Verdict.from_plain(solution["verdict"])
    except FitError as error:
        raise RunDirectoryError(f"{opened.solution} is damaged: {error}") from error
    if verdict.grade is Grade.DO_NOT_USE and not anyway:
        reason = next((r.sentence for r in verdict.reasons if r.grade is verdict.grade), "")
        raise RunDirectoryError(
            f'the verdict on {opened.path} is "{verdict.grade.value}": {reason} Mend the fit '
            "first; --anyway takes it all the same, marked as such"
        )
    known = known_of(solution, opened)
    parameters, _ = without_window_states(job.prepared.parameters)
    names = parameters.space().names
    if known.names != names:
        raise RunDirectoryError(
            f"{opened.solution} knows other unknowns than {opened.experiment} has: one of them "
            "was changed"
        )
    with read_as_written(opened.solution):
        rows = solution["parameters"]
        fit = np.array([row["value"] for row in rows], float)
        widening = widening_of(rows)
    return IdentifiedRun(opened, job, solution, verdict, parameters, fit, known, widening)


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
        return Gaussian.from_plain(solution["known"])
    except FitError as error:
        raise RunDirectoryError(f"{directory.solution} is damaged: {error}") from error


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
