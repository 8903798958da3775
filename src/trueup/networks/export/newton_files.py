"""Networks for Newton's neural drives: ONNX whose nodes are prescribed, described by metadata.

Newton, https://github.com/newton-physics/newton, ``newton.actuators``: ``DriveNeuralMLP``,
``DriveNeuralLSTM``, and ``DriveNeuralGRU`` of its pull request 4043. Normalisation is folded into
the first and the last layer, for the GRU it stands in the metadata; base and limit have no place in
the graph. The limit belongs in a clamping of Newton.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.networks.export.deployment import Deployment, metadata_text
from trueup.networks.export.onnx_graph import GraphBuilder, layers, recurrent_layer
from trueup.networks.export.simulator_fit import fitted, without_base
from trueup.networks.features import (
    ANGLE,
    ANGLE_ERROR,
    SIMULATOR_FEATURE_NAMES,
    TARGET_ANGLE,
    TARGET_VELOCITY,
    VELOCITY,
)
from trueup.networks.network import RECURRENT, Network
from trueup.networks.normalization import Normalization
from trueup.studies import atomic

_COLUMNS = {
    ANGLE: "position",
    ANGLE_ERROR: "position_error",
    VELOCITY: "velocity",
    TARGET_VELOCITY: "target_velocity",
}
"""Our name of a signal -> Newton's."""

_SCALES = {"pos_scale": 1.0, "vel_scale": 1.0, "effort_scale": 1.0}


def write_newton(deployment: Deployment, path: Path) -> str:
    """Write the ONNX file of the drive of the network's family; returns how to use it.

    Raises:
        FitError: the network does not fit.
        MissingExtraError: onnx is not installed.
    """
    family = deployment.network.family
    drive = {"gru": "DriveNeuralGRU", "lstm": "DriveNeuralLSTM"}.get(family, "DriveNeuralMLP")
    without_base(deployment, f"{drive} of Newton")
    deployment = replace(deployment, base=False, limits=False, normalization=True)
    write = {"gru": _gru, "lstm": _lstm}.get(family, _mlp)
    model, network = write(deployment, drive)
    atomic.write_bytes(path, model.SerializeToString())
    clamping = ""
    if network.torque_limit is not None:
        clamping = f"# Clamp its effort to {network.torque_limit:g} N m (ClampingMaxEffort).\n"
    return (
        f"# A learned actuator, one step every {1.0 / network.rate:g} s ({network.rate:g} Hz): "
        f"step the actuator as often.\n{clamping}"
        f"from newton.actuators import {drive}\n\ndrive = {drive}(model_path={str(path)!r})\n"
    )


def folded(network: Network) -> Network:
    """The same network, its normalisation folded into the first and the last layer."""
    stats = network.normalization
    weights = {n: np.asarray(w, dtype=np.float64) for n, w in network.weights.items()}
    recurrent = network.family in RECURRENT
    first = "rnn.weight_ih_l0" if recurrent else "layers.0.weight"
    last = "head.weight" if recurrent else f"layers.{network.layers - 1}.weight"
    repeated = [np.repeat(a, network.history) for a in (stats.input_mean, stats.input_deviation)]
    weights[first] = weights[first] / repeated[1]
    bias = first.replace("weight", "bias")
    weights[bias] = weights[bias] - weights[first] @ repeated[0]
    bias = last.replace("weight", "bias")
    weights[last] = weights[last] * stats.output_deviation
    weights[bias] = weights[bias] * stats.output_deviation + stats.output_mean
    plain = Normalization(
        network.features, np.zeros_like(stats.input_mean), np.ones_like(stats.input_mean), 0.0, 1.0
    )
    return replace(network, weights=weights, normalization=plain)


def _mlp(deployment: Deployment, drive: str) -> tuple[Any, Network]:
    fit = fitted(deployment, f"{drive} of Newton", ("mlp", "linear"), SIMULATOR_FEATURE_NAMES)
    network, graph = folded(fit.network), GraphBuilder()
    graph.node("Identity", layers(graph, network, "input"), outputs=["output"])
    entries = {"input_order": "pos_vel", "input_idx": list(range(network.history)), **_SCALES}
    model = graph.model(
        {"input": ("batch", 2 * network.history)},
        {"output": ("batch", 1)},
        {"metadata": metadata_text(fit, **entries)},
        "learned actuator",
    )
    return model, network


def _lstm(deployment: Deployment, drive: str) -> tuple[Any, Network]:
    fit = fitted(deployment, f"{drive} of Newton", ("lstm",), SIMULATOR_FEATURE_NAMES)
    network, graph = folded(fit.network), GraphBuilder()
    names = {"hidden": ("hidden_in", "hidden_out"), "cell": ("cell_in", "cell_out")}
    _stacked(graph, network, names)
    state = (network.layers, "batch", network.hidden)
    entries = {
        **_SCALES,
        "num_layers": network.layers,
        "hidden_size": network.hidden,
        "input_name": "input",
        "output_name": "output",
        **{f"{kind}_in_name": old for kind, (old, _) in names.items()},
        **{f"{kind}_out_name": new for kind, (_, new) in names.items()},
    }
    model = graph.model(
        {"input": (1, "batch", 2), "hidden_in": state, "cell_in": state},
        {"output": ("batch", 1), "hidden_out": state, "cell_out": state},
        {"metadata": metadata_text(fit, **entries)},
        "learned actuator",
    )
    return model, network


def _gru(deployment: Deployment, drive: str) -> tuple[Any, Network]:
    features = tuple(
        ANGLE_ERROR if name == TARGET_ANGLE else name for name in deployment.network.features
    )
    lacking = [name for name in features if name not in _COLUMNS]
    if lacking or len(set(features)) != len(features):
        raise FitError(
            f"{drive} of Newton feeds a choice of {', '.join(_COLUMNS)}; the network reads "
            f"{', '.join(deployment.network.features)}. Train one that fits: trueup network train "
            f"model.model_type.name=gru 'data.features=[{','.join(SIMULATOR_FEATURE_NAMES)}]'"
        )
    fit = fitted(deployment, f"{drive} of Newton", ("gru",), features)
    network, graph = fit.network, GraphBuilder()
    _stacked(graph, network, {"hidden": ("hidden_in", "hidden_out")})
    state, stats = (network.layers, "batch", network.hidden), network.normalization
    columns = [_COLUMNS[name] for name in features]
    inputs = {
        "mean": dict(zip(columns, stats.input_mean.tolist(), strict=True)),
        "std": dict(zip(columns, stats.input_deviation.tolist(), strict=True)),
    }
    targets = {
        "mean": {"torque": stats.output_mean},
        "std": {"torque": stats.output_deviation},
    }
    entries = {"input_columns": columns, "normalization": {"inputs": inputs, "targets": targets}}
    model = graph.model(
        {"input": (1, "batch", len(columns)), "hidden_in": state},
        {"output": ("batch", 1), "hidden_out": state},
        {"metadata": metadata_text(fit, **entries)},
        "learned actuator",
    )
    return model, network


def _stacked(graph: GraphBuilder, network: Network, names: dict[str, tuple[str, str]]) -> None:
    """All layers on ``input`` (1, batch, inputs), the states by name, and one scalar head."""
    rows = network.layers
    old = []
    for before, _ in names.values():
        split = graph.node("Split", before, outputs=rows, axis=0, num_outputs=rows)
        old.append([split] if rows == 1 else split)
    new: list[list[str]] = [[] for _ in names]
    values = "input"
    for layer in range(rows):
        states = tuple(each[layer] for each in old)
        following = recurrent_layer(graph, network, layer, values, states)
        for collected, name in zip(new, following, strict=True):
            collected.append(name)
        values = following[0]
    for (_, after), collected in zip(names.values(), new, strict=True):
        graph.node("Concat", *collected, outputs=[after], axis=0)
    flat = graph.node("Squeeze", values, graph.constant([0], np.int64))
    head = [graph.constant(network.weights[f"head.{part}"]) for part in ("weight", "bias")]
    graph.node("Gemm", flat, *head, outputs=["output"], transB=1)
