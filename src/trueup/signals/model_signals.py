"""Signals of a MuJoCo model by name: sensors, joint and free-body states, controls.

Free joints carry the name of their body, other joints their own name, actuators theirs, each with
the suffix of its quantity: ``hip_qpos``, ``hip_qvel``, ``muscle_act``, ``motor_ctrl``. An element
without a name is called ``unnamed_joint_3`` and so on.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trueup.errors import SignalError, did_you_mean, listing
from trueup.signals.signal_type import SignalMapping, SignalType

if TYPE_CHECKING:
    import mujoco

SignalName: TypeAlias = str | tuple[str, SignalType]
"""A signal by name, or by name and type where a name alone is ambiguous."""

SUFFIX = {
    SignalType.MjSensor: "",
    SignalType.MjCtrl: "_ctrl",
    SignalType.MjStateQPos: "_qpos",
    SignalType.MjStateQVel: "_qvel",
    SignalType.MjStateAct: "_act",
}
"""Ending of a signal's name, in the order in which a bare name is tried."""

OBSERVATION_TYPES = (
    SignalType.MjSensor,
    SignalType.MjStateQPos,
    SignalType.MjStateQVel,
    SignalType.MjStateAct,
)


def sensor_mapping(model: mujoco.MjModel) -> SignalMapping:
    """Return every sensor with its columns in ``mjData.sensordata``."""
    return {
        _name(model, "SENSOR", sensor): (
            SignalType.MjSensor,
            np.arange(address, address + width),
        )
        for sensor, (address, width) in enumerate(
            zip(model.sensor_adr.tolist(), model.sensor_dim.tolist())
        )
    }


def control_mapping(model: mujoco.MjModel) -> SignalMapping:
    """Return every actuator with its column in ``mjData.ctrl``, as ``<actuator>_ctrl``."""
    return {
        _name(model, "ACTUATOR", actuator) + "_ctrl": (SignalType.MjCtrl, np.array([actuator]))
        for actuator in range(model.nu)
    }


def state_mappings(
    model: mujoco.MjModel,
) -> tuple[SignalMapping, SignalMapping, SignalMapping, SignalMapping]:
    """Return the mappings of positions, velocities, activations and controls.

    Columns of the first three count in the state ``(qpos, qvel, act)`` without the leading time of
    a full-physics state.
    """
    import mujoco

    qpos: SignalMapping = {}
    qvel: SignalMapping = {}
    act: SignalMapping = {}
    free, ball = mujoco.mjtJoint.mjJNT_FREE.value, mujoco.mjtJoint.mjJNT_BALL.value
    widths = {free: (7, 6), ball: (4, 3)}
    types = model.jnt_type.tolist()
    # Free bodies come first, as in the toolbox, because reports list signals in this order.
    for joint in sorted(range(model.njnt), key=lambda joint: types[joint] != free):
        name = _joint_name(model, joint)
        width_qpos, width_qvel = widths.get(types[joint], (1, 1))
        start = int(model.jnt_qposadr[joint])
        qpos[name + "_qpos"] = (SignalType.MjStateQPos, np.arange(start, start + width_qpos))
        start = int(model.jnt_dofadr[joint]) + model.nq
        qvel[name + "_qvel"] = (SignalType.MjStateQVel, np.arange(start, start + width_qvel))
    for actuator in range(model.nactuator):
        start = int(model.actuator_actadr[actuator])
        if start >= 0:
            start += model.nq + model.nv
            columns = np.arange(start, start + int(model.actuator_actnum[actuator]))
            act[_name(model, "ACTUATOR", actuator) + "_act"] = (SignalType.MjStateAct, columns)
    return qpos, qvel, act, control_mapping(model)


def resolve_signals(
    model: mujoco.MjModel, names: Sequence[SignalName], allowed: Collection[SignalType]
) -> SignalMapping:
    """Return the mapping of data whose columns are the named signals, one after the other.

    Args:
        model: the model whose sensors, joints, bodies and actuators the names refer to.
        names: signal names, with or without the suffix of their quantity.
        allowed: types that may be named.

    Raises:
        SignalError: unknown name, a type that is not allowed, or a name given twice.
    """
    if isinstance(names, str):
        raise SignalError(f"names must be a list of names, found the string {names!r}.")
    known = _known_signals(model)
    mapping: SignalMapping = {}
    start = 0
    for item in names:
        name, signal_type, width = _resolve(model, item, known, allowed)
        if name in mapping:
            raise SignalError(
                f"Signal {name!r} is named twice: each signal may occur once. "
                "Give (name, SignalType) where one name is ambiguous."
            )
        mapping[name] = (signal_type, np.arange(start, start + width))
        start += width
    return mapping


def _known_signals(model: mujoco.MjModel) -> dict[SignalType, SignalMapping]:
    qpos, qvel, act, ctrl = state_mappings(model)
    return {
        SignalType.MjSensor: sensor_mapping(model),
        SignalType.MjCtrl: ctrl,
        SignalType.MjStateQPos: qpos,
        SignalType.MjStateQVel: qvel,
        SignalType.MjStateAct: act,
    }


def _resolve(
    model: mujoco.MjModel,
    item: SignalName,
    known: dict[SignalType, SignalMapping],
    allowed: Collection[SignalType],
) -> tuple[str, SignalType, int]:
    name, hint = item if isinstance(item, tuple) else (item, None)
    if hint is not None and hint not in allowed:
        raise SignalError(
            f"Signal {name!r} has type {hint.name}, which is not allowed here: expected "
            f"{listing(t.name for t in allowed)}. Controls go to from_control_names, sensors and "
            "states to from_names."
        )
    for signal_type, suffix in SUFFIX.items():
        if signal_type not in allowed or hint not in (None, signal_type):
            continue
        signals = known[signal_type]
        spellings = [name, name + suffix]
        if signal_type in (SignalType.MjStateQPos, SignalType.MjStateQVel):
            spellings.append(_free_body(model, name.removesuffix(suffix)) + suffix)
        for full in spellings:
            if full in signals:
                return full, signal_type, len(signals[full][1])
    candidates = [
        candidate
        for signal_type, signals in known.items()
        if signal_type in allowed and hint in (None, signal_type)
        for candidate in signals
    ]
    raise SignalError(
        f"Could not resolve signal {name!r} among the model's "
        f"{listing(t.name for t in allowed) if hint is None else hint.name}."
        f"{did_you_mean(name, candidates)} Available names: {listing(candidates)}."
    )


def _free_body(model: mujoco.MjModel, joint_name: str) -> str:
    """Return the name that a free joint's signals carry, or the name unchanged."""
    import mujoco

    joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT.value, joint_name)
    return _joint_name(model, joint) if joint >= 0 else joint_name


def _joint_name(model: mujoco.MjModel, joint: int) -> str:
    import mujoco

    if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
        body = mujoco.mj_id2name(
            model, mujoco.mjtObj.mjOBJ_BODY.value, int(model.jnt_bodyid[joint])
        )
        if body:
            return body
    return _name(model, "JOINT", joint)


def _name(model: mujoco.MjModel, kind: str, index: int) -> str:
    import mujoco

    found = mujoco.mj_id2name(model, getattr(mujoco.mjtObj, f"mjOBJ_{kind}").value, index)
    return found or f"unnamed_{kind.lower()}_{index}"
