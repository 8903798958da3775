"""Gain of a firmware from the measured duty cycle, which needs no fit, load or motor."""

from collections.abc import Mapping, Sequence

import numpy as np

from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import FitError, listing

RATIO = "error_gain_ratio"
"""Parameter: ratio of the true to the nominal gain."""

OFF = 0.05
"""Deviation of the ratio from 1 from which the gain counts as wrong: resistors and rounding of the
published gains are below."""

_FREE = 0.8  # share of the greatest duty cycle above which a limit may act
_FEWEST = 50  # fewest samples below it
_FOLLOWS = 0.95  # correlation of duty cycle and position error that leaves no other law
_APART = 0.1  # relative difference of the ratios of logs that count as one


def measured_gains(logs: Sequence[ServoLog], servo: Servo) -> dict[float, float]:
    """Ratio of the measured to the nominal gain of the position error, for each gain of the logs.

    Logs without a duty cycle, or with one that does not follow the position error, are skipped.

    Args:
      logs: logs with the measured duty cycle.
      servo: entry of the servo, with a law whose output is the duty cycle.
    """
    if servo.law != "voltage":
        return {}
    found: dict[float, list[float]] = {}
    for log in logs:
        if log.load is None or not log.kp > 0:
            continue
        nominal = log.kp * servo.error_gain * (log.goal_position - log.position)
        rows = log.torque_enable & (np.abs(log.load) < _FREE * servo.max_pwm)
        duty, error = log.load[rows], nominal[rows]
        if rows.sum() < _FEWEST or not duty.any() or not error.any():
            continue
        size = float(np.linalg.norm(duty) * np.linalg.norm(error))
        if float(duty @ error) < _FOLLOWS * size:
            continue
        found.setdefault(log.kp, []).append(float(duty @ error) / float(error @ error))
    return {kp: float(np.median(ratios)) for kp, ratios in sorted(found.items())}


def gain_is_measured(logs: Sequence[ServoLog], servo: Servo) -> bool:
    """Whether the duty cycle shows that the gain is that of the entry at each gain of the logs."""
    found = measured_gains(logs, servo)
    return found.keys() == {log.kp for log in logs} and all(
        abs(ratio - 1.0) <= OFF for ratio in found.values()
    )


def measured_gain_finding(logs: Sequence[ServoLog], servo: Servo, given: float = 1.0) -> str | None:
    """Sentence on gains that contradict the measured duty cycle; None if there is none.

    Args:
      logs: the logs.
      servo: their servo.
      given: ratio that the fit assumes.
    """
    found = measured_gains(logs, servo)
    wrong = {kp: ratio for kp, ratio in found.items() if abs(ratio / given - 1.0) > OFF}
    if not wrong:
        return None
    ratios = list(wrong.values())
    if len(wrong) == len(found) and max(ratios) <= (1.0 + _APART) * min(ratios):
        ratio = float(np.median(ratios))
        return (
            f"the measured duty cycle is {ratio:.3g} times what the gain of the firmware gives, kp "
            f"times error_gain times the position error: error_gain of {servo.name!r} is "
            f"{servo.error_gain * ratio:.4g} instead of {servo.error_gain * given:.4g}, or kp of "
            f"all logs or the scale of load is wrong by that factor{disputed(servo)}"
        )
    each = listing([f"{kp:g} ({ratio:.3g} times)" for kp, ratio in wrong.items()])
    return (
        f"the measured duty cycle contradicts the gain of the logs with kp {each}: correct kp of "
        "these logs"
    )


def check_given_gain(logs: Sequence[ServoLog], servo: Servo, fixed: Mapping[str, float]) -> None:
    """Raise FitError if a given ratio contradicts the measured duty cycle."""
    if RATIO in fixed and (found := measured_gain_finding(logs, servo, fixed[RATIO])) is not None:
        raise FitError(f"{RATIO} = {fixed[RATIO]:g} contradicts the logs: {found}")


def disputed(servo: Servo) -> str:
    """Clause on sources that disagree about the gain of an entry; empty without any."""
    text = servo.disputed.get("error_gain")
    return "" if text is None else f". The entry is disputed: {text.rstrip('.')}"
