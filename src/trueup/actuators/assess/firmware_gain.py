"""Gain of a servo's firmware compared with that of its entry in the catalogue.

Below the limit of the duty cycle the torque per radian is ``ratio * kt / R``, and the damping of
the motor ``kt^2 / R``: any ratio fits with its own ``kt`` and ``R``. Motion at the limit, where the
torque is ``kt / R`` alone, determines the ratio. A scale ``s`` of the supply is not determined even
then: ``kt / s``, ``R / s^2`` and a current limit of ``s I`` at the stated voltage give the motion
of ``kt``, ``R`` and ``I`` at ``s`` times that voltage.
"""

import numpy as np

from trueup.actuators.assess.bench_causes import BenchCause
from trueup.actuators.assess.fit_assessment import ServoAssessment
from trueup.actuators.assess.measured_gain import OFF, RATIO, disputed
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.search.servo_search import ServoSearch, ServoSearchSettings
from trueup.actuators.search.staged_problem import StagedProblem
from trueup.actuators.search.warm_starts import converted_values, with_term_values
from trueup.fitting._minimise import minimise
from trueup.fitting.solution import Status
from trueup.parameters import Space

GAIN_OF_ALL = "the gain of all logs"
"""Words for the cause."""

_TWICE = 1.9  # factor from which a gain is named although the residuals are errors of the model
_SEARCH = ServoSearchSettings(scanned=256, descents=8, kept=2, evolve=False)


def fitted_gain(
    problem: StagedProblem, model: ServoModel, seed: int, values: dict[str, float], before: float
) -> BenchCause:
    """Fit with the gain of all logs as another unknown.

    Args:
      problem: problem of the logs whose unknowns are those of the fit, and :data:`RATIO`.
      model: its model.
      seed: seed of the scan.
      values: optimum without the ratio.
      before: objective there [rad].

    Raises:
      KeyboardInterrupt: Ctrl-C, so that an incomplete fit is not mistaken for a complete one.
    """
    names = problem.space.names
    parameters = {parameter.name: parameter for parameter in model.parameters}
    point = converted_values(values, model.parameters, names)
    known = with_term_values(point, parameters[RATIO], names)
    costs = problem.costs(known)[:, 0]
    known = known[np.argsort(costs, kind="stable")[:4]]
    found = minimise(problem, ServoSearch(problem.space, _SEARCH, seed, known))
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    place = names.index(RATIO)
    nominal = model.servo.error_gain
    factor = float(found.x[place])
    if _relative_deviation(problem, found.x, float(found.cost), place) > OFF:
        remark = (
            "The logs do not determine this factor, because kt and R make up for it below the "
            "limit of the duty cycle: record large steps at a high gain, or set kt or R."
        )
    else:
        remark = (
            f"The gain of the firmware is kp times error_gain: either is wrong, kp of the logs or "
            f"error_gain of the entry ({nominal * factor:.4g} instead of {nominal:.4g})"
            f"{disputed(model.servo)}. terms={RATIO} fits it."
        )
    return BenchCause(GAIN_OF_ALL, factor, before, float(found.cost), remark)


def _relative_deviation(problem: StagedProblem, x: np.ndarray, cost: float, place: int) -> float:
    """Standard deviation of the logarithm of an unknown, for white residuals of this size."""
    slope = problem.space.slope(x)
    blocks = [slopes * slope[:, None] for _, _, slopes in problem.jacobian_blocks(x, {})]
    rows = np.hstack(blocks)
    size = np.linalg.norm(rows, axis=1)
    scaled = rows / np.where(size > 0, size, 1.0)[:, None]
    own = scaled[place]
    others = np.delete(scaled, place, axis=0).T
    left = own - others @ np.linalg.lstsq(others, own, rcond=1e-10)[0]
    alone = float(np.linalg.norm(left) * size[place])
    return cost / alone if alone > 0 else np.inf


def gain_finding(model: ServoModel, space: Space, assessment: ServoAssessment) -> str | None:
    """Sentence on a fitted gain that is not that of the servo's entry; None if it is, or if the
    logs do not determine it.

    Args:
      model: fitted model.
      space: its free parameters.
      assessment: of the fit.
    """
    if RATIO not in space.names or RATIO not in assessment.identifiability.determined:
        return None
    ratio = model.values[RATIO]
    low, high = assessment.intervals[space.names.index(RATIO)]
    if not np.isfinite([low, high]).all() or low <= 1.0 <= high:
        return None
    # kt and R make up for errors of the model, and the ratio with them: recorded servos with a gain
    # that a scope has measured were fitted with 0.64 of it
    off = abs(ratio - 1.0) > OFF if assessment.spread is None else max(ratio, 1 / ratio) > _TWICE
    if not off:
        return None
    nominal = model.servo.error_gain
    return (
        f"the gain of the firmware is {ratio:.4g} times that of the entry {model.servo.name!r} "
        f"(error_gain_ratio from {low:.4g} to {high:.4g}): error_gain is {nominal * ratio:.4g} "
        f"instead of {nominal:.4g}, or kp of the logs is wrong by that factor"
        f"{disputed(model.servo)}"
    )
