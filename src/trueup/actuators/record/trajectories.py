"""Trajectories by name: standard ones, defined by equations, and designed ones.

Angles are 0 when the pendulum hangs down.
"""

import numpy as np

from trueup.actuators.record.designed_trajectories import DESIGNED
from trueup.actuators.record.trajectory import Trajectory, cubic, stairs
from trueup.errors import RecordingError, did_you_mean, listing

_QUARTER = np.pi / 2

STANDARD = (
    Trajectory(
        "lift_and_drop",
        6.0,
        "Friction without the braking of the motor: the pendulum falls and swings until it stops. "
        "Compared with the preceding lift, it separates gear friction from back-EMF.",
        cubic([(0.0, 0.0), (2.0, -_QUARTER)]),
        limp=((2.0, np.inf),),
    ),
    Trajectory(
        "sin_time_square",
        6.0,
        "Torque constant, resistance and armature: the goal sin(t^2) speeds up to 12 rad/s, faster "
        "than the servo can follow, so that voltage and inertia limit the motion.",
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
        "All parameters, each weakly: a slow swing of a right angle with a faster one superposed "
        "covers many pairs of speed and load. Suitable as first or held-out recording.",
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
        "resistance determine the rise, and the gain and the friction the final angle.",
        stairs([(0.0, 0.0), (1.0, 0.75), (2.5, 1.55), (4.0, 0.75), (5.0, 0.0)]),
    ),
    Trajectory(
        "brutal",
        6.0,
        "Saturation and the speed limit: one step of a right angle up, one down.",
        stairs([(0.0, 0.0), (1.5, _QUARTER), (4.0, 0.0)]),
    ),
    Trajectory(
        "nothing",
        6.0,
        "The passive joint: torque off from the start. Lift the pendulum by hand and release it.",
        np.zeros_like,
        limp=((0.0, np.inf),),
    ),
)
"""Trajectories of Better Actuator Models and of recordings in its format."""


def trajectory_named(name: str) -> Trajectory:
    """Trajectory by name, from the standard and the designed ones.

    Raises:
        RecordingError: unknown name; the message lists the known ones.
    """
    known = all_trajectories()
    if name not in known:
        raise RecordingError(
            f"unknown trajectory {name!r}.{did_you_mean(name, known)} "
            f"Available: {listing(known, limit=40)}"
        )
    return known[name]


def all_trajectories() -> dict[str, Trajectory]:
    """All trajectories by name, the standard ones first."""
    return {t.name: t for t in (*STANDARD, *DESIGNED)}
