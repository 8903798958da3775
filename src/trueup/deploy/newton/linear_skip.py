"""A linear skip connection as an additional hidden unit, for simulators with fixed GRU nodes."""

from dataclasses import replace

import numpy as np

from trueup.networks.model.network import SKIP, Network

_SCALE = 1e-4
"""Value of the unit for a skip of 1: so small that tanh is linear. A skip of ``y`` deviations has
a relative error of ``(1e-4 y)^2 / 3`` in each layer, below single precision."""
_OPEN = -40.0
"""Bias of the unit's update gate: sigmoid(-40) keeps 4e-18 of the former state."""


def skip_as_unit(network: Network) -> Network:
    """Equivalent GRU without a skip connection, one hidden unit wider.

    In each layer the unit stores the skip's output, scaled down, without delay:
    ``h = (1 - z) n + z h`` with ``z = 0`` and ``n = tanh(small)``; the head scales it back.

    Args:
        network: a GRU with a linear skip.
    """
    hidden, weights = network.hidden, {}
    for layer in range(network.layers):
        names = [f"rnn.{part}_l{layer}" for part in ("weight_ih", "weight_hh")]
        weight_ih, weight_hh = (_taller(network.weights[name], hidden) for name in names)
        if layer == 0:
            weight_ih[-1] = _SCALE * np.asarray(network.weights[SKIP])[0]
        else:
            weight_ih = np.pad(weight_ih, ((0, 0), (0, 1)))
            weight_ih[-1, -1] = 1.0
        weights[names[0]], weights[names[1]] = weight_ih, np.pad(weight_hh, ((0, 0), (0, 1)))
        for part in ("bias_ih", "bias_hh"):
            bias = _taller(network.weights[f"rnn.{part}_l{layer}"], hidden)
            if part == "bias_ih":
                bias[2 * (hidden + 1) - 1] = _OPEN  # the last unit's update gate
            weights[f"rnn.{part}_l{layer}"] = bias
    head = np.asarray(network.weights["head.weight"], dtype=np.float64)
    weights["head.weight"] = np.pad(head, ((0, 0), (0, 1)), constant_values=1.0 / _SCALE)
    weights["head.bias"] = network.weights["head.bias"]
    return replace(network, weights=weights)


def _taller(values: np.ndarray, hidden: int) -> np.ndarray:
    """Values of three gates, with a row of zeros appended per gate."""
    gates = np.asarray(values, dtype=np.float64).reshape(3, hidden, -1)
    padded = np.pad(gates, ((0, 0), (0, 1), (0, 0)))
    return padded.reshape(3 * (hidden + 1), *np.shape(values)[1:])
