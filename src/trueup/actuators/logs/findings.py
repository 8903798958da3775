"""Findings in servo logs: suspicious but possible values, such as a mirrored encoder.

Impossible values are rejected when a log is read, see :mod:`trueup.actuators.logs.checks`.
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
"""Header field -> lowest and highest plausible value, unit, and units that it may be given in
by mistake, with the factor to each. 0 means absent or unknown."""

_MOVED = 0.2  # smallest range of motion [rad] that determines the direction of motion
_OPPOSITE = -0.5  # correlation of position and goal below which one of them counts as mirrored
_FOLLOWS = 0.8  # correlation above which the position follows the goal
_APART = 1.0  # mean distance of position and goal [rad] above what a load explains
_SAME_VOLTS = 0.1  # relative difference of bus voltages explained by sag and charge
_FILTERED = (0.7, 1.4)  # ratios of speed to derivative explained by the servo's filter


def log_findings(log: ServoLog, vin: float | None = None) -> tuple[Finding, ...]:
    """Findings on header values, bus voltages, speed and position, position and goal.

    Args:
        log: raw or evenly sampled log.
        vin: nominal bus voltage [V] that replaces the header's.
    """
    values = {name: getattr(log, name) for name in PLAUSIBLE}
    found = [header_finding(name, value) for name, value in values.items() if value]
    if vin is not None or header_finding("vin", log.vin or 0.0) is None or not log.vin:
        found.append(_voltage_finding(log, vin))  # a wrong unit makes a single finding
    found += [_speed_finding(log), _mirror_finding(log)]
    return tuple(finding for finding in found if finding is not None)


def header_finding(name: str, value: float) -> Finding | None:
    """Finding on a header value outside the plausible range of a servo bench."""
    low, high, unit, others = PLAUSIBLE[name]
    if low <= value <= high:
        return None
    guesses = [other for factor, other in others if low <= value / factor <= high]
    guess = f"is it in {' or '.join(guesses)}?" if guesses else "is its unit right?"
    return Finding(
        "header",
        "warning",
        name,
        f"{name} is {value:g} {unit}, usual for servo benches are {low:g} to {high:g} {unit}: "
        f"{guess}",
        {"value": value},
    )


def findings_in_words(logs: Iterable[tuple[str, Sequence[Finding]]]) -> list[str]:
    """One sentence per kind of finding: that of the first log, and the number of other logs.

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
    """Finding on the difference between nominal and measured bus voltage."""
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
        f"{whose} is {nominal:g} V, but the servo measured {measured:.3g} V (median): kt of a fit "
        "is wrong by that ratio, R by its square. Correct the header, or pass --vin "
        f"{measured:.3g}.",
        {"nominal": nominal, "measured": measured},
    )


def _speed_finding(log: ServoLog) -> Finding | None:
    """Finding on the speed and the derivative of the position: rollouts start from the speed."""
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
    """Finding on direction and zero of position and goal while torque is on."""
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
            f"the position follows the goal at a distance of {apart:.3g} rad: are both 0 where the "
            "pendulum hangs down?",
            figures,
        )
    return None


def _correlation(first: Array, second: Array) -> float:
    value = float(np.corrcoef(first, second)[0, 1])
    return value if math.isfinite(value) else 0.0
