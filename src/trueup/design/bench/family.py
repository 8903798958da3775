"""Pieces of motion of a servo on its bench: a load, a gain, a shape, and a time without torque.

The shapes are those of robots (:mod:`trueup.design.motion.family`). In addition, a
piece can release the pendulum: without torque, friction acts without the motor. Meanwhile the goal
moves to the hanging position, so that the servo does not jump when the torque returns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.design.motion.family import MotionFamily, smooth_step

_LIMP_SHARE = 0.35  # fraction of the pieces of a library with a release
_LONGEST = 0.5  # longest time without torque, as a fraction of the piece
_FIRST, _LAST = 0.1, 0.6  # earliest and latest start, as a fraction of the piece
_AWAY, _BACK = 0.1, 0.6  # times in which the goal leaves the shape, and returns to it [s]


@dataclass(frozen=True)
class BenchCondition:
    """Load of the servo, and its gain."""

    mass: float
    """Mass at the tip of the pendulum [kg]."""
    length: float
    """Distance from the axis to the mass [m]."""
    kp: float
    """Firmware gain."""


class BenchFamily:
    """Family of logs, each described by a row of numbers.

    A row contains the number of the condition, a row of the motion, and start and duration of the
    time without torque; a duration up to 0 means none.

    Args:
      motion: family of the shapes, of one joint.
      conditions: available loads and gains.
    """

    def __init__(self, motion: MotionFamily, conditions: Sequence[BenchCondition]):
        self.motion, self.conditions = motion, tuple(conditions)
        self.size = motion.size + 3

    def names(self) -> list[str]:
        """Name of each number of a row."""
        return ["condition", *self.motion.names(), "limp_begin", "limp_length"]

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of a row ``(size,)``."""
        low, high = self.motion.bounds()
        most = max(len(self.conditions) - 1.0, 0.0)
        return np.array([0.0, *low, 0.0, -1.0]), np.array([most, *high, 1.0, 1.0])

    def rest(self) -> np.ndarray:
        """Row ``(size,)`` of a log at rest in the pose."""
        return np.zeros(self.size)

    def still(self, rows: np.ndarray) -> np.ndarray:
        """Whether rows ``(m, size)`` are at rest in the pose ``(m,)``."""
        return self.motion.still(rows[:, 1:-2])

    def random(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random rows ``(count, size)``: with all conditions and families in turn."""
        motion = self.motion.random(count, rng)
        condition = rng.permutation(count) % len(self.conditions)
        begin = rng.uniform(0.0, 1.0, count)
        length = rng.uniform(0.3, 1.0, count)
        limp = rng.random(count) < _LIMP_SHARE
        return np.column_stack([condition, motion, begin, np.where(limp, length, -0.3)])

    def condition(self, row: np.ndarray) -> BenchCondition:
        """Load and gain of a row ``(size,)``."""
        return self.conditions[round(float(row[0]))]

    def logs(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Goals [rad] and torque enables of rows, ``(m, samples)`` each."""
        times, seconds = self.motion.times[None, :], self.motion.seconds
        share = _FIRST + (_LAST - _FIRST) * rows[:, -2:-1]
        begin = seconds * share
        end = begin + seconds * _LONGEST * np.maximum(rows[:, -1:], 0.0)
        limp = (times >= begin) & (times < end)
        away = smooth_step((times - begin) / _AWAY)
        back = smooth_step((times - end) / _BACK)
        envelope = np.where(limp.any(axis=1, keepdims=True), 1.0 - away * (1.0 - back), 1.0)
        goals = self.motion.commands(rows[:, 1:-2], envelope)[..., 0]
        return goals, ~limp
