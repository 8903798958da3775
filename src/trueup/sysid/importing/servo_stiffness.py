"""Start values for the stiffness of servos that neither the model nor the log has."""

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np

from trueup.sysid.importing.evidence.reading import JointSeries, Reading, values_of
from trueup.sysid.importing.proposed_parameters import ProposedParameter, rounded
from trueup.sysid.torque.link_regressor import link_regressor, parameters_of

_WIDE = 30.0  # bounds of a stiffness, as a factor of its start
_SAMPLES = 2000  # maximum number of compared samples
_BANDWIDTH = 2 * np.pi * 3.0  # assumed bandwidth of a servo whose log does not show it [rad/s]


def propose_stiffness(
    robot: mujoco.MjModel,
    readings: Sequence[Reading],
    series: JointSeries,
    actuators: Mapping[int, str],
) -> dict[int, ProposedParameter]:
    """Unknown stiffness of the servos of some joints, by joint.

    The start is the slope of the torque that the links need over the error of the command, with
    friction and damping beside it.

    Args:
      robot: the robot.
      readings: interpretation of the columns of the joints.
      series: their series.
      actuators: name of the servo by joint.
    """
    rows = slice(None, None, max(1, len(series.times) // _SAMPLES))
    moves = len(series.times) > 10 and bool(np.all(np.diff(series.times) > 0))
    torque, speed = _needed_torque(robot, readings, series, rows) if moves else (None, None)
    out = {}
    for k, r in enumerate(readings):
        if r.joint not in actuators:
            continue
        dof = int(robot.jnt_dofadr[r.joint])
        start = float(robot.dof_M0[dof]) * _BANDWIDTH**2
        if series.command is not None and torque is not None and speed is not None:
            position = values_of(r, series.position[rows, k])
            error = values_of(r, series.command[rows, k]) - position
            basis = np.column_stack(
                [error, speed[:, dof], np.tanh(speed[:, dof] / 0.05), np.ones(len(error))]
            )
            slope = float(np.linalg.lstsq(basis, torque[:, dof], rcond=None)[0][0])
            start = slope if slope > 0 else start
        name, turning = actuators[r.joint], int(robot.jnt_type[r.joint])
        unit = "N m/rad" if turning == int(mujoco.mjtJoint.mjJNT_HINGE) else "N/m"
        start = rounded(max(start, 1e-6), 3)
        out[r.joint] = ProposedParameter(
            f"{name.replace('/', '_')}_kp",
            f"actuator/{name}/kp",
            start,
            rounded(start / _WIDE),
            rounded(start * _WIDE),
            True,
            unit,
        )
    return out


def _needed_torque(
    robot: mujoco.MjModel, readings: Sequence[Reading], series: JointSeries, rows: slice
) -> tuple[np.ndarray, np.ndarray]:
    """Torque of the links at some rows of the recorded motion, and speed, both ``(T, nv)``."""
    width = max(3, len(series.times) // 300) | 1
    count = len(series.times[rows])
    qpos = np.tile(robot.qpos0, (count, 1))
    speed, acceleration = np.zeros((count, robot.nv)), np.zeros((count, robot.nv))
    for k, r in enumerate(readings):
        dof = int(robot.jnt_dofadr[r.joint])
        position = _mean(values_of(r, series.position[:, k]), width)
        velocity = _mean(np.gradient(position, series.times), width)
        qpos[:, robot.jnt_qposadr[r.joint]] = position[rows]
        speed[:, dof] = velocity[rows]
        acceleration[:, dof] = np.gradient(velocity, series.times)[rows]
    if robot.nv != robot.njnt:
        return acceleration * robot.dof_M0, speed
    return link_regressor(robot, qpos, speed, acceleration) @ parameters_of(robot), speed


def _mean(values: np.ndarray, width: int) -> np.ndarray:
    """Moving mean over an odd number of samples."""
    padded = np.pad(values, width // 2, mode="edge")
    return np.convolve(padded, np.ones(width) / width, "valid")
