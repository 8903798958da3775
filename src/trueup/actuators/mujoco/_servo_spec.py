"""The model that servos run in: joints without friction of their own, channels for commands."""

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np

from trueup.simulation.control._joint_channels import with_channels


def with_servos(
    spec: Any, armatures: Mapping[str, float], channels: tuple[str, ...]
) -> tuple[Any, dict[str, dict[str, str]]]:
    """A copy of a spec whose joints move as servos let them.

    An actuator that acts on a joint already becomes the channel of its goal: its name, its place
    among the controls and the range of its control stay, its force goes. Damping, frictionloss and
    force limit of the joints go too, and the armature becomes that of the servo: a servo brings its
    own.

    Args:
      spec: the model; left as it is.
      armatures: joint -> armature [kg m2].
      channels: further channels of each joint, by suffix.

    Returns:
      The copy, and for ``"goal"``, ``"motor"`` and each channel: joint -> name of the actuator.

    Raises:
      LawError: a joint does not exist, or has several actuators.
      ModelError: the spec does not compile.
    """
    copy, names = with_channels(spec, armatures, channels, "a servo")
    for joint in copy.joints:
        if joint.name in armatures:
            joint.armature, joint.frictionloss = armatures[joint.name], 0.0
            joint.damping = np.zeros_like(joint.damping)
            joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE
    torque_off = names.get("torque_off", {}).values()
    for actuator in copy.actuators:
        if actuator.name in torque_off:
            actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_TRUE
            actuator.ctrlrange = [0.0, 1.0]
    return copy, names
