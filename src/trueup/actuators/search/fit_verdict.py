"""The verdict on a servo fit: predictions beside it that know less, and what became of values."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from trueup.actuators.search._evaluate import Evaluation
from trueup.actuators.search.fit_settings import ENDLESS
from trueup.fitting import Comparison, Estimates, SearchEnd, Verdict, baselines, judge

if TYPE_CHECKING:
    from trueup.actuators.search.servo_fit import ServoFit

AT_GOAL = "a servo that is where it is told to be"
AT_REST = "a servo that stays where it began"


def verdict_of(fit: "ServoFit") -> Verdict:
    """Judge a servo fit by the rules of :func:`trueup.fitting.judge`.

    The error is the mean absolute position error, each log alike. Its baselines are a servo that is
    where it is told to be, one that stays where it began, and the model before the fit.

    Args:
        fit: the fit with its evaluations and its assessment.
    """
    parts = [(fit.held_out, fit.held_out_start, True), (fit.training, fit.training_start, False)]
    comparisons = [
        _comparison(found, before, held_out)
        for found, before, held_out in parts
        if found is not None and before is not None
    ]
    diverged = [
        name
        for found, _, _ in parts
        if found is not None
        for name, error in found.by_log.items()
        if not np.isfinite(error)
    ]
    return judge(
        search=SearchEnd.of(fit.solution, converges=fit.settings.method not in ENDLESS),
        comparisons=comparisons,
        estimates=_estimates(fit),
        diverged=diverged,
    )


def _comparison(found: Evaluation, before: Evaluation, held_out: bool) -> Comparison:
    rivals: Mapping[str, float] = {
        AT_GOAL: found.at_goal,
        AT_REST: found.at_rest,
        baselines.BEFORE_FIT: before.mae,
    }
    return Comparison("position", found.mae, rivals, held_out, "rad", measure="MAE")


def _estimates(fit: "ServoFit") -> Estimates:
    found, space = fit.assessment, fit.problem.space
    open_ended = ~np.isfinite(found.intervals).all(axis=1)
    undetermined = [n for n, is_open in zip(space.names, open_ended, strict=True) if is_open]
    return Estimates.of(space, fit.solution.x, found.at_bound, undetermined)
