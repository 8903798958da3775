"""Servo laws: how firmware and motor turn a position error into torque.

``voltage``: the firmware sets the bridge's duty cycle in proportion to the error, limits the
motor's current by the duty cycle, and limits the duty cycle last. ``current``: it sets the motor's
current within what the bus voltage allows. ``bus_current``: it sets the current drawn from the bus.
``current_pd``: a current from error and speed, as far as the bus voltage allows. ``torque_pd``: a
torque from error and speed. Torque constant, resistance and armature are those of the output shaft,
the gear ratio folded in.
"""

from collections.abc import Mapping

import numpy as np

from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.equations._parameter_layout import LAWS

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
    """Torque of a driven servo and the duty cycle of its bridge; everything broadcasts.

    The torque constant falls with the current where ``values`` have a ``torque_saturation``.

    Args:
      servo: constants of the servo.
      values: its identified parameters.
      error: position of the goal, as the firmware's speed limit lets it move, less the joint's
        [rad].
      speed: speed of the joint [rad/s].
      kp: firmware gain; the servo's own by default.
      vin: bus voltage [V]; the servo's own by default.
      damping: derivative gain of the laws that have one; the servo's own by default.

    Returns:
      Torque [N m] and duty cycle, 0 for a law without a bridge.
    """
    torque, duty = _unsaturated(servo, values, error, speed, kp, vin, damping)
    if saturation := values.get("torque_saturation", 0.0):
        torque = torque / (1.0 + saturation * np.abs(torque) / values["kt"])
    return torque, duty


def _unsaturated(
    servo: Servo,
    values: Mapping[str, float],
    error: np.ndarray | float,
    speed: np.ndarray | float,
    kp: float | None,
    vin: float | None,
    damping: float | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Torque and duty cycle with the torque constant of small currents."""
    error, speed = np.broadcast_arrays(np.asarray(error, float), np.asarray(speed, float))
    gain, rate = servo.gains(kp, damping)
    gain = gain * values.get("error_gain_ratio", values.get("ratio", 1.0))
    vin = servo.vin if vin is None else vin
    if servo.law == "torque_pd":
        limit = values.get("max_torque", np.inf)
        return np.clip(gain * error - rate * speed, -limit, limit), np.zeros(error.shape)
    kt, resistance = values["kt"], values["R"]
    emf = kt * speed
    limit = min(values.get("current_limit", np.inf), servo.max_amps)
    if servo.law == "voltage":
        span = resistance * limit / vin
        duty = np.clip(gain * error, emf / vin - span, emf / vin + span)
        duty = np.clip(duty, -servo.max_pwm, servo.max_pwm)
        sag = values.get("supply_resistance", 0.0) * duty / resistance
        bus = (vin + sag * emf) / (1.0 + sag * duty)
        return kt * (bus * duty - emf) / resistance, duty
    if servo.law == "current":
        amps = np.clip(gain * error, (-vin - emf) / resistance, (vin - emf) / resistance)
        amps = np.clip(amps, -limit, limit)
        return kt * amps, (resistance * amps + emf) / vin
    if servo.law == "bus_current":
        amps = np.clip(gain * error, -limit, limit)
        root = np.sqrt(emf**2 + 4.0 * vin * resistance * np.abs(amps))
        duty = np.clip((emf + np.sign(amps) * root) / (2.0 * vin), -1.0, 1.0)
        return kt * (duty * vin - emf) / resistance, duty
    amps = np.clip(gain * error - rate * speed, -servo.max_amps, servo.max_amps)
    reach = kt * vin / resistance
    back = kt * emf / resistance
    torque = np.clip(kt * amps, -reach - back, reach - back)
    return torque, (resistance * torque / kt + emf) / vin
