"""The verdict on a servo fit: predictions beside it that know less, and what became of values."""

from collections.abc import Mapping

import numpy as np

from trueup.actuators.search._evaluate import Evaluation
from trueup.actuators.search.fit_assessment import ServoAssessment
from trueup.actuators.search.fit_settings import ENDLESS
from trueup.actuators.search.unseen_logs import UnseenLogs
from trueup.fitting import (
    Comparison,
    Estimates,
    Grade,
    Reason,
    SearchEnd,
    Verdict,
    baselines,
    judge,
)
from trueup.fitting.solution import Solution
from trueup.parameters import Space

AT_GOAL = "a servo that is where it is told to be"
AT_REST = "a servo that stays where it began"


def verdict_of(
    solution: Solution,
    space: Space,
    assessment: ServoAssessment,
    *,
    training: tuple[Evaluation | None, Evaluation | None],
    held_out: tuple[Evaluation | None, Evaluation | None],
    method: str,
    unseen: UnseenLogs | None = None,
) -> Verdict:
    """Judge a servo fit by the rules of :func:`trueup.fitting.judge`.

    The error is the mean absolute position error, with equal weight for each log. Its baselines are
    a servo that is at its goal, one that stays at its start, and the model before the fit.

    Args:
        solution: result of the search.
        space: unknowns of the fit.
        assessment: intervals and identifiability.
        training, held_out: evaluations on each part, of the fit and of the model before it.
        method: search method.
        unseen: errors of a second fit on logs that it left out.
    """
    if unseen is not None:
        held_out = (unseen.fitted, unseen.start)
    parts = [(*held_out, True), (*training, False)]
    comparisons = [
        _comparison(found, before, unseen)
        for found, before, unseen in parts
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
        search=SearchEnd.of(solution, converges=method not in ENDLESS),
        comparisons=comparisons,
        estimates=_estimates(solution, space, assessment),
        diverged=diverged,
        look_at=[] if unseen is None else [Reason(Grade.USE, unseen.sentence, "errors")],
    )


def _comparison(found: Evaluation, before: Evaluation, held_out: bool) -> Comparison:
    rivals: Mapping[str, float] = {
        AT_GOAL: found.at_goal,
        AT_REST: found.at_rest,
        baselines.BEFORE_FIT: before.mae,
    }
    return Comparison("position", found.mae, rivals, held_out, "rad", measure="MAE")


def _estimates(solution: Solution, space: Space, found: ServoAssessment) -> Estimates:
    open_ended = ~np.all(np.isfinite(found.intervals), axis=1)
    undetermined = [n for n, is_open in zip(space.names, open_ended, strict=True) if is_open]
    return Estimates.of(space, solution.x, found.at_bound, undetermined, gradient=found.gradient)
