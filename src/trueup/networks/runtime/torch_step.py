"""Networks as torch modules for ``torch.jit.script`` and ``torch.export``, one step per call.

The recurrent part is the module of torch, under the name that simulators expect: ``gru`` or
``lstm``.
"""

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from trueup.networks.base.analytic import AnalyticBase
from trueup.networks.base.servo import ServoBase
from trueup.networks.base.torch_form import pd_function
from trueup.networks.base.torch_servo import ServoTorque
from trueup.networks.model.network import HELD_STEPS, Network
from trueup.networks.model.torch_network import TorchNetwork
from trueup.networks.runtime.deployment import Deployment


class Normalizer(nn.Module):
    """Normalisation of features and its inverse for the output; identity where excluded."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, network: Network, inside: bool):
        super().__init__()
        stats = network.normalization
        mean = stats.input_mean if inside else np.zeros_like(stats.input_mean)
        deviation = stats.input_deviation if inside else np.ones_like(stats.input_deviation)
        self.register_buffer("mean", _tensor(mean))
        self.register_buffer("deviation", _tensor(deviation))
        self.output_mean = stats.output_mean if inside else 0.0
        self.output_deviation = stats.output_deviation if inside else 1.0

    def forward(self, features: Tensor) -> Tensor:
        """Normalised features, (..., features)."""
        return (features - self.mean) / self.deviation

    def torque(self, output: Tensor) -> Tensor:
        """Torque of an output."""
        return self.output_mean + self.output_deviation * output


class BaseTorque(nn.Module):
    """The analytic base of a PD law.

    Args:
        base: the law.
        matrix: matrix from inputs to angle, error, velocity and target velocity (inputs, 4).
    """

    matrix: Tensor

    def __init__(self, base: AnalyticBase, matrix: np.ndarray):
        super().__init__()
        self.register_buffer("matrix", _tensor(matrix))
        self.law = pd_function(base)

    def forward(self, inputs: Tensor) -> Tensor:
        """Torque of raw inputs (B, inputs), shape (B, 1)."""
        values = inputs @ self.matrix
        return self.law(values[:, 0:1], values[:, 1:2], values[:, 2:3], values[:, 3:4])


class ServoBaseTorque(nn.Module):
    """The analytic base of an identified servo; arguments as for `BaseTorque`."""

    matrix: Tensor

    def __init__(self, base: ServoBase, matrix: np.ndarray):
        super().__init__()
        self.register_buffer("matrix", _tensor(matrix[:, :3]))
        self.servo = ServoTorque(replace(base, learned=False))

    def forward(self, inputs: Tensor) -> Tensor:
        """Torque of raw inputs (B, inputs), shape (B, 1)."""
        return self.servo(inputs @ self.matrix)[:, None]


class NoBase(nn.Module):
    """Zero base, for networks without an analytic base."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Zero torque, shape (B, 1)."""
        return torch.zeros_like(inputs[:, 0:1])


class Limit(nn.Module):
    """The torque limit."""

    def __init__(self, torque_limit: float | None):
        super().__init__()
        self.torque_limit = float("inf") if torque_limit is None else torque_limit

    def forward(self, torque: Tensor) -> Tensor:
        """The torque within the limit."""
        return torque.clamp(-self.torque_limit, self.torque_limit)


class NoSkip(nn.Module):
    """Zero skip, for networks without a linear skip."""

    def forward(self, normalised: Tensor) -> Tensor:
        """Zero output, shape (B, 1)."""
        return torch.zeros_like(normalised[:, 0:1])


class DeployedStep(nn.Module, ABC):
    """Common base of the modules below: the parts around the network."""

    def __init__(self, deployment: Deployment):
        super().__init__()
        network, matrix = deployment.network, self._matrix(deployment)
        self.features = len(network.features)
        self.normalizer = Normalizer(network, deployment.normalization)
        self.base = _base(network, matrix)
        self.limit = Limit(deployment.torque_limit)
        # the same layers as in training, so that the graph computes the same function
        inner = TorchNetwork.from_network(replace(network, base=None))
        self.skip = NoSkip() if inner.skip is None else inner.skip
        self._take(inner)

    def _matrix(self, deployment: Deployment) -> np.ndarray | None:
        """Matrix from the inputs to those of the base; None without a base."""
        return deployment.base_matrix

    @abstractmethod
    def _take(self, inner: TorchNetwork) -> None:
        """Register the layers under the names that simulators expect."""

    def torque(self, output: Tensor, inputs: Tensor) -> Tensor:
        """Torque from the output of the network (B, 1) and the raw inputs (B, inputs)."""
        return self.limit(self.normalizer.torque(output) + self.base(inputs))


class GruModule(DeployedStep):
    """``(x (B, 1, inputs), h (layers, B, hidden)) -> (torque (B, 1), h)``.

    Where ``h`` is zero, the sample is the first one: :data:`HELD_STEPS` steps with it initialise
    the state. In a graph without this case (``holds`` False) the caller does them.
    """

    holds: bool = True

    def _take(self, inner: TorchNetwork) -> None:
        self.gru, self.head = inner.rnn, inner.head

    def forward(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        """One time step."""
        normalised = self.normalizer(x[:, :, : self.features])
        if self.holds:
            rows = fresh_rows(h)
            if rows.shape[0] > 0:
                _, held = self.gru(held_steps(normalised[rows]), h[:, rows].contiguous())
                h = h.index_copy(1, rows, held)
        hidden, h_next = self.gru(normalised, h)
        output = self.head(hidden[:, -1]) + self.skip(normalised[:, -1])
        return self.torque(output, x[:, -1]), h_next


class LstmStep(DeployedStep):
    """Common base of the modules of an LSTM."""

    def _take(self, inner: TorchNetwork) -> None:
        self.lstm, self.head = inner.rnn, inner.head
        self.rows = inner.rnn.num_layers

    def held(self, normalised: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """State with rows of zeros replaced by the state after holding the first sample."""
        hidden, cell = state
        rows = fresh_rows(hidden)
        if rows.shape[0] == 0:
            return state
        before = (hidden[:, rows].contiguous(), cell[:, rows].contiguous())
        _, after = self.lstm(held_steps(normalised[rows]), before)
        return hidden.index_copy(1, rows, after[0]), cell.index_copy(1, rows, after[1])


class LstmModule(LstmStep):
    """As `GruModule`; ``h (2 layers, B, hidden)`` holds the hidden states, then the cells."""

    holds: bool = True

    def forward(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        """One time step."""
        state = (h[: self.rows].contiguous(), h[self.rows :].contiguous())
        normalised = self.normalizer(x[:, :, : self.features])
        if self.holds:
            state = self.held(normalised, state)
        hidden, (state, cell) = self.lstm(normalised, state)
        output = self.head(hidden[:, -1]) + self.skip(normalised[:, -1])
        return self.torque(output, x[:, -1]), torch.cat([state, cell])


class HistoryModule(DeployedStep):
    """As `GruModule`; ``h (history + 1, B, features)`` holds raw features, newest first.

    Its last row is 1 once it is filled; at the first step the features fill the whole history.
    """

    def _take(self, inner: TorchNetwork) -> None:
        self.layers = layers_of(inner)

    def forward(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        """One time step."""
        newest = x[:, :, : self.features].transpose(0, 1)
        earlier = torch.where(h[-1:] == 0.0, newest, h[:-2])
        history = torch.cat([newest, earlier])
        values = self.normalizer(history).permute(1, 2, 0).flatten(1)
        h_next = torch.cat([history, torch.ones_like(newest)])
        return self.torque(self.layers(values) + self.skip(values), x[:, -1]), h_next


def deployed_module(deployment: Deployment, holds: bool) -> nn.Module:
    """The module with the signature ``(x, h) -> (torque, h)``.

    Args:
        deployment: the network and its parts.
        holds: whether a zero state is initialised by the first sample, see `GruModule`.
    """
    network = deployment.network
    kinds = {"gru": GruModule, "lstm": LstmModule}
    module = kinds.get(network.family, HistoryModule)(deployment).eval()
    module.holds = holds
    return module


def fresh_rows(h: Tensor) -> Tensor:
    """Rows of a batch with zero hidden state (layers, B, hidden), as before the first step."""
    return torch.nonzero((h == 0.0).all(2).all(0))[:, 0]


def held_steps(first: Tensor, steps: int = HELD_STEPS) -> Tensor:
    """First samples (B, 1, features), repeated for a cold start (B, steps, features)."""
    return first.expand(-1, steps, -1).contiguous()


def _base(network: Network, matrix: np.ndarray | None) -> nn.Module:
    if matrix is None or network.base is None:
        return NoBase()
    if isinstance(network.base, ServoBase):
        return ServoBaseTorque(network.base, matrix)
    return BaseTorque(network.base, matrix)


def layers_of(inner: TorchNetwork) -> nn.Sequential:
    """The layers of an ``mlp`` or ``linear`` network with the activation between them."""
    modules: list[nn.Module] = []
    for layer in inner.layers:
        modules += [inner.activation, layer] if modules else [layer]
    return nn.Sequential(*modules)


def _tensor(values: np.ndarray) -> Tensor:
    return torch.tensor(np.asarray(values), dtype=torch.float32)
