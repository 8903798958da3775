"""Exports of the step ``(x, h) -> (torque, h)``: TorchScript, torch.export, ONNX and numpy."""

from pathlib import Path

from trueup.deploy.standalone import traced_step
from trueup.errors import FitError
from trueup.networks.runtime import torchscript
from trueup.networks.runtime.deployment import Deployment, held_steps
from trueup.networks.runtime.numpy_file import save_numpy_network


def write_torchscript(deployment: Deployment, path: Path) -> str:
    """Write the step as TorchScript; return its usage as Python text."""
    torchscript.write_torchscript(deployment, path)
    return (
        f"import torch\n\nstep = torch.jit.load({str(path)!r}).eval()\n"
        f"{_state(deployment, 'torch')}# {_signature(deployment)}\n"
        "with torch.inference_mode():\n    torque, h = step(x, h)\n"
    )


def write_torch_export(deployment: Deployment, path: Path) -> str:
    """Write the step as ``torch.export``; return its usage as Python text."""
    traced_step.write_torch_export(deployment, path)
    return (
        f"import torch\n\nstep = torch.export.load({str(path)!r}).module()\n"
        f"{_state(deployment, 'torch')}# {_signature(deployment)}\n"
        f"with torch.inference_mode():\n{_held(deployment, 'step(x, h)', '    ')}"
        "    torque, h = step(x, h)\n"
    )


def write_onnx(deployment: Deployment, path: Path) -> str:
    """Write the step as ONNX; return its usage as Python text."""
    traced_step.write_onnx(deployment, path)
    run = 'session.run(["torque", "h_next"], {"x": x, "h": h})'
    return (
        f"import numpy as np\nimport onnxruntime\n\n"
        f"session = onnxruntime.InferenceSession({str(path)!r})\n"
        f"{_state(deployment, 'np')}# {_signature(deployment)}\n{_held(deployment, run)}"
        f"torque, h = {run}\n"
    )


def write_numpy(deployment: Deployment, path: Path) -> str:
    """Write the network as ``.npz`` of numpy arrays; return its usage as Python text.

    Raises:
        FitError: a part is excluded.
    """
    if not (deployment.normalization and deployment.base and deployment.limits):
        raise FitError("the form 'numpy' contains the whole network: parts cannot be excluded")
    network = deployment.network
    save_numpy_network(network, path)
    return (
        "from trueup.networks import NetworkRuntime, load_numpy_network\n\n"
        f"runtime = NetworkRuntime(load_numpy_network({str(path)!r}), joints=1)\n"
        f"# every {1.0 / network.rate:g} s, features in the order {', '.join(network.inputs)}\n"
        "torque = runtime.step(features)  # (joints, inputs) -> (joints,) [N m]\n"
    )


def _state(deployment: Deployment, module: str) -> str:
    rows, _, width = deployment.state_shape
    shape = f"{rows}, batch, {width}"
    zeros = f"torch.zeros({shape})" if module == "torch" else f"np.zeros(({shape}), np.float32)"
    return f"h = {zeros}  # a cold start\n"


def _held(deployment: Deployment, step: str, indent: str = "") -> str:
    """Initialisation of the state before the first step, for graphs that cannot detect it."""
    count = held_steps(deployment.network)
    if not count:
        return ""
    return (
        f"{indent}for _ in range({count}):  # before the first step: hold the first x\n"
        f"{indent}    _, h = {step}\n"
    )


def _signature(deployment: Deployment) -> str:
    rate = deployment.network.rate
    return (
        f"every {1.0 / rate:g} s: x (batch, 1, {len(deployment.inputs)}) is "
        f"{', '.join(deployment.inputs)}"
    )
