"""Learned actuators: stateful networks over an analytic base, from recordings to simulators."""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.networks import training
    from trueup.networks.base.analytic import AnalyticBase
    from trueup.networks.data.actuator_series import ActuatorSeries
    from trueup.networks.data.check import DataCheck, check_data
    from trueup.networks.data.features import FEATURE_NAMES, FEATURES, SIMULATOR_FEATURE_NAMES
    from trueup.networks.data.normalization import Normalization
    from trueup.networks.data.reading import read_series
    from trueup.networks.data.settings import DataSettings, TorqueTerms
    from trueup.networks.data.splits import DataSplit, split_global, split_lomo
    from trueup.networks.data.synthetic_recordings import synthesize
    from trueup.networks.data.synthetic_settings import SyntheticSettings
    from trueup.networks.evaluation.baseline_networks import fit_linear, fit_linear_chosen
    from trueup.networks.evaluation.closed_loop import JointModel, RollOut, roll_out
    from trueup.networks.evaluation.metrics import NetworkScores, Scores, predict_series, score
    from trueup.networks.evaluation.model_rollout import roll_out_in_model
    from trueup.networks.model.network import FAMILIES, Network
    from trueup.networks.model.network_file import load_network, save_network
    from trueup.networks.motion.base import PdJoint
    from trueup.networks.motion.settings import MotionSettings
    from trueup.networks.motion.train import (
        resume_motion_training,
        run_model_training,
        run_motion_training,
    )
    from trueup.networks.runtime.compiled_runtime import CompiledRuntime, predict
    from trueup.networks.runtime.control_law import network_law
    from trueup.networks.runtime.deployment import Deployment
    from trueup.networks.runtime.ensemble import NetworkEnsemble
    from trueup.networks.runtime.numpy_file import load_numpy_network
    from trueup.networks.runtime.numpy_runtime import NetworkRuntime
    from trueup.networks.training.train import train

_EXPORTS = {
    "ActuatorSeries": "trueup.networks.data.actuator_series",
    "AnalyticBase": "trueup.networks.base.analytic",
    "CompiledRuntime": "trueup.networks.runtime.compiled_runtime",
    "DataCheck": "trueup.networks.data.check",
    "DataSettings": "trueup.networks.data.settings",
    "DataSplit": "trueup.networks.data.splits",
    "Deployment": "trueup.networks.runtime.deployment",
    "FAMILIES": "trueup.networks.model.network",
    "FEATURES": "trueup.networks.data.features",
    "FEATURE_NAMES": "trueup.networks.data.features",
    "JointModel": "trueup.networks.evaluation.closed_loop",
    "MotionSettings": "trueup.networks.motion.settings",
    "Network": "trueup.networks.model.network",
    "NetworkEnsemble": "trueup.networks.runtime.ensemble",
    "NetworkRuntime": "trueup.networks.runtime.numpy_runtime",
    "NetworkScores": "trueup.networks.evaluation.metrics",
    "Normalization": "trueup.networks.data.normalization",
    "PdJoint": "trueup.networks.motion.base",
    "RollOut": "trueup.networks.evaluation.closed_loop",
    "SIMULATOR_FEATURE_NAMES": "trueup.networks.data.features",
    "Scores": "trueup.networks.evaluation.metrics",
    "SyntheticSettings": "trueup.networks.data.synthetic_settings",
    "TorqueTerms": "trueup.networks.data.settings",
    "check_data": "trueup.networks.data.check",
    "fit_linear": "trueup.networks.evaluation.baseline_networks",
    "fit_linear_chosen": "trueup.networks.evaluation.baseline_networks",
    "load_network": "trueup.networks.model.network_file",
    "load_numpy_network": "trueup.networks.runtime.numpy_file",
    "network_law": "trueup.networks.runtime.control_law",
    "predict": "trueup.networks.runtime.compiled_runtime",
    "predict_series": "trueup.networks.evaluation.metrics",
    "read_series": "trueup.networks.data.reading",
    "resume_motion_training": "trueup.networks.motion.train",
    "roll_out": "trueup.networks.evaluation.closed_loop",
    "roll_out_in_model": "trueup.networks.evaluation.model_rollout",
    "run_model_training": "trueup.networks.motion.train",
    "run_motion_training": "trueup.networks.motion.train",
    "save_network": "trueup.networks.model.network_file",
    "score": "trueup.networks.evaluation.metrics",
    "split_global": "trueup.networks.data.splits",
    "split_lomo": "trueup.networks.data.splits",
    "synthesize": "trueup.networks.data.synthetic_recordings",
    "train": "trueup.networks.training.train",
    "training": "trueup.networks.training",
}

__all__ = [
    "FAMILIES",
    "FEATURES",
    "FEATURE_NAMES",
    "SIMULATOR_FEATURE_NAMES",
    "ActuatorSeries",
    "AnalyticBase",
    "CompiledRuntime",
    "DataCheck",
    "DataSettings",
    "DataSplit",
    "Deployment",
    "JointModel",
    "MotionSettings",
    "Network",
    "NetworkEnsemble",
    "NetworkRuntime",
    "NetworkScores",
    "Normalization",
    "PdJoint",
    "RollOut",
    "Scores",
    "SyntheticSettings",
    "TorqueTerms",
    "check_data",
    "fit_linear",
    "fit_linear_chosen",
    "load_network",
    "load_numpy_network",
    "network_law",
    "predict",
    "predict_series",
    "read_series",
    "resume_motion_training",
    "roll_out",
    "roll_out_in_model",
    "run_model_training",
    "run_motion_training",
    "save_network",
    "score",
    "split_global",
    "split_lomo",
    "synthesize",
    "train",
    "training",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
