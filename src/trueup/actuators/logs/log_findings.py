"""What looks wrong in servo logs although it could be right: a slipped unit, a mirrored encoder.

What cannot be right is refused when a log is read, see :mod:`trueup.actuators.logs.log_checks`.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence

import numpy as np

from trueup.actuators.logs.servo_log import Array, ServoLog
from trueup.signals import Finding, check_quality
from trueup.signals.checks.units import RELATED

PLAUSIBLE = {
    "mass": (1e-3, 20.0, "kg", ((1e3, "g"),)),
    "arm_mass": (1e-4, 20.0, "kg", ((1e3, "g"),)),
    "length": (5e-3, 2.0, "m", ((1e3, "mm"), (1e2, "cm"))),
    "vin": (2.0, 60.0, "V", ((1e3, "mV"), (1e1, "tenths of a volt"))),
}
"""Value of a header -> least and greatest on a bench for servos, unit, and units it may be in
instead, with how many of them make one. 0 says that a rig has none, or that it is not known."""

_MOVED = 0.2  # range [rad] of a motion whose direction can be judged
_OPPOSITE = -0.5  # correlation of position and goal below which one of them is mirrored
_FOLLOWS = 0.8  # the same above which the position follows the goal
_APART = 1.0  # mean distance [rad] of the two that no load explains
_FILTERED = (0.7, 1.4)  # ratios of speed to derivative that a filter in the servo explains


def log_findings(log: ServoLog) -> tuple[Finding, ...]:
    """What looks wrong in a log: values of the header, speed against position, position and goal.

    Args:
        log: raw or evenly sampled log.
    """
    values = {name: getattr(log, name) for name in PLAUSIBLE}
    found = [header_finding(name, value) for name, value in values.items() if value]
    found += [_speed_finding(log), _mirror_finding(log)]
    return tuple(finding for finding in found if finding is not None)


def header_finding(name: str, value: float) -> Finding | None:
    """Find a value of the header that no bench for servos has."""
    low, high, unit, others = PLAUSIBLE[name]
    if low <= value <= high:
        return None
    guesses = [other for factor, other in others if low <= value / factor <= high]
    guess = f"is it in {' or '.join(guesses)}?" if guesses else "is its unit right?"
    return Finding(
        "header",
        "warning",
        name,
        f"{name} is {value:g} {unit}, benches for servos have {low:g} to {high:g} {unit}: {guess}",
        {"value": value},
    )


def findings_in_words(logs: Iterable[tuple[str, Sequence[Finding]]]) -> list[str]:
    """A sentence for each kind of finding: that of the first log, and how many others share it.

    Args:
        logs: name of each log, and its findings.
    """
    first: dict[tuple[str, str], str] = {}
    others: dict[tuple[str, str], int] = {}
    for name, findings in logs:
        for finding in findings:
            kind = (finding.check, finding.channel)
            others[kind] = others.get(kind, -1) + 1
            first.setdefault(kind, f"{name}: {finding.sentence}")
    return [
        f"{sentence} Likewise in {more} other log{'s' if more > 1 else ''}."
        if (more := others[kind])
        else sentence
        for kind, sentence in first.items()
    ]


def _speed_finding(log: ServoLog) -> Finding | None:
    """Compare the speed with the derivative of the position; rollouts start from it."""
    report = check_quality(
        log.times,
        {"position": log.position, "speed": log.speed},
        roles={"position": "position", "speed": "velocity"},
        pairs=[("position", "speed")],
    )
    found = report.of_check("position-velocity")
    low, high = _FILTERED
    if not found or low < found[0].figures["ratio"] < high:
        return None
    if abs(found[0].figures["correlation"]) < RELATED:
        return None
    sentence = f"{found[0].sentence} Rollouts start from this speed."
    return dataclasses.replace(found[0], severity="warning", sentence=sentence)


def _mirror_finding(log: ServoLog) -> Finding | None:
    """Compare the position with the goal while torque is on: their direction, and their zeros."""
    driven = log.torque_enable
    if np.count_nonzero(driven) < 10:
        return None
    position, goal = log.position[driven], log.goal_position[driven]
    if min(np.ptp(position), np.ptp(goal)) < _MOVED:
        return None
    correlation = _correlation(position, goal)
    apart = float(np.mean(position - goal))
    figures = {"correlation": correlation, "offset": apart}
    if correlation < _OPPOSITE:
        return Finding(
            "goal",
            "warning",
            "position",
            f"the position moves against the goal (correlation {correlation:.2f}): is the sign of "
            "the encoder, or that of the goal, mirrored?",
            figures,
        )
    if correlation > _FOLLOWS and abs(apart) > _APART:
        return Finding(
            "goal",
            "warning",
            "position",
            f"the position follows the goal {apart:.3g} rad away from it: do both count from the "
            "pendulum hanging down?",
            figures,
        )
    return None


def _correlation(first: Array, second: Array) -> float:
    value = float(np.corrcoef(first, second)[0, 1])
    return value if math.isfinite(value) else 0.0
