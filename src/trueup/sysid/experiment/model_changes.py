"""Changes of a model by an experiment: type of its actuators, fixed base."""

from typing import Any

import mujoco

from trueup.errors import ExperimentError, did_you_mean, listing
from trueup.sysid.experiment.settings import ModelPart

_ON_JOINTS = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
_SCALAR = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)


def change_model(spec: Any, part: ModelPart) -> None:
    """Apply the base and the actuators of an experiment to a model.

    Raises:
      ExperimentError: a gain of an unknown actuator, no actuator on a joint, an unknown joint, or a
        base to fix that is not free.
    """
    if part.base == "fixed":
        _fix_base(spec)
    if part.actuators is None:
        return
    changed = _by_joint(spec, part) if isinstance(part.actuators, dict) else _all(spec, part)
    names = [a.name for a, _ in changed]
    for actuator, kind in changed:
        if kind == "torque":
            _make_motor(spec, actuator)
        else:
            kp = _gain(part.kp, actuator.name, names, "kp")
            _make_servo(actuator, kp, _gain(part.kd, actuator.name, names, "kd"))
    # controls of a keyframe are those of the original actuators
    for key in list(spec.keys):
        key.ctrl = [0.0] * len(list(spec.actuators))


def _all(spec: Any, part: ModelPart) -> list[tuple[Any, str]]:
    """All actuators on joints, or a new one for each joint, with their type."""
    if not list(spec.actuators):
        for joint in spec.joints:
            if joint.type in _SCALAR and joint.name:
                _add(spec, joint.name)
    changed = [a for a in spec.actuators if a.trntype in _ON_JOINTS]
    if not changed:
        raise ExperimentError(
            f"model.actuators is {part.actuators}, but no actuator of the model drives a joint; "
            f"its actuators are {listing(a.name for a in spec.actuators)}. Give the joints, as in "
            f"actuators: {{JOINT: {part.actuators}}}"
        )
    return [(a, str(part.actuators)) for a in changed]


def _by_joint(spec: Any, part: ModelPart) -> list[tuple[Any, str]]:
    """One actuator for each of the given joints, with its type."""
    assert isinstance(part.actuators, dict)
    joints = [j.name for j in spec.joints if j.type in _SCALAR]
    changed = []
    for joint, kind in part.actuators.items():
        if joint not in joints:
            raise ExperimentError(
                f"model.actuators names an unknown joint {joint!r}; hinges and slides of the "
                f"model are {listing(joints)}.{did_you_mean(joint, joints)}"
            )
        own = [a for a in spec.actuators if a.trntype in _ON_JOINTS and a.target == joint]
        # two terms of one law, such as a position and a velocity actuator, become one
        for other in own[1:]:
            spec.delete(other)
        changed.append((own[0] if own else _add(spec, joint), kind))
    return changed


def _add(spec: Any, joint: str) -> Any:
    taken = {a.name for a in spec.actuators}
    if joint in taken:
        raise ExperimentError(
            f"model.actuators: the joint {joint!r} needs an actuator, but another one has this "
            "name; rename it in the model file"
        )
    return spec.add_actuator(name=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT, target=joint)


def _fix_base(spec: Any) -> None:
    free = [j for j in spec.joints if j.type == mujoco.mjtJoint.mjJNT_FREE]
    if not free:
        raise ExperimentError("model.base is fixed, but the model has no free joint to remove")
    for joint in free:
        spec.delete(joint)
    # their qpos has another length
    for key in list(spec.keys):
        spec.delete(key)


def _clear(actuator: Any) -> None:
    # also remove states and inputs of the original type
    actuator.set_to_motor()
    # affine, so that a constant torque offset can be a target: biasprm/0
    actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
    actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_FALSE


def _make_motor(spec: Any, actuator: Any) -> None:
    _clear(actuator)
    # no limit: a recorded torque was applied. A URDF limits the joint by its effort
    actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_FALSE
    spec.joint(actuator.target).actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE


def _make_servo(actuator: Any, kp: float, kd: float) -> None:
    _clear(actuator)
    actuator.gainprm = [kp, *list(actuator.gainprm)[1:]]
    actuator.biasprm = [0.0, -kp, -kd, *list(actuator.biasprm)[3:]]


def _gain(given: float | dict[str, float] | None, name: str, names: list[str], what: str) -> float:
    if isinstance(given, dict):
        unknown = [n for n in given if n not in names]
        if unknown:
            raise ExperimentError(
                f"model.{what} names an unknown actuator {unknown[0]!r}; actuators on joints are "
                f"{listing(names)}.{did_you_mean(unknown[0], names)}"
            )
        if name not in given:
            raise ExperimentError(
                f"model.{what} has no value for the actuator {name!r}: give one for each of "
                f"{listing(names)}"
            )
        return given[name]
    return 0.0 if given is None else given
