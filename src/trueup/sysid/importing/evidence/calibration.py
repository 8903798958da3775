"""Units and zeros of positions by the calibration of a servo arm, as LeRobot converts them.

``_normalize`` of ``lerobot/motors/motors_bus.py`` (huggingface/lerobot, 2025) writes a position of
``p`` ticks, of a motor with 4096 ticks for a turn, as one of

- degrees: ``(p - middle) * 360 / 4095`` from the middle of the calibrated range;
- -100 to 100: ``(p - range_min) / (range_max - range_min) * 200 - 100``, with the other sign if
  ``drive_mode`` is set;
- 0 to 100, of grippers: ``(p - range_min) / (range_max - range_min) * 100``, or 100 minus that.

The homing offset is within the motor: its ticks have it subtracted already. The drive mode of a
Dynamixel motor is within it too (``apply_drive_mode`` of its bus is False).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from trueup.errors import RecordingError
from trueup.sysid.importing.evidence.reading import ASK, ASSUMED, FOUND, Reading, usual_ends

TICKS = 4096
"""Ticks of a turn of the encoders of Feetech STS and Dynamixel X motors."""
DEGREES, NORMALISED = "degrees", "-100 to 100"
_DEGREE = 360 / (TICKS - 1)  # of a tick, as LeRobot divides
_NEAR = 0.05  # ticks; distance from a whole number, by float32 and few decimals
_WHOLE, _BY_CHANCE = 0.9, 0.5  # shares of values near whole ticks, with the right setting or not
_FEWEST = 20  # different values that tell whole ticks
_FULL = 100.5  # normalised values are clipped at 100
_ALIKE = 0.1  # difference of two ranges of a joint, as a share
_SLACK = 5.0  # deg; a joint pushed beyond its calibrated range


@dataclass(frozen=True)
class Motor:
    """Calibration of a motor."""

    low: int
    """Tick at the low end of the range."""
    high: int
    mirrored: bool
    """Whether normalised values count the other way."""
    file: str
    """Name of the file of the calibration."""

    @property
    def middle(self) -> float:
        """Tick of the zero of degrees, and of values from -100 to 100."""
        return (self.low + self.high) / 2

    @property
    def degrees(self) -> float:
        """Size of the range [deg]."""
        return (self.high - self.low) * _DEGREE

    @property
    def said(self) -> str:
        """The range in words."""
        return f"{self.low} to {self.high} ticks in {self.file}"

    def ticks(self, values: np.ndarray, setting: str) -> np.ndarray:
        """Ticks of recorded values."""
        if setting == DEGREES:
            return values / _DEGREE + self.middle
        return self.middle + values / 200 * (self.high - self.low)


def _setting(motors: Sequence[Motor], positions: np.ndarray, servos: bool) -> str:
    """The setting of the driver by which all joints but the gripper were written; empty if unclear.

    Args:
      motors: calibration of each joint.
      positions: recorded values ``(T, J)``.
      servos: whether the log is known to be of such a driver; if not, whole ticks have to tell.

    Raises:
      RecordingError: values are of neither setting with this calibration.
    """
    whole = {s: _whole_ticks(motors, positions, s) for s in (DEGREES, NORMALISED)}
    best = max(whole, key=lambda s: whole[s])
    if whole[best] > _WHOLE and min(whole.values()) < _BY_CHANCE:
        return best
    if not servos:
        return ""
    reach = [max(abs(v) for v in usual_ends(column)) for column in positions.T]
    beyond = [r > 0.55 * m.degrees + _SLACK for r, m in zip(reach, motors, strict=True)]
    full = max(reach) > _FULL
    if full and any(beyond):
        k = beyond.index(True)
        raise RecordingError(
            f"the calibration {motors[k].file} does not fit the log: a joint reaches "
            f"{reach[k]:.3g}, and its calibrated range ({motors[k].low} to {motors[k].high} ticks) "
            f"ends at {motors[k].degrees / 2:.3g} deg. Give the calibration of the robot that was "
            "recorded, or remove the file"
        )
    clipped = sum(is_clipped(column) for column in positions.T)
    if any(beyond) or 2 * clipped >= len(motors):
        return NORMALISED
    return DEGREES if full else ""


def _whole_ticks(motors: Sequence[Motor], positions: np.ndarray, setting: str) -> float:
    """Share of recorded values that are whole ticks under a setting; 0 of too few values."""
    near = []
    for motor, column in zip(motors, positions.T, strict=True):
        ticks = motor.ticks(np.unique(column[np.isfinite(column)]), setting)
        near.append(np.abs(ticks - np.round(ticks)) < _NEAR)
    all_near = np.concatenate(near)
    return float(all_near.mean()) if all_near.size >= _FEWEST else 0.0


def is_clipped(column: np.ndarray) -> bool:
    """Whether values stay at exactly -100 or 100, the ends of normalised values."""
    return bool(np.sum(np.abs(np.abs(column) - 100) < 1e-4) > 3 and np.max(np.abs(column)) < 100.01)


def with_calibration(
    model: mujoco.MjModel,
    readings: Sequence[Reading],
    positions: np.ndarray,
    motors: Mapping[int, Motor],
    servos: bool,
) -> list[Reading]:
    """Interpretations with the unit and zero of the calibration, of hinges that have one.

    Args:
      model: the robot.
      readings: one per column.
      positions: as recorded ``(T, J)``.
      motors: calibration by joint.
      servos: whether the log is known to be of LeRobot.

    Raises:
      RecordingError: the calibration is not that of the log.
    """
    out = list(readings)
    hinge = int(mujoco.mjtJoint.mjJNT_HINGE)
    known = [k for k, r in enumerate(out) if r.joint in motors and model.jnt_type[r.joint] == hinge]
    for k in [k for k in known if _counts_ticks(out[k])]:
        out[k] = _of_ticks(model, out[k], motors[out[k].joint])
        known.remove(k)
    grippers = [k for k in known if _is_share(out[k], positions[:, k])]
    body = [k for k in known if k not in grippers]
    if not body:
        return out
    setting = _setting([motors[out[k].joint] for k in body], positions[:, body], servos)
    if not setting and not servos:
        return out
    for k in body:
        motor = motors[out[k].joint]
        if setting:
            out[k] = _of_body(model, out[k], motor, setting)
        elif out[k].unit == "deg":
            out[k] = _of_either(model, out[k], motor)
    for k in grippers:
        out[k] = _of_gripper(model, out[k], motors[out[k].joint])
    return out


def _counts_ticks(reading: Reading) -> bool:
    return reading.unit == "turn" and bool(np.isclose(reading.scale * TICKS, 1.0))


def _is_share(reading: Reading, column: np.ndarray) -> bool:
    """Whether values are 0 to 100 of the range of a gripper."""
    least, most = usual_ends(column)
    return "gripper" in reading.position.lower() and least > -1.5 and most < 101.5


def _of_ticks(model: mujoco.MjModel, reading: Reading, motor: Motor) -> Reading:
    return _with_middle(model, replace(reading, offset=motor.middle), motor, motor.middle)


def _of_body(model: mujoco.MjModel, reading: Reading, motor: Motor, setting: str) -> Reading:
    scale, what = 1.0, "deg from the middle"
    if setting == NORMALISED:
        scale = motor.degrees / 200 * (-1 if motor.mirrored else 1)
        what = "-100 to 100"
    reading = replace(reading, unit="deg", scale=scale, offset=0.0)
    reading = reading.saying("unit", FOUND, f"{what} of the calibrated range")
    return _with_middle(model, reading, motor, 0.0)


def _of_either(model: mujoco.MjModel, reading: Reading, motor: Motor) -> Reading:
    """Degrees, where neither whole ticks nor the range exclude -100 to 100."""
    other = _of_body(model, reading, motor, NORMALISED)
    why = (
        "degrees or -100 to 100 of the calibrated range, and both are possible: read as degrees. "
        f"For the other give scale: {other.scale:.6g} and offset: {other.offset:.6g}"
    )
    return _of_body(model, reading, motor, DEGREES).saying("unit", ASK, why)


def _with_middle(model: mujoco.MjModel, reading: Reading, motor: Motor, recorded: float) -> Reading:
    """The zero of a joint by the middle of its calibrated range, a value that was recorded.

    Calibrated ranges are those between the stops, as a model has them; so are their middles.
    """
    low, high = (float(v) for v in np.degrees(model.jnt_range[reading.joint]))
    size, middle = high - low, (low + high) / 2
    name = model.joint(reading.joint).name
    calibrated = f"the middle of the calibrated range ({motor.said})"
    if not model.jnt_limited[reading.joint] or size <= 0:
        why = f"{calibrated} is taken as the zero of {name}"
        return reading.saying("zero", ASSUMED, why)
    if abs(middle) <= 0.05 * size:
        return reading.saying("zero", FOUND, f"{calibrated} is the zero of the model")
    if abs(motor.degrees - size) > _ALIKE * size:
        why = (
            f"the calibrated range ({motor.said}) has {motor.degrees:.3g} deg, that of {name} "
            f"{size:.3g}: its middle is taken as the zero of the model. Give offset"
        )
        return reading.saying("zero", ASK, why)
    turns = {"deg": 360.0, "turn": 1.0}[reading.unit] / 360.0
    reading = replace(reading, offset=recorded - middle * turns / reading.scale)
    return reading.saying("zero", FOUND, f"{calibrated} is that of {name}, {middle:.4g} deg")


def _of_gripper(model: mujoco.MjModel, reading: Reading, motor: Motor) -> Reading:
    """A gripper from 0 to 100 of its calibrated range, which begins where that of the model does.

    With a mirrored motor, 100 is at the low end.
    """
    low, high = (float(v) for v in np.degrees(model.jnt_range[reading.joint]))
    size = high - low
    limited = bool(model.jnt_limited[reading.joint]) and size > 0
    start = low if limited else 0.0
    scale, end = motor.degrees / 100, 0.0
    if motor.mirrored:
        scale, end = -scale, 100.0
    reading = replace(reading, unit="deg", scale=scale, offset=end - start / scale)
    reading = reading.saying("unit", FOUND, "0 to 100 of the calibrated range")
    if limited and abs(motor.degrees - size) > _ALIKE * size:
        why = (
            f"the calibrated range ({motor.said}) has {motor.degrees:.3g} deg, that of the model "
            f"{size:.3g}: both are taken to begin at the same end. Give offset"
        )
        return reading.saying("zero", ASK, why)
    why = f"{end:.0f} is taken as {start:.4g} deg ({motor.said})"
    return reading.saying("zero", ASSUMED, why)
