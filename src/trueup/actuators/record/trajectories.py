"""Trajectories that are commanded to a servo on a bench, and what each of them identifies.

Angles are 0 where the pendulum hangs down. The first group are those of Better Actuator Models and
of recordings in its format, from their equations; ``designed_trajectories``
holds the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from trueup.actuators.logs.servo_log import Array
from trueup.errors import RecordingError, did_you_mean, listing

Keyframe: TypeAlias = tuple[float, float]
Angle: TypeAlias = Callable[[Array], Array]

_CHECK_STEP = 1e-3  # [s]
_JUMP = 0.05  # a change within one check step that is a jump, not a speed [rad]: 50 rad/s


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Goal and torque-enable as functions of time.

    Call it with times [s], a number or (n,): it returns the goals [rad] and torque-enables, of the
    same shape. Before the start and after the end it stands as at those times.
    """

    name: str
    """Name, as it stands in a log."""
    duration: float
    """Duration [s]."""
    identifies: str
    """What a fit can learn from it."""
    angle: Angle
    """Goal [rad] at times [s], (n,) to (n,)."""
    limp: tuple[tuple[float, float], ...] = ()
    """Intervals [start, end) in which the torque is off [s]."""

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
    """What a trajectory may ask of a bench."""

    lowest: float = -np.pi
    """Lowest angle [rad]."""
    highest: float = np.pi
    """Highest angle [rad]."""
    speed: float = 15.0
    """Highest speed of the goal where it moves smoothly [rad/s]."""
    jump: float = 2.0
    """Largest step of the goal [rad]."""


def check_trajectory(trajectory: Trajectory, limits: MotionLimits) -> None:
    """Check the goals of a trajectory against limits, every millisecond, before anything moves.

    Raises:
        RecordingError: an angle, a speed or a step is beyond its limit; the message says when.
    """
    times = np.arange(0.0, trajectory.duration + _CHECK_STEP, _CHECK_STEP)
    angle, enable = trajectory(times)
    if not np.isfinite(angle).all():
        raise RecordingError(f"trajectory {trajectory.name!r} has goals that are no numbers")
    change = np.where(enable[1:], np.abs(np.diff(angle)), 0.0)
    jumps = change > _JUMP
    for found, limit, what, unit in (
        (np.where(enable, angle, limits.highest), limits.highest, "goes up to", "rad"),
        (np.where(enable, -angle, -limits.lowest), -limits.lowest, "goes down to", "rad"),
        (np.where(jumps, 0.0, change / _CHECK_STEP), limits.speed, "reaches a speed of", "rad/s"),
        (np.where(jumps, change, 0.0), limits.jump, "makes a step of", "rad"),
    ):
        worst = int(found.argmax())
        if found[worst] > limit * (1 + 1e-6) + 1e-9:
            sign = -1 if what == "goes down to" else 1
            raise RecordingError(
                f"trajectory {trajectory.name!r} {what} {sign * found[worst]:.3g} {unit} at "
                f"{times[worst]:.2f} s, the limit is {sign * limit:.3g} {unit}. Choose another "
                "trajectory, or a wider limit if the bench allows it"
            )


def cubic(keyframes: Sequence[Keyframe]) -> Angle:
    """A path through (time [s], angle [rad]) that stands still at each of them.

    Between two of them it is the cubic Hermite polynomial with zero speed at both ends,
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
    """A path that steps at each time [s] to the angle [rad] and holds it."""
    at = np.array([time for time, _ in keyframes])
    angles = np.array([angle for _, angle in keyframes])
    return lambda times: angles[np.clip(np.searchsorted(at, times, side="right") - 1, 0, None)]


def trajectory_named(name: str) -> Trajectory:
    """The trajectory of a name, from those of the seed and the designed ones.

    Raises:
        RecordingError: there is none of that name; the message lists those there are.
    """
    known = all_trajectories()
    if name not in known:
        raise RecordingError(
            f"there is no trajectory {name!r}.{did_you_mean(name, known)} "
            f"There are {listing(known, limit=40)}"
        )
    return known[name]


def all_trajectories() -> dict[str, Trajectory]:
    """Every trajectory by its name."""
    from trueup.actuators.record.designed_trajectories import DESIGNED

    return {t.name: t for t in (*STANDARD, *DESIGNED)}


_QUARTER = np.pi / 2

STANDARD = (
    Trajectory(
        "lift_and_drop",
        6.0,
        "What resists a fall: friction without the motor's braking, and by how much the pendulum "
        "swings before it sticks. Compared with the lift before it, it separates the friction of "
        "the gear from the back-EMF of the motor.",
        cubic([(0.0, 0.0), (2.0, -_QUARTER)]),
        limp=((2.0, np.inf),),
    ),
    Trajectory(
        "sin_time_square",
        6.0,
        "Torque constant, resistance and armature: the goal sin(t^2) speeds up to 12 rad/s, past "
        "what the servo can follow, so that voltage and inertia limit the motion.",
        lambda t: np.sin(t**2),
    ),
    Trajectory(
        "up_and_down",
        6.0,
        "Friction under load: slowly up against gravity to a right angle, then slowly down with it "
        "to 0.8 of that; the difference of the errors is the load-dependent friction.",
        cubic([(0.0, 0.0), (3.0, _QUARTER), (6.0, 0.8 * _QUARTER)]),
    ),
    Trajectory(
        "sin_sin",
        6.0,
        "Everything a little: a slow swing of a right angle with a faster one on top covers many "
        "pairs of speed and load. The one to hold out, or to begin with.",
        lambda t: np.sin(t) * _QUARTER + 0.5 * np.sin(5 * t) * np.sin(2 * t),
    ),
    Trajectory(
        "half_sine",
        6.0,
        "Coulomb and viscous friction under slowly changing load: half a period of sin(t / 2), up "
        "to a right angle and back without a stop.",
        lambda t: np.sin(t / 2) * _QUARTER,
    ),
    Trajectory(
        "steps",
        6.0,
        "Saturation: each step drives the bridge to its limit, so that the torque constant and the "
        "resistance show in the rise, and the gain and the friction in where it comes to rest.",
        stairs([(0.0, 0.0), (1.0, 0.75), (2.5, 1.55), (4.0, 0.75), (5.0, 0.0)]),
    ),
    Trajectory(
        "brutal",
        6.0,
        "Saturation and the limit of the speed: one step of a right angle up, one down.",
        stairs([(0.0, 0.0), (1.5, _QUARTER), (4.0, 0.0)]),
    ),
    Trajectory(
        "nothing",
        6.0,
        "The passive joint: torque off from the start. Lift the pendulum by hand and let it go.",
        np.zeros_like,
        limp=((0.0, np.inf),),
    ),
)
"""Trajectories of Better Actuator Models and of recordings in its format."""
