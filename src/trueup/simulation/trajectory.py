"""Recorded and simulated trajectories: one import for everything that a sequence needs."""

from trueup.simulation.control_layout import control_columns, control_in_model_order
from trueup.simulation.initial_state import create_initial_state, with_start_time
from trueup.simulation.model_sequences import ModelSequences
from trueup.simulation.open_loop import sysid_rollout
from trueup.simulation.system_trajectory import SystemTrajectory

__all__ = [
    "ModelSequences",
    "SystemTrajectory",
    "control_columns",
    "control_in_model_order",
    "create_initial_state",
    "sysid_rollout",
    "with_start_time",
]
