"""Equations of one servo as functions of tensors: motor, friction and target."""

from collections.abc import Callable
from typing import NamedTuple

import torch

from trueup.actuators.equations._parameter_layout import ParameterValues
from trueup.actuators.equations.servo_equations import (
    REFERENCE_TEMPERATURE,
    slewed_target,
    winding_resistance,
)
from trueup.actuators.equations.servo_laws import law_parameters
from trueup.deploy.mjlab.module.parameter_file import ServoModel
from trueup.deploy.mjlab.module.tables import FRICTIONS, HOLDING, MOTOR_TERMS, MOTORS


class ServoFunctions(NamedTuple):
    """Functions of tensors that broadcast to (environments, joints), with a servo's parameters."""

    motor: Callable[..., tuple[torch.Tensor, torch.Tensor, torch.Tensor]]
    """``motor(error, speed, on, gain, rate_gain, vin)``: torque [N m], duty cycle and damping
    [N m s/rad] of the motor: error of the position [rad], speed [rad/s], torque enable 0 or 1,
    gains of the firmware and bus voltage [V]."""
    friction: Callable[..., torch.Tensor]
    """``friction(speed, motor, external)``: friction budget without its viscous part [N m], for
    a speed [rad/s] and torques of motor and load [N m]."""
    target: Callable[..., torch.Tensor]
    """``target(wanted, start)``: target after a time step of a firmware with a speed limit."""
    held: Callable[..., torch.Tensor]
    """``held(wanted, position, external, gain, vin)``: initial target of that firmware
    , which holds the joint against the load."""


def servo_functions(
    model: ServoModel, winding_temperature: float, timestep: float
) -> ServoFunctions:
    """Functions of a servo; its parameters, numbers or tensors, are read at each call.

    Args:
      model: identified servo.
      winding_temperature: temperature of the winding [degrees C].
      timestep: time step [s].
    """
    servo = model.servo
    of_motor = MOTORS[servo.law][any(term in model.terms for term in MOTOR_TERMS)]
    of_friction, holding = FRICTIONS[model.friction]["loss"], HOLDING[servo.law]
    gate, warmth = float(model.quadratic == "gated"), winding_temperature - REFERENCE_TEMPERATURE

    def parameters(gain, rate_gain, vin):
        values = model.values
        warm = winding_resistance(warmth, ParameterValues(values))
        return law_parameters(
            servo, values, gain=gain, rate_gain=rate_gain, vin=vin, resistance=warm
        )

    def motor(error, speed, on, gain, rate_gain, vin):
        return of_motor(error, speed, on, parameters(gain, rate_gain, vin))

    def friction(speed, motor, external):
        return of_friction(speed, motor, external, ParameterValues(model.values, gate=gate))

    def target(wanted, start):
        return slewed_target(wanted, start, model.values.get("max_velocity", 0.0) * timestep)

    def held(wanted, position, external, gain, vin):
        return holding(wanted, position, external, parameters(gain, 0.0, vin))

    return ServoFunctions(motor, friction, target, held)
