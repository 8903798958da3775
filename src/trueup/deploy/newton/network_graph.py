"""ONNX graphs for Newton, built node by node, because Newton expects certain nodes.

Its GRU and LSTM drives search for one ``GRU`` or ``LSTM`` node per layer and a ``Gemm`` after them,
and Warp-NN, which runs the file, supports few operators. torch's exporter puts ``Shape``, ``Slice``
and ``Reshape`` around a recurrent layer, which Newton rejects. Used for Newton's files only.
ONNX operators: https://onnx.ai/onnx/operators.
ONNX operators: https://onnx.ai/onnx/operators.
"""

from typing import Any

import numpy as np

from trueup.deploy.standalone.traced_step import OPSET
from trueup.errors import MissingExtraError
from trueup.networks.model.network import SKIP, Network

_IR_VERSION = 10
"""Version of the file format, matching that of the operators; supported by ONNX Runtime 1.18."""

_GATES = {"gru": (1, 0, 2), "lstm": (0, 3, 1, 2)}
"""Gates in ONNX's order (update, reset, new; input, output, forget, cell) as indices in torch's
order."""

_ACTIVATIONS = {"elu": "Elu", "relu": "Relu", "softsign": "Softsign", "tanh": "Tanh"}

Shapes = dict[str, tuple[int | str, ...]]
"""Name of a tensor -> shape, with names for dynamic dimensions."""


class NewtonGraph:
    """Nodes and constants of a graph in single precision; methods return names of tensors."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError as error:
            raise MissingExtraError("an ONNX export", "network", "onnx") from error
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, values: Any, dtype: type = np.float32) -> str:
        """Add a constant."""
        name = f"constant_{len(self._constants)}"
        array = np.ascontiguousarray(values, dtype=dtype)
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node with one output."""
        name = output or f"{operator.lower()}_{len(self._nodes)}"
        self._add(operator, inputs, (name,), attributes)
        return name

    def squeezed(self, values: str, axis: int) -> str:
        """Values without an axis of size one."""
        return self.node("Squeeze", values, self.constant([axis], np.int64))

    def recurrent(
        self,
        network: Network,
        layer: int,
        values: str,
        before: tuple[str, ...],
        after: tuple[str, ...],
        over_time: str = "",
    ) -> str:
        """One recurrent layer over one time step; returns the hidden state (1, batch, hidden).

        Args:
            network: a GRU or an LSTM.
            layer: number of the layer.
            values: input (1, batch, inputs).
            before: names of the states before the step, the hidden state first.
            after: names of the states after the step.
            over_time: name of the output over time (1, 1, batch, hidden); empty: none.
        """
        order = _GATES[network.family]

        def gates(name: str) -> np.ndarray:
            parts = np.split(np.asarray(network.weights[f"rnn.{name}_l{layer}"]), len(order))
            return np.concatenate([parts[k] for k in order])

        bias = np.concatenate([gates("bias_ih"), gates("bias_hh")])
        weights = [self.constant(a[None]) for a in (gates("weight_ih"), gates("weight_hh"), bias)]
        attributes: dict[str, Any] = {"hidden_size": network.hidden}
        if network.family == "gru":
            # as in torch, the reset gate multiplies the hidden part after its bias
            attributes["linear_before_reset"] = 1
        states = tuple(f"state_{layer}_{k}" for k in range(len(before)))
        self._add(
            network.family.upper(),
            (values, *weights, "", *before),
            (over_time, *states),
            attributes,
        )
        for state, name in zip(states, after, strict=True):
            self.node("Identity", state, output=name)
        return states[0]

    def head(self, network: Network, hidden: str) -> str:
        """Output (batch, 1) of the last hidden state (1, batch, hidden)."""
        weights = (self.constant(network.weights[f"head.{part}"]) for part in ("weight", "bias"))
        return self.node("Gemm", self.squeezed(hidden, 0), *weights, transB=1)

    def layers(self, network: Network, values: str) -> str:
        """Output (batch, 1) of an ``mlp`` or ``linear`` network on (batch, history x features)."""
        for layer in range(network.layers):
            if layer:
                values = self.node(_ACTIVATIONS[network.activation], values)
            parts = [f"layers.{layer}.{part}" for part in ("weight", "bias")]
            weights = (self.constant(network.weights[part]) for part in parts)
            values = self.node("Gemm", values, *weights, transB=1)
        return values

    def with_skip(self, network: Network, output: str, inputs: str) -> str:
        """Output (batch, 1) plus the linear skip of the inputs, if there is one."""
        if not network.has_skip:
            return output
        weight = self.constant(np.asarray(network.weights[SKIP]).T)
        return self.node("Add", output, self.node("MatMul", inputs, weight))

    def model(self, output: str, inputs: Shapes, outputs: Shapes, metadata: str) -> Any:
        """Checked model with the given tensor as its output ``output``.

        Args:
            output: name of the network's output (batch, 1).
            inputs: inputs of the model.
            outputs: outputs of the model in addition to ``output``.
            metadata: entry ``metadata`` of the model's properties.
        """
        self.node("Identity", output, output="output")
        helper, kind = self._onnx.helper, self._onnx.TensorProto.FLOAT
        described = [
            [helper.make_tensor_value_info(name, kind, list(shape)) for name, shape in each.items()]
            for each in (inputs, {"output": ("batch", 1), **outputs})
        ]
        graph = helper.make_graph(self._nodes, "learned actuator", *described, self._constants)
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=_IR_VERSION)
        model.producer_name = "trueup"
        helper.set_model_props(model, {"metadata": metadata})
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def _add(
        self,
        operator: str,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        attributes: dict[str, Any],
    ) -> None:
        node = self._onnx.helper.make_node(operator, inputs, outputs, **attributes)
        self._nodes.append(node)
