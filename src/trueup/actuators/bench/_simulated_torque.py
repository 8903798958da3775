"""Motor torque along a simulated motion, from duty cycle or, without a bridge, position error."""

import numpy as np

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations.servo_equations import REFERENCE_TEMPERATURE
from trueup.actuators.equations.servo_laws import motor_torque
from trueup.actuators.logs.servo_log import Array, ServoLog


def simulated_torque(
    model: ServoModel,
    log: ServoLog,
    position: Array,
    speed: Array,
    duty: Array,
    vin: float | None = None,
) -> Array:
    """Torque of the motor at the output [N m] in the states of a rollout, ``(n,)``.

    While backlash separates motor and load, the speed of the load approximates that of the motor.

    Args:
        model: simulated servo model.
        log: log of that simulation.
        position: simulated angle [rad], ``(n,)``.
        speed: simulated speed [rad/s], ``(n,)``.
        duty: simulated duty cycle of the bridge, ``(n,)``.
        vin: nominal bus voltage [V] that replaces that of the log.
    """
    driven = log.torque_enable.astype(float)
    if model.servo.law == "torque_pd":
        goal = _commanded_goal(model, log)
        torque, _ = motor_torque(
            model.servo,
            model.values,
            goal - position,
            speed,
            kp=log.kp,
            damping=log.damping,
        )
        return torque * driven
    values = model.values
    bus = np.full(len(log), _nominal_voltage(model, log, vin))
    if log.input_volts is not None:
        bus = bus + values.get("measured_voltage", 0.0) * (log.input_volts - bus)
    resistance = np.full(len(log), values["R"])
    if log.temperature is not None:
        warmth = log.temperature - REFERENCE_TEMPERATURE
        resistance = resistance * (1.0 + values.get("resistance_temperature", 0.0) * warmth)
    kt = values["kt"]
    emf = kt * speed
    sag = values.get("supply_resistance", 0.0) * duty / resistance
    bus = (bus + sag * emf) / (1.0 + sag * duty)
    driving = kt * (bus * duty - emf) / resistance
    driving = driving / (1.0 + values.get("torque_saturation", 0.0) * np.abs(driving) / kt)
    braking = -values.get("winding_braking", 0.0) * kt * emf / resistance
    return driven * driving + (1.0 - driven) * braking


def _nominal_voltage(model: ServoModel, log: ServoLog, vin: float | None) -> float:
    if vin is not None:
        return vin
    return model.servo.vin if log.vin is None else log.vin


def _commanded_goal(model: ServoModel, log: ServoLog) -> Array:
    """Goal that the firmware tracks: delayed, and rate-limited by its speed limit."""
    delay = model.values.get("command_delay", 0.0)
    late = np.searchsorted(log.times, log.times - delay + 1e-9, side="right") - 1
    goal = log.goal_position[np.maximum(late, 0)]
    limit = model.values.get("max_velocity", np.inf)
    if not np.isfinite(limit):
        return goal
    followed = np.empty_like(goal)
    at = float(log.position[0])
    for i, reach in enumerate(limit * np.diff(log.times, append=log.times[-1])):
        followed[i] = at = float(np.clip(goal[i], at - reach, at + reach))
    return followed
