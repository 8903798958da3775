"""Windows of logs of a joint, simulated in a batch."""

from dataclasses import dataclass

import torch
from torch import Tensor

from trueup.networks.data.features import ANGLE, ANGLE_ERROR, VELOCITY
from trueup.networks.motion.driven_joint import DrivenJoint
from trueup.networks.motion.joint_step import SampleInputs


@dataclass(frozen=True, eq=False)
class JointWindows:
    """A batch of windows of logs; signals have the shape (samples, B)."""

    joint: DrivenJoint
    position: Tensor
    """Recorded angle [rad]."""
    speed: Tensor
    command: Tensor
    """Commanded angle at each sample [rad]."""
    enabled: Tensor
    feature_names: tuple[str, ...]
    """Inputs of the correction."""
    conditions: dict[str, Tensor]
    """Conditions of the logs by name, (B,) each."""
    kp: Tensor
    """Firmware gain of the angle error, (B,)."""
    gain: Tensor
    """Gain of the angle error, with its firmware factor, (B,)."""
    inputs: tuple[SampleInputs, ...]
    """Commands and conditions of each step."""
    h: float
    """Time step of the joint [s]."""
    rate: float
    torque: Tensor | None
    """Measured torque on the load [N m]."""

    def features(self, step: int, position: Tensor, speed: Tensor) -> Tensor:
        """Inputs of the correction at a sample, (B, features)."""
        found = {**self.conditions, ANGLE: position, VELOCITY: speed}
        if ANGLE_ERROR in self.feature_names:
            found[ANGLE_ERROR] = self.enabled[step] * (self.command[step] - position)
        return torch.stack([found[name] for name in self.feature_names], dim=-1)

    def load_torque(self, step: int, position: Tensor, speed: Tensor, after: Tensor) -> Tensor:
        """Torque on the load over a sample [N m]: inertia times acceleration plus gravity."""
        held = self.inputs[step]
        taken = torch.from_numpy(held.inertia) * (after - speed) * self.rate
        return taken + torch.from_numpy(held.gravity) * torch.sin(position)

    def after(
        self,
        step: int,
        position: Tensor,
        speed: Tensor,
        correction: Tensor,
        gain: Tensor | None = None,
        numbers: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Position and speed at the next sample.

        ``gain`` (B,) and ``numbers`` (numbers, B) override those of the joint.
        """
        joint = self.joint
        if gain is None:
            gain = self.gain * joint.gain_factors(self.kp) if joint.stated_gains else self.gain
        given = {"correction": correction, "gain": gain, "h": self.h, "numbers": numbers}
        return joint(position, speed, self.inputs[step], **given)
