"""Start of a designed recording: at rest in its pose, with unknown joint positions."""

import mujoco

from trueup.design.robot.designed_robot import DesignedRobot
from trueup.sysid.experiment.settings import InitialState, ParameterPart

_REACH = (
    0.1  # range to both sides of the simulated position, for effects of friction and load [rad, m]
)

_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


def start_of(robot: DesignedRobot, recording: str) -> tuple[InitialState, dict[str, ParameterPart]]:
    """Initial state at rest, with unknown positions of the joints with a measured position.

    The speed at rest is known; an estimate from the first noisy samples would be worse.

    Args:
      robot: the robot.
      recording: name of the recording.
    """
    model, qpos = robot.model, robot.state[1 : 1 + robot.model.nq]
    places = {
        model.joint(j).name: float(qpos[int(model.jnt_qposadr[j])])
        for j in range(model.njnt)
        if int(model.jnt_type[j]) in _SCALAR and model.joint(j).name
    }
    sensed = {
        model.joint(int(model.sensor_objid[i])).name
        for i in range(model.nsensor)
        if int(model.sensor_type[i]) == int(mujoco.mjtSensor.mjSENS_JOINTPOS)
        and model.sensor(i).name in robot.signals
    }
    sensed |= {joint for joint in robot.joints if f"{joint}_qpos" in robot.signals}
    unknown = {
        f"start_{joint}_{recording}": ParameterPart(
            target=f"state/{joint}/qpos@{recording}",
            start=places[joint],
            bounds=(places[joint] - _REACH, places[joint] + _REACH),
        )
        for joint in robot.joints
        if joint in sensed
    }
    return InitialState(qpos=places), unknown


def is_start(part: ParameterPart) -> bool:
    """Whether an unknown is an initial state and not a parameter of the robot."""
    targets = part.target if isinstance(part.target, list) else [part.target or ""]
    return all(target.startswith("state/") for target in targets)
