"""Prediction: batched MuJoCo rollouts, targets in a model, the measurement, control laws.

:class:`BatchEngine` runs candidates x segments of one model in one call on all cores, and
:class:`ModelVariants` maps a batch of parameter values to a batch of models. :mod:`control`
compiles control laws that run inside the simulation. Names are loaded on first use.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports
from trueup._mujoco_files import check_mujoco

if TYPE_CHECKING:
    from trueup.simulation import control
    from trueup.simulation.engine.batch import BatchEngine, Block
    from trueup.simulation.engine.initial_state import create_initial_state, with_start_time
    from trueup.simulation.engine.open_loop import sysid_rollout
    from trueup.simulation.engine.segment import Segment
    from trueup.simulation.engine.warning_capture import captured_warnings
    from trueup.simulation.engine.window_reader import WindowReader
    from trueup.simulation.measured.measurement import (
        DelayRule,
        GainOrBias,
        MeasurementModel,
        MeasurementRules,
        ScaleRule,
    )
    from trueup.simulation.measured.model_sequences import ModelSequences
    from trueup.simulation.measured.observation import Channel, ObservedSequence
    from trueup.simulation.measured.system_trajectory import SystemTrajectory
    from trueup.simulation.models.rendering import render_rollout
    from trueup.simulation.targets.resolution import element_names
    from trueup.simulation.targets.variants import BuildModel, ModelVariants, compile_spec

_EXPORTS = {
    "BatchEngine": "trueup.simulation.engine.batch",
    "Block": "trueup.simulation.engine.batch",
    "BuildModel": "trueup.simulation.targets.variants",
    "Channel": "trueup.simulation.measured.observation",
    "DelayRule": "trueup.simulation.measured.measurement",
    "GainOrBias": "trueup.simulation.measured.measurement",
    "MeasurementModel": "trueup.simulation.measured.measurement",
    "MeasurementRules": "trueup.simulation.measured.measurement",
    "ModelSequences": "trueup.simulation.measured.model_sequences",
    "ModelVariants": "trueup.simulation.targets.variants",
    "ObservedSequence": "trueup.simulation.measured.observation",
    "ScaleRule": "trueup.simulation.measured.measurement",
    "Segment": "trueup.simulation.engine.segment",
    "SystemTrajectory": "trueup.simulation.measured.system_trajectory",
    "WindowReader": "trueup.simulation.engine.window_reader",
    "captured_warnings": "trueup.simulation.engine.warning_capture",
    "compile_spec": "trueup.simulation.targets.variants",
    "control": "trueup.simulation.control",
    "create_initial_state": "trueup.simulation.engine.initial_state",
    "element_names": "trueup.simulation.targets.resolution",
    "render_rollout": "trueup.simulation.models.rendering",
    "sysid_rollout": "trueup.simulation.engine.open_loop",
    "with_start_time": "trueup.simulation.engine.initial_state",
}

__all__ = [
    "BatchEngine",
    "Block",
    "BuildModel",
    "Channel",
    "DelayRule",
    "GainOrBias",
    "MeasurementModel",
    "MeasurementRules",
    "ModelSequences",
    "ModelVariants",
    "ObservedSequence",
    "ScaleRule",
    "Segment",
    "SystemTrajectory",
    "WindowReader",
    "captured_warnings",
    "compile_spec",
    "control",
    "create_initial_state",
    "element_names",
    "render_rollout",
    "sysid_rollout",
    "with_start_time",
]

# before any module below imports MuJoCo, so that an old version gives a clear error
check_mujoco()

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
