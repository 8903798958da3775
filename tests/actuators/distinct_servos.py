"""Servos of every law whose numbers all differ, so that an exchanged pair shows."""

import math

import numpy as np

from trueup.actuators import ModelParameter, Servo, ServoModel

LAWS = ("voltage", "current", "bus_current", "current_pd", "torque_pd")

VALUES = {
    "kt": 0.53,
    "R": 2.9,
    "armature": 0.0023,
    "error_gain_ratio": 0.87,
    "max_torque": 1.7,
    "q_offset": 0.029,
    "friction_base": 0.011,
    "friction_viscous": 0.0071,
    "friction_stribeck": 0.017,
    "load_friction_base": 0.061,
    "load_friction_stribeck": 0.073,
    "load_friction_motor": 0.137,
    "load_friction_external": 0.043,
    "load_friction_motor_stribeck": 0.097,
    "load_friction_external_stribeck": 0.157,
    "load_friction_motor_quad": 0.113,
    "load_friction_external_quad": 0.083,
    "dtheta_stribeck": 1.3,
    "alpha": 1.45,
    "command_delay": 0.0123,
    "winding_braking": 0.41,
    "measured_voltage": 0.31,
    "supply_resistance": 0.67,
    "resistance_temperature": 0.0037,
    "torque_saturation": 0.59,
    "max_velocity": 2.3,
    "current_limit": 1.19,
}
"""Value of each parameter: no two alike."""

ELECTRIC = {"winding_braking", "resistance_temperature", "torque_saturation"}
TERMS = {
    "voltage": ("supply_resistance", "current_limit", *sorted(ELECTRIC)),
    "current": tuple(sorted(ELECTRIC)),
    "bus_current": tuple(sorted(ELECTRIC)),
    "current_pd": tuple(sorted(ELECTRIC)),
    "torque_pd": (),
}
"""Extended terms of each law that act without a memory."""


def distinct_servo(law: str) -> Servo:
    """A servo of a law."""
    names = ["armature", "error_gain_ratio"]
    names = [*names, "max_torque"] if law == "torque_pd" else ["kt", "R", *names]
    parameters = tuple(ModelParameter(n, VALUES[n], 0.0, math.inf) for n in names)
    return Servo(
        f"distinct_{law}", law, parameters, vin=math.nan if law == "torque_pd" else 7.3, kp=19.0,
        error_gain=0.047, damping=0.23, max_pwm=0.79, max_amps=1.37,
    )  # fmt: skip


def distinct_model(
    law: str = "voltage", friction: str = "m6", terms: tuple[str, ...] = (), **values: float
) -> ServoModel:
    """A servo of a law with a friction model."""
    model = ServoModel.create(distinct_servo(law), friction, terms)
    known = {name: VALUES[name] for name in model.names if name in VALUES}
    return model.with_values(**{**known, **values})


def motor_states(count: int = 300, seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Errors [rad] and speeds [rad/s] that reach every limit, and the range between them."""
    rng = np.random.default_rng(seed)
    error, speed = np.sinh(1.5 * rng.normal(size=(2, count)))
    error[0] = error[1] = speed[1] = speed[2] = 0.0
    return error, 4.0 * speed


def friction_states(count: int = 300, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Torques of motor and load [N m] and speeds [rad/s], equal and opposite torques among them."""
    rng = np.random.default_rng(seed)
    motor, external, speed = 1.3 * rng.normal(size=(3, count))
    motor[0], external[0], speed[:5] = 0.7, 0.7, 0.0
    motor[1], external[1] = 0.7, -0.7
    motor[2], external[2] = 0.0, 0.5
    motor[3], external[3] = 0.6, 0.0
    return motor, external, speed
