"""Ranges of a model that a recording is compared with: of controls, forces and joints.

A model whose servo clips commands, or whose joint ends earlier, than the robot's predicts another
motion, and no friction or inertia explains the difference.
"""

from collections.abc import Mapping
from dataclasses import replace

import mujoco

from trueup.signals.checks.recorded import Limit
from trueup.simulation.targets.actuator_types import command_quantity

_ON_JOINT = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
_LIMITED = "a simulation limits the torque there"
_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


def control_limits(model: mujoco.MjModel, channels: Mapping[str, str]) -> dict[str, Limit]:
    """Ranges of controls, by channel: those of the control, or of the force of a motor.

    Args:
      model: the model.
      channels: channel of each actuator with a recorded control.
    """
    out = {}
    clamped = not int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)
    for actuator, channel in channels.items():
        i = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, actuator)
        if clamped and model.actuator_ctrllimited[i]:
            low, high = (float(v) for v in model.actuator_ctrlrange[i])
            out[channel] = Limit(
                low,
                high,
                f"the ctrlrange of the actuator {actuator}",
                "a simulation clips the command there",
                f"actuator/{actuator}/ctrlrange",
                "commands beyond the ctrlrange of the model",
            )
        elif command_quantity(model, i) == "effort":
            joint = _joint_of(model, i)
            limit = force_limit(model, joint) if joint >= 0 else None
            gain = float(model.actuator_gainprm[i, 0]) * float(model.actuator_gear[i, 0])
            if limit is not None and gain > 0:
                low, high = limit.low / gain, limit.high / gain
                out[channel] = replace(limit, low=low, high=high, target="")
    return out


def position_limits(model: mujoco.MjModel, channels: Mapping[int, str]) -> dict[str, Limit]:
    """Ranges of joints, by channel of their positions.

    Args:
      model: the model.
      channels: channel with the position of each joint.
    """
    out = {}
    for joint, channel in channels.items():
        if not model.jnt_limited[joint] or int(model.jnt_type[joint]) not in _SCALAR:
            continue
        low, high = (float(v) for v in model.jnt_range[joint])
        name = model.joint(joint).name
        out[channel] = Limit(
            low,
            high,
            f"the range of the joint {name}",
            "a simulation stops it there. Check unit, scale and offset of the column",
            f"joint/{name}/range",
        )
    return out


def force_limit(model: mujoco.MjModel, joint: int) -> Limit | None:
    """Smallest limit of the torque or force of a joint; None if there is none.

    Args:
      model: the model.
      joint: a joint.
    """
    found: list[Limit] = []
    name = model.joint(joint).name
    if model.jnt_actfrclimited[joint]:
        low, high = (float(v) for v in model.jnt_actfrcrange[joint])
        what = f"the actuatorfrcrange of the joint {name}"
        found.append(Limit(low, high, what, _LIMITED, f"joint/{name}/actfrcrange"))
    own = [i for i in range(model.nu) if _joint_of(model, i) == joint]
    if len(own) == 1 and model.actuator_forcelimited[own[0]]:
        gear = abs(float(model.actuator_gear[own[0], 0]))
        low, high = (gear * float(v) for v in model.actuator_forcerange[own[0]])
        actuator = model.actuator(own[0]).name
        what = f"the forcerange of the actuator {actuator}"
        target = f"actuator/{actuator}/forcerange" if gear == 1.0 else ""
        found.append(Limit(low, high, what, _LIMITED, target))
    return min(found, key=lambda limit: limit.high - limit.low, default=None)


def commanded_positions(
    model: mujoco.MjModel, controls: Mapping[str, str], positions: Mapping[int, str]
) -> dict[str, str]:
    """Channel of the position that each commanded position moves.

    Args:
      model: the model.
      controls: channel of each actuator with a recorded control.
      positions: channel with the position of each joint.
    """
    out = {}
    for actuator, channel in controls.items():
        i = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, actuator)
        joint = _joint_of(model, i)
        if joint in positions and command_quantity(model, i) == "position":
            out[channel] = positions[joint]
    return out


def _joint_of(model: mujoco.MjModel, actuator: int) -> int:
    """Joint that an actuator drives; -1 for another transmission."""
    if int(model.actuator_trntype[actuator]) not in _ON_JOINT:
        return -1
    return int(model.actuator_trnid[actuator, 0])
