"""Findings in servo logs: suspicious values that may be right, such as a mirrored encoder.

Impossible values are refused when a log is read, see :mod:`trueup.actuators.logs.checks`.
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

_MOVED = 0.2  # smallest range of motion [rad] whose direction can be judged
_OPPOSITE = -0.5  # correlation of position and goal below which one is mirrored
_FOLLOWS = 0.8  # correlation above which the position follows the goal
_APART = 1.0  # mean distance of position and goal [rad] that no load explains
_SAME_VOLTS = 0.1  # relative difference of bus voltages that sag and charge explain
_FILTERED = (0.7, 1.4)  # ratios of speed to derivative that the servo's filter explains


def log_findings(log: ServoLog, vin: float | None = None) -> tuple[Finding, ...]:
    """Compare header values, bus voltages, speed with position, and position with goal.

    Args:
        log: raw or evenly sampled log.
        vin: nominal bus voltage [V] that is used in place of the header's.
    """
    values = {name: getattr(log, name) for name in PLAUSIBLE}
    found = [header_finding(name, value) for name, value in values.items() if value]
    if vin is not None or header_finding("vin", log.vin or 0.0) is None or not log.vin:
        found.append(_voltage_finding(log, vin))  # one finding where the unit is wrong
    found += [_speed_finding(log), _mirror_finding(log)]
    return tuple(finding for finding in found if finding is not None)


def header_finding(name: str, value: float) -> Finding | None:
    """Finding of a header value outside the plausible range of a servo bench."""
    low, high, unit, others = PLAUSIBLE[name]
    if low <= value <= high:
        return None
    guesses = [other for factor, other in others if low <= value / factor <= high]
    guess = f"is it in {' or '.join(guesses)}?" if guesses else "is its unit right?"
    return Finding(
        "header",
        "warning",
        name,
        f"{name} is {value:g} {unit}, servo benches have {low:g} to {high:g} {unit}: {guess}",
        {"value": value},
    )


def findings_in_words(logs: Iterable[tuple[str, Sequence[Finding]]]) -> list[str]:
    """One sentence per kind of finding: the first log's, and the number of other logs.

    Args:
        logs: name and findings of each log.
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


def _voltage_finding(log: ServoLog, vin: float | None) -> Finding | None:
    """Compare the nominal bus voltage with the measured one."""
    nominal = log.vin if vin is None else vin
    if nominal is None or log.input_volts is None:
        return None
    measured = float(np.median(log.input_volts))
    if abs(measured - nominal) <= _SAME_VOLTS * nominal:
        return None
    whose = "vin of the header" if vin is None else "the nominal voltage of the fit"
    return Finding(
        "voltage",
        "warning",
        "vin",
        f"{whose} is {nominal:g} V, the servo measured {measured:.3g} V (median): kt and R of a "
        f"fit are wrong by as much. Correct the header, or give --vin {measured:.3g}.",
        {"nominal": nominal, "measured": measured},
    )


def _speed_finding(log: ServoLog) -> Finding | None:
    """Compare the speed with the derivative of the position: rollouts start from the speed."""
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
    """Compare direction and zero of position and goal while torque is on."""
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
