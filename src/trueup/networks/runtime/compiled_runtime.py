"""Networks in compiled code, for single steps and for whole recordings."""

from collections.abc import Sequence
from typing import overload

import numpy as np

from trueup.errors import SignalError
from trueup.networks.model.lag_sums import response
from trueup.networks.model.network import HELD_STEPS, RECURRENT, SKIP, Network
from trueup.networks.runtime.numpy_runtime import NetworkRuntime
from trueup.networks.runtime.record import HEADER, network_record, state_size

_CHUNK = 4096
"""Number of time steps with gates computed in one matrix product."""


class CompiledRuntime:
    """`NetworkRuntime` in compiled code, for few joints at a high rate.

    The default network takes some tens of microseconds per joint. For hundreds of joints
    `NetworkRuntime` is faster, with one matrix product for all of them.

    Args:
        network: the trained network.
        joints: number of joints in the batch.
        dtype: precision of the arithmetic, ``np.float32`` or ``np.float64``.
    """

    def __init__(self, network: Network, joints: int = 1, dtype: type = np.float64):
        self.network = network
        self.joints = joints
        self._record = network_record(network).astype(dtype)
        self._state = np.zeros((joints, state_size(network)), dtype)
        self._inputs = np.zeros((joints, len(network.inputs)), dtype)
        self._torque = np.zeros(joints, dtype)
        self._work = np.zeros(int(self._record[HEADER.work_size]), dtype)
        from trueup.networks.runtime.kernel import functions_of

        self._step_joints = functions_of(network).step_joints

    def reset(self, rows: np.ndarray | slice = slice(None)) -> None:
        """Cold start of the given joints, or of all."""
        self._state[rows] = 0.0

    def step(self, inputs: np.ndarray) -> np.ndarray:
        """Advance by one time step.

        Args:
            inputs: raw features in the order of ``network.inputs``, shape (joints, inputs).

        Returns:
            Torque, shape (joints,) [N m].

        Raises:
            SignalError: `inputs` has another shape.
        """
        if np.shape(inputs) != self._inputs.shape:
            raise SignalError(
                f"inputs have shape {np.shape(inputs)}; expected {self._inputs.shape} with the "
                f"columns {', '.join(self.network.inputs)}"
            )
        self._inputs[:] = inputs
        self._step_joints(self._record, self._inputs, self._state, self._work, self._torque)
        return self._torque.copy()


@overload
def predict(network: Network, inputs: np.ndarray) -> np.ndarray: ...


@overload
def predict(network: Network, inputs: Sequence[np.ndarray]) -> list[np.ndarray]: ...


def predict(
    network: Network, inputs: np.ndarray | Sequence[np.ndarray]
) -> np.ndarray | list[np.ndarray]:
    """Torque over whole recordings, each from a cold start, as of the deployed network.

    Equal to stepping `NetworkRuntime` through each recording, but much faster.

    Args:
        network: the trained network.
        inputs: raw features in the order of ``network.inputs``, shape (n, inputs); or several such.

    Returns:
        Torque, shape (n,) [N m], in double precision; or a list of such.

    Raises:
        SignalError: `inputs` has another shape.
    """
    if not isinstance(inputs, np.ndarray):
        return [predict(network, each) for each in inputs]
    if inputs.ndim != 2 or inputs.shape[1] != len(network.inputs):
        raise SignalError(
            f"inputs have shape {inputs.shape}; expected (n, {len(network.inputs)}) with the "
            f"columns {', '.join(network.inputs)}"
        )
    inputs = np.asarray(inputs, dtype=np.float64)
    features = inputs[:, : len(network.features)]
    if network.family in RECURRENT:
        held = np.repeat(features[:1], HELD_STEPS, axis=0)
        output = _recurrent(network, np.concatenate([held, features]))[len(held) :]
    else:
        output = _feed_forward(network, features)
    return NetworkRuntime(network).torque(inputs, output)


def _recurrent(network: Network, features: np.ndarray) -> np.ndarray:
    from trueup.networks.runtime.kernel import gru_sequence, lstm_sequence

    stats, hidden = network.normalization, network.hidden
    weights = {name: np.asarray(w, dtype=np.float64) for name, w in network.weights.items()}
    states = np.zeros((network.layers, 2, hidden))
    output = np.empty(len(features))
    for first in range(0, len(features), _CHUNK):
        values = (features[first : first + _CHUNK] - stats.input_mean) / stats.input_deviation
        for layer in range(network.layers):
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            w_in, w_state, b_in, b_state = (weights[f"rnn.{n}_l{layer}"] for n in names)
            from_input, result = values @ w_in.T + b_in, np.empty((len(values), hidden))
            state, cell = states[layer]
            if network.family == "gru":
                gru_sequence(from_input, w_state.ravel(), b_state, state, result)
            else:
                lstm_sequence(from_input, w_state.ravel(), b_state, state, cell, result)
            values = result
        output[first : first + _CHUNK] = values @ weights["head.weight"][0] + weights["head.bias"]
    if network.has_skip:
        output += (features - stats.input_mean) / stats.input_deviation @ weights[SKIP][0]
    return output


def _feed_forward(network: Network, features: np.ndarray) -> np.ndarray:
    history = network.history
    padded = np.concatenate([np.repeat(features[:1], history - 1, axis=0), features])
    if network.family == "linear":
        stats, weights = network.normalization, network.weights
        normalised = (padded - stats.input_mean) / stats.input_deviation
        output = response(normalised, weights["layers.0.weight"][0], history)
        return output + weights["layers.0.bias"][0]
    output = np.empty(len(features))
    runtime = NetworkRuntime(network)
    for first in range(0, len(features), _CHUNK):
        rows = padded[first : first + _CHUNK + history - 1]
        windows = np.lib.stride_tricks.sliding_window_view(rows, history, axis=0)
        output[first : first + _CHUNK] = runtime.layers(windows[..., ::-1].transpose(0, 2, 1))
    return output
