"""Logs for tests of the bench: made up, or the recorded ones as the reference resamples them."""

from pathlib import Path

import numpy as np

from trueup import actuators
from trueup.actuators import ServoLog, ServoModel

VALUES = {
    "kt": 0.366,
    "R": 2.81,
    "armature": 0.00181,
    "friction_base": 0.0048,
    "friction_viscous": 0.0054,
    "friction_stribeck": 0.0047,
    "load_friction_base": 0.1,
    "load_friction_stribeck": 0.05,
    "load_friction_motor": 0.267,
    "load_friction_external": 0.02,
    "load_friction_motor_stribeck": 0.03,
    "load_friction_external_stribeck": 0.081,
    "load_friction_motor_quad": 0.01,
    "load_friction_external_quad": 0.0049,
    "dtheta_stribeck": 1.7,
    "alpha": 1.4,
    "q_offset": 0.027,
}
"""Values of a small servo, of all friction models."""


def make_log(
    name: str = "made_up",
    samples: int = 300,
    kp: float = 200.0,
    dt: float = 0.005,
    off_from: float = np.inf,
    **changes,
) -> ServoLog:
    """A log of a pendulum that is told to swing; what it measured is noise."""
    times = dt * np.arange(samples)
    rng = np.random.default_rng(len(name))
    fields = {
        "name": name,
        "source": f"{name}.json",
        "sha256": "",
        "motor": "xl330",
        "trajectory": "swing",
        "mass": 0.49,
        "arm_mass": 0.0,
        "length": 0.1,
        "kp": kp,
        "vin": 7.4,
        "damping": None,
        "dt": dt,
        "times": times,
        "position": 0.1 * rng.standard_normal(samples),
        "speed": 0.5 * rng.standard_normal(samples),
        "goal_position": 1.2 * np.sin(4.0 * times) + 0.3 * np.sin(23.0 * times),
        "torque_enable": times < off_from,
        "load": rng.uniform(-1.0, 1.0, samples),
        "input_volts": 7.4 + rng.standard_normal(samples),
        "temperature": np.full(samples, 41.0),
    }
    return ServoLog(**{**fields, **changes})


def make_model(friction: str = "m6", terms: tuple[str, ...] = (), servo="xl330", **values):
    """A model with the values above where it has them."""
    model = ServoModel.create(servo, friction, terms)
    known = {name: value for name, value in VALUES.items() if name in model.names}
    return model.with_values(**{**known, **values})


def recorded_logs(folder: Path, into: Path) -> list[ServoLog]:
    """The recorded logs, resampled as the reference does."""
    actuators.process(folder / "xl330_bench", into, compat="bam")
    return actuators.read_logs(into)
