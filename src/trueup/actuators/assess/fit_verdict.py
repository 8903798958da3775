"""Verdict on a servo fit: comparison with simpler predictions, and status of each parameter."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from trueup.actuators.assess._evaluate import Evaluation
from trueup.actuators.assess.bench_causes import BenchCause, causes_in_words
from trueup.actuators.assess.cross_validation_errors import WORDS, CrossValidationErrors
from trueup.actuators.assess.fit_assessment import ServoAssessment
from trueup.actuators.assess.held_out_logs import HeldOutRefit
from trueup.actuators.assess.jackknife import MODEL_ERROR
from trueup.actuators.assess.odd_logs import OddLog
from trueup.actuators.equations.friction_models import STRIBECK_SHAPE
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.fit_settings import uses_up_trials
from trueup.fitting import Comparison, Estimates, Grade, Reason, SearchEnd, Verdict, judge
from trueup.fitting.judgement import baselines
from trueup.fitting.solution import Solution
from trueup.parameters import Space

AT_GOAL = "a servo that is at its goal"
AT_REST = "a servo that stays at its start"

MOVES = 3.0
"""Smallest error of a servo that stays at its start relative to that of a fit whose residuals are
noise, for logs with motion."""


def verdict_of(
    solution: Solution,
    space: Space,
    assessment: ServoAssessment,
    *,
    training: tuple[Evaluation | None, Evaluation | None],
    held_out: tuple[Evaluation | None, Evaluation | None],
    method: str,
    unseen: HeldOutRefit | None = None,
    left_out: CrossValidationErrors | None = None,
    logs: Sequence[ServoLog] = (),
    odd: Sequence[OddLog] = (),
    causes: Sequence[BenchCause] = (),
    missing: Sequence[str] = (),
    wrong_gain: str | None = None,
) -> Verdict:
    """Judge a servo fit by the rules of :func:`trueup.fitting.judge`.

    The error is the mean absolute position error, with equal weight for each log. Its baselines are
    a servo that is at its goal, one that stays at its start, and the model before the fit, with the
    catalogue's values. After a model selection, its cross-validation errors are
    compared with these and with the error of the simplest model.

    Where residuals are errors of the model, a fit is at best ``look``. A log that contradicts the
    others, or a bench whose description explains most of the error, is named first. A value on a
    bound is ``look`` where the fit predicts logs that it has not seen better than every baseline:
    predictions are what a servo model is used for.

    Args:
        solution: result of the search.
        space: unknowns of the fit.
        assessment: intervals and identifiability.
        training, held_out: evaluations on each part, of the fit and of the model before it.
        method: search method.
        unseen: errors of a second fit on logs that were held out of it.
        left_out: cross-validation errors of the model selection.
        logs: the training logs.
        odd: training logs with an error far above that of the others.
        causes: descriptions of the bench that explain most of the error.
        missing: terms and friction that the model lacks, as sentences.
        wrong_gain: sentence on a fitted gain that is not that of the servo's entry.
    """
    if unseen is not None:
        held_out = (unseen.fitted, unseen.before)
    parts = [(*held_out, True), (*training, False)]
    comparisons = [
        _comparison(found, before, unseen)
        for found, before, unseen in parts
        if found is not None and before is not None
    ]
    if left_out is not None:
        comparisons += _left_out_comparisons(left_out)
    shown = unseen or left_out
    diverged = [
        name
        for found, _, _ in parts
        if found is not None
        for name, error in found.by_log.items()
        if not np.isfinite(error)
    ]
    estimates = _estimates(solution, space, assessment)
    bounds = _shape_limits(solution, space, assessment)
    if _predicts_unseen(comparisons):
        bounds = []
        reached = (*estimates.on_bounds, *_shapes_on_bounds(solution, space, assessment))
        if reached:
            bounds = [_bounds_that_predict(reached, assessment.spread is None)]
        estimates = replace(estimates, on_bounds=())
    spare = [n for n in estimates.at_limits if n in estimates.not_needed]
    if spare:
        estimates = replace(estimates, at_limits=[n for n in estimates.at_limits if n not in spare])
    leading = [
        *([] if training[0] is None else _no_motion(training[0], assessment.model_error)),
        *(Reason(Grade.DO_NOT_USE, one.sentence, "errors") for one in odd if one.contradicts),
        *([Reason(Grade.DO_NOT_USE, causes_in_words(causes), "errors")] if causes else []),
    ]
    error = []
    if not leading and assessment.spread is not None:
        error = [_model_error(assessment.model_error, comparisons, bool(missing))]
        leading = [
            Reason(Grade.LOOK, f"{one[0].upper()}{one[1:].rstrip('.')}.", "errors")
            for one in missing
        ]
    if wrong_gain is not None:
        sentence = f"{wrong_gain[0].upper()}{wrong_gain[1:].rstrip('.')}."
        leading = [Reason(Grade.LOOK, sentence, "parameters"), *leading]
    found = judge(
        search=SearchEnd.of(solution, converges=not uses_up_trials(method)),
        comparisons=comparisons,
        estimates=estimates,
        diverged=diverged,
        look_at=[
            *([] if shown is None else [Reason(Grade.USE, shown.sentence, "errors")]),
            *(Reason(Grade.LOOK, one.sentence, "errors") for one in odd if not leading),
            *error,
            *_conditions(logs),
            *bounds,
            *([_without(spare)] if spare else []),
        ],
    )
    return replace(found, reasons=(*leading, *found.reasons))


def _no_motion(training: Evaluation, ratio: float) -> list[Reason]:
    """Reason against a fit to logs in which the joint moves no more than the noise."""
    if not (training.at_rest < MOVES * training.mae and ratio < MODEL_ERROR):
        return []
    sentence = (
        f"The joint does not move in the logs: a servo that stays at its start is off by "
        f"{1e3 * training.at_rest:.3g} mrad, the fit by {1e3 * training.mae:.3g} mrad, the noise "
        "of the sensor. Record motion: steps, sines and a fall with torque off."
    )
    return [Reason(Grade.DO_NOT_USE, sentence, "errors")]


def _conditions(logs: Sequence[ServoLog]) -> list[Reason]:
    """Reasons from the loads and gains of the logs, and from what they do not determine."""
    if not logs:
        return []
    gains, masses, motions = (
        {getattr(log, name) for log in logs} for name in ("kp", "mass", "trajectory")
    )
    if len(gains) == 1 and len(masses) == 1:
        sentence = (
            f"All logs have the gain {gains.pop():g} and the load {masses.pop():g} kg: predictions "
            "at others are unknown. Record a second gain and a second load."
        )
        return [Reason(Grade.LOOK, sentence, "errors")]
    if len(masses) == 1 and len(motions) == 1:
        sentence = (
            f"All logs have one motion ({motions.pop()}) and the load {masses.pop():g} kg: "
            "predictions of others are unknown. Record another motion or a second load."
        )
        return [Reason(Grade.LOOK, sentence, "errors")]
    sentence = (
        "Torque constant, friction and armature scale with the loads of the logs: a scale that is "
        "10 % off makes all of them 10 % off, which no motion shows."
    )
    return [Reason(Grade.USE, sentence, "parameters")]


def _predicts_unseen(comparisons: Sequence[Comparison]) -> bool:
    """Whether each part of unseen logs is predicted better than by every baseline."""
    unseen = [one for one in comparisons if one.held_out]
    return bool(unseen) and all(one.ratio(name) < 1.0 for one in unseen for name in one.baselines)


def _bounds_that_predict(names: Sequence[str], only_noise: bool) -> Reason:
    """Reason about values on bounds of a fit that predicts unseen logs.

    Numbers of the motor are looked at. Terms of the friction are, where residuals are more than
    noise: otherwise the predictions are the same with another value.
    """
    motor = [name for name in names if "friction" not in name and name not in STRIBECK_SHAPE]
    if motor or not only_noise:
        sentence = (
            f"{', '.join(names)} ended on a bound: as a value it means nothing, and the "
            "values that it depends on neither. The predictions of unseen logs hold with it. Fix "
            "it at its datasheet value, or record what determines it (friction: slow ramps)."
        )
        return Reason(Grade.LOOK, sentence, "parameters")
    sentence = (
        f"{', '.join(names)} ended on a bound, and the residuals are noise: the logs do not show "
        "this part of the friction, and the predictions hold without its value."
    )
    return Reason(Grade.USE, sentence, "parameters")


def _without(names: Sequence[str]) -> Reason:
    """Supporting reason on terms at zero, with or without which the predictions are the same."""
    sentence = (
        f"{', '.join(names)} ended at 0, and the cost increases from there: the fit does without."
    )
    return Reason(Grade.USE, sentence, "parameters")


def _model_error(ratio: float, comparisons: Sequence[Comparison], is_named: bool) -> Reason:
    """Reason to look at a fit whose residuals are errors of the model."""
    unseen = [one for one in comparisons if one.held_out] or list(comparisons)
    error = max(one.error for one in unseen)
    where = "unseen logs" if unseen[0].held_out else "the logs"
    lacks = "" if is_named else ": the model lacks an effect of the servo or the bench"
    sentence = (
        f"The position is off by {1e3 * error:.3g} mrad on {where}, and the residuals are "
        f"{ratio:.2g} times the noise of the sensor{lacks}. Check that this error is small enough "
        "for its use."
    )
    return Reason(Grade.LOOK, sentence, "errors")


def _comparison(found: Evaluation, before: Evaluation, held_out: bool) -> Comparison:
    rivals: Mapping[str, float] = {
        AT_GOAL: found.at_goal,
        AT_REST: found.at_rest,
        baselines.BEFORE_FIT: before.mae,
    }
    return Comparison("position", found.mae, rivals, held_out, "rad", measure="MAE")


def _left_out_comparisons(errors: CrossValidationErrors) -> list[Comparison]:
    found = []
    for quantity, error in errors.fitted.items():
        rivals = {
            AT_GOAL: errors.at_goal[quantity],
            AT_REST: errors.at_rest[quantity],
            baselines.BEFORE_FIT: errors.before[quantity],
        }
        if errors.simplest is not None:
            rivals[baselines.SIMPLER] = errors.simplest[quantity]
        channel = f"position, each {WORDS[quantity]} held out"
        found.append(Comparison(channel, error, rivals, True, "rad", measure="MAE"))
    return found


def _estimates(solution: Solution, space: Space, found: ServoAssessment) -> Estimates:
    open_ended = ~np.all(np.isfinite(found.intervals), axis=1)
    undetermined = [n for n, is_open in zip(space.names, open_ended, strict=True) if is_open]
    own = Estimates.of(space, solution.x, found.at_bound, undetermined, gradient=found.gradient)
    return replace(own, on_bounds=[name for name in own.on_bounds if name not in STRIBECK_SHAPE])


def _shapes_on_bounds(solution: Solution, space: Space, found: ServoAssessment) -> list[str]:
    """Shape parameters of the Stribeck curve that are on a bound."""
    own = Estimates.of(space, solution.x, found.at_bound)
    return [name for name in own.on_bounds if name in STRIBECK_SHAPE]


def _shape_limits(solution: Solution, space: Space, found: ServoAssessment) -> list[Reason]:
    """Shape parameters of the Stribeck curve that are on a bound.

    Their bounds span the curves in use (exponents from 1: below, the curve has infinite slope at
    rest); they are no limits of motors. The errors of such a fit show how well it predicts.
    """
    names = _shapes_on_bounds(solution, space, found)
    if not names:
        return []
    sentence = (
        f"{', '.join(names)} ended on a bound: the measured friction at low speed has "
        "another shape than the Stribeck curve. Check the residuals of slow motion; to "
        "determine it, record slow ramps."
    )
    return [Reason(Grade.LOOK, sentence, "parameters")]
