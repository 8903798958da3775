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
_MOST_PAIRS = 4_000_000  # correlations of columns that are held at once
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
    score, position, velocity = _best_pair(slopes, smooth, blocks, count)
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


def _best_pair(
    slopes: np.ndarray, values: np.ndarray, blocks: list[int], count: int
) -> tuple[float, int, int]:
    """Highest correlation of a block with the slope of another: it, and their first columns.

    The correlation of two blocks, 0 to 1, is the mean over their moving joints. Pairs of columns
    are compared at once, in groups of blocks, which bounds the memory for very wide tables.
    """
    best: tuple[float, int, int] = (0.0, -1, -1)
    if not blocks:
        return best
    width = len(blocks) * count
    speeds, spread = _standardised(values[:, :width])
    group = max(1, _MOST_PAIRS // (width * count))
    for start in range(0, len(blocks), group):
        first = start * count
        part = slopes[:, first : min(first + group * count, width)]
        standard, size = _standardised(part)
        scores = _scores(standard.T @ speeds / len(values), size, spread)
        moving = (size >= 1e-9).reshape(-1, count)
        by_joint = scores.reshape(len(moving), count, len(blocks), count)
        total = np.einsum("ikjk,ik->ij", by_joint, moving)
        means = total / np.maximum(moving.sum(axis=1), 1)[:, None]
        own = np.arange(len(means))
        means[own, start + own] = 0.0
        row, column = np.unravel_index(np.argmax(means), means.shape)
        if means[row, column] > best[0]:
            best = (float(means[row, column]), blocks[start + row], blocks[column])
    return best


def _standardised(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns with mean 0 and standard deviation 1, and their standard deviations."""
    size = values.std(axis=0)
    return (values - values.mean(axis=0)) / np.where(size > 0, size, 1.0), size


def _scores(same: np.ndarray, size: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Score of each pair of a slope and a column, from correlations ``(slopes, columns)``."""
    ratio = spread[None, :] / np.maximum(size, 1e-9)[:, None]
    usual = (ratio > _SIZE[0]) & (ratio < _SIZE[1])
    logarithm = np.log(np.where(ratio > 0, ratio, 1.0))
    near = np.zeros(ratio.shape, bool)
    for unit in np.ravel(_OTHER_UNITS):
        near |= np.abs(logarithm - unit) < _NEAR
    less = np.where(usual | near, _LESS_LIKELY * np.abs(same), 0.0)
    return np.where(ratio > 0, np.where(usual & (same > 0), same, less), 0.0)


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
