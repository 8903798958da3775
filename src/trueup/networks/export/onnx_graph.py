"""Networks as ONNX graphs, written node by node: no torch is needed, and each node is known.

ONNX operators: https://onnx.ai/onnx/operators. ``GRU`` and ``LSTM`` of ONNX order their gates
otherwise than torch: update, reset, new; input, output, forget, cell.
"""

from typing import Any

import numpy as np

from trueup.errors import MissingExtraError
from trueup.networks.export.deployment import Deployment
from trueup.networks.export.onnx_base import base_torque
from trueup.networks.model.network import RECURRENT, SKIP, Network

OPSET = 20
IR_VERSION = 10
"""Version of the file format, of the same year as the operators; ONNX Runtime 1.18 reads it."""

_GATES = {"gru": (1, 0, 2), "lstm": (0, 3, 1, 2)}
"""Gates of ONNX as numbers of torch's gates."""


class GraphBuilder:
    """Collects nodes and constants of a graph in single precision."""

    def __init__(self) -> None:
        try:
            import onnx
            from onnx import helper, numpy_helper
        except ImportError as error:
            raise MissingExtraError("an ONNX export", "network", "onnx") from error
        self._onnx, self._helper, self._numpy_helper = onnx, helper, numpy_helper
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._count = 0

    def constant(self, values: Any, dtype: type = np.float32) -> str:
        """Add a constant; returns its name."""
        name = f"constant_{len(self._constants)}"
        array = np.ascontiguousarray(values, dtype=dtype)
        array = array.reshape(np.shape(values))  # ascontiguousarray makes a scalar a vector
        self._constants[name] = self._numpy_helper.from_array(array, name)
        return name

    def node(self, operator: str, *inputs: str, outputs: Any = 1, **attributes: Any) -> Any:
        """Add a node; returns the name of its output, or of several: a number, or names."""
        if isinstance(outputs, int):
            names = [f"{operator.lower()}_{self._count + k}" for k in range(outputs)]
        else:
            names = list(outputs)
        self._count += len(names)
        self._nodes.append(self._helper.make_node(operator, list(inputs), names, **attributes))
        return names[0] if len(names) == 1 else names

    def add(self, first: str, second: str) -> str:
        """Sum of two values."""
        return self.node("Add", first, second)

    def model(
        self,
        inputs: dict[str, tuple[Any, ...]],
        outputs: dict[str, tuple[Any, ...]],
        metadata: dict[str, str],
        name: str,
    ) -> Any:
        """The checked model.

        Args:
            inputs: name -> shape, of numbers and names of free extents.
            outputs: likewise.
            metadata: entries of ``metadata_props``.
            name: name of the graph.
        """
        kind = self._onnx.TensorProto.FLOAT

        def described(values: dict[str, tuple[Any, ...]]) -> list[Any]:
            info = self._helper.make_tensor_value_info
            return [info(key, kind, list(shape)) for key, shape in values.items()]

        graph = self._helper.make_graph(
            self._nodes,
            name,
            described(inputs),
            described(outputs),
            initializer=list(self._constants.values()),
        )
        opset = [self._helper.make_opsetid("", OPSET)]
        model = self._helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION)
        model.producer_name = "trueup"
        self._helper.set_model_props(model, metadata)
        self._onnx.checker.check_model(model, full_check=True)
        return model


def onnx_model(deployment: Deployment, metadata: dict[str, str]) -> Any:
    """The graph ``(x (batch, 1, inputs), h) -> (torque (batch, 1), h_next)``.

    Args:
        deployment: the network and what the graph holds of the parts around it.
        metadata: entries of ``metadata_props``.

    Raises:
        MissingExtraError: onnx is not installed.
    """
    network, graph = deployment.network, GraphBuilder()
    flat = graph.node("Squeeze", "x", graph.constant([1], np.int64))
    features = flat
    if len(deployment.inputs) > len(network.features):
        bounds = [graph.constant([k], np.int64) for k in (0, len(network.features), 1)]
        features = graph.node("Slice", flat, *bounds)
    if network.family in RECURRENT:
        output = _recurrent(graph, deployment, features)
    else:
        output = _history(graph, deployment, features)
    if deployment.normalization:
        output = _scaled(graph, output, network)
    if network.base is not None and deployment.base_matrix is not None:
        base = base_torque(graph, network.base, flat, deployment.base_matrix)
        output = graph.add(output, base)
    if deployment.torque_limit is not None:
        limit = deployment.torque_limit
        bounds = (graph.constant(np.float32(-limit)), graph.constant(np.float32(limit)))
        output = graph.node("Clip", output, *bounds)
    graph.node("Identity", output, outputs=["torque"])
    state = deployment.state_shape
    return graph.model(
        {"x": ("batch", 1, len(deployment.inputs)), "h": state},
        {"torque": ("batch", 1), "h_next": state},
        metadata,
        "learned actuator",
    )


def recurrent_layer(
    graph: GraphBuilder,
    network: Network,
    layer: int,
    values: str,
    states: tuple[str, ...],
    sequence: str = "",
) -> list[str]:
    """One layer over one time step.

    Args:
        graph: where it is added.
        network: a GRU or an LSTM.
        layer: its number.
        values: input (1, batch, inputs).
        states: hidden state, and for an LSTM the cell, each (1, batch, hidden).
        sequence: name for the output over time (1, 1, batch, hidden), or none.

    Returns:
        Names of the next states, each (1, batch, hidden); the first is the output too.
    """
    weights, order = network.weights, _GATES[network.family]

    def gates(name: str) -> np.ndarray:
        parts = np.split(np.asarray(weights[f"rnn.{name}_l{layer}"]), len(order))
        return np.concatenate([parts[k] for k in order])

    bias = np.concatenate([gates("bias_ih"), gates("bias_hh")])
    constants = [graph.constant(a[None]) for a in (gates("weight_ih"), gates("weight_hh"), bias)]
    attributes: dict[str, Any] = {"hidden_size": network.hidden}
    if network.family == "gru":
        attributes["linear_before_reset"] = 1
    names = [f"state_{layer}_{k}" for k in range(len(states))]
    operator = network.family.upper()
    graph.node(operator, values, *constants, "", *states, outputs=[sequence, *names], **attributes)
    return names


def _recurrent(graph: GraphBuilder, deployment: Deployment, features: str) -> str:
    network = deployment.network
    normalised = _normal(graph, deployment, features)
    values = graph.node("Unsqueeze", normalised, graph.constant([0], np.int64))
    count = 2 if network.family == "lstm" else 1
    rows = network.layers * count
    old = graph.node("Split", "h", outputs=rows, axis=0, num_outputs=rows)
    old = [old] if rows == 1 else old
    new = [""] * rows
    for layer in range(network.layers):
        places = [layer + k * network.layers for k in range(count)]
        states = tuple(old[place] for place in places)
        for place, name in zip(
            places, recurrent_layer(graph, network, layer, values, states), strict=True
        ):
            new[place] = name
        values = new[layer]
    graph.node("Concat", *new, outputs=["h_next"], axis=0)
    flat = graph.node("Squeeze", values, graph.constant([0], np.int64))
    head = [graph.constant(network.weights[f"head.{part}"]) for part in ("weight", "bias")]
    output = graph.node("Gemm", flat, *head, transB=1)
    return with_skip(graph, network, output, normalised)


def _history(graph: GraphBuilder, deployment: Deployment, features: str) -> str:
    network = deployment.network
    newest = graph.node("Unsqueeze", features, graph.constant([0], np.int64))
    if network.history == 1:
        # the old row is not needed, but an input that nothing reads would be no input
        zero = graph.node("Mul", "h", graph.constant(np.float32(0.0)))
        graph.node("Add", newest, zero, outputs=["h_next"])
    else:
        bounds = [graph.constant([k], np.int64) for k in (0, network.history - 1, 0)]
        graph.node("Concat", newest, graph.node("Slice", "h", *bounds), outputs=["h_next"], axis=0)
    values = graph.node("Transpose", _normal(graph, deployment, "h_next"), perm=[1, 2, 0])
    width = network.history * len(network.features)
    values = graph.node("Reshape", values, graph.constant([-1, width], np.int64))
    return layers(graph, network, values)


def layers(graph: GraphBuilder, network: Network, values: str) -> str:
    """The layers of an ``mlp`` or a ``linear`` network on (batch, history x features)."""
    names = {"elu": "Elu", "relu": "Relu", "softsign": "Softsign", "tanh": "Tanh"}
    normalised = values
    for layer in range(network.layers):
        if layer:
            values = graph.node(names[network.activation], values)
        parts = [f"layers.{layer}.{part}" for part in ("weight", "bias")]
        constants = [graph.constant(network.weights[part]) for part in parts]
        values = graph.node("Gemm", values, *constants, transB=1)
    return with_skip(graph, network, values, normalised)


def with_skip(graph: GraphBuilder, network: Network, output: str, normalised: str) -> str:
    """The output (batch, 1) and the linear skip of the normal input, where there is one."""
    if not network.has_skip:
        return output
    weight = graph.constant(np.asarray(network.weights[SKIP]).T)
    return graph.add(output, graph.node("MatMul", normalised, weight))


def _normal(graph: GraphBuilder, deployment: Deployment, values: str) -> str:
    if not deployment.normalization:
        return values
    stats = deployment.network.normalization
    centred = graph.node("Sub", values, graph.constant(stats.input_mean))
    return graph.node("Div", centred, graph.constant(stats.input_deviation))


def _scaled(graph: GraphBuilder, output: str, network: Network) -> str:
    stats = network.normalization
    scaled = graph.node("Mul", output, graph.constant(np.float32(stats.output_deviation)))
    return graph.add(scaled, graph.constant(np.float32(stats.output_mean)))
