"""Assessment of a fit: intervals, held-out data, missing terms, and the verdict."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from trueup.fitting import Grade, Reason
from trueup.fitting.solution import Status
from trueup.runs.loop.progress import Progress
from trueup.sysid.assess.assessment import Assessment, assess
from trueup.sysid.assess.excitation import joint_motions, too_little
from trueup.sysid.assess.horizons import horizon_errors
from trueup.sysid.assess.posterior import sample_posterior, sampling_reasons, with_posterior
from trueup.sysid.assess.summary import summarise
from trueup.sysid.assess.time_step import half_step
from trueup.sysid.assess.window_length import window_reasons
from trueup.sysid.causes.missing_terms import missing_terms
from trueup.sysid.experiment.initial_unknowns import estimated_starts
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit._inner_fit import AfterFit
from trueup.sysid.fit.cross_validation import CrossValidation, cross_validate
from trueup.sysid.fit.identification import Fit, Identification
from trueup.sysid.fit.prior_weight import at_noise
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.start_noise import measured_starts
from trueup.sysid.fit.unseen_ends import UnseenEnds, unseen_ends
from trueup.sysid.torque.report import torque_summary

_STUCK = (Status.STALLED, Status.ITERATION_LIMIT)


def judge(prepared: Prepared, fit: Fit, directory: Path, verbose: bool = False) -> Identification:
    """Assess a fit; nothing is written but the state of an interrupted sampling.

    Args:
      prepared: the experiment.
      fit: its fit.
      directory: run directory, for the result.
      verbose: whether the progress of a sampling is shown.

    Raises:
      TrueupError: a step failed.
      KeyboardInterrupt: Ctrl-C.
    """
    experiment, problem = prepared.experiment, fit.problem
    start, x, success = problem.space.start, fit.solution.x, fit.solution.success
    held_out, alone = problems_of_held_out(prepared, fit)
    time = AfterFit(fit.solution.stats.get("seconds", 0.0), experiment.search.time_limit)
    assessment = assess_fit(prepared, fit, held_out, alone, time)
    if experiment.confidence.samples and success and not assessment.flaw:
        assessment = sampled(prepared, fit, assessment, directory, verbose)
    crossed = folds_of(prepared, fit)
    # held-out data are refitted only for comparison with an optimum
    has_ends = crossed is None and held_out is None and success
    ends = ends_of(prepared, fit, time) if has_ends else None
    missing, untried = [], ""
    if success or fit.solution.status in _STUCK:  # what is wrong may keep the search from its end
        missing, untried = missing_terms(prepared, problem, x, fit.loss, time.left)
    solution = replace(
        fit.solution, covariance=assessment.value_covariance, intervals=assessment.intervals
    )
    level = experiment.confidence.level
    windows: list[Reason] = sampling_reasons(assessment.posterior)
    if success and not assessment.flaw and time.left:
        windows += window_reasons(prepared, problem, x, assessment.covariance, level)
    summary = summarise(
        experiment.name,
        problem,
        solution,
        assessment,
        crossed,
        {recording.name: recording.quality for recording in prepared.recordings},
        [*fit.notes, *([untried] if untried else [])],
        ends,
        horizon_errors(prepared, problem, x) if time.left else (),
        torque_summary(prepared, x, start, assessment, level, time.left),
        missing,
        shortages(prepared, problem, assessment),
        windows,
    )
    return Identification(prepared, problem, solution, assessment, crossed, directory, summary)


def sampled(
    prepared: Prepared, fit: Fit, assessment: Assessment, directory: Path, verbose: bool
) -> Assessment:
    """The assessment with intervals of the sampled posterior."""
    experiment, limit = prepared.experiment, prepared.experiment.search.time_limit
    seconds = np.inf if limit is None else limit - fit.solution.stats.get("seconds", 0.0)
    with Progress(verbose) as progress:
        found = sample_posterior(
            fit.problem,
            fit.solution.x,
            assessment,
            directory,
            experiment.seed,
            seconds=seconds,
            report=progress.update,
        )
    return with_posterior(assessment, found, experiment.confidence.level)


def shortages(prepared: Prepared, problem: GrayBoxProblem, assessment: Assessment) -> list[Reason]:
    """Reasons against a fit to too little motion."""
    starts = estimated_starts(problem.parameters)
    names = problem.space.names
    asked = np.array(["#" not in name and name not in starts for name in names])
    widths = assessment.relative_widths
    held_out = [
        float(np.ptp(sequence.sensordata.times))
        for group in prepared.held_out
        for sequence in group.measured_rollout
    ]
    found = too_little(
        problem.parameters,
        asked,
        np.full(len(names), np.nan) if widths is None else widths,
        joint_motions(prepared.training),
        held_out,
        0.0 if prepared.experiment.search.by_torques else prepared.settings.window,
    )
    return found + weak_reasons(assessment)


def weak_reasons(assessment: Assessment) -> list[Reason]:
    """Reasons on uncertain values that change the predicted motion noticeably."""
    matters = assessment.matters
    if matters is None:
        return []
    names = assessment.identifiability.names
    return [
        Reason(Grade.LOOK, f"{direction.sentence}.", "identifiability")
        for direction in assessment.identifiability.weak
        if direction.uncertainty is None or matters[names.index(next(iter(direction.coefficients)))]
    ]


def problems_of_held_out(
    prepared: Prepared, fit: Fit
) -> tuple[GrayBoxProblem | None, GrayBoxProblem | None]:
    """Problem of the held-out data, and the one for a fit to them; None if there is none.

    Held-out data are refitted only for comparison with an optimum.
    """
    if not prepared.held_out:
        return None, None
    scale = fit.problem.noise_scale
    held_out = at_noise(prepared.problem(sequences=prepared.held_out), scale)
    alone = prepared.held_out_alone() if fit.solution.success else None
    return held_out, None if alone is None else at_noise(alone, scale)


def assess_fit(
    prepared: Prepared,
    fit: Fit,
    held_out: GrayBoxProblem | None,
    alone: GrayBoxProblem | None,
    time: AfterFit,
) -> Assessment:
    """Intervals, identifiability, and errors on the data of the fit and on held-out data.

    Args:
      prepared: the experiment.
      fit: its fit.
      held_out: problem of the held-out data.
      alone: problem of a fit to them.
      time: time budget after the fit.
    """
    experiment = prepared.experiment
    # only an optimum has intervals, and inverse dynamics has no initial states
    moves = fit.solution.success and not experiment.search.by_torques
    return assess(
        fit.problem,
        fit.problem.space.start,
        fit.solution,
        held_out,
        alone,
        method=experiment.confidence.noise_method,
        level=experiment.confidence.level,
        loss=fit.loss,
        profile=experiment.confidence.profile,
        seed=experiment.seed,
        starts=measured_starts(prepared, prepared.training, False) if moves else None,
        held_out_starts=measured_starts(prepared, prepared.alone, True) if moves else None,
        time=time,
        information=fit.information,
        elsewhere=fit.elsewhere,
        was_compared=fit.was_compared,
        halved=half_step(prepared, fit.problem) if moves and time.left else None,
    )


def folds_of(prepared: Prepared, fit: Fit) -> CrossValidation | None:
    """Cross-validation over the recordings, if requested by the experiment."""
    folds, scale = prepared.experiment.held_out.folds, fit.problem.noise_scale
    if folds <= 1:
        return None
    return cross_validate(prepared, fit.solution.x, folds, scale, fit.loss)


def ends_of(prepared: Prepared, fit: Fit, time: AfterFit) -> UnseenEnds:
    """Ends of the recordings predicted by a fit without them, if nothing is held out."""
    return unseen_ends(prepared, fit.solution.x, fit.problem.noise_scale, fit.loss, time.left)
