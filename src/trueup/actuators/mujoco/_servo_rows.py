"""Rows of numbers with which the compiled law of servos describes one servo."""

import math

import numpy as np

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations._parameter_layout import LAWS, columns_of, neutral_row
from trueup.actuators.mujoco._servo_law_kernel import (
    GAIN,
    GATED,
    HAS_STRIBECK,
    LAW,
    MAX_AMPS,
    MAX_PWM,
    N_CONSTANTS,
    OFFSET,
    RATE_GAIN,
    UNLIMITED,
    VOLTAGE,
)


def parameter_row(model: ServoModel) -> np.ndarray:
    """Parameters of a servo as the layout orders them; gains are finite, so limits are too."""
    row = np.array(neutral_row())
    for name, value in model.values.items():
        row[list(columns_of(name))] = value
    return np.minimum(row, UNLIMITED)


def constants_row(
    model: ServoModel, kp: float | None, vin: float | None, offset: float
) -> np.ndarray:
    """Constants of a servo's firmware.

    Args:
      model: the servo.
      kp: firmware gain; the servo's own by default.
      vin: nominal bus voltage [V]; the servo's own by default.
      offset: angle of the joint where the encoder reads 0 [rad].
    """
    servo = model.servo
    gain, rate = servo.gains(kp)
    voltage = servo.vin if vin is None else vin
    row = np.zeros(N_CONSTANTS)
    row[LAW] = LAWS[servo.law]
    row[HAS_STRIBECK] = model.friction.has_stribeck
    row[GATED] = model.quadratic == "gated"
    row[GAIN] = gain
    row[RATE_GAIN] = rate
    row[MAX_PWM] = servo.max_pwm
    row[MAX_AMPS] = min(servo.max_amps, UNLIMITED)
    row[VOLTAGE] = 1.0 if math.isnan(voltage) else voltage
    row[OFFSET] = offset
    return row
