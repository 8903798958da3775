"""An identified servo as a torch module: the base that training may move, and that exports hold."""

from dataclasses import replace
from typing import Final

import torch
from torch import Tensor, nn

from trueup.networks.base.servo_base import LEARNED, SMALLEST_SQUARE, ServoBase


class ServoTorque(nn.Module):
    """The law of `ServoBase` on tensors, in the subset of Python that TorchScript takes.

    Numbers of ``LEARNED`` stand in ``start``; each is multiplied by ``exp`` of its step, so that
    none turns its sign, and weight decay draws it to what was identified.

    Args:
        base: the servo; ``learned`` makes the steps parameters.
    """

    start: Tensor
    steps: Tensor
    law: Final[str]
    friction: Final[bool]
    gated: Final[bool]

    def __init__(self, base: ServoBase):
        super().__init__()
        self.law, self.friction, self.gated = base.law, base.friction, base.gated
        self.vin, self.max_pwm, self.limit = base.vin, base.max_pwm, base.limit
        self.friction_velocity, self.smallest_square = base.friction_velocity, SMALLEST_SQUARE
        self.load_gravity = base.load_gravity
        self.load_gravity_angle = base.load_gravity_angle
        numbers = torch.tensor([getattr(base, name) for name in LEARNED], dtype=torch.float64)
        self.register_buffer("start", numbers.float(), persistent=False)
        if base.learned:
            self.steps = nn.Parameter(torch.zeros(len(LEARNED)))
        else:
            self.register_buffer("steps", torch.zeros(len(LEARNED)), persistent=False)

    def forward(self, features: Tensor) -> Tensor:
        """Torque [N m], shape (...), of angle, angle error and velocity, shape (..., 3)."""
        numbers = (self.start * torch.exp(self.steps)).unbind()
        gain, rate_gain, kt, resistance, supply, saturation = (
            numbers[0],
            numbers[1],
            numbers[2],
            numbers[3],
            numbers[4],
            numbers[5],
        )
        angle, error, velocity = features[..., 0], features[..., 1], features[..., 2]
        motor = self.motor(error, velocity, gain, rate_gain, kt, resistance, supply)
        motor = motor / (1.0 + saturation * motor.abs() / kt)
        if not self.friction:
            return motor
        external = -self.load_gravity * torch.sin(angle - self.load_gravity_angle)
        apart = (external - motor).abs()
        loss = numbers[6] + numbers[9] * apart
        loss = loss + (numbers[12] * external - numbers[11] * motor).abs()
        peak = numbers[8] + numbers[10] * apart
        peak = peak + (numbers[14] * external - numbers[13] * motor).abs()
        driving = motor.abs() - external.abs()
        zero = torch.zeros_like(driving)
        square = torch.where(driving > 0, numbers[16] * external.square(), zero)
        square = torch.where(driving < 0, numbers[15] * motor.square(), square)
        if self.gated:
            square = torch.where(torch.sign(motor) != torch.sign(external), square, zero)
        ratio = velocity.abs() / numbers[17]
        loss = loss + torch.exp(-torch.pow(ratio, numbers[18])) * (peak + square)
        return motor - torch.tanh(velocity / self.friction_velocity) * loss - numbers[7] * velocity

    def motor(
        self,
        error: Tensor,
        velocity: Tensor,
        gain: Tensor,
        rate_gain: Tensor,
        kt: Tensor,
        resistance: Tensor,
        supply: Tensor,
    ) -> Tensor:
        """Torque of the motor with the torque constant of small currents."""
        if self.law == "torque_pd":
            return (gain * error - rate_gain * velocity).clamp(-self.limit, self.limit)
        emf = kt * velocity
        if self.law == "voltage":
            span = resistance * self.limit / self.vin
            duty = _between(gain * error, emf / self.vin - span, emf / self.vin + span)
            duty = duty.clamp(-self.max_pwm, self.max_pwm)
            sag = supply * duty / resistance
            bus = (self.vin + sag * emf) / (1.0 + sag * duty)
            return kt * (bus * duty - emf) / resistance
        if self.law == "current":
            low, high = (-self.vin - emf) / resistance, (self.vin - emf) / resistance
            return kt * _between(gain * error, low, high).clamp(-self.limit, self.limit)
        if self.law == "bus_current":
            amps = (gain * error).clamp(-self.limit, self.limit)
            square = emf.square() + 4.0 * self.vin * resistance * amps.abs()
            root = square.clamp(min=self.smallest_square).sqrt()
            duty = ((emf + torch.sign(amps) * root) / (2.0 * self.vin)).clamp(-1.0, 1.0)
            return kt * (duty * self.vin - emf) / resistance
        amps = (gain * error - rate_gain * velocity).clamp(-self.limit, self.limit)
        reach, back = kt * self.vin / resistance, kt * emf / resistance
        return _between(kt * amps, -reach - back, reach - back)


class TorchServo(ServoTorque):
    """`ServoTorque` in training, which gives its base back."""

    def __init__(self, base: ServoBase):
        super().__init__(base)
        self.base = base

    def to_base(self) -> ServoBase:
        """The servo with the numbers that training has reached."""
        if not self.base.learned:
            return self.base
        factors = torch.exp(self.steps.detach().double()).tolist()
        return replace(
            self.base,
            **{n: getattr(self.base, n) * by for n, by in zip(LEARNED, factors, strict=True)},
        )


def _between(values: Tensor, low: Tensor, high: Tensor) -> Tensor:
    return torch.minimum(torch.maximum(values, low), high)
