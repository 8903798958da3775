"""Detection of units, signs, zeros and order of recorded joints from redundant data.

A wrong interpretation of a column is detected from redundancy: a velocity is the slope of its
position, a command leads its position, a position is within the range of its joint, and a torque
carries the weight of the links. Aspects without such evidence are listed as assumed.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import mujoco
import numpy as np

from trueup.signals.sign_bits import sign_bit_of
from trueup.signals.units import UNITS
from trueup.sysid.importing.columns.roles import lag_of
from trueup.sysid.importing.evidence.calibration import Motor
from trueup.sysid.importing.evidence.reading import (
    ASK,
    ASSUMED,
    CONFIRMED,
    FOUND,
    JointSeries,
    Reading,
    is_inside,
    values_of,
    with_wraps,
)
from trueup.sysid.importing.evidence.signs import (
    root_of,
    with_given_signs,
    with_sides,
    with_signs_by_weight,
)
from trueup.sysid.importing.evidence.torque_agreement import CLEARLY, TELLS, WEIGHT, TorqueAgreement
from trueup.sysid.importing.evidence.units import with_units
from trueup.sysid.torque.left_out_forces import torque_is_known

_DEGREE = np.pi / 180
_FOLLOWS = 1.5  # samples by which a command that follows its position is suspect
_LIKE = 0.9  # least correlation of such a command
_SHIFTS = _DEGREE * np.array(
    [-180, -135, -90, -45, -30, -20, -15, -10, 10, 15, 20, 30, 45, 90, 135]
)


def read_joints(
    model: mujoco.MjModel,
    series: JointSeries,
    columns: Mapping[int, str],
    by_order: bool,
    source: str,
    stated: Mapping[int, str] | None = None,
    robot: str = "",
    mirrored: Collection[str] = (),
    motors: Mapping[int, Motor] | None = None,
) -> list[Reading]:
    """Interpretation of the columns of each joint.

    Args:
      model: the robot.
      series: the recorded series.
      columns: column of the position, by joint.
      by_order: whether joints were assigned by the order of the model.
      source: source of the log.
      stated: unit of the position by joint, where the log states it.
      robot: type of the robot that the log states, or empty.
      mirrored: joints that the log counts the other way, as the user says; ``none`` for no joint;
        empty if the log has to tell.
      motors: calibration of the motor, by joint.

    Raises:
      RecordingError: the calibration is not that of the log.
    """
    out = []
    recorded = series.position
    bits = [0] * len(series.joints)
    if series.velocity is not None:
        bits = [sign_bit_of(column) for column in series.velocity.T]
    series = series.continued
    for joint in series.joints:
        reading = Reading(joint, columns[joint])
        # a name is the intention of the logger, not evidence of the motor
        how = "the order of the model" if by_order else "by name"
        reading = reading.saying("order", ASSUMED, how)
        reading = reading.saying("sign", ASSUMED, "no evidence in the log")
        out.append(reading.saying("zero", ASSUMED, "no evidence in the log"))
    by_torque = _units_by_torque(model, out, series)
    out = with_units(model, out, recorded, stated or {}, by_torque, source, robot, motors or {})
    for k, reading in enumerate(out):
        reading = with_wraps(reading, recorded[:, k])
        reading = _with_velocity(replace(reading, velocity_sign_bit=bits[k]), series, k)
        reading = _with_command_unit(reading, series, k)
        out[k] = _with_range(model, reading, series.position[:, k])
    out = _with_commands(out, series)
    if mirrored:
        return _with_torques(model, with_given_signs(model, out, mirrored), series, True)
    return with_sides(model, _with_torques(model, out, series), series)


def _units_by_torque(
    model: mujoco.MjModel, readings: Sequence[Reading], series: JointSeries
) -> dict[str, float]:
    """Score of each unit of angles by the torques of inverse dynamics; empty without torques."""
    if not _has_torques(model, series):
        return {}
    if not all(torque_is_known(model, r.joint) for r in readings):
        return {}
    errors = {}
    for unit in ("rad", "deg", "turn"):
        tried = [replace(r, unit=unit) for r in readings]
        errors[unit] = TorqueAgreement(model, tried, series).error(tried)
    least = min(errors.values())
    return {u: max(-8.0, -8.0 * float(np.log(e / least))) for u, e in errors.items()}


def _has_torques(model: mujoco.MjModel, series: JointSeries) -> bool:
    """Whether torques of scalar joints were recorded and change."""
    effort = series.effort
    return effort is not None and bool(np.ptp(effort, axis=0).any()) and model.nv == model.njnt


def _with_command_unit(reading: Reading, series: JointSeries, k: int) -> Reading:
    """Unit of the command, if it is not that of the position that follows it."""
    if series.command is None or reading.sure_of("unit") == ASK:
        return reading
    command, position = series.command[:, k], series.position[:, k]
    if np.std(command) < 1e-9 or np.std(position) < 1e-9:
        return reading
    alike = float(np.corrcoef(command, position)[0, 1])
    ratio = float(np.std(command) / np.std(position))
    known = {u: UNITS[reading.unit].factor / UNITS[u].factor for u in ("rad", "deg", "turn")}
    unit = min(known, key=lambda u: abs(np.log(ratio / known[u])))
    # a command may be several times larger than the motion, but hardly 6 times
    if reading.unit not in known or unit == reading.unit or abs(alike) < 0.8:
        return reading
    if abs(np.log(ratio / known[unit])) > 0.5:
        return reading
    why = f"in {unit}, the position in {reading.unit}: {ratio:.3g} times its size"
    return replace(reading, command_unit=unit).saying("command", FOUND, why)


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
    units = {u: 1.0 / UNITS[u].factor for u in ("rad/s", "deg/s", "rpm", "turn/s", "mrad/s")}
    if reading.unit in ("m", "mm", "cm"):
        units = {u: 1.0 / UNITS[u].factor for u in ("m/s", "mm/s", "cm/s")}
    usual = next(iter(units))
    if reading.unit == "turn" and reading.scale != 1.0:
        units["counts/s"] = 1.0 / (UNITS["turn"].factor * abs(reading.scale))
    unit = min(units, key=lambda u: abs(np.log(abs(ratio) / units[u])))
    if abs(np.log(abs(ratio) / units[unit])) > 0.2:
        why = (
            f"it is {ratio:.3g} times the slope of the position: a time axis that is as many times "
            f"too long (give time_scale: {1 / abs(ratio):.3g}), or another unit (give the velocity "
            f"with scale: {1 / ratio:.3g})"
        )
        # a signal of the file: its check then names the clock as the reason of what does not fit
        return replace(reading, velocity_unit=usual).saying("velocity", ASK, why)
    sign = 1.0 if ratio > 0 else -1.0
    counted = unit == "counts/s"
    reading = replace(
        reading,
        velocity_unit="turn/s" if counted else unit,
        velocity_scale=sign * abs(reading.scale) if counted else sign,
    )
    if sign > 0 and unit == usual:
        reading = reading.saying("velocity", CONFIRMED, "it is the slope of the position")
        if reading.sure_of("unit") == ASSUMED and reading.unit == "rad":
            reading = reading.saying("unit", ASSUMED, "rad, like rad/s of the velocity")
        if reading.sure_of("unit") == FOUND and reading.unit == "deg":
            how = next(s[2] for s in reading.says if s[0] == "unit")
            reading = reading.saying("unit", FOUND, f"{how}, and its velocity is in rad/s")
        return reading
    what = unit if sign > 0 else f"{unit}, mirrored"
    if reading.velocity_sign_bit:
        what += f", its sign in bit {reading.velocity_sign_bit}"
    return reading.saying("velocity", FOUND, f"{what}: {ratio:.3g} times the slope of the position")


def _with_range(model: mujoco.MjModel, reading: Reading, column: np.ndarray) -> Reading:
    """Sign and zero, if determined by the range of the joint."""
    if not model.jnt_limited[reading.joint] or ASK in map(reading.sure_of, ("unit", "zero")):
        return reading
    low, high = (float(v) for v in model.jnt_range[reading.joint])
    values = values_of(reading, column)
    if is_inside(model, reading, column):
        return reading
    if is_inside(model, replace(reading, scale=-reading.scale), column):
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
    lag = lag_of(command[:, moving], position[:, moving])
    step = float(np.median(np.diff(series.times)))
    count = len(readings)
    alike = np.zeros((count, count))
    alike[np.ix_(moving, moving)] = np.corrcoef(
        position[:, moving], command[:, moving], rowvar=False
    )[: moving.sum(), moving.sum() :]
    best = np.argmax(np.abs(alike), axis=1)
    out = []
    for k, reading in enumerate(readings):
        own, other = alike[k, k], int(best[k])
        better = abs(alike[k, other]) > abs(own) + 0.3
        # of joints that are swapped, the other one does not follow its own command either
        if moving[k] and other != k and better and best[other] != other:
            name = f"joint {other + 1}"
            why = f"it follows the command of {name}: commands and positions are swapped"
            reading = reading.saying("order", ASK, why)
        elif moving[k] and own < -0.5:
            reading = reading.saying(
                "sign", ASK, "it moves against its command: one of them is mirrored"
            )
        elif moving[k] and lag < -_FOLLOWS and own > _LIKE:
            why = (
                f"the command follows the position by {-1e3 * lag * step:.3g} ms: are the columns "
                "of command and measurement exchanged?"
            )
            reading = reading.saying("command", ASK, why)
        out.append(reading)
    return out


def _with_torques(
    model: mujoco.MjModel, readings: list[Reading], series: JointSeries, signs_given: bool = False
) -> list[Reading]:
    """Signs and zeros, if torques carry the weight of the links."""
    if not _has_torques(model, series) or any(r.sure_of("unit") == ASK for r in readings):
        return readings
    known = [k for k, r in enumerate(readings) if torque_is_known(model, r.joint)]
    if len(known) < len(readings):
        return _with_some_torques(model, readings, series, known)
    motion = TorqueAgreement(model, readings, series)
    if not signs_given:
        readings = with_signs_by_weight(model, readings, series, motion)
    given = motion.error(readings)
    out = _with_weights_order(model, readings, motion, given)
    for k, reading in enumerate(readings):
        name = model.joint(reading.joint).name
        factor = UNITS[reading.unit].factor
        moved = [
            replace(reading, offset=reading.offset - shift / factor / reading.scale)
            for shift in _SHIFTS
        ]
        found = motion.errors([_swapped(readings, k, each) for each in moved])
        tried = {float(s): error / given for s, error in zip(_SHIFTS, found, strict=True)}
        best = min(tried, key=lambda s: tried[s])
        if tried[best] < CLEARLY:
            # of the first joint of a chain, weights cannot tell a zero from a tilted base
            carried = root_of(model, reading.joint) == int(model.jnt_bodyid[reading.joint])
            tilt = ", or the gravity of a base that is mounted at this angle" if carried else ""
            why = (
                f"torques fit {1 / tried[best]:.2g} times better with {name} rotated by about "
                f"{best / _DEGREE:.0f} deg; give offset, or correct the model's zero{tilt}"
            )
            out[k] = out[k].saying("zero", ASK, why)
        elif tried[best] > TELLS and out[k].sure_of("zero") != ASK:
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
    assert series.effort is not None
    part = replace(
        series,
        joints=tuple(series.joints[k] for k in known),
        position=series.position[:, known],
        velocity=None if series.velocity is None else series.velocity[:, known],
        command=None if series.command is None else series.command[:, known],
        effort=series.effort[:, known],
    )
    for k, reading in zip(known, _with_torques(model, [out[k] for k in known], part), strict=True):
        out[k] = reading
    return out


def _with_weights_order(
    model: mujoco.MjModel, readings: Sequence[Reading], motion: TorqueAgreement, given: float
) -> list[Reading]:
    """Order of joints by the weight of the links: whether two of them are swapped."""
    count = len(readings)
    ratios = np.full((count, count), np.inf)
    pairs = list(itertools.combinations(range(count), 2))
    orders = []
    for k, j in pairs:
        order = list(range(count))
        order[k], order[j] = j, k
        orders.append(order)
    found = motion.errors([readings] * len(pairs), orders)
    for (k, j), error in zip(pairs, found, strict=True):
        ratios[k, j] = ratios[j, k] = error / given
    out = []
    for k, reading in enumerate(readings):
        nearest = int(np.argmin(ratios[k]))
        ratio = ratios[k, nearest]
        if ratio < CLEARLY:
            why = (
                f"torques fit {1 / ratio:.2g} times better with the columns of "
                f"{model.joint(reading.joint).name} and "
                f"{model.joint(readings[nearest].joint).name} exchanged"
            )
            reading = reading.saying("order", ASK, why)
        elif ratio > TELLS and np.isfinite(ratio) and reading.sure_of("order") == ASSUMED:
            how = next(s[2] for s in reading.says if s[0] == "order")
            reading = reading.saying("order", CONFIRMED, f"{how}, and {WEIGHT}")
        out.append(reading)
    return out


def _swapped(readings: Sequence[Reading], k: int, other: Reading) -> list[Reading]:
    return [other if i == k else r for i, r in enumerate(readings)]
