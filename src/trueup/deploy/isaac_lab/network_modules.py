"""Networks as torch modules for the actuator classes of Isaac Lab and mjlab."""

import numpy as np
import torch
from torch import Tensor

from trueup.networks.model.torch_network import TorchNetwork
from trueup.networks.runtime.deployment import Deployment, base_matrix
from trueup.networks.runtime.torch_step import DeployedStep, LstmStep, layers_of


class IsaacMlp(DeployedStep):
    """``(B, 2 history) -> (B, 1)``: angle errors, then velocities, newest first, unscaled.

    Interface of ``ActuatorNetMLP`` of Isaac Lab and ``LearnedMlpActuator`` of mjlab. After a reset
    of Isaac Lab the history is zero; zeros are replaced by the first sample.
    """

    def _matrix(self, deployment: Deployment) -> np.ndarray | None:
        # from the newest features only
        network = deployment.network
        has_base = deployment.base_matrix is not None
        return base_matrix(network, network.features) if has_base else None

    def _take(self, inner: TorchNetwork) -> None:
        self.history = inner.history
        self.layers = layers_of(inner)

    def forward(self, x: Tensor) -> Tensor:
        """Torque from the history."""
        rows = _filled(x.reshape(-1, self.features, self.history))
        values = self.normalizer(rows.transpose(1, 2)).transpose(1, 2).flatten(1)
        return self.torque(self.layers(values) + self.skip(values), rows[:, :, 0])


class IsaacLstm(LstmStep):
    """``(x (B, 1, 2), (h, c)) -> (torque (B, 1), (h, c))``, each state (layers, B, hidden).

    Interface of ``ActuatorNetLSTM`` of Isaac Lab; x is angle error and velocity, unscaled.
    """

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """One time step."""
        normalised = self.normalizer(x[:, :, : self.features])
        hidden, state_next = self.lstm(normalised, self.held(normalised, state))
        output = self.head(hidden[:, -1]) + self.skip(normalised[:, -1])
        return self.torque(output, x[:, -1]), state_next


def _filled(rows: Tensor) -> Tensor:
    """Histories (B, features, history), newest first; the first sample replaces leading zeros."""
    zero = (rows == 0.0).all(1).flip(1)
    before = zero.long().cumprod(1).flip(1)
    oldest = (rows.shape[2] - before.sum(1) - 1).clamp(min=0)
    first = rows.gather(2, oldest[:, None, None].expand(-1, rows.shape[1], 1))
    return torch.where(before[:, None] > 0, first, rows)
