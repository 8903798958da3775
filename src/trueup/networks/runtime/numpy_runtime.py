"""Stepwise inference in numpy: one call per time step, with a persistent state."""

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from trueup.errors import SignalError, listing
from trueup.networks.model.network import HELD_STEPS, RECURRENT, SKIP, Network

_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "elu": lambda values: np.where(values > 0, values, np.expm1(np.minimum(values, 0.0))),
    "relu": lambda values: np.maximum(values, 0.0),
    "softsign": lambda values: values / (1.0 + np.abs(values)),
    "tanh": np.tanh,
}


RangeCheck = Literal["off", "count", "clamp"]
"""Treatment of inputs outside the range of training: none, count their steps, or count and clamp
them to the range."""


class NetworkRuntime:
    """Reference implementation of a deployed network with its state, for a batch of joints.

    ``step`` maps the features of one time step, at the rate of the network, to the torque. Every
    export must reproduce it, and scores are computed with it.

    Args:
        network: the trained network.
        joints: number of joints (or environments) in the batch.
        dtype: precision of the arithmetic.
        range_check: treatment of features outside the range of training. A base, which is no fit,
            has its inputs as given.

    Attributes:
        outside: number of steps since the reset with a feature out of range, shape (joints,);
            counted only with a ``range_check``.

    Raises:
        SignalError: an unknown ``range_check``, or a network without ranges.
    """

    def __init__(
        self,
        network: Network,
        joints: int = 1,
        dtype: type = np.float64,
        range_check: RangeCheck = "off",
    ):
        if range_check not in get_args(RangeCheck):
            raise SignalError(
                f"range_check is {range_check!r}; available: {listing(get_args(RangeCheck))}"
            )
        lowest, highest = network.feature_lowest, network.feature_highest
        if range_check != "off" and (lowest is None or highest is None):
            raise SignalError(
                f"range_check={range_check!r} requires the ranges of training, which this network "
                "lacks: use 'off'"
            )
        self._range_check = range_check
        self.outside = np.zeros(joints, np.int64)
        self.network = network
        self.joints = joints
        self._dtype = np.dtype(dtype)
        self._weights = {n: np.asarray(w, dtype=dtype) for n, w in network.weights.items()}
        stats = network.normalization
        self._mean = stats.input_mean.astype(dtype)
        self._deviation = stats.input_deviation.astype(dtype)
        self._activation = _ACTIVATIONS[network.activation]
        self._base_columns = (
            [] if network.base is None else [network.inputs.index(n) for n in network.base.features]
        )
        self.reset()

    def reset(self, rows: np.ndarray | slice = slice(None)) -> None:
        """Cold start of the given joints or of all, see :class:`trueup.networks.Network`."""
        if not hasattr(self, "_state"):
            self._state = [np.zeros(shape, self._dtype) for shape in self._state_shapes()]
        for part in self._state:
            part[rows] = 0.0
        self.outside[rows] = 0

    def step(self, inputs: np.ndarray) -> np.ndarray:
        """Advance by one time step.

        Args:
            inputs: raw features in the order of ``network.inputs``, shape (joints, inputs).

        Returns:
            Torque, shape (joints,) [N m].

        Raises:
            SignalError: `inputs` has another shape.
        """
        inputs = np.asarray(inputs, dtype=self._dtype)
        network = self.network
        if inputs.shape != (self.joints, len(network.inputs)):
            raise SignalError(
                f"inputs have shape {inputs.shape}; expected {(self.joints, len(network.inputs))} "
                f"with the columns {', '.join(network.inputs)}"
            )
        features = inputs[:, : len(network.features)]
        if self._range_check != "off":
            self.outside += self.out_of_range(inputs)
        if self._range_check == "clamp":
            features = np.clip(features, network.feature_lowest, network.feature_highest)
        advance = {
            "gru": self._gru,
            "lstm": self._lstm,
            "mlp": self._feed_forward,
            "linear": self._feed_forward,
        }[network.family]
        fresh = self._state[-1] == 0.0
        if network.family in RECURRENT and fresh.any():
            kept = [part[~fresh] for part in self._state]
            for _ in range(HELD_STEPS):
                advance(features)
            for part, own in zip(self._state, kept, strict=True):
                part[~fresh] = own
        output = advance(features)
        self._state[-1][:] = 1.0
        return self.torque(inputs, output)

    def torque(self, inputs: np.ndarray, output: np.ndarray) -> np.ndarray:
        """Torque from the normalised output, with base and limit.

        Args:
            inputs: raw features, shape (..., inputs).
            output: normalised output, shape (...).

        Returns:
            Torque, shape (...) [N m].
        """
        network, stats = self.network, self.network.normalization
        torque = stats.output_mean + stats.output_deviation * output
        if network.base is not None:
            torque = torque + network.base.torque(inputs[:, self._base_columns])
        if network.torque_limit is not None:
            torque = np.clip(torque, -network.torque_limit, network.torque_limit)
        return torque

    def rollout(self, inputs: np.ndarray) -> np.ndarray:
        """Torque over a whole recording of one joint from a cold start.

        Args:
            inputs: raw features, shape (n, inputs).

        Returns:
            Torque, shape (n,) [N m].
        """
        runtime = NetworkRuntime(self.network, 1, self._dtype.type)
        return np.array([runtime.step(row[None])[0] for row in np.asarray(inputs)])

    def out_of_range(self, inputs: np.ndarray) -> np.ndarray:
        """Whether a feature is outside the range of training, shape (joints,), bool."""
        network = self.network
        features = np.asarray(inputs)[..., : len(network.features)]
        lowest, highest = network.feature_lowest, network.feature_highest
        outside = np.zeros(features.shape[:-1], bool)
        if lowest is not None:
            outside |= (features < lowest).any(axis=-1)
        if highest is not None:
            outside |= (features > highest).any(axis=-1)
        return outside

    def _state_shapes(self) -> list[tuple[int, ...]]:
        network = self.network
        if network.family == "gru":
            shapes = [(self.joints, network.hidden)] * network.layers
        elif network.family == "lstm":
            shapes = [(self.joints, network.hidden)] * (2 * network.layers)
        else:
            shapes = [(self.joints, network.history, len(network.features))]
        # the last array marks joints with a first sample
        return [*shapes, (self.joints,)]

    def _gru(self, features: np.ndarray) -> np.ndarray:
        # torch.nn.GRU: the reset gate multiplies the hidden part of the new gate after its bias
        layer_input = normalised = (features - self._mean) / self._deviation
        hidden = self.network.hidden
        for layer in range(self.network.layers):
            state = self._state[layer]
            from_input, from_state = self._gates(layer, layer_input, state)
            reset_update = _sigmoid(from_input[:, : 2 * hidden] + from_state[:, : 2 * hidden])
            reset, update = reset_update[:, :hidden], reset_update[:, hidden:]
            new = np.tanh(from_input[:, 2 * hidden :] + reset * from_state[:, 2 * hidden :])
            state += (1.0 - update) * (new - state)
            layer_input = state
        return self._head(layer_input) + self._skip(normalised)

    def _lstm(self, features: np.ndarray) -> np.ndarray:
        layer_input = normalised = (features - self._mean) / self._deviation
        hidden = self.network.hidden
        for layer in range(self.network.layers):
            state, cell = self._state[2 * layer], self._state[2 * layer + 1]
            from_input, from_state = self._gates(layer, layer_input, state)
            gates = from_input + from_state
            keep_in, forget = _sigmoid(gates[:, :hidden]), _sigmoid(gates[:, hidden : 2 * hidden])
            cell[:] = forget * cell + keep_in * np.tanh(gates[:, 2 * hidden : 3 * hidden])
            state[:] = _sigmoid(gates[:, 3 * hidden :]) * np.tanh(cell)
            layer_input = state
        return self._head(layer_input) + self._skip(normalised)

    def _gates(
        self, layer: int, layer_input: np.ndarray, state: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        weights = self._weights
        return (
            layer_input @ weights[f"rnn.weight_ih_l{layer}"].T + weights[f"rnn.bias_ih_l{layer}"],
            state @ weights[f"rnn.weight_hh_l{layer}"].T + weights[f"rnn.bias_hh_l{layer}"],
        )

    def _head(self, hidden: np.ndarray) -> np.ndarray:
        return hidden @ self._weights["head.weight"][0] + self._weights["head.bias"][0]

    def _skip(self, normalised: np.ndarray) -> np.ndarray | float:
        return normalised @ self._weights[SKIP][0] if self.network.has_skip else 0.0

    def _feed_forward(self, features: np.ndarray) -> np.ndarray:
        history, filled = self._state
        history[:, 1:] = history[:, :-1].copy()
        history[:, 0] = features
        # cold start: the history before the first sample equals it, as of a joint at rest
        history[filled == 0.0] = features[filled == 0.0, None]
        return self.layers(history)

    def layers(self, history: np.ndarray) -> np.ndarray:
        """Normalised output of the layers of an ``mlp`` or a ``linear`` network.

        Args:
            history: raw features, newest first, shape (n, history, features).

        Returns:
            Output, shape (n,).
        """
        normalised = (history - self._mean) / self._deviation
        values = rows = normalised.transpose(0, 2, 1).reshape(len(history), -1)
        last = self.network.layers - 1
        for layer in range(last + 1):
            weight = self._weights[f"layers.{layer}.weight"]
            values = values @ weight.T + self._weights[f"layers.{layer}.bias"]
            if layer < last:
                values = self._activation(values)
        return values[:, 0] + self._skip(rows)


def _sigmoid(values: np.ndarray) -> np.ndarray:
    # the form with tanh does not overflow and has no branch
    return 0.5 * (1.0 + np.tanh(0.5 * values))
