"""Networks for Newton's neural drives: ONNX with fixed node types and metadata.

Newton 1.8, https://github.com/newton-physics/newton, ``newton.actuators``: ``DriveNeuralMLP``,
``DriveNeuralLSTM``, which supports one layer, and ``DriveNeuralGRU``, with a separate hidden
state per layer. Normalisation is folded into the first and the last layer, for the GRU it is
in the metadata; the GRU's linear skip becomes a hidden unit. The graph cannot contain base and
limit. The limit belongs in a clamping of Newton.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.deploy.newton.linear_skip import skip_as_unit
from trueup.deploy.newton.network_graph import NewtonGraph, Shapes
from trueup.deploy.simulator_fit import fitted, without_base
from trueup.errors import FitError
from trueup.networks.data.features import (
    ANGLE,
    ANGLE_ERROR,
    SIMULATOR_FEATURE_NAMES,
    TARGET_ANGLE,
    TARGET_VELOCITY,
    VELOCITY,
)
from trueup.networks.data.normalization import Normalization
from trueup.networks.model.network import HELD_STEPS, RECURRENT, SKIP, Network, last_layer
from trueup.networks.runtime.deployment import Deployment, metadata
from trueup.runs.store import atomic

_COLUMNS = {
    ANGLE: "position",
    TARGET_ANGLE: "target_position",
    ANGLE_ERROR: "position_error",
    VELOCITY: "velocity",
    TARGET_VELOCITY: "target_velocity",
}
"""Name of a signal in trueup -> in Newton."""

_SCALES = {"pos_scale": 1.0, "vel_scale": 1.0, "effort_scale": 1.0}


def fit(deployment: Deployment) -> Deployment:
    """The network on the inputs of the drive of its family, without base and limits.

    Raises:
        FitError: the network is not supported.
    """
    drive = _drive(deployment.network.family)
    without_base(deployment, f"{drive} of Newton")
    bare = replace(deployment, base=False, limits=False, normalization=True)
    if bare.network.family == "gru":
        _check_gru(bare.network, drive)
        return bare
    families = ("lstm",) if bare.network.family == "lstm" else ("mlp", "linear")
    own = fitted(bare, f"{drive} of Newton", families, SIMULATOR_FEATURE_NAMES)
    if own.network.family == "lstm" and own.network.layers != 1:
        raise FitError(
            f"{drive} of Newton supports an LSTM of one layer; this one has {own.network.layers}. "
            "Train one with one layer: trueup network train model.model_type.name=lstm "
            f"model.gru_num_layers=1 'data.features=[{','.join(SIMULATOR_FEATURE_NAMES)}]', or a "
            "gru, for which Newton supports several layers"
        )
    return own


def _drive(family: str) -> str:
    return {"gru": "DriveNeuralGRU", "lstm": "DriveNeuralLSTM"}.get(family, "DriveNeuralMLP")


def write_newton(deployment: Deployment, path: Path) -> str:
    """Write the ONNX file of the drive of the network's family; return its usage as text.

    Raises:
        FitError: the network is not supported.
        MissingExtraError: onnx is not installed.
    """
    family = deployment.network.family
    drive = _drive(family)
    write = {"gru": _gru, "lstm": _lstm}.get(family, _mlp)
    model, network = write(fit(deployment))
    atomic.write_bytes(path, model.SerializeToString())
    clamping = ""
    if deployment.limit_of_sum is not None:
        clamping = f"# Limit its sum with the base to {deployment.limit_of_sum:g} N m.\n"
    elif network.torque_limit is not None:
        clamping = f"# Clamp its effort to {network.torque_limit:g} N m (ClampingMaxEffort).\n"
    if network.history > 1:
        # the operators of Warp-NN cannot detect a history that is not filled yet
        clamping += (
            "# After a reset its history is zero instead of filled with the first sample: the "
            f"first {network.history - 1} steps differ.\n"
        )
    if network.family in RECURRENT:
        clamping += (
            "# After a reset its hidden state is zero instead of that after holding the first "
            f"sample for\n# {HELD_STEPS} steps: hold the joints for as many steps before the "
            "motion.\n"
        )
    return (
        f"# A learned actuator, one step every {1.0 / network.rate:g} s ({network.rate:g} Hz): "
        f"step the actuator as often.\n{clamping}"
        f"from newton.actuators import {drive}\n\ndrive = {drive}(model_path={str(path)!r})\n"
    )


def folded(network: Network) -> Network:
    """Equivalent network, with normalisation folded into the first and last layer."""
    stats = network.normalization
    weights = {n: np.asarray(w, dtype=np.float64) for n, w in network.weights.items()}
    first = "rnn.weight_ih_l0" if network.family in RECURRENT else "layers.0.weight"
    mean = np.repeat(stats.input_mean, network.history)
    deviation = np.repeat(stats.input_deviation, network.history)
    last = last_layer(network)
    inputs = {first: first.replace("weight", "bias")}
    if network.has_skip:
        inputs[SKIP] = f"{last}.bias"
    for weight, bias in inputs.items():
        weights[weight] = weights[weight] / deviation
        weights[bias] = weights[bias] - weights[weight] @ mean
    for weight in (f"{last}.weight", f"{last}.bias", *([SKIP] if network.has_skip else [])):
        weights[weight] = weights[weight] * stats.output_deviation
    weights[f"{last}.bias"] = weights[f"{last}.bias"] + stats.output_mean
    plain = Normalization(
        network.features, np.zeros_like(stats.input_mean), np.ones_like(stats.input_mean), 0.0, 1.0
    )
    return replace(network, weights=weights, normalization=plain)


def _mlp(own: Deployment) -> tuple[Any, Network]:
    network, graph = folded(own.network), NewtonGraph()
    output = graph.with_skip(network, graph.layers(network, "input"), "input")
    entries = {"input_order": "pos_vel", "input_idx": list(range(network.history)), **_SCALES}
    inputs: Shapes = {"input": ("batch", 2 * network.history)}
    return graph.model(output, inputs, {}, _described(own, {}, **entries)), network


def _lstm(own: Deployment) -> tuple[Any, Network]:
    network, graph = folded(own.network), NewtonGraph()
    before, after = ("hidden_in", "cell_in"), ("hidden_out", "cell_out")
    output = graph.head(network, graph.recurrent(network, 0, "input", before, after))
    if network.has_skip:
        output = graph.with_skip(network, output, graph.squeezed("input", 0))
    entries = {
        **_SCALES,
        "num_layers": network.layers,
        "hidden_size": network.hidden,
        "input_name": "input",
        "output_name": "output",
        **{f"{name}_name": name for name in (*before, *after)},
    }
    state = (1, "batch", network.hidden)
    inputs: Shapes = {"input": (1, "batch", 2), **dict.fromkeys(before, state)}
    outputs: Shapes = dict.fromkeys(after, state)
    following = dict(zip(before, after, strict=True))
    return graph.model(output, inputs, outputs, _described(own, following, **entries)), network


def _check_gru(network: Network, drive: str) -> None:
    if lacking := [name for name in network.features if name not in _COLUMNS]:
        raise FitError(
            f"{drive} of Newton supplies {', '.join(_COLUMNS)}; the network also requires "
            f"{', '.join(lacking)}. Train one without: trueup network train "
            f"model.model_type.name=gru 'data.features=[{','.join(SIMULATOR_FEATURE_NAMES)}]'"
        )


def _gru(own: Deployment) -> tuple[Any, Network]:
    features = own.network.features
    network, graph = own.network, NewtonGraph()
    if network.has_skip:
        network = skip_as_unit(network)
    values = "input"
    for layer in range(network.layers):
        names, over_time = (f"hidden_in_{layer}",), f"sequence_{layer}"
        graph.recurrent(network, layer, values, names, (f"hidden_out_{layer}",), over_time)
        values = graph.squeezed(over_time, 1)
    columns, stats = [_COLUMNS[name] for name in features], network.normalization
    inputs = {
        "mean": dict(zip(columns, stats.input_mean.tolist(), strict=True)),
        "std": dict(zip(columns, stats.input_deviation.tolist(), strict=True)),
    }
    targets = {
        "mean": {"torque": stats.output_mean},
        "std": {"torque": stats.output_deviation},
    }
    entries = {
        "input_columns": columns,
        "normalization": {"inputs": inputs, "targets": targets},
        "sample_dt_s": 1.0 / network.rate,
    }
    state, layers = (1, "batch", network.hidden), range(network.layers)
    following = {f"hidden_in_{k}": f"hidden_out_{k}" for k in layers}
    # the caller normalises, by the statistics of the entry
    outside = replace(own, network=network, normalization=False)
    model = graph.model(
        graph.head(network, values),
        {"input": (1, "batch", len(columns)), **dict.fromkeys(following, state)},
        dict.fromkeys(following.values(), state),
        _described(outside, following, **entries),
    )
    return model, network


def _described(deployment: Deployment, following: dict[str, str], **entries: Any) -> str:
    """Metadata of a graph of Newton as JSON text.

    Args:
        deployment: the network, and whether the graph normalises.
        following: name of each state before the step -> after it.
        **entries: entries that Newton reads.
    """
    network = deployment.network
    content = metadata(deployment)
    # one tensor for each state, unlike the single one of other forms
    del content["state_shape"]
    if deployment.normalization:  # folded into the layers
        del content["normalization"]
    shape = [1, "batch", network.hidden]
    content["states"] = {
        before: {"shape": shape, "next": after} for before, after in following.items()
    }
    if network.family not in RECURRENT:
        # column f * history + k holds input f of k steps ago
        content["history"] = network.history
        content["input_axes"] = ["input", "steps ago"]
    return json.dumps({**content, **entries})
