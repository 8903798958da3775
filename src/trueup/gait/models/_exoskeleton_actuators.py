"""Actuators of an exoskeleton: joint torque per control."""

from collections.abc import Sequence

import mujoco
import numpy as np

from trueup.errors import GaitError

_GAIN, _BIAS, _DYNAMICS = mujoco.mjtGain, mujoco.mjtBias, mujoco.mjtDyn
_TRANSMISSION, _JOINT = mujoco.mjtTrn, mujoco.mjtJoint


def torque_of_control(model: mujoco.MjModel, ids: Sequence[int]) -> np.ndarray:
    """Torque per unit of control ``(n,)`` [N m]: gain times gear.

    Torques are positive in the direction of the device: the result is negative where this requires
    negative controls. The sign of gain times gear is the direction at the joint.
    """
    worth = np.abs(model.actuator_gainprm[ids, 0] * model.actuator_gear[ids, 0])
    return np.where(model.actuator_ctrlrange[ids, 0] < 0.0, -1.0, 1.0) * worth


def largest_torque(model: mujoco.MjModel, i: int) -> float:
    """Largest torque of an actuator in its direction [N m]; infinite without a limit."""
    backwards = bool(model.actuator_ctrlrange[i, 0] < 0.0)
    limits = [np.inf]
    if model.actuator_ctrllimited[i]:
        control = np.abs(model.actuator_ctrlrange[i, 0 if backwards else 1])
        limits.append(float(control * abs(torque_of_control(model, [i])[0])))
    if model.actuator_forcelimited[i]:
        pulls = backwards != bool(model.actuator_gainprm[i, 0] < 0.0)
        force = -model.actuator_forcerange[i, 0] if pulls else model.actuator_forcerange[i, 1]
        limits.append(float(max(force, 0.0) * abs(model.actuator_gear[i, 0])))
    return min(limits)


def check_actuators(model: mujoco.MjModel, ids: Sequence[int], source: str) -> None:
    """Raise GaitError for an actuator that is not a motor (torque proportional to control)."""
    for i in ids:
        wrong = []
        kind = _TRANSMISSION(model.actuator_trntype[i])
        joint = int(model.actuator_trnid[i, 0])
        if kind != _TRANSMISSION.mjTRN_JOINT:
            wrong.append(f"its transmission is {_word(kind)}")
        elif model.jnt_type[joint] != _JOINT.mjJNT_HINGE:
            wrong.append(f"its joint is {_word(_JOINT(model.jnt_type[joint]))}")
        if model.actuator_gaintype[i] != _GAIN.mjGAIN_FIXED:
            wrong.append(f"its gain is {_word(_GAIN(model.actuator_gaintype[i]))}")
        if model.actuator_biastype[i] != _BIAS.mjBIAS_NONE:
            wrong.append(f"its bias is {_word(_BIAS(model.actuator_biastype[i]))}")
        if model.actuator_dyntype[i] != _DYNAMICS.mjDYN_NONE:
            wrong.append(f"its dynamics are {_word(_DYNAMICS(model.actuator_dyntype[i]))}")
        if not wrong and torque_of_control(model, [i])[0] == 0.0:
            wrong.append("its gain times its gear is 0")
        if wrong:
            raise GaitError(
                f"the actuator {model.actuator(i).name!r} of {source} cannot be driven as an "
                f"exoskeleton: {', '.join(wrong)}. Make it a <motor> of a hinge joint (gain fixed, "
                "no bias, no dynamics), or walk without the exoskeleton"
            )


def _word(kind: object) -> str:
    """Name of a kind in MuJoCo's XML: mjTRN_TENDON is a tendon."""
    return str(getattr(kind, "name", kind)).rpartition("_")[2].lower()
