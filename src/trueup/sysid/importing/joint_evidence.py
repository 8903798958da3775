"""Detection of units, signs, zeros and order of recorded joints from redundant data.

A wrong interpretation of a column is detected from redundancy: a velocity is the slope of its
position, a command leads its position, a position is within the range of its joint, and a torque
carries the weight of the links. Aspects without such evidence are listed as assumed.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from trueup.errors import listing
from trueup.signals.units import find_unit
from trueup.signals.wrapping import TURN, Wraps
from trueup.sysid.torque.left_out_forces import torque_is_known
from trueup.sysid.torque.link_regressor import link_regressor, parameters_of

CONFIRMED, FOUND, ASSUMED, ASK = "confirmed", "found", "assumed", "ask"

_DEGREE = np.pi / 180
_SHIFTS = _DEGREE * np.array(
    [-180, -135, -90, -45, -30, -20, -15, -10, 10, 15, 20, 30, 45, 90, 135]
)
_CLEARLY = 0.8  # torque error ratio of another interpretation below which it is preferred
_TELLS = 1.05  # the same ratio above which the given interpretation is confirmed
_SAMPLES = 300  # compared samples of motion and torque
_WEIGHT = "by the weight of the links"
_OUTSIDE = 0.05  # tolerance, as a share of the range of a joint


@dataclass(frozen=True)
class Reading:
    """Interpretation of the columns of one joint."""

    joint: int
    position: str
    """Column of the position."""
    unit: str = "rad"
    """Unit of position and command."""
    scale: float = 1.0
    """Factor on the columns of position and command before the unit; -1 for a mirrored axis."""
    offset: float = 0.0
    """Subtracted from them before the factor."""
    velocity_unit: str = ""
    velocity_scale: float = 1.0
    unwrap: bool | float = False
    """Period after which position and command start again, in their unit; True for one turn."""
    says: tuple[tuple[str, str, str], ...] = ()
    """Aspect (order, unit, sign, zero), certainty, and reason."""

    def saying(self, aspect: str, sure: str, why: str) -> "Reading":
        """The interpretation with an added finding, which replaces one on the same aspect."""
        kept = tuple(s for s in self.says if s[0] != aspect)
        return replace(self, says=(*kept, (aspect, sure, why)))

    def sure_of(self, aspect: str) -> str:
        """Certainty of an aspect."""
        return next((s[1] for s in self.says if s[0] == aspect), ASSUMED)


@dataclass(frozen=True)
class JointSeries:
    """Recorded series of the joints on one clock, columns in the order of ``joints``."""

    times: np.ndarray
    joints: tuple[int, ...]
    position: np.ndarray
    """``(T, J)`` as recorded."""
    velocity: np.ndarray | None = None
    command: np.ndarray | None = None
    effort: np.ndarray | None = None
    wraps: tuple[Wraps | None, ...] = ()
    """Jumps of each position as recorded, which ``position`` continues; empty for none."""


def read_joints(
    model: mujoco.MjModel,
    series: JointSeries,
    columns: Mapping[int, str],
    by_order: bool,
    source: str,
) -> list[Reading]:
    """Interpretation of the columns of each joint.

    Args:
      model: the robot.
      series: the recorded series.
      columns: column of the position, by joint.
      by_order: whether joints were assigned by the order of the model.
      source: source of the log.
    """
    out = []
    for k, joint in enumerate(series.joints):
        reading = Reading(joint, columns[joint])
        # a name is the intention of the logger, not evidence of the motor
        how = "the order of the model" if by_order else "by name"
        reading = reading.saying("order", ASSUMED, how)
        reading = reading.saying("sign", ASSUMED, "no evidence in the log")
        reading = reading.saying("zero", ASSUMED, "no evidence in the log")
        wraps = series.wraps[k] if series.wraps else None
        if wraps is not None:
            reading = _of_wraps(reading, wraps)
        else:
            reading = _with_unit(model, reading, series.position[:, k], source)
        reading = _with_velocity(reading, series, k)
        out.append(_with_range(model, reading, series.position[:, k]))
    out = _with_commands(out, series)
    return _with_torques(model, out, series)


def values_of(reading: Reading, column: np.ndarray) -> np.ndarray:
    """Position [rad, m] of a column under an interpretation."""
    factor = find_unit(reading.unit).factor
    return (column - reading.offset) * reading.scale * factor


def _with_unit(model: mujoco.MjModel, reading: Reading, column: np.ndarray, source: str) -> Reading:
    joint = reading.joint
    if int(model.jnt_type[joint]) != int(mujoco.mjtJoint.mjJNT_HINGE):
        return replace(reading, unit="m").saying("unit", ASSUMED, "m")
    low, high = (float(v) for v in model.jnt_range[joint])
    limited, largest = bool(model.jnt_limited[joint]), float(np.max(np.abs(column), initial=0.0))
    if source == "LeRobot":
        return _of_lerobot(model, reading, column, low, high)
    limit = max(abs(low), abs(high)) if limited else 2 * np.pi
    if largest > 1.5 * limit + 0.1 and largest * _DEGREE < 1.2 * limit + 0.1:
        span = high - low if limited else 2 * limit
        if np.ptp(column) <= span:
            why = (
                f"deg, or rad with another zero: it reaches {largest:.3g}, the joint {limit:.3g} "
                f"rad, and its span of {np.ptp(column):.3g} is consistent with both. Give unit or "
                "offset"
            )
            return reading.saying("unit", ASK, why)
        why = f"deg: it reaches {largest:.3g}, the joint {limit:.3g} rad"
        return replace(reading, unit="deg").saying("unit", FOUND, why)
    if largest * _DEGREE > 1e-3 and largest <= 1.2 * limit + 0.1:
        return reading.saying("unit", ASSUMED, f"rad: it reaches {largest:.3g}")
    return reading.saying("unit", ASK, f"neither rad nor deg: it reaches {largest:.3g}")


def _of_wraps(reading: Reading, wraps: Wraps) -> Reading:
    """The unit in which the period of a position that starts again is a number of turns."""
    turns = {"rad": TURN, "deg": 360.0, "turn": 1.0}
    exact = {unit: wraps.period / turn for unit, turn in turns.items()}
    unit = next((u for u in exact if exact[u] in (1.0, 2.0, 4.0)), None)
    if unit is not None:
        period: bool | float = True if exact[unit] == 1.0 else wraps.period
        why = f"{unit}: it starts again after {wraps.period:.6g}"
        return replace(reading, unit=unit, unwrap=period).saying("unit", FOUND, why)
    # a counter of one turn, unless it is behind a gear
    reading = replace(reading, unit="turn", scale=1.0 / wraps.period, unwrap=wraps.period)
    return reading.saying(
        "unit",
        ASK,
        f"counts that start again after {wraps.period:.6g}, read as one turn; with a gear between "
        "sensor and joint divide scale by it",
    )


def _of_lerobot(
    model: mujoco.MjModel, reading: Reading, column: np.ndarray, low: float, high: float
) -> Reading:
    """Body joints in degrees or in -100 to 100 of the calibrated range, grippers in 0 to 100."""
    if "gripper" in reading.position.lower():
        scale = (high - low) / 100 if high > low else 0.01
        reading = replace(reading, scale=scale, offset=-low / scale)
        return reading.saying("unit", CONFIRMED, "0 to 100 of the joint's range")
    largest = float(np.max(np.abs(column), initial=0.0))
    reading = replace(reading, unit="deg")
    if largest > 101:
        return reading.saying("unit", FOUND, f"deg: it reaches {largest:.3g}, beyond 100")
    name = model.joint(reading.joint).name
    return reading.saying(
        "unit",
        ASK,
        f"{name} is read as degrees from the middle of the calibration; data sets before "
        "02/2026 contain -100 to 100 of the calibrated range. Then give scale: (high - low) / 200 "
        "in "
        "degrees",
    )


def _with_velocity(reading: Reading, series: JointSeries, k: int) -> Reading:
    """Unit and sign of the velocity, by the slope of the position."""
    if series.velocity is None:
        return reading
    position = values_of(reading, series.position[:, k])
    travelled = np.concatenate(
        [
            [0.0],
            np.cumsum(
                0.5 * (series.velocity[1:, k] + series.velocity[:-1, k]) * np.diff(series.times)
            ),
        ]
    )
    window = max(1, len(series.times) // 50)
    moved, passed = position[window:] - position[:-window], travelled[window:] - travelled[:-window]
    size = float(moved @ moved)
    if size <= 0 or float(passed @ passed) <= 0:
        return reading
    alike = float(moved @ passed) / np.sqrt(size * float(passed @ passed))
    ratio = float(passed @ moved) / size
    if abs(alike) < 0.8:
        return reading.saying("velocity", ASK, "it is not the slope of the position")
    units = {"rad/s": 1.0, "deg/s": 1 / _DEGREE, "rpm": 30 / np.pi}
    unit = min(units, key=lambda u: abs(np.log(abs(ratio) / units[u])))
    if abs(np.log(abs(ratio) / units[unit])) > 0.2:
        return reading.saying("velocity", ASK, f"it is {ratio:.3g} times the slope of the position")
    sign = 1.0 if ratio > 0 else -1.0
    reading = replace(reading, velocity_unit=unit, velocity_scale=sign)
    if sign > 0 and unit == "rad/s":
        reading = reading.saying("velocity", CONFIRMED, "it is the slope of the position")
        if reading.sure_of("unit") == ASSUMED and reading.unit == "rad":
            reading = reading.saying("unit", ASSUMED, "rad, like rad/s of the velocity")
        return reading
    what = unit if sign > 0 else f"{unit}, mirrored"
    return reading.saying("velocity", FOUND, f"{what}: {ratio:.3g} times the slope of the position")


def _with_range(model: mujoco.MjModel, reading: Reading, column: np.ndarray) -> Reading:
    """Sign and zero, if determined by the range of the joint."""
    if not model.jnt_limited[reading.joint] or reading.sure_of("unit") == ASK:
        return reading
    low, high = (float(v) for v in model.jnt_range[reading.joint])
    values = values_of(reading, column)
    if _is_inside(model, reading, column):
        return reading
    if _is_inside(model, replace(reading, scale=-reading.scale), column):
        why = "it is outside the joint's range, its mirror image inside"
        turned = replace(reading, scale=-reading.scale, velocity_scale=-reading.velocity_scale)
        return turned.saying("sign", FOUND, f"mirrored: {why}")
    beyond = max(low - values.min(), values.max() - high)
    return reading.saying(
        "zero", ASK, f"it is {beyond:.3g} beyond the range {low:.3g} to {high:.3g} of the joint"
    )


def _with_commands(readings: list[Reading], series: JointSeries) -> list[Reading]:
    """Order of numbered joints, if it differs between commands and positions."""
    if series.command is None or len(readings) < 2:
        return readings
    command, position = series.command, series.position
    moving = (np.std(command, axis=0) > 1e-6) & (np.std(position, axis=0) > 1e-6)
    if moving.sum() < 2:
        return readings
    out = []
    for k, reading in enumerate(readings):
        if not moving[k]:
            out.append(reading)
            continue
        alike = [
            abs(np.corrcoef(command[:, j], position[:, k])[0, 1]) if moving[j] else 0.0
            for j in range(len(readings))
        ]
        best = int(np.argmax(alike))
        own = np.corrcoef(command[:, k], position[:, k])[0, 1]
        if best != k and alike[best] > alike[k] + 0.3:
            why = f"it follows the command of joint {best + 1}: commands and positions are swapped"
            reading = reading.saying("order", ASK, why)
        elif own < -0.5:
            reading = reading.saying(
                "sign", ASK, "it moves against its command: one of them is mirrored"
            )
        out.append(reading)
    return out


def _with_torques(
    model: mujoco.MjModel, readings: list[Reading], series: JointSeries
) -> list[Reading]:
    """Signs and zeros, if torques carry the weight of the links."""
    if series.effort is None or series.velocity is None or not np.ptp(series.effort, axis=0).any():
        return readings
    if model.nv != model.njnt or any(r.sure_of("unit") == ASK for r in readings):
        return readings
    known = [k for k, r in enumerate(readings) if torque_is_known(model, r.joint)]
    if len(known) < len(readings):
        return _with_some_torques(model, readings, series, known)
    motion = _Motion(model, readings, series)
    readings = _with_weights_sign(model, readings, series, motion)
    given = motion.error(readings)
    out = _with_weights_order(model, readings, motion, given)
    for k, reading in enumerate(readings):
        name = model.joint(reading.joint).name
        factor = find_unit(reading.unit).factor
        tried = {}
        for shift in _SHIFTS:
            moved = replace(reading, offset=reading.offset - shift / factor / reading.scale)
            tried[float(shift)] = motion.error(_swapped(readings, k, moved)) / given
        best = min(tried, key=lambda s: tried[s])
        if tried[best] < _CLEARLY:
            why = (
                f"torques fit {1 / tried[best]:.2g} times better with {name} rotated by about "
                f"{best / _DEGREE:.0f} deg; give offset, or correct the model's zero"
            )
            out[k] = out[k].saying("zero", ASK, why)
        elif tried[best] > _TELLS and out[k].sure_of("zero") != ASK:
            out[k] = out[k].saying("zero", CONFIRMED, "by the weight of the links")
        elif out[k].sure_of("zero") != ASK:
            out[k] = out[k].saying("zero", ASSUMED, "torques hardly depend on it")
    return out


def _with_some_torques(
    model: mujoco.MjModel, readings: list[Reading], series: JointSeries, known: list[int]
) -> list[Reading]:
    """Signs and zeros of those joints with torques determined by the links."""
    why = "no evidence in torques: an unmodelled force acts on the joint"
    out = [
        reading if k in known or reading.sure_of("zero") == ASK
        else reading.saying("zero", ASSUMED, why)
        for k, reading in enumerate(readings)
    ]  # fmt: skip
    if not known:
        return out
    assert series.effort is not None and series.velocity is not None
    part = replace(
        series,
        joints=tuple(series.joints[k] for k in known),
        position=series.position[:, known],
        velocity=series.velocity[:, known],
        command=None if series.command is None else series.command[:, known],
        effort=series.effort[:, known],
    )
    for k, reading in zip(known, _with_torques(model, [out[k] for k in known], part), strict=True):
        out[k] = reading
    return out


def _with_weights_sign(
    model: mujoco.MjModel,
    readings: list[Reading],
    series: JointSeries,
    motion: "_Motion",
) -> list[Reading]:
    """Signs by the weight of the links; an open point if several mirrorings fit equally."""
    given = motion.error(readings)
    ratios = []
    for k, reading in enumerate(readings):
        mirrored = replace(reading, scale=-reading.scale)
        ratio = motion.error(_swapped(readings, k, mirrored)) / given
        inside = _is_inside(model, mirrored, series.position[:, k])
        ratios.append(ratio if inside else max(ratio, 1.0))
    best = min(ratios)
    fitting = [k for k, r in enumerate(ratios) if r < _CLEARLY and r < best / _CLEARLY]
    names = [model.joint(readings[k].joint).name for k in fitting]
    out = list(readings)
    for k, (reading, ratio) in enumerate(zip(readings, ratios, strict=True)):
        if k in fitting and len(fitting) == 1:
            why = f"mirrored: torques fit {1 / ratio:.2g} times better, {_WEIGHT}"
            out[k] = replace(reading, scale=-reading.scale, velocity_scale=-reading.velocity_scale)
            out[k] = out[k].saying("sign", FOUND, why)
        elif k in fitting:
            why = f"one of {listing(names)} is mirrored, with equal torque errors; give scale: -1"
            out[k] = reading.saying("sign", ASK, why)
        elif ratio > _TELLS and not fitting and reading.sure_of("sign") == ASSUMED:
            out[k] = reading.saying("sign", CONFIRMED, _WEIGHT)
    return out


def _with_weights_order(
    model: mujoco.MjModel, readings: Sequence[Reading], motion: "_Motion", given: float
) -> list[Reading]:
    """Order of joints by the weight of the links: whether two of them are swapped."""
    count = len(readings)
    ratios = np.full((count, count), np.inf)
    for k, j in itertools.combinations(range(count), 2):
        order = list(range(count))
        order[k], order[j] = j, k
        ratios[k, j] = ratios[j, k] = motion.error(readings, order) / given
    out = []
    for k, reading in enumerate(readings):
        nearest = int(np.argmin(ratios[k]))
        ratio = ratios[k, nearest]
        if ratio < _CLEARLY:
            why = (
                f"torques fit {1 / ratio:.2g} times better with the columns of "
                f"{model.joint(reading.joint).name} and "
                f"{model.joint(readings[nearest].joint).name} exchanged"
            )
            reading = reading.saying("order", ASK, why)
        elif ratio > _TELLS and np.isfinite(ratio) and reading.sure_of("order") == ASSUMED:
            how = next(s[2] for s in reading.says if s[0] == "order")
            reading = reading.saying("order", CONFIRMED, f"{how}, and {_WEIGHT}")
        out.append(reading)
    return out


def _is_inside(model: mujoco.MjModel, reading: Reading, column: np.ndarray) -> bool:
    """Whether an interpretation is within the range of its joint."""
    if not model.jnt_limited[reading.joint]:
        return True
    low, high = (float(v) for v in model.jnt_range[reading.joint])
    values, slack = values_of(reading, column), _OUTSIDE * (high - low)
    return bool(values.min() >= low - slack and values.max() <= high + slack)


def _swapped(readings: Sequence[Reading], k: int, other: Reading) -> list[Reading]:
    return [other if i == k else r for i, r in enumerate(readings)]


class _Motion:
    """Torques of inverse dynamics under an interpretation, compared with recorded ones."""

    def __init__(self, model: mujoco.MjModel, readings: Sequence[Reading], series: JointSeries):
        assert series.effort is not None and series.velocity is not None
        self.model = model
        count = len(series.times)
        wide = 2 * max(1, count // 600) + 1
        edge = max(2 * wide, count // 50)
        self.rows = slice(edge, max(count - edge, edge + 1), max(1, count // _SAMPLES))
        self.position = series.position[self.rows]
        speed = np.stack(
            [
                np.gradient(values_of(r, series.position[:, k]), series.times)
                for k, r in enumerate(readings)
            ],
            axis=1,
        )
        kernel = np.ones(wide) / wide
        speed = np.stack([np.convolve(c, kernel, "same") for c in speed.T], axis=1)
        self.speed = speed[self.rows]
        self.acceleration = np.gradient(speed, series.times, axis=0)[self.rows]
        self.effort = series.effort[self.rows]
        self.signs = np.array([np.sign(r.scale) for r in readings])
        self.parameters = parameters_of(model)

    def error(self, readings: Sequence[Reading], order: Sequence[int] | None = None) -> float:
        """Relative error of all torques after the best gain, friction and armature of each joint.

        The torque of a mirrored joint is mirrored too.

        Args:
          readings: interpretation of the columns.
          order: index of the reading with the columns of each joint; None: its own.
        """
        model = self.model
        taken = list(range(len(readings))) if order is None else order
        readings = [
            replace(readings[t], joint=r.joint) for r, t in zip(readings, taken, strict=True)
        ]
        flips = np.array([np.sign(r.scale) for r in readings]) * self.signs[taken]
        qpos = np.tile(model.qpos0, (len(self.position), 1))
        qvel, qacc = np.zeros((len(qpos), model.nv)), np.zeros((len(qpos), model.nv))
        for i, (k, reading) in enumerate(zip(taken, readings, strict=True)):
            joint = reading.joint
            qpos[:, model.jnt_qposadr[joint]] = values_of(reading, self.position[:, k])
            qvel[:, model.jnt_dofadr[joint]] = flips[i] * self.speed[:, k]
            qacc[:, model.jnt_dofadr[joint]] = flips[i] * self.acceleration[:, k]
        needed = link_regressor(model, qpos, qvel, qacc) @ self.parameters
        total = 0.0
        for k, reading in zip(taken, readings, strict=True):
            dof = int(model.jnt_dofadr[reading.joint])
            effort = self.effort[:, k] * np.sign(reading.scale)
            friction = [
                qvel[:, dof],
                np.tanh(qvel[:, dof] / 0.02),
                qacc[:, dof],
                np.ones(len(qpos)),
            ]
            basis = np.column_stack(friction)
            # the gain of the torque is positive: the torque of the links must not be inverted
            rest = effort - basis @ np.linalg.lstsq(basis, effort, rcond=None)[0]
            load = needed[:, dof] - basis @ np.linalg.lstsq(basis, needed[:, dof], rcond=None)[0]
            size = float(load @ load)
            gain = max(float(load @ rest) / size, 0.0) if size > 1e-12 else 0.0
            left = rest - gain * load
            spread = float(np.sum((effort - effort.mean()) ** 2))
            total += float(left @ left) / spread if spread > 0 else 0.0
        return float(np.sqrt(total / len(readings))) + 1e-9
