"""Units of recorded positions by evidence: ranges of the model, encoder steps, wraps, torques.

Joints of one log have one unit, unless a joint excludes it: evidence is summed over the joints,
and a few outliers of one joint decide nothing. A score is a logarithm of likelihood up to a
constant, roughly: 2 between the best two candidates is a clear decision.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from trueup.signals.units import UNITS
from trueup.signals.wrapping import sure_period
from trueup.sysid.importing.evidence.calibration import Motor, is_clipped, with_calibration
from trueup.sysid.importing.evidence.encoder_steps import step_of
from trueup.sysid.importing.evidence.reading import (
    ASK,
    ASSUMED,
    CONFIRMED,
    FOUND,
    Reading,
    usual_ends,
)

_TURN = 2 * np.pi
_PRIOR = {"rad": 0.0, "deg": -0.3, "turn": -1.5, "mrad": -2.5, "counts": -1.0, "percent": -2.5}
_PRIOR |= {"m": 0.0, "mm": -0.5, "cm": -1.5}
_CLEAR = 2.0  # difference of scores that decides
_IMPOSSIBLE = -6.0  # score of a joint below which a unit of the log is excluded for it
_BEYOND, _WELL_BEYOND, _FAR, _VERY_FAR = (
    0.05,
    0.6,
    1.0,
    4.0,
)  # excess over a range, as a share of it
_TINY, _SMALL = 0.02, 0.08  # motion, as a share of the range
_SERVOS = ("so100", "so101", "so_100", "so_101", "koch", "lekiwi", "moss", "omx")
"""Robot types of LeRobot whose drivers write degrees or normalised values, not radians."""


@dataclass(frozen=True)
class Choice:
    """A unit of a position, as an affine map to SI: unit((x - offset) * scale)."""

    kind: str
    """Name of the candidate, such as ``deg``, ``counts`` or ``percent``."""
    unit: str
    scale: float = 1.0
    offset: float = 0.0

    def si(self, values: np.ndarray | float) -> np.ndarray:
        """Values in rad or m."""
        return (np.asarray(values) - self.offset) * self.scale * UNITS[self.unit].factor


def with_units(
    model: mujoco.MjModel,
    readings: Sequence[Reading],
    positions: np.ndarray,
    stated: Mapping[int, str],
    by_torque: Mapping[str, float],
    source: str,
    robot: str,
    motors: Mapping[int, Motor],
) -> list[Reading]:
    """Interpretations with the unit of each position.

    Args:
      model: the robot.
      readings: one per column.
      positions: as recorded ``(T, J)``.
      stated: unit by joint, where the file or the name of the column states it.
      by_torque: score of each unit of angles by the weight of the links; empty without torques.
      source: source of the log.
      robot: type of the robot that the log states, or empty.
      motors: calibration of the motor, by joint.

    Raises:
      RecordingError: the calibration is not that of the log.
    """
    choices = [_choices(model, r, positions[:, k]) for k, r in enumerate(readings)]
    scores = [
        {c.kind: _score(model, r.joint, positions[:, k], c) for c in choices[k]}
        for k, r in enumerate(readings)
    ]
    servos = source == "LeRobot" and (not robot or any(n in robot.lower() for n in _SERVOS))
    out = list(readings)
    for hinges in (True, False):
        group = [k for k, r in enumerate(readings) if _is_hinge(model, r.joint) is hinges]
        told = {
            k: stated[readings[k].joint] for k in group if stated.get(readings[k].joint) in _PRIOR
        }
        together = _together([scores[k] for k in group if k not in told], by_torque)
        for k in group:
            reading, own = readings[k], {c.kind: c for c in choices[k]}
            column = positions[:, k]
            if servos and hinges and k not in told:
                body = [i for i in group if "gripper" not in readings[i].position.lower()]
                out[k] = _of_servos(model, reading, column, positions[:, body])
            elif k in told and told[k] in own:
                name = model.joint(reading.joint).name
                out[k] = _as_stated(reading, own[told[k]], scores[k], told[k], column, name)
            else:
                sole = len(group) == 1
                told_by = {c: scores[k][c] + (by_torque.get(c, 0.0) if sole else 0.0) for c in own}
                out[k] = _decided(model, reading, column, own, told_by, together, sole)
    return with_calibration(model, out, positions, motors, source == "LeRobot")


def _is_hinge(model: mujoco.MjModel, joint: int) -> bool:
    return int(model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_HINGE)


def _choices(model: mujoco.MjModel, reading: Reading, column: np.ndarray) -> list[Choice]:
    """Candidates for a column."""
    low, high = (float(v) for v in model.jnt_range[reading.joint])
    limited = bool(model.jnt_limited[reading.joint]) and high > low
    hinge = _is_hinge(model, reading.joint)
    out = [Choice(u, u) for u in (("rad", "deg", "turn") if hinge else ("m", "mm", "cm"))]
    counts = _counts_a_turn(column)
    if hinge and counts:
        out.append(Choice("counts", "turn", 1.0 / counts, counts / 2))
    least, most = usual_ends(column)
    if limited and least >= -1.5 and 20 < most <= 101.5:
        scale = (high - low) / 100
        out.append(Choice("percent", "rad" if hinge else "m", scale, -low / scale))
    return out


def _counts_a_turn(column: np.ndarray) -> int:
    """Counts of a turn of an encoder whose numbers are recorded; 0 for no whole numbers."""
    finite = column[np.isfinite(column)]
    if finite.size < 10 or not np.array_equal(finite, np.round(finite)):
        return 0
    least, most = usual_ends(finite)
    # fewer different numbers are degrees or percents without decimals, or a switch
    if most - least < 128 and most <= 400:
        return 0
    wrap = sure_period(finite)
    if wrap > 128:
        return int(2 ** round(np.log2(wrap)))
    return int(2 ** max(12, int(np.ceil(np.log2(max(most, 1.0) + 1)))))


def _score(model: mujoco.MjModel, joint: int, column: np.ndarray, choice: Choice) -> float:
    """Plausibility of a candidate for one joint: range, size of the motion, step and wrap."""
    score = _PRIOR[choice.kind]
    least, most = usual_ends(column)
    a, b = sorted(float(v) for v in choice.si(np.array([least, most])))
    low, high = (float(v) for v in model.jnt_range[joint])
    limited = bool(model.jnt_limited[joint]) and high > low
    hinge = _is_hinge(model, joint)
    if not limited:
        low, high = (-_TURN, _TURN) if hinge else (-0.5, 0.5)
    size = high - low
    excess = max(low - a, b - high, 0.0) / size
    if limited and choice.kind == "counts":
        excess = max((b - a) - size, 0.0) / size  # their zero is unknown
    for limit, loss in ((_BEYOND, 1.0), (_WELL_BEYOND, 2.0), (_FAR, 2.0), (_VERY_FAR, 4.0)):
        score -= loss if excess > limit else 0.0
    share = (b - a) / size
    # a joint at rest has no motion to judge
    if share > 0 and np.ptp(column) > 0:
        score -= 3.0 if share < _TINY else 1.0 if share < _SMALL else 0.0
    if hinge:
        step, wrap = step_of(column), sure_period(column)
        score += 4.0 if step and step.unit == choice.kind else 0.0
        turn = _TURN / (choice.scale * UNITS[choice.unit].factor)
        score += 6.0 if wrap and abs(np.log(wrap / turn)) < 0.05 else 0.0
    return score


def _together(scores: Sequence[Mapping[str, float]], by_torque: Mapping[str, float]) -> str:
    """Unit of most evidence over all joints that it does not contradict; empty without one."""
    kinds = {kind for row in scores for kind in row}
    totals = {}
    for kind in kinds:
        each = [row.get(kind, _IMPOSSIBLE - 1) for row in scores]
        # a joint that excludes a unit, as a gripper in percent does, counts no more than that
        totals[kind] = sum(max(value, _IMPOSSIBLE) for value in each) + by_torque.get(kind, 0.0)
    return max(totals, key=lambda kind: totals[kind], default="")


def _decided(
    model: mujoco.MjModel,
    reading: Reading,
    column: np.ndarray,
    own: Mapping[str, Choice],
    scores: Mapping[str, float],
    together: str,
    sole: bool,
) -> Reading:
    """The unit of the log, or that of the joint alone where it excludes the other."""
    alone = max(scores, key=lambda kind: scores[kind])
    kind = together if scores.get(together, _IMPOSSIBLE - 1) > _IMPOSSIBLE else alone
    name = model.joint(reading.joint).name
    chosen = own[kind]
    out = replace(reading, unit=chosen.unit, scale=chosen.scale, offset=chosen.offset)
    least, most = usual_ends(column)
    largest = max(abs(least), abs(most))
    reaches = f"it reaches {largest:.3g}"
    second = max((k for k in scores if k != kind), key=lambda k: scores[k])
    if scores[kind] <= _IMPOSSIBLE:
        names = "m, mm nor cm" if not _is_hinge(model, reading.joint) else "rad, deg nor turns"
        return out.saying("unit", ASK, f"neither {names}: {reaches}. Give unit, scale and offset")
    if kind == "counts":
        return _of_counts(out, column, chosen, name)
    if kind == "percent":
        why = f"0 to 100 of the range of {name} (percent): {reaches}"
        return out.saying("unit", FOUND, why)
    step = step_of(column)
    if step is not None and step.unit == kind:
        return out.saying("unit", CONFIRMED, f"{kind}: its step is {step.text}")
    rivals = sole or kind != together
    if scores[second] > scores[kind] - _CLEAR and rivals and kind not in ("rad", "m"):
        why = (
            f"{kind}, or {second} with another zero or range: {reaches}, and both are possible. "
            "Give unit or offset"
        )
        return out.saying("unit", ASK, why)
    if kind in ("rad", "m"):
        return out.saying("unit", ASSUMED, f"{kind}: {reaches}")
    like = ", like the other joints" if alone != kind else ""
    limit = max(abs(float(v)) for v in model.jnt_range[reading.joint])
    against = f", the joint {limit:.3g} rad" if limit and not like else ""
    return out.saying("unit", FOUND, f"{kind}: {reaches}{against}{like}")


def _of_counts(reading: Reading, column: np.ndarray, choice: Choice, name: str) -> Reading:
    """Counts of an encoder, whose zero is an open point."""
    counts = round(1 / choice.scale)
    least, most = usual_ends(column)
    why = f"encoder counts of 1/{counts} turn: whole numbers from {least:.0f} to {most:.0f}"
    return reading.saying("unit", FOUND, why).saying(
        "zero",
        ASK,
        f"the zero of the encoder (1/{counts} turn) is not in the log; offset is the middle, "
        f"{choice.offset:.0f}. Give the count at the zero of {name} (calibration) as offset",
    )


def _as_stated(
    reading: Reading,
    choice: Choice,
    scores: Mapping[str, float],
    unit: str,
    column: np.ndarray,
    name: str,
) -> Reading:
    """The unit that the file states; an open point if the values exclude it."""
    out = replace(reading, unit=choice.unit, scale=choice.scale, offset=choice.offset)
    if unit == "counts":
        return _of_counts(out, column, choice, name)
    best = max(scores, key=lambda kind: scores[kind])
    if scores[unit] < scores[best] - 2 * _CLEAR:
        why = f"{unit} by its name, but the values look like {best}: correct unit"
        return out.saying("unit", ASK, why)
    return out.saying("unit", FOUND if unit != "rad" else ASSUMED, f"{unit}: stated by the log")


def _of_servos(
    model: mujoco.MjModel, reading: Reading, column: np.ndarray, body: np.ndarray
) -> Reading:
    """Joints of LeRobot's servo arms: degrees, or -100 to 100 of the calibrated range.

    A driver that normalises clips at both ends; one that writes degrees has the encoder's step.
    """
    low, high = (float(v) for v in model.jnt_range[reading.joint])
    name = model.joint(reading.joint).name
    if "gripper" in reading.position.lower():
        scale = (high - low) / 100 if high > low else 0.01
        reading = replace(reading, scale=scale, offset=-low / scale)
        return reading.saying("unit", CONFIRMED, "0 to 100 of the joint's range")
    step = step_of(column)
    if step is not None and step.unit == "deg":
        reading = replace(reading, unit="deg")
        return reading.saying("unit", CONFIRMED, f"deg: its step is {step.text}")
    each = [max(abs(v) for v in usual_ends(c)) for c in body.T]
    largest = max(abs(v) for v in usual_ends(column))
    # one setting of the driver is that of all joints but the gripper
    if max(each) > 101:
        reading = replace(reading, unit="deg")
        what = "it" if largest == max(each) else "another joint"
        return reading.saying("unit", FOUND, f"deg: {what} reaches {max(each):.3g}, beyond 100")
    clipped = sum(is_clipped(c) for c in body.T)
    if 2 * clipped >= body.shape[1] and high > low:
        scale = (high - low) / 200
        reading = replace(reading, scale=scale, offset=-(low + high) / 2 / scale)
        why = f"-100 to 100 of the calibrated range (clipped at 100), taken as the range of {name}"
        return reading.saying("unit", ASK, f"{why}: check that range")
    if largest < 1.1 * np.pi:
        why = f"{name} is read as degrees, but reaches {largest:.3g} only: rad? Give unit: rad"
        return replace(reading, unit="deg").saying("unit", ASK, why)
    return replace(reading, unit="deg").saying(
        "unit",
        ASK,
        f"{name} is read as degrees from the middle of the calibration; data sets before "
        "02/2026 contain -100 to 100 of the calibrated range. Then give scale: (high - low) / 200 "
        "in degrees",
    )
