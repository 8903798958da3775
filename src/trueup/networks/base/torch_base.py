"""The analytic base as a torch module, so that training can move its gains."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from trueup.networks.base.analytic_base import AnalyticBase
from trueup.networks.data.normalization import Normalization

_GAINS = ("kp", "kd", "k_spring", "theta0")


class TorchBase(nn.Module):
    """The law of `AnalyticBase` on tensors.

    A learned base holds, for each of kp, kd, k_spring and theta0, a step from its start in units of
    the statistics (torque's deviation over that of the feature it multiplies), so that one learning
    rate suits them and the network's weights alike.

    Args:
        base: the law and its start values.
        normalization: statistics that scale the steps.
    """

    steps: Tensor
    start: Tensor
    scale: Tensor

    def __init__(self, base: AnalyticBase, normalization: Normalization):
        super().__init__()
        self.base = base
        self.target_velocity = base.target_velocity
        self.stall_torque = 0.0 if base.stall_torque is None else base.stall_torque
        self.no_load_speed = 0.0 if base.no_load_speed is None else base.no_load_speed
        start = torch.tensor([getattr(base, name) for name in _GAINS], dtype=torch.float64)
        self.register_buffer("start", start.float(), persistent=False)
        scale = torch.tensor(_scales(base, normalization)).float()
        self.register_buffer("scale", scale, persistent=False)
        if base.learned:
            self.steps = nn.Parameter(torch.zeros(len(_GAINS)))
        else:
            self.register_buffer("steps", torch.zeros(len(_GAINS)), persistent=False)

    def forward(self, features: Tensor) -> Tensor:
        """Torque [N m], shape (B, T), of raw features (B, T, 3 or 4) in the base's order."""
        kp, kd, k_spring, theta0 = (self.start + self.scale * self.steps).unbind()
        angle, error, velocity = features[..., 0], features[..., 1], features[..., 2]
        approach = -velocity
        if self.target_velocity:
            approach = features[..., 3] - velocity
        drive = kp * error + kd * approach
        if self.no_load_speed > 0.0:
            along = self.stall_torque * (1.0 - velocity.abs() / self.no_load_speed).clamp(0.0, 1.0)
            stall = torch.full_like(along, self.stall_torque)
            upper = torch.where(velocity > 0, along, stall)
            lower = torch.where(velocity < 0, along, stall)
            drive = torch.minimum(torch.maximum(drive, -lower), upper)
        return drive - k_spring * (angle - theta0)

    def to_base(self) -> AnalyticBase:
        """The law with the gains that training has reached."""
        if not self.base.learned:
            return self.base
        moved = (self.scale.double() * self.steps.double()).tolist()
        gains = {n: getattr(self.base, n) + by for n, by in zip(_GAINS, moved, strict=True)}
        return replace(self.base, **gains)


def _scales(base: AnalyticBase, normalization: Normalization) -> list[float]:
    """Step of each gain that moves the torque by about its deviation."""
    deviations = dict(zip(normalization.features, normalization.input_deviation, strict=True))
    angle, error, velocity = (float(deviations.get(name, 1.0)) for name in base.features[:3])
    torque = normalization.output_deviation
    return [torque / error, torque / velocity, torque / angle, angle]
