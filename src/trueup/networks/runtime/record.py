"""A network as one vector of numbers, which compiled code reads.

A header, then the statistics of the features, the outputs of each layer, the weights of the linear
skip where there is one and those of the layers, and the numbers of a servo where one is the base.
The same vector serves the compiled runtime and, inside a MuJoCo model, the control law.
"""

import numpy as np

from trueup.networks.base.analytic_base import AnalyticBase
from trueup.networks.base.servo_base import LAWS, LEARNED, ServoBase
from trueup.networks.model.network import FAMILIES, RECURRENT, SKIP, Network

# header of a record
(
    FAMILY,
    LAYERS,
    HIDDEN,
    HISTORY,
    FEATURES,
    INPUTS,
    ACTIVATION,
    STATE_SIZE,
    WORK_SIZE,
    OUTPUT_MEAN,
    OUTPUT_DEVIATION,
    LIMIT,
    HAS_BASE,
    KP,
    KD,
    K_SPRING,
    THETA0,
    STALL,
    NO_LOAD,
    ANGLE_COLUMN,
    ERROR_COLUMN,
    VELOCITY_COLUMN,
    TARGET_VELOCITY_COLUMN,
    SERVO,
    HAS_SKIP,
    HEADER_SIZE,
) = range(26)

GRU, LSTM, MLP, LINEAR = range(4)
VOLTAGE_LAW, CURRENT_LAW, BUS_CURRENT, CURRENT_PD, TORQUE_PD = range(5)
ELU, RELU, SOFTSIGN, TANH = range(4)
NONE = -1.0
"""Stands for a limit, a curve or a column that there is not."""

_SERVO_SETTINGS = (
    "vin",
    "max_pwm",
    "limit",
    "friction",
    "friction_velocity",
    "load_gravity",
    "load_gravity_angle",
    "gated",
)

_ACTIVATIONS = ("elu", "relu", "softsign", "tanh")


def network_record(network: Network) -> np.ndarray:
    """The vector of a network, shape (numbers,), float64."""
    header = np.full(HEADER_SIZE, NONE)
    stats, base = network.normalization, network.base
    header[FAMILY] = FAMILIES.index(network.family)
    header[LAYERS], header[HIDDEN] = network.layers, network.hidden
    header[HISTORY], header[FEATURES] = network.history, len(network.features)
    header[INPUTS] = len(network.inputs)
    header[ACTIVATION] = _ACTIVATIONS.index(network.activation)
    header[STATE_SIZE], header[WORK_SIZE] = state_size(network), _work_size(network)
    header[OUTPUT_MEAN], header[OUTPUT_DEVIATION] = stats.output_mean, stats.output_deviation
    if network.torque_limit is not None:
        header[LIMIT] = network.torque_limit
    header[HAS_BASE], header[HAS_SKIP] = base is not None, network.has_skip
    if base is not None:
        columns = [network.inputs.index(name) for name in base.features]
        header[ANGLE_COLUMN : ANGLE_COLUMN + len(columns)] = columns
    if isinstance(base, AnalyticBase):
        header[KP], header[KD] = base.kp, base.kd
        header[K_SPRING], header[THETA0] = base.k_spring, base.theta0
        if base.stall_torque is not None and base.no_load_speed is not None:
            header[STALL], header[NO_LOAD] = base.stall_torque, base.no_load_speed
    weights = [network.weights[name].ravel() for name in weight_names(network)]
    parts = [header, stats.input_mean, stats.input_deviation, _widths(network), *weights]
    if isinstance(base, ServoBase):
        header[SERVO] = sum(len(part) for part in parts)
        parts.append(_servo_numbers(base))
    return np.concatenate(parts).astype(np.float64)


def _servo_numbers(base: ServoBase) -> list[float]:
    """Numbers of a servo in the order in which compiled code reads them."""
    numbers = [float(LAWS.index(base.law))]
    numbers += [float(getattr(base, name)) for name in _SERVO_SETTINGS]
    return numbers + [float(getattr(base, name)) for name in LEARNED]


def state_size(network: Network) -> int:
    """Numbers that one joint keeps from step to step."""
    if network.family in RECURRENT:
        return network.layers * network.hidden * (2 if network.family == "lstm" else 1)
    return network.history * len(network.features)


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
    """Numbers of scratch memory that a step needs."""
    features = len(network.features)
    if network.family in RECURRENT:
        gates = 3 if network.family == "gru" else 4
        return features + 2 * gates * network.hidden
    return max(network.history * features, *_widths(network)) * 2
