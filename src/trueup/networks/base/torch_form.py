"""The analytic base as a torch module, so that training can adjust its gains."""

from collections.abc import Callable
from dataclasses import fields, replace

import torch
from torch import Tensor, nn

from trueup.actuators.equations._parameter_layout import ParameterValues
from trueup.actuators.equations.array_form import torch_function
from trueup.networks.base.analytic import AnalyticBase
from trueup.networks.base.equations import pd_torque
from trueup.networks.data.normalization import Normalization

GAINS = ("kp", "kd", "k_spring", "theta0")
"""Parameters of a PD law that training may adjust."""


class TorchBase(nn.Module):
    """Torque of `AnalyticBase` on tensors.

    A learned base has, for each of kp, kd, k_spring and theta0, a step from its initial value,
    scaled by the statistics (standard deviation of the torque over that of the feature that it
    multiplies), so that one learning rate suits both these and the weights of the network.

    Args:
        base: the law and its initial values.
        normalization: statistics that scale the steps.
    """

    steps: Tensor
    start: Tensor
    scale: Tensor

    def __init__(self, base: AnalyticBase, normalization: Normalization):
        super().__init__()
        self.base = base
        self.law = pd_function(base, GAINS)
        start = torch.tensor([getattr(base, name) for name in GAINS], dtype=torch.float64)
        self.register_buffer("start", start.float(), persistent=False)
        scale = torch.tensor(_scales(base, normalization)).float()
        self.register_buffer("scale", scale, persistent=False)
        if base.learned:
            self.steps = nn.Parameter(torch.zeros(len(GAINS)))
        else:
            self.register_buffer("steps", torch.zeros(len(GAINS)), persistent=False)

    def forward(self, features: Tensor) -> Tensor:
        """Torque [N m], shape (B, T), of raw features (B, T, 3 or 4) in the base's order."""
        angle, error, velocity = features[..., 0], features[..., 1], features[..., 2]
        wanted = features[..., 3] if self.base.target_velocity else torch.zeros_like(velocity)
        gains = self.start + self.scale * self.steps
        return self.law(angle, error, velocity, wanted, gains)

    def to_base(self) -> AnalyticBase:
        """The law with the trained gains."""
        if not self.base.learned:
            return self.base
        moved = (self.scale.double() * self.steps.double()).tolist()
        gains = {n: getattr(self.base, n) + by for n, by in zip(GAINS, moved, strict=True)}
        return replace(self.base, **gains)


def pd_function(base: AnalyticBase, moved: tuple[str, ...] = ()) -> Callable[..., Tensor]:
    """The law of a base as a function of tensors.

    Args:
        base: the law.
        moved: names of its parameters that are arguments of the function; the others are constants.

    Returns:
        Function of angle, error, velocity and target velocity, and of a tensor with the parameters
        ``moved`` where there are any.
    """
    own = {f.name: getattr(base, f.name) for f in fields(base)}

    def pd_law(angle, error, velocity, wanted, given=None):
        p = ParameterValues(own, **(given or {}))
        return pd_torque(angle, error, velocity, wanted, p, base.has_curve)

    return torch_function(pd_law, ("angle", "error", "velocity", "wanted"), moved)


def _scales(base: AnalyticBase, normalization: Normalization) -> list[float]:
    """Step of each gain that changes the torque by about its standard deviation."""
    deviations = dict(zip(normalization.features, normalization.input_deviation, strict=True))
    angle, error, velocity = (float(deviations.get(name, 1.0)) for name in base.features[:3])
    torque = normalization.output_deviation
    return [torque / error, torque / velocity, torque / angle, angle]
