"""A trajectory commanded to a servo on a bench, its limits, and paths through keyframes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from trueup.actuators.logs.servo_log import Array
from trueup.errors import RecordingError

Keyframe: TypeAlias = tuple[float, float]
Angle: TypeAlias = Callable[[Array], Array]

_CHECK_STEP = 1e-3  # interval of the checks [s]
_JUMP = 0.05  # a larger change within a check step counts as a jump [rad]: 50 rad/s


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Goal and torque enable as functions of time.

    Call it with times [s], a number or ``(n,)``; it returns goals [rad] and torque enables of the
    same shape. Before the start and after the end, the first and the last value are held.
    """

    name: str
    """Name, as in logs."""
    duration: float
    """Duration [s]."""
    identifies: str
    """Description of the quantities that a fit can determine from it."""
    angle: Angle
    """Goal [rad] at times [s], (n,) to (n,)."""
    limp: tuple[tuple[float, float], ...] = ()
    """Intervals [start, end) with the torque off [s]."""

    def __call__(self, times: float | Array) -> tuple[Array, np.ndarray]:
        """Goals [rad] and torque-enables at ``times`` [s]."""
        times = np.clip(np.asarray(times, dtype=float), 0.0, self.duration)
        enable = np.ones(times.shape, dtype=bool)
        for start, end in self.limp:
            enable &= ~((times >= start) & (times < end))
        return np.asarray(self.angle(times), dtype=float), enable

    def at(self, time: float) -> tuple[float, bool]:
        """Goal [rad] and torque-enable at one time [s]."""
        angle, enable = self(time)
        return float(angle), bool(enable)


@dataclass(frozen=True)
class MotionLimits:
    """Limits of a trajectory on a bench."""

    lowest: float = -np.pi
    """Lowest angle [rad]."""
    highest: float = np.pi
    """Highest angle [rad]."""
    speed: float = 15.0
    """Highest speed of a smooth goal [rad/s]."""
    jump: float = 2.0
    """Largest step of the goal [rad]."""


def check_trajectory(trajectory: Trajectory, limits: MotionLimits) -> None:
    """Check the goals of a trajectory against limits, every millisecond.

    Raises:
        RecordingError: an angle, a speed or a step exceeds its limit; the message gives the time.
    """
    times = np.arange(0.0, trajectory.duration + _CHECK_STEP, _CHECK_STEP)
    angle, enable = trajectory(times)
    if not np.isfinite(angle).all():
        raise RecordingError(f"trajectory {trajectory.name!r} has goals that are not finite")
    change = np.where(enable[1:], np.abs(np.diff(angle)), 0.0)
    jumps = change > _JUMP
    for found, limit, what, unit in (
        (np.where(enable, angle, limits.highest), limits.highest, "goes up to", "rad"),
        (np.where(enable, -angle, -limits.lowest), -limits.lowest, "goes down to", "rad"),
        (np.where(jumps, 0.0, change / _CHECK_STEP), limits.speed, "reaches a speed of", "rad/s"),
        (np.where(jumps, change, 0.0), limits.jump, "has a step of", "rad"),
    ):
        worst = int(found.argmax())
        if found[worst] > limit * (1 + 1e-6) + 1e-9:
            sign = -1 if what == "goes down to" else 1
            raise RecordingError(
                f"trajectory {trajectory.name!r} {what} {sign * found[worst]:.3g} {unit} at "
                f"{times[worst]:.2f} s, the limit is {sign * limit:.3g} {unit}. Choose another "
                "trajectory, or a wider limit if the bench allows"
            )


def cubic(keyframes: Sequence[Keyframe]) -> Angle:
    """Smooth path through keyframes (time [s], angle [rad]), at rest at each of them.

    Between two keyframes it is the cubic Hermite polynomial with zero speed at both ends,
    ``a + (b - a) s^2 (3 - 2 s)`` with ``s`` from 0 to 1.
    """
    at = np.array([time for time, _ in keyframes])
    angles = np.array([angle for _, angle in keyframes])

    def path(times: Array) -> Array:
        segment = np.clip(np.searchsorted(at, times, side="right") - 1, 0, at.size - 2)
        share = np.clip((times - at[segment]) / (at[segment + 1] - at[segment]), 0.0, 1.0)
        rise = angles[segment + 1] - angles[segment]
        return angles[segment] + rise * share**2 * (3 - 2 * share)

    return path


def stairs(keyframes: Sequence[Keyframe]) -> Angle:
    """Path that steps to the angle [rad] of each keyframe at its time [s]."""
    at = np.array([time for time, _ in keyframes])
    angles = np.array([angle for _, angle in keyframes])
    return lambda times: angles[np.clip(np.searchsorted(at, times, side="right") - 1, 0, None)]
