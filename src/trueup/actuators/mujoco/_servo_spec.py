"""Model for servos: joints without passive friction, and channels for commands."""

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np

from trueup.simulation.control._joint_channels import with_channels


def with_servos(
    spec: Any, armatures: Mapping[str, float], channels: tuple[str, ...]
) -> tuple[Any, dict[str, dict[str, str]]]:
    """Copy of a spec with joints prepared for servos.

    An existing actuator of a joint becomes the channel of its goal: it keeps its name, its place
    among the controls and its control range, and loses its force. Damping, frictionloss and
    force limit of the joints are removed, and the armature is set to that of the servo, because the
    servo model includes all of these.

    Args:
      spec: the model; not modified.
      armatures: joint -> armature [kg m2].
      channels: additional channels of each joint, by suffix.

    Returns:
      The copy, and for ``"goal"``, ``"motor"`` and each channel: joint -> name of the actuator.

    Raises:
      LawError: unknown joint, or has several actuators.
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
