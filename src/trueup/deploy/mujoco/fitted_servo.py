"""Fit of the parameters of an MJCF servo to motions, on the bench.

The bench simulates the servo model equivalent to an MJCF servo (:meth:`MjcfServo.on_bench`), with
exact derivatives for least squares; the result is then simulated by MuJoCo.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.actuators.bench.simulator import MAX_STEP, BenchSimulator
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations.extended_terms import EXTENDED_TERMS
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.servo_search import ServoSearch, ServoSearchSettings
from trueup.actuators.search.staged_problem import StagedProblem
from trueup.deploy.fit_progress import Report, ignore
from trueup.deploy.mujoco.mjcf_servo import MjcfServo, bench_log, with_motor_of
from trueup.fitting._minimise import minimise
from trueup.fitting.solution import Status
from trueup.parameters import Space

_COARSE_STEP = 5e-3  # longest step of the coarse simulator that guides the search [s]
_LAST_OFFSET = 0.2  # largest load angle minus encoder angle [rad]
_STRETCHES = (1.0, 2.0)
"""Gain factors of start points: each keeps the torque per radian and the back-EMF damping, and
divides the stall torque, so that starts cover motors that saturate at different torques."""
_DRYNESS = ((1.0, 1.0), (2.5, 0.3))
"""Factors on Coulomb and viscous friction of start points: either can approximate load friction."""
_REACH = 20.0  # largest factor by which the fit changes a positive parameter
_EXACT = 1e-6  # difference below which no fit is needed [rad]
_SCANNED = 64  # number of points of the first scan
_EVALUATIONS = 40  # evaluations of CMA-ES per unknown


@dataclass(frozen=True)
class Fitted:
    """MJCF servo with parameters fitted to motions."""

    servo: MjcfServo
    """The servo."""
    offset: float
    """Load angle minus encoder angle on the bench [rad]."""


def fit_servo(
    start: Fitted,
    model: ServoModel,
    target: Sequence[ServoLog],
    *,
    free_offset: bool,
    report: Report = ignore,
) -> Fitted:
    """Fit all parameters of an MJCF servo to the positions in logs (mean absolute difference).

    Args:
      start: start values.
      model: full model, which defines the effect of the firmware gain and voltage of a log.
      target: logs with the target positions.
      free_offset: whether the angle offset between load and encoder is fitted too.
      report: called with the fraction done.
    """
    servo = start.servo
    logs = [bench_log(with_motor_of(servo, model, log), log) for log in target]
    stand_in = servo.on_bench("servo").with_values(q_offset=start.offset)
    fixed = servo.fixed_on_bench + (() if free_offset else ("q_offset",))
    names = [name for name in stand_in.names if name not in fixed]
    problem = _problem(stand_in, logs, names)
    problem.space = _space(problem.space, stand_in.vector(names), servo)
    x = _searched(problem, _additional_starts(problem.space), report)
    found = stand_in.with_values(**dict(zip(names, x.tolist(), strict=True)))
    return Fitted(servo.with_numbers_of(found), found.values["q_offset"])


def fit_simplest(
    model: ServoModel,
    target: Sequence[ServoLog],
    terms: Sequence[str],
    *,
    free_offset: bool,
    report: Report = ignore,
) -> ServoModel:
    """Fit M1 of a servo to the positions in logs: the simplest model for an export.

    Args:
      model: full model, whose values are the start.
      target: logs with the target positions.
      terms: extended terms of the full model that M1 keeps.
      free_offset: whether the angle offset between load and encoder is fitted too.
      report: called with the fraction done.
    """
    kept = tuple(term for term in model.terms if term in terms)
    plain = ServoModel.create(model.servo, "m1", kept)
    plain = plain.with_values(**{name: model.values[name] for name in plain.names})
    names = [name for name in plain.names if free_offset or name != "q_offset"]
    return fit_model(plain, target, names, report=report)


def fit_model(
    start: ServoModel,
    target: Sequence[ServoLog],
    names: Sequence[str],
    *,
    report: Report = ignore,
) -> ServoModel:
    """Fit parameters of a servo model to the positions in logs (mean absolute difference).

    Args:
      start: start values.
      target: logs with the target positions.
      names: parameters to fit.
      report: called with the fraction done.
    """
    x = _searched(_problem(start, target, names), None, report)
    return start.with_values(**dict(zip(names, x.tolist(), strict=True)))


def _problem(model: ServoModel, logs: Sequence[ServoLog], names: Sequence[str]) -> StagedProblem:
    fine, coarse = (
        BenchSimulator(model, logs, free=names, max_step=step) for step in (MAX_STEP, _COARSE_STEP)
    )
    return StagedProblem(fine, coarse)


def _searched(problem: StagedProblem, known: np.ndarray | None, report: Report) -> np.ndarray:
    """Best values ``(p,)``, searched from the start, known points, and a scan of the box."""
    start = problem.space.start
    if problem.costs(start[None])[0, 0] < _EXACT:
        return start
    descents = 6 if known is None else 2
    settings = ServoSearchSettings(
        scanned=_SCANNED, descents=descents, kept=3, rounds=1, evaluations_per_element=_EVALUATIONS
    )
    search = ServoSearch(problem.space, settings, known=known)
    expected = _SCANNED + 2.0 * _EVALUATIONS * problem.space.size

    def after_batch(search: Any) -> None:
        report(min(0.99, search.evaluations / expected))

    solution = minimise(problem, search, after_batch)
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return solution.x


def _space(space: Space, start: np.ndarray, servo: MjcfServo) -> Space:
    """Box around the parameters of a servo: factors of them, friction up to its stall torque."""
    most = min(servo.greatest_torque, servo.kp)  # one radian of error for a servo without a limit
    friction = {
        "friction_base": 0.5 * most,
        "friction_stribeck": 0.5 * most,
        "friction_viscous": most,
    }
    lower, upper, log = start / _REACH, start * _REACH, np.ones(space.size, bool)
    for i, name in enumerate(space.names):
        if name in friction:
            lower[i], upper[i], log[i] = 0.0, max(friction[name], 2.0 * start[i]), False
        elif name == "q_offset":
            lower[i], upper[i], log[i] = -_LAST_OFFSET, _LAST_OFFSET, False
        elif name == "command_delay":
            lower[i], upper[i], log[i] = 0.0, EXTENDED_TERMS[name].upper, False
    start = np.clip(start, lower, upper)
    return replace(space, lower=lower, upper=upper, start=start, log=log)


def _additional_starts(space: Space) -> np.ndarray:
    """Additional starts ``(k, p)``, near other local minima."""
    column = {name: i for i, name in enumerate(space.names)}
    starts = []
    for stretch, (dry, viscous) in itertools.product(_STRETCHES, _DRYNESS):
        row = space.start.copy()
        factors = {"friction_base": dry, "friction_viscous": viscous}
        if "R" in column:
            # the torque per radian is proportional to the gain and kt / R, the damping to kt^2 / R
            factors |= {"error_gain_ratio": stretch, "kt": stretch}
            factors["R"] = stretch**2 if "kt" in column else stretch
        for name, factor in factors.items():
            if name in column:
                row[column[name]] *= factor
        starts.append(row)
    rows = np.unique(np.clip(starts, space.lower, space.upper), axis=0)
    return rows[(rows != space.start).any(axis=1)]


def position_distance(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """Mean absolute difference of positions [rad], with equal weight for each log."""
    return float(np.mean([np.abs(a - b).mean() for a, b in zip(found, expected, strict=True)]))
