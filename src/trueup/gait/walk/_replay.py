"""Evaluation of a controller on recorded signals, without a model."""

from typing import NamedTuple

import numpy as np

from trueup.errors import GaitError
from trueup.gait.controller._exoskeleton_kernel import Clock
from trueup.gait.walk import _kernel as k
from trueup.gait.walk.simulation import WalkSimulation


class Commands(NamedTuple):
    """Commands of a controller at each of its steps.

    Attributes:
      stimulation: stimulation of each muscle group ``(steps, 2, groups)`` [0, 1].
      torque: torque of the exoskeleton ``(steps, 2)`` [N m].
    """

    stimulation: np.ndarray
    torque: np.ndarray


def replay_controller(
    simulation: WalkSimulation, vector: np.ndarray, measured: np.ndarray
) -> Commands:
    """Commands of the controller on recorded signals.

    Args:
      simulation: simulation with controller, layout (``simulation.layout.measured`` are the names
        of the signals) and exoskeleton.
      vector: parameter vector ``(size,)``.
      measured: signals ``(steps, 2, signals)`` of the right and the left leg.

    Raises:
      GaitError: the vector or the signals have another shape.
    """
    layout = simulation.layout
    X = simulation.parameters.check(vector)[None]
    measured = np.ascontiguousarray(measured, dtype=float)
    if measured.ndim != 3 or measured.shape[1:] != (2, len(layout.measured)):
        raise GaitError(
            f"the signals have shape {measured.shape}; expected (steps, 2, {len(layout.measured)})"
        )
    groups = len(layout.muscles)
    registers = np.zeros((2, len(layout.registers)))
    gains = simulation.parameters.values(X, "gain").reshape(-1, len(layout.gains))
    registers[:, layout.gain_registers] = gains
    rings, clocks = np.zeros((2, layout.ring_size)), np.zeros((2, len(Clock)))
    curve = simulation.curves(X)[0]
    stimulation, torque = np.zeros((len(measured), 2, groups)), np.zeros((len(measured), 2))
    k.begin_replay(
        simulation.program, measured[0], registers, rings, simulation.swing_leg,
        np.full((2, groups), simulation.controller.prestimulation), np.full((2, 2), np.nan), clocks,
        curve,
    )  # fmt: skip
    k.replay(
        simulation.program, simulation.rules, measured, registers, rings, np.zeros(groups), clocks,
        curve, stimulation, torque,
    )  # fmt: skip
    return Commands(stimulation, torque)
