"""Prediction: batched MuJoCo rollouts, targets in a model, the measurement, control laws.

``BatchEngine`` runs candidates x segments of one model in one call on all cores, and
:class:`ModelVariants` maps a batch of parameter values to a batch of models. :mod:`control`
compiles control laws that run inside the simulation. Names are loaded on first use.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports
from trueup._mujoco_files import check_mujoco

if TYPE_CHECKING:
    from trueup.simulation import control
    from trueup.simulation.engine.initial_state import create_initial_state
    from trueup.simulation.engine.open_loop import sysid_rollout
    from trueup.simulation.engine.segment import Segment
    from trueup.simulation.engine.warning_capture import captured_warnings
    from trueup.simulation.measured.model_sequences import ModelSequences
    from trueup.simulation.measured.observation import ObservedSequence
    from trueup.simulation.measured.system_trajectory import SystemTrajectory
    from trueup.simulation.targets.variants import ModelVariants

_EXPORTS = {
    "ModelSequences": "trueup.simulation.measured.model_sequences",
    "ModelVariants": "trueup.simulation.targets.variants",
    "ObservedSequence": "trueup.simulation.measured.observation",
    "Segment": "trueup.simulation.engine.segment",
    "SystemTrajectory": "trueup.simulation.measured.system_trajectory",
    "captured_warnings": "trueup.simulation.engine.warning_capture",
    "control": "trueup.simulation.control",
    "create_initial_state": "trueup.simulation.engine.initial_state",
    "sysid_rollout": "trueup.simulation.engine.open_loop",
}

__all__ = [
    "ModelSequences",
    "ModelVariants",
    "ObservedSequence",
    "Segment",
    "SystemTrajectory",
    "captured_warnings",
    "control",
    "create_initial_state",
    "sysid_rollout",
]

# before any module below imports MuJoCo, so that an old version gives a clear error
check_mujoco()

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
