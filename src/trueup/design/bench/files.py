"""Files of designed logs: motion, and a trajectory per log for ``trueup actuator record``."""

import io
from collections.abc import Sequence

import numpy as np

from trueup.actuators.bench.simulator import Rollouts
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.record.trajectory_file import write_trajectory
from trueup.design.motion.files import MOTION, read_arrays
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory

_KEYS = ("times", "goals", "enable", "positions")


def record_command(log: ServoLog) -> str:
    """Command that records a designed log, in the folder of its trajectory."""
    arm = f" --arm-mass {log.arm_mass:g}" if log.arm_mass else ""
    return (
        f"trueup actuator record --port PORT --actuator {log.motor} --mass {log.mass:g} "
        f"--length {log.length:g}{arm} --kp {log.kp:g} --trajectory {log.name}.csv "
        f"--output raw/{log.name}.json"
    )


def write_plan(directory: RunDirectory, logs: Sequence[ServoLog], motion: Rollouts) -> None:
    """Write a trajectory per log, and ``motion.npz`` with goals and simulated angles.

    Args:
      directory: run directory.
      logs: designed logs.
      motion: their motion with the fitted servo.
    """
    for log in logs:
        path = directory.inside(f"{log.name}.csv")
        write_trajectory(path, log.times, log.goal_position, log.torque_enable)
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        times=logs[0].times,
        goals=np.stack([log.goal_position for log in logs]),
        enable=np.stack([log.torque_enable for log in logs]),
        positions=np.stack([position[0] for position in motion.position]),
    )
    atomic.write_bytes(directory.inside(MOTION), buffer.getvalue())


def read_plan(directory: RunDirectory) -> dict[str, np.ndarray]:
    """Content of ``motion.npz``: times ``(T,)``, the others ``(logs, T)``.

    Raises:
      RunDirectoryError: the file is missing or damaged.
    """
    return read_arrays(directory, _KEYS)
