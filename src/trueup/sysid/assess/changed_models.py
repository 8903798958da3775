"""The problem of an experiment with other settings of the simulation of its models."""

from dataclasses import replace

import mujoco
import numpy as np

from trueup.fitting.problem import Failures
from trueup.simulation.engine.initial_state import create_initial_state, with_start_time
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.assess.fit_covariance import sequence_rows
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit.problem import GrayBoxProblem


def changed_models(
    prepared: Prepared, problem: GrayBoxProblem, halved: bool = False, hard: bool = False
) -> GrayBoxProblem:
    """The problem with half the time step, or with hard joint friction."""
    groups = []
    for models in prepared.training:
        spec = models.spec.copy()
        step = spec.option.timestep
        states = models.initial_state
        if halved:
            _halve_timestep(spec)
            states = _with_open_history(models.gt_model, spec.copy().compile(), states)
        if hard:
            for joint in spec.joints:
                joint.solref_friction = [2 * step, 1.0]
                joint.solimp_friction = [0.99, 0.9999, 0.001, 0.5, 2.0]
        groups.append(
            ModelSequences(
                models.name,
                spec,
                models.sequence_name,
                states,
                models.control,
                models.sensordata,
                allow_missing_sensors=True,
                lead_in=models.lead_in,
            )
        )
    return GrayBoxProblem(
        problem.parameters, groups, replace(problem.settings), problem.measurement
    )


def changed_residual(
    problem: GrayBoxProblem, other: GrayBoxProblem, x: np.ndarray, residual: np.ndarray
) -> np.ndarray | None:
    """Residuals ``(m,)`` of another problem of the same recordings, in the rows of this one.

    A shorter time step compares a sample more at the beginning or the end. Rows other than those
    of the recordings, such as priors, do not depend on the simulation.

    Args:
      problem: the problem.
      other: the other one.
      x: values ``(p,)``.
      residual: residuals of ``problem`` at these values.

    Returns:
      The residuals; None if the other simulation fails or lacks rows.
    """
    failures: Failures = {}
    found = other.residuals(x[None], failures)[0]
    if failures:
        return None
    out = residual.copy()
    for (own, rows), (sequence, theirs) in zip(
        sequence_rows(problem), sequence_rows(other), strict=True
    ):
        places = np.searchsorted(sequence.times, own.times)
        if places.max(initial=0) >= len(sequence.times) or not np.array_equal(
            sequence.times[places], own.times
        ):
            return None
        out[rows] = found[theirs].reshape(sequence.measured.shape)[places].reshape(-1)
    return out


def _halve_timestep(spec: mujoco.MjSpec) -> None:
    """Halve the time step, and change the size of delay buffers, which keep their duration [s]."""
    spec.option.timestep *= 0.5
    for delayed in (*spec.actuators, *spec.sensors):
        delayed.nsample = int(np.ceil(delayed.nsample / 0.5))


def _with_open_history(
    model: mujoco.MjModel, changed: mujoco.MjModel, states: list[np.ndarray]
) -> list[np.ndarray]:
    """Initial states for a model with delay buffers of another size, which are NaN."""
    if changed.nhistory == model.nhistory:
        return states
    default, found = create_initial_state(changed, changed.qpos0, held=True), []
    moved = 1 + model.nq + model.nv + model.na
    for state in states:
        fresh = with_start_time(changed, default, float(state[0]))
        fresh[:moved] = state[:moved]
        found.append(fresh)
    return found
