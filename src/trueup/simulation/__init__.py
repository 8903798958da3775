"""Prediction: batched MuJoCo rollouts, targets in a model, the measurement, control laws.

:class:`BatchEngine` runs candidates x segments of one model in one call on all cores, and
:class:`ModelVariants` turns a batch of parameter values into a batch of models. :mod:`control`
compiles control laws that run inside the simulation. Names are loaded on first use.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.simulation import control
    from trueup.simulation.engine import BatchEngine, Block
    from trueup.simulation.initial_state import create_initial_state, with_start_time
    from trueup.simulation.measurement import (
        DelayRule,
        GainOrBias,
        MeasurementModel,
        MeasurementRules,
        ScaleRule,
    )
    from trueup.simulation.model_sequences import ModelSequences
    from trueup.simulation.observation import Channel, ObservedSequence, Window
    from trueup.simulation.open_loop import sysid_rollout
    from trueup.simulation.rendering import render_rollout
    from trueup.simulation.segment import Segment
    from trueup.simulation.system_trajectory import SystemTrajectory
    from trueup.simulation.targets import element_names
    from trueup.simulation.variants import BuildModel, ModelVariants, compile_spec
    from trueup.simulation.warning_capture import captured_warnings
    from trueup.simulation.window_reader import WindowReader

_EXPORTS = {
    "BatchEngine": "trueup.simulation.engine",
    "Block": "trueup.simulation.engine",
    "BuildModel": "trueup.simulation.variants",
    "Channel": "trueup.simulation.observation",
    "DelayRule": "trueup.simulation.measurement",
    "GainOrBias": "trueup.simulation.measurement",
    "MeasurementModel": "trueup.simulation.measurement",
    "MeasurementRules": "trueup.simulation.measurement",
    "ModelSequences": "trueup.simulation.model_sequences",
    "ModelVariants": "trueup.simulation.variants",
    "ObservedSequence": "trueup.simulation.observation",
    "ScaleRule": "trueup.simulation.measurement",
    "Segment": "trueup.simulation.segment",
    "SystemTrajectory": "trueup.simulation.system_trajectory",
    "Window": "trueup.simulation.observation",
    "WindowReader": "trueup.simulation.window_reader",
    "captured_warnings": "trueup.simulation.warning_capture",
    "compile_spec": "trueup.simulation.variants",
    "control": "trueup.simulation.control",
    "create_initial_state": "trueup.simulation.initial_state",
    "element_names": "trueup.simulation.targets",
    "render_rollout": "trueup.simulation.rendering",
    "sysid_rollout": "trueup.simulation.open_loop",
    "with_start_time": "trueup.simulation.initial_state",
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
    "Window",
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

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
