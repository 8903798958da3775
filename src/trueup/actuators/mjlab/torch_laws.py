"""Servo laws on torch tensors: the torque of :func:`trueup.actuators.motor_torque`, batched.

Beside torque and duty cycle each law gives its damping: by how much more speed lowers the torque.
A simulator that treats it implicitly stays stable and accurate at long steps.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch

from trueup.actuators.catalogue.servo import Servo


class Drive(NamedTuple):
    """What a driven servo gives, each (environments, joints)."""

    torque: torch.Tensor
    """Torque at the output [N m]."""
    duty: torch.Tensor
    """Duty cycle of the bridge, 0 for a law without one."""
    damping: torch.Tensor
    """By how much more speed lowers the torque [N m s/rad]."""


class LawInputs(NamedTuple):
    """What a law reads; all broadcast to (environments, joints)."""

    error: torch.Tensor
    """Position of the goal less the joint's [rad]."""
    speed: torch.Tensor
    """Speed of the joint [rad/s]."""
    gain: torch.Tensor
    """What one radian makes: duty cycle, A or N m."""
    rate: torch.Tensor
    """Derivative gain: A or N m a rad/s."""
    vin: torch.Tensor
    """Bus voltage [V]."""
    resistance: torch.Tensor | float
    """Winding resistance [ohm]."""


def drive(servo: Servo, values: Mapping[str, float], state: LawInputs) -> Drive:
    """Torque of a driven servo.

    Args:
      servo: law and constants.
      values: identified parameters.
      state: errors, speeds, gains and voltage.
    """
    found = _unsaturated(servo, values, state)
    if saturation := values.get("torque_saturation", 0.0):
        torque = found.torque / (1.0 + saturation / values["kt"] * found.torque.abs())
        found = Drive(torque, found.duty, found.damping)
    return found


def _unsaturated(servo: Servo, values: Mapping[str, float], state: LawInputs) -> Drive:
    ratio = values.get("error_gain_ratio", values.get("ratio", 1.0))
    command = state.gain * ratio * state.error
    limit = min(values.get("current_limit", float("inf")), servo.max_amps)
    if servo.law == "torque_pd":
        return _torque_pd(values.get("max_torque", float("inf")), command, state)
    if servo.law == "voltage":
        return _voltage(values, limit, servo.max_pwm, command, state)
    if servo.law == "current":
        return _current(values, limit, command, state)
    if servo.law == "bus_current":
        return _bus_current(values, limit, command, state)
    return _current_pd(values, servo.max_amps, command, state)


def _voltage(
    values: Mapping[str, float], limit: float, max_pwm: float, duty: torch.Tensor, state: LawInputs
) -> Drive:
    kt, resistance, vin = values["kt"], state.resistance, state.vin
    emf = kt * state.speed
    damping = torch.ones_like(emf) * (kt * kt / resistance)
    if limit < float("inf"):
        span, center = resistance * limit / vin, emf / vin
        limited = torch.clamp(duty, center - span, center + span)
        # a current limiter that acts has taken the back-EMF out of the torque
        damping.masked_fill_((limited != duty) & (limited.abs() <= max_pwm), 0.0)
        duty = limited
    duty = duty.clamp(-max_pwm, max_pwm)
    bus = vin
    if supply := values.get("supply_resistance", 0.0):
        # the bus sags by what the bridge draws, duty times the motor's current
        sag = supply * duty / resistance
        bus = (vin + sag * emf) / (1.0 + sag * duty)
    return Drive((bus * duty - emf) * kt / resistance, duty, damping)


def _current(
    values: Mapping[str, float], limit: float, amps: torch.Tensor, state: LawInputs
) -> Drive:
    kt, resistance, vin = values["kt"], state.resistance, state.vin
    emf = kt * state.speed
    reached = torch.clamp(amps, (-vin - emf) / resistance, (vin - emf) / resistance)
    saturated = (reached != amps) & (reached.abs() <= limit)
    amps = reached.clamp(-limit, limit)
    damping = saturated * (kt * kt / resistance)
    return Drive(kt * amps, (resistance * amps + emf) / vin, damping)


def _bus_current(
    values: Mapping[str, float], limit: float, amps: torch.Tensor, state: LawInputs
) -> Drive:
    kt, resistance, vin = values["kt"], state.resistance, state.vin
    emf = kt * state.speed
    amps = amps.clamp(-limit, limit)
    # the bridge draws duty times the motor's current: duty^2 vin - duty kt v = R |amps|
    root = torch.sqrt(emf * emf + 4.0 * vin * resistance * amps.abs())
    duty = ((emf + amps.sign() * root) / (2.0 * vin)).clamp_(-1.0, 1.0)
    # half the back-EMF: duty grows with the other half
    damping = torch.ones_like(emf) * (0.5 * kt * kt / resistance)
    return Drive((duty * vin - emf) * kt / resistance, duty, damping)


def _current_pd(
    values: Mapping[str, float], limit: float, command: torch.Tensor, state: LawInputs
) -> Drive:
    kt, resistance, vin = values["kt"], state.resistance, state.vin
    emf = kt * state.speed
    wanted = command - state.rate * state.speed
    amps = wanted.clamp(-limit, limit)
    damping = torch.where(amps == wanted, kt * state.rate, 0.0)
    reach, back = kt * vin / resistance, kt * emf / resistance
    torque = torch.clamp(kt * amps, -reach - back, reach - back)
    damping = torch.where(torque == kt * amps, damping, kt * kt / resistance)
    return Drive(torque, (resistance * torque / kt + emf) / vin, damping)


def _torque_pd(limit: float, command: torch.Tensor, state: LawInputs) -> Drive:
    wanted = command - state.rate * state.speed
    torque = wanted.clamp(-limit, limit)
    damping = torch.where(torque == wanted, state.rate, 0.0)
    return Drive(torque, torch.zeros_like(torque), damping)
