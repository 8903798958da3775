"""Joints of a model that a log says nothing about, such as those of a gripper that was not used."""

import mujoco

from trueup.sysid.importing.columns.joint_families import JointLog
from trueup.sysid.importing.columns.matching import joint_of_actuator

_LOOPS = (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))
_OF_JOINTS = int(mujoco.mjtEq.mjEQ_JOINT)
_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


def joints_at_rest(model: mujoco.MjModel, log: JointLog) -> list[str]:
    """Driven joints without a column, and those that follow them, by name.

    A joint without an actuator may swing, and one in a closed chain follows others: neither is at
    rest because it was not recorded. A log without any column of a drive says nothing either.

    Args:
      model: the compiled model.
      log: joints of the log with their columns.
    """
    recorded = {joint for joint in log.joints.values() if joint >= 0}
    if not recorded or any(int(kind) in _LOOPS for kind in model.eq_type) or model.ntendon:
        return []
    driven = {joint_of_actuator(model, i) for i in range(model.nu)} - {-1}
    at_rest = {
        j for j in driven - recorded if int(model.jnt_type[j]) in _SCALAR and model.joint(j).name
    }
    pairs = [
        {int(model.eq_obj1id[k]), int(model.eq_obj2id[k])} - {-1}
        for k in range(model.neq)
        if int(model.eq_type[k]) == _OF_JOINTS
    ]
    if any(pair & at_rest and pair & recorded for pair in pairs):
        return []  # a measured joint says where they are
    for _ in pairs:
        for pair in pairs:
            if pair & at_rest:
                at_rest |= pair
    return [model.joint(j).name for j in sorted(at_rest)] if driven & recorded else []
