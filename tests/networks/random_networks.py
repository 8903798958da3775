"""Networks with random weights, as a training would leave them."""

from itertools import pairwise
from typing import Any

import numpy as np

from trueup.networks import FEATURE_NAMES, AnalyticBase, Network, Normalization

BASE = AnalyticBase(kp=6.0, kd=0.3, k_spring=0.8, theta0=0.1, stall_torque=3.0, no_load_speed=5.0)


def random_network(
    family: Any = "gru",
    features: tuple[str, ...] = FEATURE_NAMES,
    hidden: int = 12,
    layers: int = 2,
    history: int | None = None,
    seed: int = 0,
    skip: bool = True,
    reach: float | None = None,
    **settings: Any,
) -> Network:
    """A network of a family; weights as torch draws them at the start, but three times as large,
    or up to ``reach``.

    A linear skip runs beside the layers, but for a linear network or where it is not wanted.
    """
    rng = np.random.default_rng(seed)
    reach = 3.0 / np.sqrt(hidden) if reach is None else reach

    def draw(*shape: int) -> np.ndarray:
        return rng.uniform(-reach, reach, shape).astype(np.float32)

    weights, count = {}, len(features)
    if family in ("gru", "lstm"):
        gates, history = (3 if family == "gru" else 4) * hidden, 1
        for layer in range(layers):
            inputs = hidden if layer else count
            weights[f"rnn.weight_ih_l{layer}"] = draw(gates, inputs)
            weights[f"rnn.weight_hh_l{layer}"] = draw(gates, hidden)
            weights[f"rnn.bias_ih_l{layer}"] = draw(gates)
            weights[f"rnn.bias_hh_l{layer}"] = draw(gates)
        weights |= {"head.weight": draw(1, hidden), "head.bias": draw(1)}
    else:
        history = 3 if history is None else history
        widths = [history * count, *([hidden] * layers if family == "mlp" else []), 1]
        for k, (inputs, outputs) in enumerate(pairwise(widths)):
            weights |= {
                f"layers.{k}.weight": draw(outputs, inputs),
                f"layers.{k}.bias": draw(outputs),
            }
    if skip and family != "linear":
        weights["skip.weight"] = 0.3 * draw(1, history * count)
    stats = Normalization(
        features, rng.normal(0.0, 0.3, count), rng.uniform(0.3, 2.0, count), 0.4, 3.0
    )
    settings = {"rate": 100.0, **settings}
    return Network(family, stats, weights, history=history, **settings)


def smooth_inputs(network: Network, samples: int, seed: int = 1) -> np.ndarray:
    """Random motion of a joint, in the order of ``network.inputs``, shape (samples, inputs)."""
    rng = np.random.default_rng(seed)
    white = rng.normal(size=(samples + 20, len(network.inputs)))
    return np.stack([np.convolve(c, np.ones(20) / 7.0, "valid")[:samples] for c in white.T], axis=1)
