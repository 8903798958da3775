"""The equations of one servo as functions of tensors: its motor, friction and target."""

from collections.abc import Callable
from typing import NamedTuple

import torch

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations import servo_equations as equations
from trueup.actuators.equations._parameter_layout import ParameterValues
from trueup.actuators.equations.array_form import torch_function
from trueup.actuators.equations.servo_laws import law_parameters


class ServoFunctions(NamedTuple):
    """Functions of tensors that broadcast to (environments, joints), with a servo's numbers."""

    motor: Callable[..., tuple[torch.Tensor, torch.Tensor, torch.Tensor]]
    """``motor(error, speed, on, gain, rate_gain, vin)``: torque [N m], duty cycle and damping
    [N m s/rad] of the motor: error of the position [rad], speed [rad/s], torque enable 0 or 1,
    gains of the firmware and bus voltage [V]."""
    friction: Callable[..., torch.Tensor]
    """``friction(speed, motor, external)``: friction budget without its viscous part [N m], for
    a speed [rad/s] and torques of motor and load [N m]."""
    target: Callable[..., torch.Tensor]
    """``target(wanted, start)``: target after a time step of a firmware that limits its speed."""
    held: Callable[..., torch.Tensor]
    """``held(wanted, position, external, gain, vin)``: target of that firmware before the first
    step, where it has held the joint against the load."""


def servo_functions(
    model: ServoModel, winding_temperature: float, timestep: float
) -> ServoFunctions:
    """Functions of a servo.

    Args:
      model: identified servo.
      winding_temperature: temperature of the winding [degrees C].
      timestep: time step [s].
    """
    values = model.values

    def parameters(gain, rate_gain, vin):
        warmth = winding_temperature - equations.REFERENCE_TEMPERATURE
        return law_parameters(
            model.servo, values, gain=gain, rate_gain=rate_gain, vin=vin,
            resistance=equations.winding_resistance(warmth, ParameterValues(values)),
        )  # fmt: skip

    def motor(error, speed, on, gain, rate_gain, vin):
        p = parameters(gain, rate_gain, vin)
        driven, duty, damping = equations.LAWS[model.servo.law](error, speed, p)
        driven = equations.saturated_torque(driven, p)
        torque, damping = equations.shaft_torque(on, driven, damping, speed, p)
        return torque, on * duty, damping

    def friction(speed, motor, external):
        p = ParameterValues(values, gate=float(model.quadratic == "gated"))
        return model.friction.loss(motor, external, speed, p)

    def target(wanted, start):
        return equations.slewed_target(wanted, start, values.get("max_velocity", 0.0) * timestep)

    def held(wanted, position, external, gain, vin):
        p = parameters(gain, 0.0, vin)
        return equations.held_target(model.servo.law, wanted, position, external, p)

    return ServoFunctions(
        torch_function(motor, ("error", "speed", "on", "gain", "rate_gain", "vin")),
        torch_function(friction, ("speed", "motor", "external")),
        torch_function(target, ("wanted", "start")),
        torch_function(held, ("wanted", "position", "external", "gain", "vin")),
    )
