"""Learned actuators: stateful networks over an analytic base, from recordings to simulators."""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.networks.actuator_series import ActuatorSeries
    from trueup.networks.analytic_base import AnalyticBase
    from trueup.networks.features import (
        FEATURE_NAMES,
        FEATURES,
        SIMULATOR_FEATURE_NAMES,
        Feature,
    )
    from trueup.networks.network import FAMILIES, Network
    from trueup.networks.network_file import load_network, save_network
    from trueup.networks.normalization import Normalization
    from trueup.networks.runtime import NetworkRuntime

_EXPORTS = {
    "FAMILIES": "trueup.networks.network",
    "FEATURES": "trueup.networks.features",
    "FEATURE_NAMES": "trueup.networks.features",
    "SIMULATOR_FEATURE_NAMES": "trueup.networks.features",
    "ActuatorSeries": "trueup.networks.actuator_series",
    "AnalyticBase": "trueup.networks.analytic_base",
    "Feature": "trueup.networks.features",
    "Network": "trueup.networks.network",
    "NetworkRuntime": "trueup.networks.runtime",
    "Normalization": "trueup.networks.normalization",
    "load_network": "trueup.networks.network_file",
    "save_network": "trueup.networks.network_file",
}

__all__ = [
    "FAMILIES",
    "FEATURES",
    "FEATURE_NAMES",
    "SIMULATOR_FEATURE_NAMES",
    "ActuatorSeries",
    "AnalyticBase",
    "Feature",
    "Network",
    "NetworkRuntime",
    "Normalization",
    "load_network",
    "save_network",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
