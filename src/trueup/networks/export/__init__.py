"""Learned actuators as files for simulators and runtimes: torch, ONNX, Isaac Lab, mjlab, Newton."""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.networks.export.exported_network import ExportedNetwork, export_network
    from trueup.networks.export.feature_change import with_features
    from trueup.networks.export.formats import EXPORT_FORMATS
    from trueup.networks.export.numpy_file import load_numpy_network, save_numpy_network

_EXPORTS = {
    "EXPORT_FORMATS": "trueup.networks.export.formats",
    "ExportedNetwork": "trueup.networks.export.exported_network",
    "export_network": "trueup.networks.export.exported_network",
    "load_numpy_network": "trueup.networks.export.numpy_file",
    "save_numpy_network": "trueup.networks.export.numpy_file",
    "with_features": "trueup.networks.export.feature_change",
}

__all__ = [
    "EXPORT_FORMATS",
    "ExportedNetwork",
    "export_network",
    "load_numpy_network",
    "save_numpy_network",
    "with_features",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
