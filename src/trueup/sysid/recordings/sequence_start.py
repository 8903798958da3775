"""Start of a sequence of a recording: its initial state and its lead-in."""

import dataclasses
from collections.abc import Collection, Iterable

import mujoco
import numpy as np

from trueup.errors import ExperimentError, SignalError, did_you_mean, listing
from trueup.signals import InterpolationMethod, TimeSeries
from trueup.simulation.engine.initial_state import create_initial_state
from trueup.simulation.engine.lead_in import LeadIn
from trueup.simulation.loops.closure import closed_loops
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.sysid.experiment.settings import InitialState, RecordingPart
from trueup.sysid.recordings.measured_state import measured_state, state_columns
from trueup.sysid.recordings.state_smoothing import chosen_half_width

Initial = str | InitialState
"""``initial`` of a recording in the experiment file."""


def initial_state(
    given: Initial, name: str, model: mujoco.MjModel, measured: TimeSeries, begins_late: bool
) -> np.ndarray:
    """State ``mjSTATE_FULLPHYSICS`` at the first sample of a recording.

    Activations and delays are open: they are set to the steady state under the first command. Only
    the model's default is complete, as after a reset in MuJoCo.

    Args:
      given: the initial state of the experiment file.
      name: name of the recording, for messages.
      model: its model.
      measured: measured signals.
      begins_late: whether its beginning is excluded, so that the given state does not apply.

    Raises:
      ExperimentError: a joint that the model does not have, or a loop that is not closed.
    """
    if begins_late or given in ("measured", "estimated"):
        try:
            return state_at(model, measured, float(measured.times[0]))
        except SignalError as error:
            raise ExperimentError(f"{name}: {error}") from error
    data = mujoco.MjData(model)
    if isinstance(given, InitialState):
        for kind, values in (("qpos", given.qpos), ("qvel", given.qvel)):
            for joint in values:
                _joint(model, joint, f"recording {name!r}: initial.{kind}")
        for joint, value in given.qpos.items():
            data.qpos[model.jnt_qposadr[_joint(model, joint, "")]] = value
        for joint, value in given.qvel.items():
            data.qvel[model.jnt_dofadr[_joint(model, joint, "")]] = value
        speeds = data.qvel.copy()
        try:
            for loop in closed_loops(model, _dofs(model, given.qpos))[0]:
                loop.follow(data.qpos[None], data.qvel[None])
        except SignalError as error:
            raise ExperimentError(f"recording {name!r}: initial.qpos: {error}") from error
        for dof in _dofs(model, given.qvel):
            data.qvel[dof] = speeds[dof]
    return create_initial_state(model, data.qpos, data.qvel, held=given != "default")


def state_at(model: mujoco.MjModel, measured: TimeSeries, time: float) -> np.ndarray:
    """Measured state at a time [s]; unmeasured entries have the model's default."""
    default = create_initial_state(model, model.qpos0, held=True)
    columns = state_columns(model, measured)
    half_width = chosen_half_width([(measured, columns)])
    return measured_state(model, measured, columns, time, half_width, default)


def first_part(
    whole: SystemTrajectory, span: tuple[float, float], method: InterpolationMethod
) -> SystemTrajectory:
    """The first part of a recording, within a span [s]."""
    control, measured = _cut(whole, span, method)
    return dataclasses.replace(whole, control=control, sensordata=measured)


def later_part(
    whole: SystemTrajectory, span: tuple[float, float], method: InterpolationMethod, name: str
) -> SystemTrajectory:
    """A part that starts in the middle of a recording, from its measured state.

    Args:
      whole: the recording.
      span: first and last time [s].
      method: interpolation of controls.
      name: name of the part.
    """
    control, measured = _cut(whole, span, method)
    start = float(measured.times[0])
    before, _ = _cut(whole, (float(whole.sensordata.times[0]), start), method)
    return SystemTrajectory(
        whole.model,
        control,
        measured,
        state_at(whole.model, whole.sensordata, start),
        name=name,
        lead_in=LeadIn(before, whole.initial_state, whole.sensordata, whole.name),
    )


def _cut(
    whole: SystemTrajectory, span: tuple[float, float], method: InterpolationMethod
) -> tuple[TimeSeries, TimeSeries]:
    """Controls and signals within a span [s]; the controls cover it from start to end."""
    measured, control = whole.sensordata, whole.control
    first = int(np.searchsorted(measured.times, span[0], side="left"))
    end = int(np.searchsorted(measured.times, span[1], side="right"))
    measured = TimeSeries(
        measured.times[first:end], measured.data[first:end], measured.signal_mapping
    )
    start, stop = measured.times[0], measured.times[-1]
    inner = control.times[(control.times > start) & (control.times < stop)]
    grid = np.concatenate([[start], inner, [stop]])
    held = TimeSeries(grid, control.interpolate(grid, method), control.signal_mapping)
    return held, measured


def unmeasured_positions(
    part: RecordingPart, whole: SystemTrajectory, estimated: Collection[str]
) -> list[str]:
    """Note on the joints with an assumed initial position; empty for none.

    Args:
      part: the recording in the experiment file.
      whole: the recording.
      estimated: joints with an estimated initial position.
    """
    model = whole.model
    given = set(part.initial.qpos) if isinstance(part.initial, InitialState) else set()
    columns = state_columns(model, whole.sensordata)
    known = set(columns.places())
    if given:
        loops = closed_loops(model, _dofs(model, given))[0]
        known = {*columns.positions, *(a for loop in loops for a in loop.addresses)}
    names = [
        model.joint(j).name or f"joint {j}"
        for j in range(model.njnt)
        if int(model.jnt_qposadr[j]) not in known
    ]
    names = [n for n in names if n not in given and n not in estimated]
    if not names:
        return []
    return [
        f"{whole.name}: the position of {listing(names)} was not measured: it is assumed to "
        f"start at the model's default, and later parts continue from the simulation. Record it, "
        f"give it (initial: {{qpos: ...}}), or estimate it (target: state/{names[0]}/qpos, with "
        f"bounds)."
    ]


def _dofs(model: mujoco.MjModel, names: Iterable[str]) -> list[int]:
    return [int(model.jnt_dofadr[_joint(model, name, "")]) for name in names]


def _joint(model: mujoco.MjModel, name: str, where: str) -> int:
    names = [model.joint(i).name for i in range(model.njnt)]
    if name not in names:
        raise ExperimentError(
            f"{where} refers to an unknown joint {name!r}; available: {listing(names)}."
            f"{did_you_mean(name, names)}"
        )
    return names.index(name)
