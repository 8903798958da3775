"""Learned actuators: stateful networks over an analytic base, from recordings to simulators."""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.networks._check_data import DataCheck, FileCheck, check_data
    from trueup.networks._closed_loop import JointModel, RollOut, roll_out
    from trueup.networks._model_rollout import roll_out_in_model
    from trueup.networks._read_series import read_series
    from trueup.networks._synthesize import SyntheticData, SyntheticFile, synthesize
    from trueup.networks.actuator_series import ActuatorSeries
    from trueup.networks.analytic_base import AnalyticBase
    from trueup.networks.compiled_runtime import CompiledRuntime, predict
    from trueup.networks.control_law import NetworkLaw, network_law
    from trueup.networks.data_settings import DataSettings, InertiaGroup, TorqueTerms
    from trueup.networks.data_splits import (
        DataSplit,
        split_global,
        split_held_out,
        split_lomo,
    )
    from trueup.networks.ensemble import EnsembleTorque, NetworkEnsemble
    from trueup.networks.features import (
        FEATURE_NAMES,
        FEATURES,
        SIMULATOR_FEATURE_NAMES,
        Feature,
    )
    from trueup.networks.linear_baseline import fit_linear, fit_linear_chosen
    from trueup.networks.metrics import (
        Band,
        NetworkScores,
        Scores,
        SeriesScores,
        predict_series,
        score,
    )
    from trueup.networks.network import FAMILIES, Network
    from trueup.networks.network_file import load_network, save_network
    from trueup.networks.normalization import Normalization
    from trueup.networks.runtime import NetworkRuntime
    from trueup.networks.servo_base import ServoBase
    from trueup.networks.synthetic_settings import SyntheticSettings

_EXPORTS = {
    "FAMILIES": "trueup.networks.network",
    "FEATURES": "trueup.networks.features",
    "FEATURE_NAMES": "trueup.networks.features",
    "SIMULATOR_FEATURE_NAMES": "trueup.networks.features",
    "ActuatorSeries": "trueup.networks.actuator_series",
    "AnalyticBase": "trueup.networks.analytic_base",
    "Band": "trueup.networks.metrics",
    "CompiledRuntime": "trueup.networks.compiled_runtime",
    "DataCheck": "trueup.networks._check_data",
    "DataSettings": "trueup.networks.data_settings",
    "DataSplit": "trueup.networks.data_splits",
    "EnsembleTorque": "trueup.networks.ensemble",
    "Feature": "trueup.networks.features",
    "FileCheck": "trueup.networks._check_data",
    "InertiaGroup": "trueup.networks.data_settings",
    "JointModel": "trueup.networks._closed_loop",
    "Network": "trueup.networks.network",
    "NetworkEnsemble": "trueup.networks.ensemble",
    "NetworkLaw": "trueup.networks.control_law",
    "NetworkRuntime": "trueup.networks.runtime",
    "NetworkScores": "trueup.networks.metrics",
    "Normalization": "trueup.networks.normalization",
    "RollOut": "trueup.networks._closed_loop",
    "Scores": "trueup.networks.metrics",
    "SeriesScores": "trueup.networks.metrics",
    "ServoBase": "trueup.networks.servo_base",
    "SyntheticData": "trueup.networks._synthesize",
    "SyntheticFile": "trueup.networks._synthesize",
    "SyntheticSettings": "trueup.networks.synthetic_settings",
    "TorqueTerms": "trueup.networks.data_settings",
    "check_data": "trueup.networks._check_data",
    "fit_linear": "trueup.networks.linear_baseline",
    "fit_linear_chosen": "trueup.networks.linear_baseline",
    "load_network": "trueup.networks.network_file",
    "network_law": "trueup.networks.control_law",
    "predict": "trueup.networks.compiled_runtime",
    "predict_series": "trueup.networks.metrics",
    "read_series": "trueup.networks._read_series",
    "roll_out": "trueup.networks._closed_loop",
    "roll_out_in_model": "trueup.networks._model_rollout",
    "save_network": "trueup.networks.network_file",
    "score": "trueup.networks.metrics",
    "split_global": "trueup.networks.data_splits",
    "split_held_out": "trueup.networks.data_splits",
    "split_lomo": "trueup.networks.data_splits",
    "synthesize": "trueup.networks._synthesize",
}

__all__ = [
    "FAMILIES",
    "FEATURES",
    "FEATURE_NAMES",
    "SIMULATOR_FEATURE_NAMES",
    "ActuatorSeries",
    "AnalyticBase",
    "Band",
    "CompiledRuntime",
    "DataCheck",
    "DataSettings",
    "DataSplit",
    "EnsembleTorque",
    "Feature",
    "FileCheck",
    "InertiaGroup",
    "JointModel",
    "Network",
    "NetworkEnsemble",
    "NetworkLaw",
    "NetworkRuntime",
    "NetworkScores",
    "Normalization",
    "RollOut",
    "Scores",
    "SeriesScores",
    "ServoBase",
    "SyntheticData",
    "SyntheticFile",
    "SyntheticSettings",
    "TorqueTerms",
    "check_data",
    "fit_linear",
    "fit_linear_chosen",
    "load_network",
    "network_law",
    "predict",
    "predict_series",
    "read_series",
    "roll_out",
    "roll_out_in_model",
    "save_network",
    "score",
    "split_global",
    "split_held_out",
    "split_lomo",
    "synthesize",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
