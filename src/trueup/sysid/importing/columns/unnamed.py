"""Detection of the meaning of columns without names, from their values.

A velocity is the slope of its position; a command is close to its position; a torque is consistent
with the motion of the model. Columns of one quantity usually are contiguous, in the order of the
joints: blocks of as many columns as joints are compared.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.signals import Recording
from trueup.sysid.importing.columns.joint_families import JointColumn, JointLog, scalar_joints

_SLOPE = 0.9  # minimum correlation of a velocity with the slope of its position
_FOLLOWS = 0.95  # minimum correlation of a command with its position
_SIZE = (0.5, 2.0)  # range of the ratio of a velocity to the slope of its position, both in rad
_OTHER_UNITS = np.log([180 / np.pi, np.pi / 180, 30 / np.pi, 1 / 6])
"""Logarithm of the same ratio for deg/s of rad, rad/s of deg, rpm of rad and rpm of deg."""
_NEAR = 0.15  # tolerance of such a logarithm
_LESS_LIKELY = 0.97  # relative weight of other units or a mirrored velocity, against rad and rad/s


@dataclass(frozen=True)
class UnnamedLog:
    """Detected columns of a log without names."""

    time: str
    """Column with the time; empty if there is none."""
    joints: JointLog | None
    """Columns of the joints; None without a block of positions."""
    efforts: tuple[tuple[str, ...], ...]
    """Blocks of torques or currents, which are not distinguishable by their values."""


def is_unnamed(recording: Recording) -> bool:
    """Whether the column names of a recording are only numbers, from a file without a header."""
    return all(name.isdigit() for name in recording.columns)


def time_column(table: np.ndarray) -> int:
    """The column that increases in nearly equal steps, or -1.

    Args:
      table: all columns ``(n, columns)``.
    """
    for column in range(table.shape[1]):
        steps = np.diff(table[:, column])
        if len(steps) > 2 and (steps > 0).all() and np.median(steps) > 0.2 * steps.mean():
            return column
    return -1


def read_unnamed(recording: Recording, model: mujoco.MjModel, time: str) -> UnnamedLog:
    """Find positions, velocities and candidates for torques by their values.

    Args:
      recording: the file, on the clock of ``time``.
      model: the robot.
      time: the column with the time, or empty.
    """
    names = [name for name in recording.columns if name != time]
    clock = recording.streams[0].times
    table = np.column_stack([recording.column(name)[1] for name in names])
    table = np.where(np.isfinite(table), table, 0.0)
    joints = scalar_joints(model)
    count = len(joints)
    blocks = list(range(0, len(names) - count + 1, count)) if count else []
    smooth = _smoothed(table)
    slopes = np.gradient(smooth, clock, axis=0)
    best: tuple[float, int, int] = (0.0, -1, -1)
    for first in blocks:
        for second in blocks:
            if first == second:
                continue
            score = _derivative(slopes, smooth, first, second, count)
            if score > best[0]:
                best = (score, first, second)
    score, position, velocity = best
    if score < _SLOPE:
        return UnnamedLog(time, None, ())
    labels = [str(k) for k in range(count)]
    columns = _block(names, position, labels, "position") + _block(
        names, velocity, labels, "velocity"
    )
    efforts = []
    for first in blocks:
        if first in (position, velocity):
            continue
        block = smooth[:, first : first + count]
        if _follows(block, smooth[:, position : position + count]):
            columns += _block(names, first, labels, "position", commanded=True)
        elif np.ptp(block, axis=0).any():
            efforts.append(tuple(names[first : first + count]))
    log = JointLog(
        "a table without names", tuple(columns), dict(zip(labels, joints, strict=True)), True
    )
    return UnnamedLog(time, log, tuple(efforts))


def _block(
    names: list[str], first: int, labels: list[str], quantity: str, commanded: bool = False
) -> list[JointColumn]:
    return [
        JointColumn(names[first + k], quantity, commanded, label) for k, label in enumerate(labels)
    ]


def _smoothed(table: np.ndarray, width: int = 5) -> np.ndarray:
    """Moving mean, to reduce the noise of slopes."""
    if len(table) < 3 * width:
        return table
    kernel = np.ones(width) / width
    padded = np.pad(table, ((width // 2, width // 2), (0, 0)), mode="edge")
    return np.stack([np.convolve(column, kernel, "valid") for column in padded.T], axis=1)


def _derivative(
    slopes: np.ndarray, values: np.ndarray, first: int, second: int, count: int
) -> float:
    """Correlation of a block with the slope of another, 0 to 1: the mean over moving joints."""
    found = []
    for k in range(count):
        slope, speed = slopes[:, first + k], values[:, second + k]
        size = float(np.std(slope))
        if size < 1e-9:
            continue
        ratio = float(np.std(speed)) / size
        if ratio <= 0:
            found.append(0.0)
            continue
        same = float(np.corrcoef(slope, speed)[0, 1])
        usual = _SIZE[0] < ratio < _SIZE[1]
        if usual and same > 0:
            found.append(same)
        elif usual or np.min(np.abs(np.log(ratio) - _OTHER_UNITS)) < _NEAR:
            found.append(_LESS_LIKELY * abs(same))
        else:
            found.append(0.0)
    return float(np.mean(found)) if found else 0.0


def _follows(block: np.ndarray, position: np.ndarray) -> bool:
    """Whether a block contains the commands of the positions, by correlation and size."""
    for k in range(block.shape[1]):
        moved = float(np.std(position[:, k]))
        if moved < 1e-9 or float(np.std(block[:, k])) < 1e-9:
            continue
        near = float(np.std(block[:, k] - position[:, k])) < 0.5 * moved
        if not near or np.corrcoef(block[:, k], position[:, k])[0, 1] < _FOLLOWS:
            return False
    return bool(np.ptp(block, axis=0).any())
