"""Runs exported networks step by step, as a deployment would."""

import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

torch.set_num_threads(1)

SUFFIXES = {"torchscript": "pt", "onnx": "onnx", "torch-export": "pt2"}
"""Format -> ending of its file."""


def columns(network: Any, inputs: np.ndarray, names: list[str]) -> np.ndarray:
    """The columns of ``network.inputs`` that an export takes."""
    return inputs[:, [network.inputs.index(name) for name in names]]


def consistent_inputs(network: Any, inputs: np.ndarray) -> np.ndarray:
    """Inputs whose angle error is target less angle, where all three are there."""
    names, inputs = list(network.inputs), inputs.copy()
    three = ("angle_error_rad", "target_angle_rad", "current_angle_rad")
    if all(name in names for name in three):
        error, target, angle = (names.index(name) for name in three)
        inputs[:, error] = inputs[:, target] - inputs[:, angle]
    return inputs


def load_script(path: Path) -> Any:
    """A TorchScript file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.load(str(path)).eval()


def script_metadata(path: Path) -> dict[str, Any]:
    """The description in a file of torch."""
    with zipfile.ZipFile(path) as archive:
        name = next(n for n in archive.namelist() if n.endswith("extra/metadata.json"))
        return json.loads(archive.read(name))


def onnx_metadata(path: Path) -> dict[str, Any]:
    """The description in an ONNX file."""
    import onnx

    model = onnx.load(str(path))
    assert model.opset_import[0].version == 20
    return json.loads({p.key: p.value for p in model.metadata_props}["metadata"])


def torch_rollout(step: Any, x: np.ndarray, state_shape: list, held: int = 0) -> np.ndarray:
    """Torque of one joint after the other step, the state carried from held first samples."""
    h = torch.zeros([1 if s == "batch" else s for s in state_shape])
    rows, torques = torch.tensor(x, dtype=torch.float32)[:, None, None], []
    with torch.inference_mode():
        for _ in range(held):
            _, h = step(rows[0], h)
        for row in rows:
            torque, h = step(row, h)
            torques.append(torque)
    return torch.cat(torques).double().numpy()[:, 0]


def onnx_rollout(path: Path, x: np.ndarray, state_shape: list, held: int = 0) -> np.ndarray:
    """The same by ONNX Runtime."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    h = np.zeros([1 if s == "batch" else s for s in state_shape], np.float32)
    torques, rows = [], x.astype(np.float32)[:, None, None]
    for _ in range(held):
        _, h = session.run(["torque", "h_next"], {"x": rows[0], "h": h})
    for row in rows:
        torque, h = session.run(["torque", "h_next"], {"x": row, "h": h})
        torques.append(torque[0, 0])
    return np.array(torques, dtype=float)


def rollout(form: str, path: Path, network: Any, inputs: np.ndarray) -> np.ndarray:
    """Torque of a file of a format over inputs in the order of ``network.inputs``."""
    content = onnx_metadata(path) if form == "onnx" else script_metadata(path)
    x = columns(network, inputs, content["inputs"])
    start = (content["state_shape"], content.get("held_steps", 0))
    if form == "onnx":
        return onnx_rollout(path, x, *start)
    step = load_script(path) if form == "torchscript" else torch.export.load(path).module()
    return torch_rollout(step, x, *start)
