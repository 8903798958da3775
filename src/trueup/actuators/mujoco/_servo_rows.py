"""Parameter rows of one servo for the compiled control law."""

import math
from collections.abc import Iterable

import numpy as np

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations._parameter_layout import LAWS, UNLIMITED
from trueup.actuators.equations.friction_models import FrictionModel, frictions_layout
from trueup.actuators.equations.servo_equations import friction_loss
from trueup.actuators.mujoco._servo_law_kernel import (
    FRICTION,
    GAIN,
    GATED,
    IS_CURVED,
    LAW,
    MAX_AMPS,
    MAX_PWM,
    N_CONSTANTS,
    OFFSET,
    RATE_GAIN,
    VOLTAGE,
)


def own_frictions(models: Iterable[ServoModel]) -> tuple[FrictionModel, ...]:
    """Distinct friction models with custom equations."""
    own = (model.friction for model in models)
    return tuple(dict.fromkeys(f for f in own if f.loss is not friction_loss))


def parameter_row(model: ServoModel, frictions: tuple[FrictionModel, ...]) -> np.ndarray:
    """Parameters of a servo in the order of the layout; limits are finite, as gains must be."""
    return frictions_layout(frictions).row(model.values)


def constants_row(
    model: ServoModel,
    kp: float | None,
    vin: float | None,
    offset: float,
    frictions: tuple[FrictionModel, ...],
) -> np.ndarray:
    """Constants of a servo's firmware.

    Args:
      model: the servo.
      kp: firmware gain; default: that of the servo.
      vin: nominal bus voltage [V]; default: that of the servo.
      frictions: friction models with custom equations that the law supports.
      offset: angle of the joint where the encoder reads 0 [rad].
    """
    servo = model.servo
    gain, rate = servo.gains(kp)
    voltage = servo.vin if vin is None else vin
    row = np.zeros(N_CONSTANTS)
    row[LAW] = LAWS[servo.law]
    row[IS_CURVED] = model.friction.is_curved
    own = model.friction.loss is not friction_loss
    row[FRICTION] = 1 + frictions.index(model.friction) if own else 0
    row[GATED] = model.quadratic == "gated"
    row[GAIN] = gain
    row[RATE_GAIN] = rate
    row[MAX_PWM] = servo.max_pwm
    row[MAX_AMPS] = min(servo.max_amps, UNLIMITED)
    row[VOLTAGE] = 1.0 if math.isnan(voltage) else voltage
    row[OFFSET] = offset
    return row
