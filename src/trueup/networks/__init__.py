"""Learned actuators: stateful networks over an analytic base, from recordings to simulators."""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.networks import training
    from trueup.networks.base.analytic import AnalyticBase
    from trueup.networks.base.servo import ServoBase
    from trueup.networks.data.actuator_series import ActuatorSeries
    from trueup.networks.data.check import DataCheck, FileCheck, check_data
    from trueup.networks.data.features import (
        FEATURE_NAMES,
        FEATURES,
        SIMULATOR_FEATURE_NAMES,
        Feature,
    )
    from trueup.networks.data.normalization import Normalization
    from trueup.networks.data.reading import read_series
    from trueup.networks.data.settings import DataSettings, InertiaGroup, TorqueTerms
    from trueup.networks.data.splits import (
        DataSplit,
        split_global,
        split_held_out,
        split_lomo,
    )
    from trueup.networks.data.synthetic_recordings import SyntheticData, SyntheticFile, synthesize
    from trueup.networks.data.synthetic_settings import SyntheticSettings
    from trueup.networks.evaluation.baseline_networks import fit_linear, fit_linear_chosen
    from trueup.networks.evaluation.closed_loop import JointModel, RollOut, roll_out
    from trueup.networks.evaluation.metrics import (
        Band,
        NetworkScores,
        Scores,
        SeriesScores,
        predict_series,
        score,
    )
    from trueup.networks.evaluation.model_rollout import roll_out_in_model
    from trueup.networks.model.feature_change import with_features
    from trueup.networks.model.network import FAMILIES, Network
    from trueup.networks.model.network_file import load_network, save_network
    from trueup.networks.motion.base import MotionBase, PdJoint
    from trueup.networks.motion.result import MotionResult
    from trueup.networks.motion.settings import MotionSettings
    from trueup.networks.motion.train import (
        resume_motion_training,
        run_model_training,
        run_motion_training,
    )
    from trueup.networks.motion.training import (
        MotionTraining,
        motion_errors,
        train_motion,
    )
    from trueup.networks.runtime.compiled_runtime import CompiledRuntime, predict
    from trueup.networks.runtime.control_law import NetworkLaw, network_law
    from trueup.networks.runtime.deployment import Deployment
    from trueup.networks.runtime.ensemble import EnsembleTorque, NetworkEnsemble
    from trueup.networks.runtime.numpy_file import load_numpy_network, save_numpy_network
    from trueup.networks.runtime.numpy_runtime import NetworkRuntime
    from trueup.networks.training.train import train

_EXPORTS = {
    "ActuatorSeries": "trueup.networks.data.actuator_series",
    "AnalyticBase": "trueup.networks.base.analytic",
    "Band": "trueup.networks.evaluation.metrics",
    "CompiledRuntime": "trueup.networks.runtime.compiled_runtime",
    "DataCheck": "trueup.networks.data.check",
    "DataSettings": "trueup.networks.data.settings",
    "DataSplit": "trueup.networks.data.splits",
    "Deployment": "trueup.networks.runtime.deployment",
    "EnsembleTorque": "trueup.networks.runtime.ensemble",
    "FAMILIES": "trueup.networks.model.network",
    "FEATURES": "trueup.networks.data.features",
    "FEATURE_NAMES": "trueup.networks.data.features",
    "Feature": "trueup.networks.data.features",
    "FileCheck": "trueup.networks.data.check",
    "InertiaGroup": "trueup.networks.data.settings",
    "JointModel": "trueup.networks.evaluation.closed_loop",
    "MotionBase": "trueup.networks.motion.base",
    "MotionResult": "trueup.networks.motion.result",
    "MotionSettings": "trueup.networks.motion.settings",
    "MotionTraining": "trueup.networks.motion.training",
    "Network": "trueup.networks.model.network",
    "NetworkEnsemble": "trueup.networks.runtime.ensemble",
    "NetworkLaw": "trueup.networks.runtime.control_law",
    "NetworkRuntime": "trueup.networks.runtime.numpy_runtime",
    "NetworkScores": "trueup.networks.evaluation.metrics",
    "Normalization": "trueup.networks.data.normalization",
    "PdJoint": "trueup.networks.motion.base",
    "RollOut": "trueup.networks.evaluation.closed_loop",
    "SIMULATOR_FEATURE_NAMES": "trueup.networks.data.features",
    "Scores": "trueup.networks.evaluation.metrics",
    "SeriesScores": "trueup.networks.evaluation.metrics",
    "ServoBase": "trueup.networks.base.servo",
    "SyntheticData": "trueup.networks.data.synthetic_recordings",
    "SyntheticFile": "trueup.networks.data.synthetic_recordings",
    "SyntheticSettings": "trueup.networks.data.synthetic_settings",
    "TorqueTerms": "trueup.networks.data.settings",
    "check_data": "trueup.networks.data.check",
    "fit_linear": "trueup.networks.evaluation.baseline_networks",
    "fit_linear_chosen": "trueup.networks.evaluation.baseline_networks",
    "load_network": "trueup.networks.model.network_file",
    "load_numpy_network": "trueup.networks.runtime.numpy_file",
    "motion_errors": "trueup.networks.motion.training",
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
    "save_numpy_network": "trueup.networks.runtime.numpy_file",
    "score": "trueup.networks.evaluation.metrics",
    "split_global": "trueup.networks.data.splits",
    "split_held_out": "trueup.networks.data.splits",
    "split_lomo": "trueup.networks.data.splits",
    "synthesize": "trueup.networks.data.synthetic_recordings",
    "train": "trueup.networks.training.train",
    "train_motion": "trueup.networks.motion.training",
    "training": "trueup.networks.training",
    "with_features": "trueup.networks.model.feature_change",
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
    "Deployment",
    "EnsembleTorque",
    "Feature",
    "FileCheck",
    "InertiaGroup",
    "JointModel",
    "MotionBase",
    "MotionResult",
    "MotionSettings",
    "MotionTraining",
    "Network",
    "NetworkEnsemble",
    "NetworkLaw",
    "NetworkRuntime",
    "NetworkScores",
    "Normalization",
    "PdJoint",
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
    "load_numpy_network",
    "motion_errors",
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
    "save_numpy_network",
    "score",
    "split_global",
    "split_held_out",
    "split_lomo",
    "synthesize",
    "train",
    "train_motion",
    "training",
    "with_features",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
