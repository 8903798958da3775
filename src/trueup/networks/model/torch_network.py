"""A network as a torch module, for training and for scores on whole recordings."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from trueup.errors import FitError, SignalError
from trueup.networks.base.servo import ServoBase
from trueup.networks.base.torch_form import TorchBase
from trueup.networks.base.torch_servo import TorchServo
from trueup.networks.model.network import HELD_STEPS, RECURRENT, SKIP, Family, Network

State = Tensor | tuple[Tensor, Tensor]
"""State between steps: ``gru`` (layers, B, hidden); ``lstm`` a pair of these, hidden and cell;
``mlp`` and ``linear`` the last raw features (B, history, features), newest first.
"""

_ACTIVATIONS = {"elu": nn.ELU, "relu": nn.ReLU, "softsign": nn.Softsign, "tanh": nn.Tanh}


class TorchNetwork(nn.Module):
    """Normalisation, network, analytic base and torque limit in one module.

    ``forward(x, h_prev=None) -> (torque, h_next)`` maps raw features to the torque [N m] of every
    step; ``h_prev=None`` is a cold start. One call over n steps and n calls over one step each,
    with the state passed on, return the same torque.

    Args:
        template: a network with the family, sizes, statistics, base and limit. Its weights are the
            initial ones.
        dropout: fraction of the hidden values dropped between recurrent layers in training.
    """

    input_mean: Tensor
    input_deviation: Tensor
    base_columns: Tensor

    def __init__(self, template: Network, dropout: float = 0.0):
        super().__init__()
        self.template = template
        self.history = template.history
        self.feature_count = len(template.features)
        stats = template.normalization
        self.register_buffer("input_mean", _float(stats.input_mean), persistent=False)
        self.register_buffer("input_deviation", _float(stats.input_deviation), persistent=False)
        self.output_mean = stats.output_mean
        self.output_deviation = stats.output_deviation
        self.torque_limit = template.torque_limit
        with torch.random.fork_rng(devices=[]):  # torch draws initial weights, replaced below
            self._make_layers(template, dropout)
        self.base = _torch_base(template)
        columns = [] if template.base is None else list(template.base.features)
        indices = [template.inputs.index(name) for name in columns]
        self.register_buffer("base_columns", torch.tensor(indices).long(), persistent=False)
        weights = {name: _float(value) for name, value in template.weights.items()}
        self.load_state_dict(weights, strict=False)

    def _make_layers(self, template: Network, dropout: float) -> None:
        self.skip = None
        if template.has_skip:
            self.skip = nn.Linear(template.weights[SKIP].shape[1], 1, bias=False)
        if template.family in RECURRENT:
            kind = nn.GRU if template.family == "gru" else nn.LSTM
            self.rnn = kind(
                self.feature_count,
                template.hidden,
                num_layers=template.layers,
                batch_first=True,
                dropout=dropout if template.layers > 1 else 0.0,
            )
            self.head = nn.Linear(template.hidden, 1)
            return
        self.layers = nn.ModuleList(
            nn.Linear(*reversed(template.weights[f"layers.{layer}.weight"].shape))
            for layer in range(template.layers)
        )
        self.activation = _ACTIVATIONS[template.activation]()

    @classmethod
    def from_network(cls, network: Network) -> "TorchNetwork":
        """The module of a trained network."""
        return cls(network).eval()

    def to_network(self, provenance: Mapping[str, Any] | None = None) -> Network:
        """The network as plain data, with the current weights of the module."""
        weights = {
            name: value.detach().cpu().float().numpy().copy()
            for name, value in self.state_dict().items()
            if not name.startswith("base.")
        }
        return replace(
            self.template,
            weights=weights,
            base=None if self.base is None else self.base.to_base(),
            provenance=self.template.provenance if provenance is None else dict(provenance),
        )

    def forward(self, x: Tensor, h_prev: State | None = None) -> tuple[Tensor, State]:
        """Torque at every step, and the state after the last.

        Args:
            x: raw features in the order of ``Network.inputs``, shape (B, T, inputs).
            h_prev: state before the first step, see `State`; None: a cold start.

        Returns:
            Torque, shape (B, T) [N m], and the state.
        """
        torque, h_next = self.unlimited(x, h_prev)
        if self.torque_limit is not None:
            torque = torque.clamp(-self.torque_limit, self.torque_limit)
        return torque, h_next

    def unlimited(self, x: Tensor, h_prev: State | None = None) -> tuple[Tensor, State]:
        """Output of `forward` without the torque limit, whose gradient is zero in saturation."""
        features = x[..., : self.feature_count]
        if self.template.family in RECURRENT:
            output, h_next = self._recurrent(features, h_prev)
        else:
            output, h_next = self._feed_forward(features, cast("Tensor | None", h_prev))
        torque = self.output_mean + self.output_deviation * output
        if self.base is not None:
            torque = torque + self.base(x.index_select(-1, self.base_columns))
        return torque, h_next

    def first_of(self, state: State | None, count: int) -> State | None:
        """State of the first ``count`` sequences of a batch."""
        if isinstance(state, tuple):
            return state[0][:, :count].contiguous(), state[1][:, :count].contiguous()
        if state is None:
            return None
        if self.template.family in RECURRENT:
            return state[:, :count].contiguous()
        return state[:count]

    @torch.no_grad()
    def rollout(self, inputs: np.ndarray) -> np.ndarray:
        """Torque over a whole recording from a cold start, as from `NetworkRuntime.rollout`.

        Args:
            inputs: raw features, shape (n, inputs).

        Returns:
            Torque, shape (n,) [N m].

        Raises:
            SignalError: `inputs` has another shape.
        """
        inputs = np.asarray(inputs)
        if inputs.ndim != 2 or inputs.shape[1] != len(self.template.inputs):
            raise SignalError(
                f"inputs have shape {inputs.shape}; expected (n, {len(self.template.inputs)}) "
                f"with the columns {', '.join(self.template.inputs)}"
            )
        training = self.training
        self.eval()
        x = _float(inputs).to(self.input_mean.device)[None]
        torque = self(x)[0][0].double().cpu().numpy()
        self.train(training)
        return torque

    def _recurrent(self, features: Tensor, h_prev: State | None) -> tuple[Tensor, State]:
        normalised = (features - self.input_mean) / self.input_deviation
        if h_prev is None:
            with torch.no_grad():
                _, h_prev = self.rnn(normalised[:, :1].expand(-1, HELD_STEPS, -1).contiguous())
        hidden, h_next = self.rnn(normalised, h_prev)
        output = self.head(hidden)
        if self.skip is not None:
            output = output + self.skip(normalised)
        return output[..., 0], h_next

    def _feed_forward(self, features: Tensor, h_prev: Tensor | None) -> tuple[Tensor, Tensor]:
        if h_prev is None:
            h_prev = features[:, :1].expand(-1, self.history, -1)
        earlier = h_prev[:, : self.history - 1].flip(1)
        rows = torch.cat([earlier, features], dim=1)
        normalised = (rows - self.input_mean) / self.input_deviation
        # (B, T, features, history), oldest first; flipped so that the newest is first
        windows = normalised.unfold(1, self.history, 1).flip(-1)
        windows = values = windows.flatten(2)
        for layer in self.layers[:-1]:
            values = self.activation(layer(values))
        output = self.layers[-1](values)
        if self.skip is not None:
            output = output + self.skip(windows)
        output = output[..., 0]
        recent = torch.cat([h_prev.flip(1), features], dim=1)[:, -self.history :].flip(1)
        return output, recent


def initial_network(template: dict[str, Any], hidden: int, layers: int, seed: int) -> Network:
    """An untrained network.

    Args:
        template: arguments of `Network` without the weights.
        hidden: width of the hidden layers.
        layers: recurrent layers, or hidden layers of an ``mlp``; a ``linear`` network has none.
        seed: seed of the weights, with the default initialisation of torch.

    Raises:
        FitError: `hidden` or `layers` is below 1.
    """
    family: Family = template["family"]
    if family != "linear" and (hidden < 1 or layers < 1):
        raise FitError(f"hidden is {hidden}, layers {layers}; both must be at least 1")
    features = len(template["normalization"].features)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if family in RECURRENT:
            kind = nn.GRU if family == "gru" else nn.LSTM
            parts = {
                "rnn": kind(features, hidden, num_layers=layers),
                "head": nn.Linear(hidden, 1),
            }
            named = [
                (f"{part}.{n}", p) for part, m in parts.items() for n, p in m.named_parameters()
            ]
        else:
            count = 0 if family == "linear" else layers
            widths = [template.get("history", 1) * features, *[hidden] * count, 1]
            stack = [nn.Linear(a, b) for a, b in itertools.pairwise(widths)]
            named = [
                (f"layers.{i}.{n}", p) for i, m in enumerate(stack) for n, p in m.named_parameters()
            ]
    return Network(weights={n: p.detach().numpy().copy() for n, p in named}, **template)


def parameter_count(network: Network) -> int:
    """Number of weights."""
    return sum(int(np.prod(value.shape)) for value in network.weights.values())


def _torch_base(template: Network) -> TorchBase | TorchServo | None:
    if template.base is None:
        return None
    if isinstance(template.base, ServoBase):
        return TorchServo(template.base)
    return TorchBase(template.base, template.normalization)


def _float(values: Any) -> Tensor:
    return torch.as_tensor(np.asarray(values, dtype=np.float32))
