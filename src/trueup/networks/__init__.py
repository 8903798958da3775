"""Learned actuators: stateful networks over an analytic base, from recordings to simulators."""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.networks._read_series import read_series
    from trueup.networks.actuator_series import ActuatorSeries
    from trueup.networks.analytic_base import AnalyticBase
    from trueup.networks.compiled_runtime import CompiledRuntime, predict
    from trueup.networks.data_settings import DataSettings, InertiaGroup, TorqueTerms
    from trueup.networks.data_splits import (
        DataSplit,
        split_global,
        split_held_out,
        split_lomo,
    )
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
    "CompiledRuntime": "trueup.networks.compiled_runtime",
    "DataSettings": "trueup.networks.data_settings",
    "DataSplit": "trueup.networks.data_splits",
    "Feature": "trueup.networks.features",
    "InertiaGroup": "trueup.networks.data_settings",
    "Network": "trueup.networks.network",
    "NetworkRuntime": "trueup.networks.runtime",
    "Normalization": "trueup.networks.normalization",
    "TorqueTerms": "trueup.networks.data_settings",
    "load_network": "trueup.networks.network_file",
    "predict": "trueup.networks.compiled_runtime",
    "read_series": "trueup.networks._read_series",
    "save_network": "trueup.networks.network_file",
    "split_global": "trueup.networks.data_splits",
    "split_held_out": "trueup.networks.data_splits",
    "split_lomo": "trueup.networks.data_splits",
}

__all__ = [
    "FAMILIES",
    "FEATURES",
    "FEATURE_NAMES",
    "SIMULATOR_FEATURE_NAMES",
    "ActuatorSeries",
    "AnalyticBase",
    "CompiledRuntime",
    "DataSettings",
    "DataSplit",
    "Feature",
    "InertiaGroup",
    "Network",
    "NetworkRuntime",
    "Normalization",
    "TorqueTerms",
    "load_network",
    "predict",
    "read_series",
    "save_network",
    "split_global",
    "split_held_out",
    "split_lomo",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
