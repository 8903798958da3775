"""Shared: invented servos on an invented bench, their true parameters and logs.

Each servo of the catalogue gets typical true values well inside its bounds; a seed changes each
value by up to 15 %. The bench is a pendulum with two masses. Each mass has three recordings of 4 s:
steps and a sweep at the high gain, and a lift at the low gain, after which the servo goes limp. One
servo has other recordings, :data:`ONE_SIDED`.

Noise of the position is white and normal with a standard deviation of one count of a 12-bit
encoder; that of the speed 0.02 rad/s. Each rollout of a fit starts at the first sample, noise
included, as with recorded logs. The noise can also be rounded to whole counts: where nothing but
such noise remains, the least absolute error puts a servo at rest on a whole count, which no
interval accounts for.
"""

from dataclasses import dataclass, replace

import numpy as np

from trueup.actuators import BenchSimulator, ServoLog, ServoModel, trajectory_named
from trueup.actuators.record.trajectory import Trajectory, cubic, stairs

ENCODER_COUNT = 2.0 * np.pi / 4096
"""Angle of one count [rad]; the position noise has this standard deviation."""

SPEED_NOISE = 0.02
"""Standard deviation of the speed noise [rad/s]."""

TIME_STEP = 0.005
"""Time between samples [s]."""

DURATION = 4.0
"""Duration of a recording [s]."""

SPREAD = 0.15
"""How far a seed moves the true values, as a share of them."""

STRIDES = Trajectory(
    "strides",
    DURATION,
    "Saturation: steps up to 2.1 rad drive the servo to its limits.",
    stairs([(0.0, 0.0), (0.3, 0.75), (1.0, 1.5), (1.8, -0.6), (2.8, 0.3), (3.4, 0.0)]),
)
"""Small and large steps."""

RECORDINGS = (
    (STRIDES, 1),
    (trajectory_named("sin_time_square"), 1),
    (trajectory_named("lift_and_drop"), 0),
)
"""Trajectory and number of the gain of the recordings with each mass."""

ONE_SIDED = (
    (
        Trajectory(
            "climb",
            DURATION,
            "Saturation, with a load that keeps the error on one side.",
            stairs([(0.0, 0.0), (0.2, 0.6), (1.0, 1.2), (2.0, 1.8)]),
            limp=((3.0, np.inf),),
        ),
        1,
    ),
    (
        Trajectory(
            "slow_climb",
            DURATION,
            "Friction and torque constant, likewise.",
            cubic([(0.0, 0.0), (2.0, 1.5), (2.5, 1.5)]),
            limp=((2.5, np.inf),),
        ),
        0,
    ),
    (
        Trajectory(
            "leap",
            DURATION,
            "Saturation, a fall and a catch.",
            stairs([(0.0, 0.0), (0.1, 1.8)]),
            limp=((0.45, 0.8), (2.0, np.inf)),
        ),
        1,
    ),
)
"""Recordings for a law whose torque jumps where the error changes its sign in motion: a heavy load
keeps it from doing so, and what does not jump has derivatives."""

SHARED = {
    "load_friction_base": 0.1,
    "load_friction_stribeck": 0.1,
    "load_friction_motor": 0.12,
    "load_friction_external": 0.08,
    "load_friction_motor_stribeck": 0.1,
    "load_friction_external_stribeck": 0.06,
    "load_friction_motor_quad": 0.005,
    "load_friction_external_quad": 0.005,
    "dtheta_stribeck": 0.5,
    "alpha": 1.5,
    "q_offset": 0.03,
}
"""Middle of the true values that do not depend on the size of a servo."""


@dataclass(frozen=True)
class Rig:
    """A servo's true values, and the bench that suits its size."""

    values: dict[str, float]
    """Middle of the true values of the motor and of ``friction_base`` and ``friction_viscous``."""
    masses: tuple[float, float]
    """Masses at the tip [kg]."""
    length: float
    """Length of the pendulum [m]."""
    gains: tuple[float, float]
    """Low and high firmware gain."""
    recordings: tuple[tuple[Trajectory, int], ...] = RECORDINGS
    """Trajectory and number of the gain of the recordings with each mass."""


def _rig(motor: dict[str, float], friction: tuple[float, float], *bench) -> Rig:
    names = ("friction_base", "friction_viscous")
    return Rig({**motor, **dict(zip(names, friction, strict=True))}, *bench)


RIGS = {
    "mx64": _rig(
        {"kt": 1.6, "R": 3.0, "armature": 0.015}, (0.08, 0.05), (0.5, 1.5), 0.15, (8.0, 32.0)
    ),
    "mx106": _rig(
        {"kt": 2.1, "R": 2.8, "armature": 0.025}, (0.1, 0.06), (0.7, 2.0), 0.2, (8.0, 32.0)
    ),
    "xl320": _rig(
        {"kt": 0.8, "R": 18.0, "armature": 0.002}, (0.015, 0.008), (0.05, 0.12), 0.1, (16.0, 32.0)
    ),
    "xl330": _rig(
        {"kt": 0.4, "R": 3.2, "armature": 0.002}, (0.015, 0.006), (0.15, 0.4), 0.1, (200.0, 800.0)
    ),
    "xl330i": _rig(
        {"kt": 0.4, "R": 3.2, "armature": 0.002, "current_limit": 1.5},
        (0.015, 0.006),
        (0.8, 1.2),
        0.1,
        (80.0, 160.0),
        ONE_SIDED,
    ),
    "sts3215": _rig(
        {
            "kt": 1.0,
            "R": 2.5,
            "armature": 0.015,
            "error_gain_ratio": 1.0,
            "max_velocity": 5.0,
        },
        (0.05, 0.04),
        (0.5, 1.2),
        0.15,
        (8.0, 32.0),
    ),
    "sts3215_12v": _rig(
        {
            "kt": 1.6,
            "R": 5.0,
            "armature": 0.028,
            "error_gain_ratio": 1.0,
            "max_velocity": 4.7,
        },
        (0.07, 0.05),
        (0.5, 1.2),
        0.15,
        (8.0, 32.0),
    ),
    "sts3250": _rig(
        {
            "kt": 1.5,
            "R": 3.7,
            "armature": 0.02,
            "error_gain_ratio": 1.0,
            "max_velocity": 7.8,
        },
        (0.08, 0.05),
        (0.6, 1.5),
        0.15,
        (8.0, 32.0),
    ),
    "st3025": _rig(
        {"kt": 0.9, "R": 2.7, "armature": 0.015, "error_gain_ratio": 1.0},
        (0.05, 0.04),
        (0.6, 1.5),
        0.15,
        (8.0, 32.0),
    ),
    "hls2915": _rig(
        {"kt": 0.97, "R": 7.5, "armature": 0.002}, (0.02, 0.01), (0.1, 0.2), 0.1, (1.5, 3.0)
    ),
    "erob80_100": _rig(
        {"kt": 7.0, "R": 2.2, "armature": 0.8}, (4.0, 4.0), (5.0, 12.0), 0.4, (25.0, 100.0)
    ),
    "erob80_50": _rig(
        {"kt": 4.5, "R": 2.2, "armature": 0.3}, (2.0, 1.5), (3.0, 8.0), 0.4, (25.0, 100.0)
    ),
    "unitree_go1": _rig(
        {"armature": 0.02, "ratio": 1.0, "max_torque": 24.0},
        (0.3, 0.15),
        (1.0, 2.2),
        0.3,
        (10.0, 30.0),
    ),
}
"""Rig of each servo of the catalogue."""


def true_model(servo: str, friction: str, seed: int) -> ServoModel:
    """The truth of a servo with a friction model: the rig's values, moved a little by the seed."""
    rig = RIGS[servo]
    model = ServoModel.create(servo, friction)
    values = {**SHARED, **rig.values, "friction_stribeck": 0.6 * rig.values["friction_base"]}
    rng = np.random.default_rng([seed, *map(ord, servo + friction)])
    return model.with_values(
        **{n: values[n] * (1.0 + rng.uniform(-SPREAD, SPREAD)) for n in model.names}
    )


def clean_logs(truth: ServoModel) -> list[ServoLog]:
    """The recordings of the servo's rig with each of two masses, without noise."""
    rig = RIGS[truth.servo.name]
    planned = [
        planned_log(truth, trajectory, mass, rig.gains[gain], rig.length)
        for mass in rig.masses
        for trajectory, gain in rig.recordings
    ]
    motion = BenchSimulator(truth, planned, threads=1).simulate()
    if motion.failures:
        raise ValueError(f"{truth.servo.name} {truth.friction.name}: {motion.failures[0]}")
    return [
        with_motion(log, position[0], speed[0])
        for log, position, speed in zip(planned, motion.position, motion.speed, strict=True)
    ]


def noisy_logs(
    logs: list[ServoLog], rng: np.random.Generator, rounded: bool = False
) -> list[ServoLog]:
    """The recordings as the servo would give them, rounded to whole counts or not."""
    noisy = []
    for log in logs:
        counts = log.position / ENCODER_COUNT + rng.standard_normal(len(log))
        speed = log.speed + SPEED_NOISE * rng.standard_normal(len(log))
        position = ENCODER_COUNT * (np.round(counts) if rounded else counts)
        noisy.append(with_motion(log, position, speed))
    return noisy


def planned_log(
    truth: ServoModel, trajectory: Trajectory, mass: float, gain: float, length: float
) -> ServoLog:
    times = np.linspace(0.0, DURATION, round(DURATION / TIME_STEP) + 1)
    goals, enable = trajectory(times)
    name = f"{trajectory.name}_{mass:g}kg_kp{gain:g}"
    return ServoLog(
        name=name,
        source=f"made up: {name}",
        sha256="",
        motor=truth.servo.name,
        trajectory=trajectory.name,
        mass=mass,
        arm_mass=0.0,
        length=length,
        kp=gain,
        vin=None,
        damping=None,
        dt=TIME_STEP,
        times=times,
        position=np.zeros(times.size),
        speed=np.zeros(times.size),
        goal_position=goals,
        torque_enable=enable,
        load=None,
        input_volts=None,
        temperature=None,
    )


def with_motion(log: ServoLog, position: np.ndarray, speed: np.ndarray) -> ServoLog:
    return replace(log, position=position, speed=speed)
