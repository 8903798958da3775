"""SI units of the signals that a model predicts."""

from collections.abc import Sequence

import mujoco

from trueup.errors import UnitError, listing
from trueup.signals import UNITS, find_unit

_S = mujoco.mjtSensor
_ANGLE_OR_LENGTH = {
    int(_S.mjSENS_JOINTPOS): ("rad", "m"),
    int(_S.mjSENS_JOINTVEL): ("rad/s", "m/s"),
}
_OF_JOINT = (
    ("_qpos", ("rad", "m")),
    ("_qvel", ("rad/s", "m/s")),
    (" torque", ("N m", "N")),  # a channel of a fit to torques
)
_FORCE = (int(_S.mjSENS_JOINTACTFRC), int(_S.mjSENS_JOINTLIMITFRC))
_FIXED = {
    int(_S.mjSENS_ACCELEROMETER): "m/s^2",
    int(_S.mjSENS_VELOCIMETER): "m/s",
    int(_S.mjSENS_GYRO): "rad/s",
    int(_S.mjSENS_FORCE): "N",
    int(_S.mjSENS_TOUCH): "N",
    int(_S.mjSENS_TORQUE): "N m",
    int(_S.mjSENS_RANGEFINDER): "m",
    int(_S.mjSENS_TENDONPOS): "m",
    int(_S.mjSENS_TENDONVEL): "m/s",
    int(_S.mjSENS_BALLANGVEL): "rad/s",
    int(_S.mjSENS_FRAMEPOS): "m",
    int(_S.mjSENS_FRAMELINVEL): "m/s",
    int(_S.mjSENS_FRAMEANGVEL): "rad/s",
    int(_S.mjSENS_FRAMELINACC): "m/s^2",
    int(_S.mjSENS_FRAMEANGACC): "rad/s^2",
    int(_S.mjSENS_SUBTREECOM): "m",
    int(_S.mjSENS_SUBTREELINVEL): "m/s",
}


def signal_units(models: Sequence[mujoco.MjModel], signals: Sequence[str]) -> tuple[str, ...]:
    """Unit of each signal, or the empty string if unknown.

    Args:
      models: models; the first one with a signal determines its unit.
      signals: names: sensors, or joints with ``_qpos``, ``_qvel`` and `` torque``.
    """
    return tuple(next((u for m in models if (u := _unit(m, s))), "") for s in signals)


def check_unit(model: mujoco.MjModel, recording: str, signal: str, column: str, unit: str) -> None:
    """Check that a unit is of the same quantity as a signal of a model.

    Args:
      model: the model.
      recording: name of the recording, for messages.
      signal: full name of the signal.
      column: its column, for messages.
      unit: unit of the column; a pure number such as ``counts`` is valid for every signal.

    Raises:
      UnitError: the quantities differ, or the unit is unknown.
    """
    found = find_unit(unit)
    expected = _unit(model, signal)
    if not expected or found.quantity in ("number", find_unit(expected).quantity):
        return
    wanted = find_unit(expected)
    fitting = [name for name, other in UNITS.items() if other.quantity == wanted.quantity]
    raise UnitError(
        f"recording {recording!r}: the model has the signal {signal!r} in {expected} "
        f"({wanted.quantity}), but the unit of the column {column!r} is {unit!r} "
        f"({found.quantity}). Valid units are {listing(fitting, limit=len(fitting))}: correct "
        f"the unit or the column, or omit the unit and give a scale"
    )


def _unit(model: mujoco.MjModel, signal: str) -> str:
    sensor = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SENSOR, signal)
    if sensor >= 0:
        return _of_sensor(model, sensor)
    for suffix, units in _OF_JOINT:
        if signal.endswith(suffix):
            name = signal.removesuffix(suffix)
            joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
            if joint >= 0:
                return _by_joint(model, joint, units)
    return ""


def _of_sensor(model: mujoco.MjModel, sensor: int) -> str:
    kind, element = int(model.sensor_type[sensor]), int(model.sensor_objid[sensor])
    if kind in _ANGLE_OR_LENGTH:
        return _by_joint(model, element, _ANGLE_OR_LENGTH[kind])
    if kind in _FORCE:
        return _by_joint(model, element, ("N m", "N"))
    on_joint = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    if kind == int(_S.mjSENS_ACTUATORFRC) and int(model.actuator_trntype[element]) in on_joint:
        # with a gear other than 1 the actuator's force differs from the joint's torque
        if float(model.actuator_gear[element, 0]) == 1.0:
            return _by_joint(model, int(model.actuator_trnid[element, 0]), ("N m", "N"))
        return ""
    tendon = kind in (int(_S.mjSENS_TENDONPOS), int(_S.mjSENS_TENDONVEL))
    if tendon and _sums_joints(model, element):
        return ""
    return _FIXED.get(kind, "")


def _sums_joints(model: mujoco.MjModel, tendon: int) -> bool:
    """Whether the length of a tendon is a weighted sum of joints, possibly of mixed units."""
    first = int(model.tendon_adr[tendon])
    return int(model.wrap_type[first]) == int(mujoco.mjtWrap.mjWRAP_JOINT)


def _by_joint(model: mujoco.MjModel, joint: int, units: tuple[str, str]) -> str:
    """The first unit for a hinge, the second for a slide."""
    kinds = {int(mujoco.mjtJoint.mjJNT_HINGE): units[0], int(mujoco.mjtJoint.mjJNT_SLIDE): units[1]}
    return kinds.get(int(model.jnt_type[joint]), "")
