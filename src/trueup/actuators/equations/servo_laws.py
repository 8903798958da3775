"""Servo laws: how firmware and motor turn a position error into torque.

``voltage``: the firmware sets the bridge's duty cycle in proportion to the error, limits the
motor's current by the duty cycle, and limits the duty cycle last. ``current``: it sets the motor's
current within what the bus voltage allows. ``bus_current``: it sets the current drawn from the bus.
``current_pd``: a current from error and speed, within what the bus voltage allows. ``torque_pd``: a
torque from error and speed. Torque constant, resistance and armature are referred to the output
shaft, including the gear ratio.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.equations._parameter_layout import ParameterValues
from trueup.actuators.equations.servo_equations import LAWS, saturated_torque

SERVO_LAWS = tuple(LAWS)
"""Names of the laws."""


def motor_torque(
    servo: Servo,
    values: Mapping[str, float],
    error: np.ndarray | float,
    speed: np.ndarray | float,
    *,
    kp: float | None = None,
    vin: float | None = None,
    damping: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Torque of a driven servo and the duty cycle of its bridge; all arguments broadcast.

    The torque constant saturates with the current if ``values`` contain ``torque_saturation``.

    Args:
      servo: constants of the servo.
      values: identified parameters by name.
      error: position of the goal, after the firmware's speed limit, minus that of the joint
          [rad].
      speed: speed of the joint [rad/s].
      kp: firmware gain; default: that of the servo.
      vin: bus voltage [V]; default: that of the servo.
      damping: derivative gain of the laws that have one; default: that of the servo.

    Returns:
      Torque [N m] and duty cycle, 0 for a law without a bridge.
    """
    error, speed = np.broadcast_arrays(np.asarray(error, float), np.asarray(speed, float))
    p = law_parameters(servo, values, kp=kp, vin=vin, damping=damping)
    torque, duty, _ = LAWS[servo.law](error, speed, p)
    return saturated_torque(torque, p), np.broadcast_to(duty, error.shape)


def law_parameters(
    servo: Servo,
    values: Mapping[str, float],
    *,
    kp: float | None = None,
    vin: Any = None,
    damping: float | None = None,
    **given: Any,
) -> ParameterValues:
    """Parameters of a servo's law, by their names in the equations; see :func:`motor_torque`.

    ``given`` overrides some by name; a ``gain`` in it is multiplied by the identified ratio.
    """
    gain, rate_gain = servo.gains(kp, damping)
    ratio = values.get("error_gain_ratio", values.get("ratio", 1.0))
    own = {
        "rate_gain": rate_gain,
        "max_pwm": servo.max_pwm,
        "max_amps": servo.max_amps,
        "limit": values.get("current_limit", values.get("max_torque", math.inf)),
        "vin": servo.vin if vin is None else vin,
        "resistance": values.get("R", 1.0),
        **given,
        "gain": given.get("gain", gain) * ratio,
    }
    return ParameterValues(values, **own)
