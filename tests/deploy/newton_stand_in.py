"""A stand-in for Newton's neural drives, version 1.8: which files they take, and what they give.

``benchmarks/simulator_contracts/check_newton.py`` drives it and the real ``newton.actuators`` alike
and offers both the same files that are refused. Arithmetic is ONNX Runtime's.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

OPERATORS = (
    "Add", "Elu", "GRU", "Gemm", "Identity", "LSTM", "MatMul", "Mul", "Relu", "Softsign", "Squeeze",
    "Tanh",
)  # fmt: skip
"""Operators that Warp-NN runs, of those that our graphs might hold."""

COLUMNS = (
    "position", "target_position", "position_error", "velocity", "target_velocity",
    "velocity_error",
)  # fmt: skip
"""Inputs that a GRU may name."""


class NeuralDrive:
    """The drive of a file, for some joints: an LSTM, a GRU or a network with a history.

    Args:
        path: the ONNX file.
        joints: stepped side by side.
        dt: time step of the actuator [s].

    Raises:
        ValueError: Newton would refuse the file.
    """

    def __init__(self, path: Path, joints: int, dt: float):
        self.graph = onnx.load(str(path))
        self.metadata = json.loads({p.key: p.value for p in self.graph.metadata_props}["metadata"])
        kinds = [node.op_type for node in self.graph.graph.node]
        if unknown := set(kinds) - set(OPERATORS):
            raise ValueError(f"Warp-NN runs no {sorted(unknown)}")
        self.session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        shapes = {each.name: each.shape for each in self.session.get_inputs()}
        self.kind = next((kind for kind in ("GRU", "LSTM") if kind in kinds), "MLP")
        if self.kind == "GRU":
            self._check_gru(dt)
        elif self.kind == "LSTM":
            names = ("hidden_in_name", "cell_in_name")
            self.states = [self.metadata[name] for name in names]
            self.following = [self.metadata[n.replace("_in_", "_out_")] for n in names]
        else:
            self.states = self.following = []
            self.rows = np.zeros((max(self.metadata["input_idx"]) + 1, 2, joints), np.float32)
        self.state = [
            np.zeros((shapes[name][0], joints, shapes[name][2]), np.float32) for name in self.states
        ]

    def _check_gru(self, dt: float) -> None:
        graph, metadata = self.graph.graph, self.metadata
        layers = [node for node in graph.node if node.op_type == "GRU"]
        if len([node for node in graph.node if node.op_type == "Gemm"]) != 1:
            raise ValueError("a GRU has one Gemm, its head")
        if any(node.op_type in ("Add", "MatMul") for node in graph.node):
            raise ValueError("no path runs beside the GRU")
        self.states = [node.input[5] for node in layers]
        outside = {each.name for each in graph.input}
        if len(set(self.states)) != len(layers) or not set(self.states) <= outside:
            raise ValueError("each GRU has a hidden state of its own from outside")
        if any(not node.output[0] for node in layers):
            raise ValueError("the path leads through the GRU's output over time")
        if not set(metadata["input_columns"]) <= set(COLUMNS):
            raise ValueError(f"input_columns are {metadata['input_columns']}")
        if not np.isclose(metadata["sample_dt_s"], dt, rtol=1e-5):
            raise ValueError(f"trained for steps of {metadata['sample_dt_s']} s, stepped by {dt} s")
        self.following = [node.output[1] for node in layers]

    def step(self, target: np.ndarray, angle: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Torque of a step, of values (joints,)."""
        values = self._inputs(target, angle, velocity)
        feed = {self.session.get_inputs()[0].name: values.astype(np.float32)}
        feed |= dict(zip(self.states, self.state, strict=True))
        # a state's name inside the graph is that of the Identity behind it
        renamed = {
            n.input[0]: n.output[0] for n in self.graph.graph.node if n.op_type == "Identity"
        }
        following = [renamed.get(name, name) for name in self.following]
        output, *self.state = self.session.run(["output", *following], feed)
        torque: Any = output[:, 0]
        if self.kind == "GRU":
            targets = self.metadata["normalization"]["targets"]
            return torque * targets["std"]["torque"] + targets["mean"]["torque"]
        return torque * self.metadata["effort_scale"]

    def _inputs(self, target: np.ndarray, angle: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        metadata = self.metadata
        if self.kind == "GRU":
            known = {
                "position": angle,
                "target_position": target,
                "position_error": target - angle,
                "velocity": velocity,
            }
            inputs, columns = metadata["normalization"]["inputs"], metadata["input_columns"]
            normal = [(known[n] - inputs["mean"][n]) / inputs["std"][n] for n in columns]
            return np.stack(normal, axis=1)[None]
        scales = np.array([[metadata["pos_scale"]], [metadata["vel_scale"]]])
        newest = np.stack([target - angle, velocity]) * scales
        if self.kind == "LSTM":
            return newest.T[None]
        self.rows = np.concatenate([newest[None], self.rows[:-1]])
        return self.rows[metadata["input_idx"]].transpose(2, 1, 0).reshape(len(target), -1)
