"""Custom trajectories in CSV files: time, goal and torque enable."""

import os
from pathlib import Path

import numpy as np

from trueup.actuators.logs.servo_log import Array
from trueup.actuators.record.trajectories import trajectory_named
from trueup.actuators.record.trajectory import Trajectory
from trueup.errors import RecordingError, did_you_mean, listing
from trueup.runs.store import atomic
from trueup.signals.readers.delimited import read_delimited

COLUMNS = ("t", "goal_position", "torque_enable")
"""Columns of a trajectory file: time [s], goal [rad], 1 while the servo is driven."""


def write_trajectory(
    path: str | os.PathLike[str], times: Array, goals: Array, enable: np.ndarray
) -> Path:
    """Write a trajectory that :func:`read_trajectory` and ``trueup actuator record`` read.

    Args:
        path: CSV file to write.
        times: times [s], ``(n,)``, from 0.
        goals: goals [rad], ``(n,)``.
        enable: whether the servo is driven, ``(n,)``.
    """
    rows = zip(times, goals, enable, strict=True)
    lines = [",".join(COLUMNS), *(f"{t:.6g},{goal:.9g},{int(on)}" for t, goal, on in rows)]
    return atomic.write_text(path, "\n".join(lines) + "\n")


def read_trajectory(path: str | os.PathLike[str]) -> Trajectory:
    """Read a trajectory from a CSV file with the columns of :data:`COLUMNS`.

    Goals are interpolated between the times of the file, torque enables held; without the column
    ``torque_enable`` the servo is driven throughout. The trajectory has the name of the file.

    Raises:
        RecordingError: the file is missing, or is not a trajectory.
    """
    path = Path(path)
    table = _table(path)
    lacking = [name for name in COLUMNS[:2] if name not in table]
    if lacking:
        raise RecordingError(
            f"{path} is not a trajectory: the column {lacking[0]!r} is missing. A trajectory file "
            f"has the columns {', '.join(COLUMNS)}, this file has {', '.join(table) or 'none'}"
        )
    unknown = [name for name in table if name not in COLUMNS]
    if unknown:
        raise RecordingError(
            f"{path} is not a trajectory: unknown column {unknown[0]!r}; columns of a trajectory "
            f"file are {listing(COLUMNS)}.{did_you_mean(unknown[0], COLUMNS)}"
        )
    times, goals = table["t"], table["goal_position"]
    enable = table.get("torque_enable", np.ones(len(times))) > 0.5
    if len(times) < 2 or times[0] != 0.0 or not (np.diff(times) > 0).all():
        raise RecordingError(
            f"{path} is not a trajectory: its times must start at 0 and increase strictly"
        )

    def angle(at: Array) -> Array:
        return np.interp(at, times, goals)

    return Trajectory(
        path.stem, float(times[-1]), f"Read from {path}.", angle, limp=_limp(times, enable)
    )


def trajectory_of(word: str) -> Trajectory:
    """Trajectory by name, or from a file if ``word`` ends with ``.csv``.

    Raises:
        RecordingError: unknown name or file, or the file is not a trajectory.
    """
    return read_trajectory(word) if word.lower().endswith(".csv") else trajectory_named(word)


def _limp(times: Array, enable: np.ndarray) -> tuple[tuple[float, float], ...]:
    """Intervals in which the torque is off [s]."""
    edges = np.diff(np.concatenate([[False], ~enable, [False]]).astype(int))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    last = len(times)
    return tuple(
        (float(times[a]), float(times[b]) if b < last else np.inf)
        for a, b in zip(starts, ends, strict=True)
    )


def _table(path: Path) -> dict[str, Array]:
    """Columns by name."""
    try:
        found = read_delimited(path, header=True)
    except OSError as error:
        reason = error.strerror or error
        raise RecordingError(f"{path}: the trajectory cannot be read: {reason}") from error
    except RecordingError as error:
        raise RecordingError(f"{path} is not a trajectory: {error}") from error
    columns, left_out = found.tables[0].columns, found.metadata.get("left_out")
    for name, why in left_out.items() if isinstance(left_out, dict) else ():
        raise RecordingError(f"{path} is not a trajectory: column {name!r}: {why}")
    for name, column in columns.items():
        if not np.isfinite(column).all():
            raise RecordingError(
                f"{path} is not a trajectory: the column {name!r} contains numbers that are not "
                "finite"
            )
    return dict(columns)
