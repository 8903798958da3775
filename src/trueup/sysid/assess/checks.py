"""Checks before a fit: data quality, sensitivity to simulation settings, identifiability."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from trueup.errors import FitError
from trueup.fitting.judgement.identifiability import analyse
from trueup.fitting.linearisation import final_jacobian
from trueup.simulation.engine.initial_state import (
    create_initial_state,
    with_start_time,
)
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.targets.actuator_types import velocity_gain
from trueup.sysid.experiment.preparation import Prepared, prepare
from trueup.sysid.experiment.settings import Experiment
from trueup.sysid.fit.identification_search import check_search, check_start
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.requests import check_requests
from trueup.sysid.recordings.sequence_start import first_part

_FEWEST = 500  # minimum number of simulated samples of a recording
_MOST_STEPS = 500_000  # maximum simulated steps of all recordings together
_DECIDES = 0.01  # change of a prediction that is reported, relative to the spread of the signal


def check_experiment(
    experiment: Experiment,
    folder: str | Path = ".",
    on_progress: Callable[[str, float], None] = lambda doing, share: None,
) -> dict[str, Any]:
    """Check an experiment at its start values.

    The quality of the data is checked on every sample. If the recordings have more than 500,000
    time steps in total, only their beginnings are simulated.

    Args:
      experiment: the experiment.
      folder: folder to which its file names are relative.
      on_progress: called with the next step, and the finished share.

    Returns:
      Plain data: ``quality`` by recording, ``simulation`` (sentences on settings that affect the
      result), ``identifiability``, ``notes``.

    Raises:
      TrueupError: an error that makes a fit impossible.
    """
    check_search(experiment.search)
    prepared = prepare(
        experiment,
        Path(folder),
        on_read=lambda name, share: on_progress(f"reading and checking {name}", 0.7 * share),
    )
    prepared = replace(prepared, training=_shortened(prepared))
    on_progress("simulating at the start values", 0.7)
    problem = prepared.problem()
    check_requests(experiment, prepared, problem)
    check_start(problem)
    x, space = problem.space.start, problem.space
    _, jacobian, _ = final_jacobian(problem, x)
    slope = space.slope(x)
    data = np.asarray(jacobian[: problem.data_rows]) / slope
    with np.errstate(over="ignore", invalid="ignore"):
        information = data.T @ data
    if not np.isfinite(information).all():
        raise FitError(
            "the squared residuals at the start values overflow: check measurement (noise, "
            "weight) and the start values of parameters"
        )
    on_progress("identifiability and settings of the simulation", 0.85)
    found = analyse(information, x, space.names, space.lower, space.upper, is_information=True)
    return {
        "name": experiment.name,
        "quality": {r.name: r.quality.to_dict() for r in prepared.recordings},
        "simulation": (
            simulation_warnings(prepared, problem) if isinstance(problem, GrayBoxProblem) else []
        ),
        "identifiability": {
            "identifiable": found.identifiable,
            "sentences": list(found.sentences),
            "condition": found.condition,
            "singular_values": found.singular_values,
            "determined": list(found.determined),
        },
        "notes": prepared.notes,
    }


def _shortened(prepared: Prepared) -> list[ModelSequences]:
    """Sequences for the fit, limited to their beginnings if too long to simulate in a check.

    Adds a note if they are shortened.
    """
    everything = [t for models in prepared.training for t in models.measured_rollout]
    steps = sum(len(t.control.times) for t in everything)
    if steps <= _MOST_STEPS:
        return prepared.training
    part = _MOST_STEPS / steps
    method = prepared.experiment.control
    groups = []
    for models in prepared.training:
        cut = []
        for whole in models.measured_rollout:
            start, end = (float(whole.sensordata.times[k]) for k in (0, -1))
            short = len(whole.sensordata.times) * part < _FEWEST
            span = (start, end if short else start + part * (end - start))
            cut.append(first_part(whole, span, method))
        groups.append(
            ModelSequences.from_trajectories(
                models.name, models.spec, models.sequence_name, cut, models.allow_missing_sensors
            )
        )
    prepared.notes.append(
        f"The recordings have {steps} time steps in total: simulation and identifiability are "
        f"checked on the first {100 * part:.2g} % of each, the quality of the data on all."
    )
    return groups


def simulation_warnings(prepared: Prepared, problem: GrayBoxProblem) -> list[str]:
    """Sentences on settings of the simulation that affect the result."""
    base = problem.predictions(problem.space.start[None])
    timestep = float(problem.variants[0].model.opt.timestep)
    out = [
        sentence for variant in problem.variants for sentence in loop_gain_warnings(variant.model)
    ]
    trials = [
        (
            f"With half the time step ({timestep / 2:g} s)",
            "reduce it until this warning disappears",
            {"timestep": 0.5},
        ),
        (
            "With hard joint friction (solref_friction of twice the time step)",
            "set model.friction.solref and solimp: MuJoCo's default friction is soft, and a fit "
            "exchanges Coulomb for viscous friction",
            {"hard_friction": True},
        ),
    ]
    for what, advice, change in trials:
        if "hard_friction" in change and not _has_friction(prepared, problem):
            continue
        shift, channel = _shift(prepared, problem, base, change)
        if shift > _DECIDES:
            out.append(
                f"{what} the prediction of {channel} changes by {100 * shift:.2g} % of its spread: "
                f"the result depends on this setting; {advice}."
            )
    return out


def _has_friction(prepared: Prepared, problem: GrayBoxProblem) -> bool:
    searched = any("frictionloss" in t for p in problem.parameters.values() for t in p.targets)
    return searched or any(v.model.dof_frictionloss.any() for v in problem.variants)


def _shift(
    prepared: Prepared, problem: GrayBoxProblem, base: Any, change: dict[str, Any]
) -> tuple[float, str]:
    """Largest change of a prediction relative to the spread of the measured signal."""
    groups = []
    for models in prepared.training:
        spec = models.spec.copy()
        step = spec.option.timestep
        states = models.initial_state
        if "timestep" in change:
            _change_timestep(spec, change["timestep"])
            states = _with_open_history(models.gt_model, spec.compile(), states)
        if change.get("hard_friction"):
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
    other = GrayBoxProblem(
        problem.parameters, groups, replace(problem.settings), problem.measurement
    )
    failures: dict[int, str] = {}
    changed = other.predictions(problem.space.start[None], failures)
    if failures:
        return 0.0, ""
    worst, where = 0.0, ""
    for sequence, (measured, first), (_, second) in zip(
        problem.sequences, base, changed, strict=True
    ):
        rows = min(first.shape[1], second.shape[1])
        difference = first[0, -rows:] - second[0, -rows:]
        spread = np.std(measured[-1], axis=0)
        ratio = np.sqrt(np.mean(difference**2, axis=0)) / np.where(spread > 0, spread, np.inf)
        if ratio.max() > worst:
            worst = float(ratio.max())
            where = f"{sequence.channel_names[int(ratio.argmax())]} in {sequence.name}"
    return worst, where


def _change_timestep(spec: mujoco.MjSpec, factor: float) -> None:
    """Change the time step, and the size of delay buffers, which keep their duration [s]."""
    spec.option.timestep *= factor
    for delayed in (*spec.actuators, *spec.sensors):
        delayed.nsample = int(np.ceil(delayed.nsample / factor))


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


def loop_gain_warnings(model: mujoco.MjModel) -> list[str]:
    """Warnings on feedback gains for which the time step has the effect of an inertia.

    A velocity gain ``D`` that is applied one step late has the effect of an inertia ``-D dt / 2``:
    more than 1 % of the joint's inertia biases its estimate.
    """
    out = []
    implicit = int(model.opt.integrator) in (
        int(mujoco.mjtIntegrator.mjINT_IMPLICIT),
        int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST),
    )
    for actuator in range(model.nu):
        if int(model.actuator_trntype[actuator]) != int(mujoco.mjtTrn.mjTRN_JOINT):
            continue
        joint = int(model.actuator_trnid[actuator, 0])
        dof = int(model.jnt_dofadr[joint])
        gain = velocity_gain(model, actuator) * float(model.actuator_gear[actuator, 0]) ** 2
        inertia = float(model.dof_M0[dof])
        lag = 0.5 * gain * model.opt.timestep / max(inertia, 1e-12)
        if lag > 0.01:
            how = "implicitly, which adds" if implicit else "one step late, which subtracts"
            out.append(
                f"Actuator {model.actuator(actuator).name!r} has a velocity gain of {gain:.4g}; "
                f"the integrator applies it {how} about {100 * lag:.2g} % of the joint's inertia "
                f"{inertia:.4g}: reduce the time step below "
                f"{0.02 * inertia / gain:.1g} s, or the inertia has this error."
            )
    return out
