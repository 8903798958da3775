"""A network as one vector of numbers, the data of compiled code.

Order: header, statistics of the features, output width of each layer, weights of an optional
linear skip, weights of the layers, parameters of a servo base. The compiled runtime and the control
law inside a MuJoCo model use the same vector.
"""

import numpy as np

from trueup.actuators.equations._parameter_layout import columns_named
from trueup.networks.base.analytic import AnalyticBase
from trueup.networks.base.servo import ServoBase
from trueup.networks.model.network import FAMILIES, RECURRENT, SKIP, Network
from trueup.networks.runtime.servo_rows import ServoLayout, servo_layout

HEADER = columns_named(
    (
        "family",
        "layers",
        "hidden",
        "history",
        "features",
        "inputs",
        "activation",
        "state_size",
        "work_size",
        "output_mean",
        "output_deviation",
        "limit",
        "has_base",
        "kp",
        "kd",
        "k_spring",
        "theta0",
        "stall_torque",
        "no_load_speed",
        "angle_column",
        "error_column",
        "velocity_column",
        "wanted_column",
        "servo",
        "has_skip",
    )
)
"""Indices in the header of a record: ``record[HEADER.layers]``."""

GRU, LSTM, MLP, LINEAR = range(4)
ELU, RELU, SOFTSIGN, TANH = range(4)
NONE = -1.0
"""Value of a missing limit, curve or column."""

_BASE_COLUMNS = ("angle_column", "error_column", "velocity_column", "wanted_column")
_ACTIVATIONS = ("elu", "relu", "softsign", "tanh")


def network_record(network: Network, layout: ServoLayout | None = None) -> np.ndarray:
    """The vector of a network, shape (numbers,), float64.

    Args:
        network: the network.
        layout: layout of the parameters of a servo; by default that of this network alone.
    """
    header = np.full(len(HEADER), NONE)
    stats, base = network.normalization, network.base

    def note(**numbers: float) -> None:
        for name, number in numbers.items():
            header[getattr(HEADER, name)] = number

    note(
        family=FAMILIES.index(network.family),
        layers=network.layers,
        hidden=network.hidden,
        history=network.history,
        features=len(network.features),
        inputs=len(network.inputs),
        activation=_ACTIVATIONS.index(network.activation),
        state_size=state_size(network),
        work_size=_work_size(network),
        output_mean=stats.output_mean,
        output_deviation=stats.output_deviation,
        has_base=base is not None,
        has_skip=network.has_skip,
    )
    if network.torque_limit is not None:
        note(limit=network.torque_limit)
    if base is not None:
        columns = (network.inputs.index(name) for name in base.features)
        note(**dict(zip(_BASE_COLUMNS, columns, strict=False)))
    if isinstance(base, AnalyticBase):
        note(kp=base.kp, kd=base.kd, k_spring=base.k_spring, theta0=base.theta0)
        if base.stall_torque is not None and base.no_load_speed is not None:
            note(stall_torque=base.stall_torque, no_load_speed=base.no_load_speed)
    weights = [network.weights[name].ravel() for name in weight_names(network)]
    parts = [header, stats.input_mean, stats.input_deviation, _widths(network), *weights]
    if isinstance(base, ServoBase):
        note(servo=sum(len(part) for part in parts))
        layout = servo_layout([base]) if layout is None else layout
        parts.append(layout.row(base))
    return np.concatenate(parts).astype(np.float64)


def state_size(network: Network) -> int:
    """State size of one joint; a state of zeros is a cold start.

    The last number is nonzero once the joint has had its first sample.
    """
    if network.family in RECURRENT:
        return network.layers * network.hidden * (2 if network.family == "lstm" else 1) + 1
    return network.history * len(network.features) + 1


def weight_names(network: Network) -> list[str]:
    """Names of the weights in the order of the record."""
    skip = [SKIP] if network.has_skip else []
    if network.family not in RECURRENT:
        layers = range(network.layers)
        named = [f"layers.{layer}.{part}" for layer in layers for part in ("weight", "bias")]
        return [*skip, *named]
    parts = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    names = [f"rnn.{part}_l{layer}" for layer in range(network.layers) for part in parts]
    return [*skip, *names, "head.weight", "head.bias"]


def _widths(network: Network) -> list[int]:
    if network.family in RECURRENT:
        return [network.hidden] * network.layers
    return [network.weights[f"layers.{k}.weight"].shape[0] for k in range(network.layers)]


def _work_size(network: Network) -> int:
    """Size of the scratch memory of a step."""
    features = len(network.features)
    if network.family in RECURRENT:
        gates = 3 if network.family == "gru" else 4
        return features + 2 * gates * network.hidden
    return max(network.history * features, *_widths(network)) * 2
