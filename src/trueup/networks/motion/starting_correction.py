"""Initial corrections: zero torque, or a linear torque where there is no base."""

from dataclasses import replace
from typing import Any

import numpy as np

from trueup.networks.data.features import ANGLE, ANGLE_ERROR, VELOCITY
from trueup.networks.data.normalization import Normalization
from trueup.networks.model.network import RECURRENT, SKIP, Network, last_layer
from trueup.networks.model.torch_network import TorchNetwork, initial_network
from trueup.networks.motion.driven_joint import DrivenJoint
from trueup.networks.motion.logs import MotionLogs
from trueup.networks.motion.rollout import torque_balance
from trueup.networks.motion.settings import MotionSettings

_SHARE = 0.2
"""Output scale of a correction relative to the reference torque."""


def starting_correction(
    logs: MotionLogs, joint: DrivenJoint, settings: MotionSettings, alone: bool
) -> TorchNetwork:
    """Initial correction of a joint; ``alone``: it is the whole torque, initially a linear one."""
    whole = logs.whole(joint)
    values = [
        whole.features(t, whole.position[t], whole.speed[t]).numpy()
        for t in range(int(logs.lengths.min()))
    ]
    stacked = np.concatenate(values)
    network = zero_network(stacked, logs.inputs, logs.rate, logs.torque_scale, settings)
    if alone:
        network = _with_linear_torque(network, logs)
    return TorchNetwork(network).double()


def zero_network(
    values: np.ndarray,
    inputs: tuple[str, ...],
    rate: float,
    torque: float,
    settings: MotionSettings,
    seed: int | None = None,
) -> Network:
    """Network with zero torque before training.

    Args:
        values: samples of the inputs, (n, inputs).
        inputs: names of the inputs.
        rate: sample rate [Hz].
        torque: reference torque of the correction [N m].
        settings: family and sizes of the network.
        seed: seed of the weights; None: that of the settings.
    """
    stats = Normalization.of(inputs, [values], [np.zeros(len(values))])
    template: dict[str, Any] = {
        "family": settings.family,
        "normalization": replace(stats, output_deviation=_SHARE * torque),
        "rate": rate,
        "history": 1 if settings.family in RECURRENT else settings.history,
        "activation": "tanh",
        "feature_lowest": values.min(axis=0),
        "feature_highest": values.max(axis=0),
    }
    layers = 1 if settings.family in RECURRENT else 2
    seed = settings.seed if seed is None else seed
    network = initial_network(template, settings.hidden, layers, seed)
    last = last_layer(network)
    weight, bias = (network.weights[f"{last}.{part}"] for part in ("weight", "bias"))
    changed = {f"{last}.weight": np.zeros_like(weight), f"{last}.bias": np.zeros_like(bias)}
    return replace(network, weights={**network.weights, **changed})


def _with_linear_torque(network: Network, logs: MotionLogs) -> Network:
    """The network with its linear part fitted to the torque on the load."""
    slopes, level = _linear_torque(logs, network)
    bias = f"{last_layer(network)}.bias"
    skip = np.zeros((1, network.history * len(network.features)), network.weights[bias].dtype)
    skip[0, : len(slopes)] = slopes
    changed = {bias: np.full_like(network.weights[bias], level), SKIP: skip}
    return replace(network, weights={**network.weights, **changed})


def _linear_torque(logs: MotionLogs, network: Network) -> tuple[np.ndarray, float]:
    """Slopes with respect to the normalised features, and offset, of the torque on the load.

    Both in standard deviations of the output, by least squares over the logs.
    """
    balance, stats = torque_balance(logs), network.normalization
    known = {ANGLE: balance.angle, ANGLE_ERROR: balance.error, VELOCITY: balance.speed}
    known |= {name: each.numpy()[balance.rows] for name, each in logs.conditions.items()}
    columns = np.stack([known[name] for name in logs.inputs], axis=1)
    normalised = (columns - stats.input_mean) / stats.input_deviation
    ones = np.ones(len(normalised))
    found = np.linalg.lstsq(np.column_stack([normalised, ones]), balance.torque, rcond=None)[0]
    found /= stats.output_deviation
    return found[:-1], float(found[-1])
