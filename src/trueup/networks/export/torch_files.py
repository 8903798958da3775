"""Networks as files of torch: TorchScript and ``torch.export``."""

import io
import warnings
from pathlib import Path
from typing import Any

from trueup.errors import FitError, MissingExtraError
from trueup.networks.export.deployment import Deployment, metadata_text
from trueup.studies import atomic

METADATA_FILE = "metadata.json"
"""Extra file inside of the archive that describes the network."""


def write_torchscript(deployment: Deployment, path: Path, **entries: Any) -> None:
    """Write ``(x (B, 1, inputs), h) -> (torque (B, 1), h)`` as TorchScript.

    Args:
        deployment: the network and what the graph holds of the parts around it.
        path: file to write.
        entries: further entries of its metadata.

    Raises:
        MissingExtraError: torch is not installed.
    """
    _torch()
    from trueup.networks.export.torch_modules import deployed_module

    save_script(deployed_module(deployment), path, metadata_text(deployment, **entries))


def save_script(module: Any, path: Path, description: str) -> None:
    """Script a module and write it with its metadata, whole or not at all."""
    torch = _torch()
    with warnings.catch_warnings():
        # it is deprecated, but it is what the simulators load
        warnings.filterwarnings("ignore", ".*torch.jit.*", DeprecationWarning)
        warnings.filterwarnings("ignore", ".*torch.jit.*", FutureWarning)
        scripted = torch.jit.script(module.eval())
        for parameter in scripted.parameters():
            parameter.requires_grad_(False)
        buffer = io.BytesIO()
        torch.jit.save(scripted, buffer, _extra_files={METADATA_FILE: description})
    atomic.write_bytes(path, buffer.getvalue())


def write_torch_export(deployment: Deployment, path: Path, **entries: Any) -> None:
    """Write the same as a ``torch.export`` archive (``.pt2``), for any batch.

    Raises:
        FitError: the file's name does not end in ``.pt2``.
        MissingExtraError: torch is not installed.
    """
    torch = _torch()
    from trueup.networks.export.torch_modules import deployed_module

    if path.suffix != ".pt2":
        raise FitError(f"{path}: torch loads an exported program from a file that ends in .pt2")
    rows, _, width = deployment.state_shape
    x = torch.zeros(2, 1, len(deployment.inputs))
    h = torch.zeros(rows, 2, width)
    batch = torch.export.Dim("batch", min=1, max=2**20)
    module = deployed_module(deployment).requires_grad_(False)
    with warnings.catch_warnings(), torch.no_grad():
        # torch traces its own recurrent modules and warns of what it finds there
        warnings.simplefilter("ignore")
        program = torch.export.export(module, (x, h), dynamic_shapes=({0: batch}, {1: batch}))
        buffer = io.BytesIO()
        extra = {METADATA_FILE: metadata_text(deployment, **entries)}
        torch.export.save(program, buffer, extra_files=extra)
    atomic.write_bytes(path, buffer.getvalue())


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("an export for torch", "network", "torch") from error
    return torch
