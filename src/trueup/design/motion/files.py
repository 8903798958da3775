"""Files of a designed motion: CSV, a ROS 2 JointTrajectory, a LeRobot data set."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueup import _input_files
from trueup._input_files import DAMAGED_ARCHIVE
from trueup.errors import ReportError, RunDirectoryError
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory

CSV, ROS2, LEROBOT = "motion.csv", "motion_ros2.yaml", "motion_lerobot"
MOTION = "motion.npz"
"""File of the motion for the report."""


def write_csv(path: Path, rate: float, actuators: Sequence[str], controls: np.ndarray) -> Path:
    """Write times [s] and one column per actuator, in the unit of its control."""
    times = np.arange(len(controls)) / rate
    lines = [",".join(["t", *actuators])]
    table = np.column_stack([times, controls])
    lines += [",".join(f"{value:.9g}" for value in row) for row in table]
    return atomic.write_text(path, "\n".join(lines) + "\n")


def write_ros2(path: Path, rate: float, joints: Sequence[str], commands: np.ndarray) -> Path:
    """Write a ``trajectory_msgs/msg/JointTrajectory`` as YAML: positions, speeds, accelerations.

    For ``ros2 topic pub --once /CONTROLLER/joint_trajectory``. The first point is
    the start pose of the robot.
    """
    speed = np.gradient(commands, 1.0 / rate, axis=0)
    acceleration = np.gradient(speed, 1.0 / rate, axis=0)
    speed[[0, -1]] = acceleration[[0, -1]] = 0.0
    names = ", ".join(json.dumps(joint) for joint in joints)
    lines = [f"joint_names: [{names}]", "points:"]
    for k, place in enumerate(commands):
        nanoseconds = round(k * 1e9 / rate)
        parts = [
            f"{key}: [{', '.join(f'{value:.9g}' for value in values)}]"
            for key, values in (
                ("positions", place),
                ("velocities", speed[k]),
                ("accelerations", acceleration[k]),
            )
        ]
        clock = f"{{sec: {nanoseconds // 10**9}, nanosec: {nanoseconds % 10**9}}}"
        lines.append(f"- {{{', '.join(parts)}, time_from_start: {clock}}}")
    return atomic.write_text(path, "\n".join(lines) + "\n")


def write_lerobot(
    path: Path, rate: float, joints: Sequence[str], commands: np.ndarray, task: str
) -> Path | None:
    """Write a LeRobot data set of version 3 with one episode of actions, angles in degrees.

    Returns:
      The folder; None if pyarrow is not installed.

    Raises:
      ReportError: the folder cannot be written.
    """
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        return None
    count = len(commands)
    values = np.degrees(commands).astype(np.float32)
    names = [f"{joint}.pos" for joint in joints]
    frames = {
        "action": arrow.array(list(values), arrow.list_(arrow.float32(), len(joints))),
        "timestamp": (np.arange(count) / rate).astype(np.float32),
        "frame_index": np.arange(count),
        "episode_index": np.zeros(count, int),
        "index": np.arange(count),
        "task_index": np.zeros(count, int),
    }
    scalars = {
        name: {"dtype": "float32" if name == "timestamp" else "int64", "shape": [1], "names": None}
        for name in frames
        if name != "action"
    }
    info: dict[str, Any] = {
        "codebase_version": "v3.0",
        "robot_type": "trueup",
        "total_episodes": 1,
        "total_frames": count,
        "total_tasks": 1,
        "chunks_size": 1000,
        "fps": round(rate),
        "splits": {"train": "0:1"},
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": None,
        "features": {
            "action": {"dtype": "float32", "shape": [len(joints)], "names": names},
            **scalars,
        },
    }
    episode = {
        "episode_index": [0],
        "tasks": [[task]],
        "length": [count],
        "data/chunk_index": [0],
        "data/file_index": [0],
        "dataset_from_index": [0],
        "dataset_to_index": [count],
        "meta/episodes/chunk_index": [0],
        "meta/episodes/file_index": [0],
    }
    ends = {"min": values.min(axis=0), "max": values.max(axis=0), "mean": values.mean(axis=0)}
    statistics = {key: value.tolist() for key, value in ends.items()}
    statistics |= {"std": values.std(axis=0).tolist(), "count": [count]}
    tables = {
        "data/chunk-000/file-000.parquet": frames,
        "meta/episodes/chunk-000/file-000.parquet": episode,
        "meta/tasks.parquet": {"task": [task], "task_index": [0]},
    }
    try:
        for name, columns in tables.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            parquet.write_table(arrow.table(columns), path / name)
        atomic.write_text(path / "meta" / "stats.json", json.dumps({"action": statistics}))
        # this file marks the folder as a complete data set for readers
        atomic.write_text(path / "meta" / "info.json", json.dumps(info, indent=2))
    except OSError as error:
        raise ReportError(f"{path} cannot be written: {error}") from error
    return path


def read_motion(directory: RunDirectory) -> dict[str, np.ndarray]:
    """Content of ``motion.npz``.

    Raises:
      RunDirectoryError: the file is missing or damaged.
    """
    return read_arrays(directory, ("times", "commands", "strip"))


def read_arrays(directory: RunDirectory, keys: Sequence[str]) -> dict[str, np.ndarray]:
    """Arrays of ``motion.npz`` by name.

    Raises:
      RunDirectoryError: the file is missing or damaged.
    """
    path = directory.inside(MOTION)
    try:
        file = _input_files.read_arrays(path)
        return {key: file[key] for key in keys}
    except DAMAGED_ARCHIVE as error:
        raise RunDirectoryError(
            f"{path} is missing or damaged ({error}): restore it with  trueup study resume "
            f"{directory.path}"
        ) from error
