"""Networks as TorchScript, with their description inside the file."""

import io
import warnings
from pathlib import Path
from typing import Any

from trueup.errors import MissingExtraError
from trueup.networks.runtime.deployment import Deployment, metadata_text
from trueup.runs.store import atomic

METADATA_FILE = "metadata.json"
"""Name of the extra file in the archive with the description of the network."""


def write_torchscript(deployment: Deployment, path: Path, **entries: Any) -> None:
    """Write ``(x (B, 1, inputs), h) -> (torque (B, 1), h)`` as TorchScript.

    Args:
        deployment: the network and the parts of the graph.
        path: file to write.
        entries: additional entries of its metadata.

    Raises:
        MissingExtraError: torch is not installed.
    """
    torch_or_missing()
    from trueup.networks.runtime.torch_step import deployed_module

    save_script(deployed_module(deployment, True), path, metadata_text(deployment, **entries))


def save_script(module: Any, path: Path, description: str) -> None:
    """Script a module and write it with its metadata, atomically."""
    torch = torch_or_missing()
    with warnings.catch_warnings():
        # TorchScript is deprecated, but simulators load this format
        warnings.filterwarnings("ignore", ".*torch.jit.*", DeprecationWarning)
        warnings.filterwarnings("ignore", ".*torch.jit.*", FutureWarning)
        scripted = torch.jit.script(module.eval())
        for parameter in scripted.parameters():
            parameter.requires_grad_(False)
        buffer = io.BytesIO()
        torch.jit.save(scripted, buffer, _extra_files={METADATA_FILE: description})
    atomic.write_bytes(path, buffer.getvalue())


def torch_or_missing() -> Any:
    """The module torch.

    Raises:
        MissingExtraError: torch is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("an export by torch", "network", "torch") from error
    return torch
