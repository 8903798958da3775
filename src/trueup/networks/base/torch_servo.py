"""An identified servo as a torch module, for training and for exports."""

import torch
from torch import Tensor, nn

from trueup.actuators.equations.array_form import torch_function
from trueup.networks.base.servo import ServoBase


class ServoTorque(nn.Module):
    """The torque of `ServoBase` on tensors, in the subset of Python that TorchScript supports.

    The buffer ``start`` contains the parameters of the base; each is multiplied by ``exp`` of its
    step, so that none changes its sign, and weight decay pulls it towards its identified value.

    Args:
        base: the servo; with ``learned`` the steps are trainable.
    """

    start: Tensor
    steps: Tensor

    def __init__(self, base: ServoBase):
        super().__init__()
        numbers = torch.tensor(list(base.numbers.values()), dtype=torch.float64)
        self.register_buffer("start", numbers.float(), persistent=False)
        if base.learned:
            self.steps = nn.Parameter(torch.zeros(len(numbers)))
        else:
            self.register_buffer("steps", torch.zeros(len(numbers)), persistent=False)

        self.torque = torch_function(
            base.equation, ("angle", "error", "velocity"), tuple(base.numbers)
        )

    def forward(self, features: Tensor) -> Tensor:
        """Torque [N m], shape (...), of angle, angle error and velocity, shape (..., 3)."""
        numbers = self.start * torch.exp(self.steps)
        return self.torque(features[..., 0], features[..., 1], features[..., 2], numbers)


class TorchServo(ServoTorque):
    """`ServoTorque` in training, with conversion back to a base."""

    def __init__(self, base: ServoBase):
        super().__init__(base)
        self.base = base

    def to_base(self) -> ServoBase:
        """The servo with the trained parameters."""
        if not self.base.learned:
            return self.base
        factors = torch.exp(self.steps.detach().double()).tolist()
        numbers = self.base.numbers
        return self.base.with_numbers(
            {name: numbers[name] * by for name, by in zip(numbers, factors, strict=True)}
        )
