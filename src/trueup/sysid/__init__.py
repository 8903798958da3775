"""Gray-box identification of the parameters of a MuJoCo model from recordings.

:func:`identify` runs an identification from an experiment file. The other names are those of
MuJoCo's toolbox ``mujoco.sysid``, with the same signatures, so that its scripts run with the import
changed to ``from trueup import sysid``. Names are loaded on first use.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.parameters import InertiaType, Parameter, ParameterDict
    from trueup.signals import SignalType, TimeSeries
    from trueup.simulation import (
        ModelSequences,
        SystemTrajectory,
        create_initial_state,
        sysid_rollout,
    )
    from trueup.simulation.models.rendering import render_rollout
    from trueup.sysid import model_modifier, modifiers, parameter, report, signal_modifier
    from trueup.sysid.assess.checks import check_experiment
    from trueup.sysid.experiment.file import load_experiment
    from trueup.sysid.experiment.settings import Experiment
    from trueup.sysid.fit._identify import identify
    from trueup.sysid.fit.identification import Identification
    from trueup.sysid.fit.observation_settings import ObservationSettings
    from trueup.sysid.fit.problem import GrayBoxProblem
    from trueup.sysid.importing.import_log import Import, propose_import
    from trueup.sysid.importing.import_logs import import_logs
    from trueup.sysid.model_modifier import (
        apply_body_inertia,
        apply_dgain,
        apply_param_modifiers,
        apply_param_modifiers_spec,
        apply_pdgain,
        apply_pgain,
        body_inertia_param,
        remove_visuals,
    )
    from trueup.sysid.results.overlay_video import film
    from trueup.sysid.signal_modifier import (
        apply_bias,
        apply_delay,
        apply_delayed_ts_window,
        apply_gain,
        apply_resample_and_delay,
        get_sensor_indices,
        normalize_residual,
        weighted_diff,
    )
    from trueup.sysid.toolbox._default_report import default_report
    from trueup.sysid.toolbox._optimize import optimize
    from trueup.sysid.toolbox._residual import (
        BuildModelFn,
        CustomRolloutFn,
        ModifyResidualFn,
        ResidualFunction,
        build_residual_fn,
        model_residual,
        residual,
    )
    from trueup.sysid.toolbox._save_results import SavedResults, load_results, save_results
    from trueup.sysid.toolbox.aligned_signals import construct_ts_from_defaults
    from trueup.sysid.toolbox.intervals import calculate_intervals
    from trueup.sysid.toolbox.signal_transform import SignalTransform

_EXPORTS = {
    "BuildModelFn": "trueup.sysid.toolbox._residual",
    "CustomRolloutFn": "trueup.sysid.toolbox._residual",
    "Experiment": "trueup.sysid.experiment.settings",
    "GrayBoxProblem": "trueup.sysid.fit.problem",
    "Identification": "trueup.sysid.fit.identification",
    "Import": "trueup.sysid.importing.import_log",
    "InertiaType": "trueup.parameters",
    "ModelSequences": "trueup.simulation",
    "ModifyResidualFn": "trueup.sysid.toolbox._residual",
    "ObservationSettings": "trueup.sysid.fit.observation_settings",
    "Parameter": "trueup.parameters",
    "ParameterDict": "trueup.parameters",
    "ResidualFunction": "trueup.sysid.toolbox._residual",
    "SavedResults": "trueup.sysid.toolbox._save_results",
    "SignalTransform": "trueup.sysid.toolbox.signal_transform",
    "SignalType": "trueup.signals",
    "SystemTrajectory": "trueup.simulation",
    "TimeSeries": "trueup.signals",
    "apply_bias": "trueup.sysid.signal_modifier",
    "apply_body_inertia": "trueup.sysid.model_modifier",
    "apply_delay": "trueup.sysid.signal_modifier",
    "apply_delayed_ts_window": "trueup.sysid.signal_modifier",
    "apply_dgain": "trueup.sysid.model_modifier",
    "apply_gain": "trueup.sysid.signal_modifier",
    "apply_param_modifiers": "trueup.sysid.model_modifier",
    "apply_param_modifiers_spec": "trueup.sysid.model_modifier",
    "apply_pdgain": "trueup.sysid.model_modifier",
    "apply_pgain": "trueup.sysid.model_modifier",
    "apply_resample_and_delay": "trueup.sysid.signal_modifier",
    "body_inertia_param": "trueup.sysid.model_modifier",
    "build_residual_fn": "trueup.sysid.toolbox._residual",
    "calculate_intervals": "trueup.sysid.toolbox.intervals",
    "check_experiment": "trueup.sysid.assess.checks",
    "construct_ts_from_defaults": "trueup.sysid.toolbox.aligned_signals",
    "create_initial_state": "trueup.simulation",
    "default_report": "trueup.sysid.toolbox._default_report",
    "film": "trueup.sysid.results.overlay_video",
    "get_sensor_indices": "trueup.sysid.signal_modifier",
    "identify": "trueup.sysid.fit._identify",
    "load_experiment": "trueup.sysid.experiment.file",
    "load_results": "trueup.sysid.toolbox._save_results",
    "model_modifier": "trueup.sysid.model_modifier",
    "model_residual": "trueup.sysid.toolbox._residual",
    "modifiers": "trueup.sysid.modifiers",
    "normalize_residual": "trueup.sysid.signal_modifier",
    "optimize": "trueup.sysid.toolbox._optimize",
    "parameter": "trueup.sysid.parameter",
    "import_logs": "trueup.sysid.importing.import_logs",
    "propose_import": "trueup.sysid.importing.import_log",
    "remove_visuals": "trueup.sysid.model_modifier",
    "render_rollout": "trueup.simulation.models.rendering",
    "report": "trueup.sysid.report",
    "residual": "trueup.sysid.toolbox._residual",
    "save_results": "trueup.sysid.toolbox._save_results",
    "signal_modifier": "trueup.sysid.signal_modifier",
    "sysid_rollout": "trueup.simulation",
    "weighted_diff": "trueup.sysid.signal_modifier",
}

__all__ = [
    "BuildModelFn",
    "CustomRolloutFn",
    "Experiment",
    "GrayBoxProblem",
    "Identification",
    "Import",
    "InertiaType",
    "ModelSequences",
    "ModifyResidualFn",
    "ObservationSettings",
    "Parameter",
    "ParameterDict",
    "ResidualFunction",
    "SavedResults",
    "SignalTransform",
    "SignalType",
    "SystemTrajectory",
    "TimeSeries",
    "apply_bias",
    "apply_body_inertia",
    "apply_delay",
    "apply_delayed_ts_window",
    "apply_dgain",
    "apply_gain",
    "apply_param_modifiers",
    "apply_param_modifiers_spec",
    "apply_pdgain",
    "apply_pgain",
    "apply_resample_and_delay",
    "body_inertia_param",
    "build_residual_fn",
    "calculate_intervals",
    "check_experiment",
    "construct_ts_from_defaults",
    "create_initial_state",
    "default_report",
    "film",
    "get_sensor_indices",
    "identify",
    "import_logs",
    "load_experiment",
    "load_results",
    "model_modifier",
    "model_residual",
    "modifiers",
    "normalize_residual",
    "optimize",
    "parameter",
    "propose_import",
    "remove_visuals",
    "render_rollout",
    "report",
    "residual",
    "save_results",
    "signal_modifier",
    "sysid_rollout",
    "weighted_diff",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
