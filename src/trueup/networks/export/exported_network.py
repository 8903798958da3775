"""One call for all forms that a network is exported in."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trueup.errors import FitError, did_you_mean, listing
from trueup.networks.export import isaac_lab_files, newton_files, torch_files
from trueup.networks.export.deployment import Deployment
from trueup.networks.export.formats import EXPORT_FORMATS, ExportFormat
from trueup.networks.export.numpy_file import save_numpy_network
from trueup.networks.model.network import Network

SUFFIXES = {
    "torchscript": ".pt",
    "onnx": ".onnx",
    "torch-export": ".pt2",
    "numpy": ".npz",
    "isaac-lab-combined": "",
    "newton": ".onnx",
}
"""Ending of each format's file; ``.pt`` for the others. Without one it is a folder."""


@dataclass(frozen=True)
class ExportedNetwork:
    """What an export wrote."""

    path: Path
    """The file, or the folder."""
    usage: str
    """How it is used where it was exported for, as Python text."""


def export_network(
    network: Network,
    export_format: ExportFormat,
    path: str | os.PathLike[str],
    *,
    normalization: bool = True,
    base: bool = True,
    limits: bool = True,
) -> ExportedNetwork:
    """Write a network for a simulator or a runtime.

    ``torchscript``, ``onnx`` (operators of set 20) and ``torch-export`` hold the stateful step
    ``(x (batch, 1, inputs), h) -> (torque (batch, 1), h)``, one call every ``1 / rate`` seconds;
    ``h`` starts at zero. Its shape is (layers, batch, hidden) for a GRU, (2 layers, batch, hidden)
    for an LSTM, hidden states before cells, and (history, batch, features) for the others, newest
    first. Arithmetic is in single precision. Each file describes itself: features with their units,
    rate, limits and what is inside, as JSON (``metadata.json`` among the extra files of torch, the
    property ``metadata`` of ONNX).

    The other formats are what the actuator classes of Isaac Lab, mjlab and Newton load.

    Args:
        network: the trained network.
        export_format: one of ``EXPORT_FORMATS``.
        path: file to write; a folder for ``isaac-lab-combined``.
        normalization: scale features and output inside the graph.
        base: add the analytic base inside the graph.
        limits: apply the torque limit inside the graph.

    Raises:
        FitError: the format is unknown, or the network does not fit it; the message says what does.
        MissingExtraError: torch (for all but ``numpy`` and ``newton``), onnx or onnxscript is not
            installed.
    """
    if export_format not in EXPORT_FORMATS:
        raise FitError(
            f"there is no format {export_format!r}; there are {listing(EXPORT_FORMATS)}."
            f"{did_you_mean(export_format, EXPORT_FORMATS)}"
        )
    deployment = Deployment(network, normalization, base, limits)
    path = Path(path)
    return ExportedNetwork(path, _WRITERS[export_format](deployment, path))


def _torchscript(deployment: Deployment, path: Path) -> str:
    torch_files.write_torchscript(deployment, path)
    return (
        f"import torch\n\nstep = torch.jit.load({str(path)!r}).eval()\n"
        f"{_state(deployment, 'torch')}# {_signature(deployment)}\n"
        "with torch.inference_mode():\n    torque, h = step(x, h)\n"
    )


def _torch_export(deployment: Deployment, path: Path) -> str:
    torch_files.write_torch_export(deployment, path)
    return (
        f"import torch\n\nstep = torch.export.load({str(path)!r}).module()\n"
        f"{_state(deployment, 'torch')}# {_signature(deployment)}\n"
        "with torch.inference_mode():\n    torque, h = step(x, h)\n"
    )


def _onnx(deployment: Deployment, path: Path) -> str:
    torch_files.write_onnx(deployment, path)
    return (
        f"import numpy as np\nimport onnxruntime\n\n"
        f"session = onnxruntime.InferenceSession({str(path)!r})\n"
        f"{_state(deployment, 'np')}# {_signature(deployment)}\n"
        'torque, h = session.run(["torque", "h_next"], {"x": x, "h": h})\n'
    )


def _numpy(deployment: Deployment, path: Path) -> str:
    if not (deployment.normalization and deployment.base and deployment.limits):
        raise FitError("a network for numpy is whole: nothing of it can be left out")
    network = deployment.network
    save_numpy_network(network, path)
    return (
        "from trueup.networks import NetworkRuntime\n"
        "from trueup.networks.export import load_numpy_network\n\n"
        f"runtime = NetworkRuntime(load_numpy_network({str(path)!r}), joints=1)\n"
        f"# every {1.0 / network.rate:g} s, features in the order {', '.join(network.inputs)}\n"
        "torque = runtime.step(features)  # (joints, inputs) -> (joints,) [N m]\n"
    )


def _state(deployment: Deployment, module: str) -> str:
    rows, _, width = deployment.state_shape
    shape = f"{rows}, batch, {width}"
    zeros = f"torch.zeros({shape})" if module == "torch" else f"np.zeros(({shape}), np.float32)"
    return f"h = {zeros}  # a cold start\n"


def _signature(deployment: Deployment) -> str:
    rate = deployment.network.rate
    return (
        f"every {1.0 / rate:g} s: x (batch, 1, {len(deployment.inputs)}) is "
        f"{', '.join(deployment.inputs)}"
    )


_WRITERS: dict[str, Callable[[Deployment, Path], str]] = {
    "torchscript": _torchscript,
    "onnx": _onnx,
    "torch-export": _torch_export,
    "numpy": _numpy,
    "isaac-lab-mlp": isaac_lab_files.write_mlp,
    "isaac-lab-lstm": isaac_lab_files.write_lstm,
    "isaac-lab-gru": isaac_lab_files.write_gru,
    "isaac-lab-combined": isaac_lab_files.write_combined,
    "mjlab": isaac_lab_files.write_mjlab,
    "newton": newton_files.write_newton,
}
