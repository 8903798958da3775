"""Registry of export formats of networks.

To add a format, write a function from a :class:`Deployment` and a path to Python text that shows
its use, in a module of this folder, and add it to :data:`EXPORT_FORMATS`.
"""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal


@dataclass(frozen=True)
class NetworkFormat:
    """Export format; its module is imported when a network is written."""

    writer: str
    """Function that writes a network, as ``module:function``."""
    suffix: str = ".pt"
    """Suffix of the file; empty for a folder."""
    simulator: bool = False
    """Whether a simulator feeds it: inputs that only hardware measures are then refused."""

    def write(self, deployment: Any, path: Path) -> str:
        """Write a network; returns its use as Python text.

        Args:
            deployment: the network and the parts of the graph, a
                :class:`~trueup.networks.export.deployment.Deployment`.
            path: file or folder to write.
        """
        module, function = self.writer.split(":")
        return getattr(importlib.import_module(module), function)(deployment, path)


_HERE = "trueup.networks.export"

EXPORT_FORMATS: dict[str, NetworkFormat] = {
    "torchscript": NetworkFormat(f"{_HERE}.step_files:write_torchscript"),
    "onnx": NetworkFormat(f"{_HERE}.step_files:write_onnx", ".onnx"),
    "torch-export": NetworkFormat(f"{_HERE}.step_files:write_torch_export", ".pt2"),
    "numpy": NetworkFormat(f"{_HERE}.step_files:write_numpy", ".npz"),
    "c": NetworkFormat(f"{_HERE}.c_files:write_c", ".c"),
    "isaac-lab-mlp": NetworkFormat(f"{_HERE}.isaac_lab_files:write_mlp", simulator=True),
    "isaac-lab-lstm": NetworkFormat(f"{_HERE}.isaac_lab_files:write_lstm", simulator=True),
    "isaac-lab-gru": NetworkFormat(f"{_HERE}.isaac_lab_files:write_gru", simulator=True),
    "isaac-lab-combined": NetworkFormat(f"{_HERE}.isaac_lab_files:write_combined", "", True),
    "mjlab": NetworkFormat(f"{_HERE}.isaac_lab_files:write_mjlab", simulator=True),
    "newton": NetworkFormat(f"{_HERE}.newton_files:write_newton", ".onnx", True),
}
"""Export formats by name, as in ``trueup network export --format NAME``."""

SIMULATOR_FORMATS = tuple(name for name, each in EXPORT_FORMATS.items() if each.simulator)
"""Formats that the actuator classes of simulators load."""

if TYPE_CHECKING:
    ExportFormat = str
else:
    # the names of the registry are the choices of the option
    ExportFormat = Literal[*EXPORT_FORMATS]
