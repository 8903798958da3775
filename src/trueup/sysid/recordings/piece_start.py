"""Where a stretch of a recording begins: its state, and what was recorded before it."""

import mujoco
import numpy as np

from trueup.errors import ExperimentError, did_you_mean, listing
from trueup.parameters import ParameterDict
from trueup.signals import InterpolationMethod, TimeSeries
from trueup.simulation.lead_in import LeadIn
from trueup.simulation.trajectory import create_initial_state
from trueup.sysid.experiment.settings import InitialState
from trueup.sysid.recordings.measured_state import measured_state, state_columns
from trueup.sysid.recordings.recorded import LoadedRecording

SMOOTHING = 0.02
"""Half width of the local fit that gives an initial state [s]."""


def cut(
    recording: LoadedRecording, span: tuple[float, float], method: InterpolationMethod
) -> tuple[TimeSeries, TimeSeries]:
    """Controls and signals of a recording within a span [s]; controls reach from end to end."""
    measured, control = recording.measured, recording.control
    rows = (measured.times >= span[0]) & (measured.times <= span[1])
    measured = TimeSeries(measured.times[rows], measured.data[rows], measured.signal_mapping)
    start, end = measured.times[0], measured.times[-1]
    inner = control.times[(control.times > start) & (control.times < end)]
    grid = np.concatenate([[start], inner, [end]])
    held = TimeSeries(grid, control.interpolate(grid, method), control.signal_mapping)
    return held, measured


def lead_in_of(
    recording: LoadedRecording,
    state: np.ndarray,
    start: float,
    beginning: np.ndarray | None,
    method: InterpolationMethod,
) -> LeadIn | None:
    """What was recorded before a piece begins.

    Args:
      recording: the recording.
      state: state at the beginning of the piece.
      start: when it begins [s].
      beginning: state at the beginning of the recording; None where the piece is that beginning.
      method: what a control is between its samples.
    """
    if beginning is not None:
        span = (float(recording.measured.times[0]), start)
        control, _ = cut(recording, span, method)
        return LeadIn(control, beginning, recording.measured, recording.name)
    # a state that is given, or the default one, is complete
    known = recording.part.initial not in ("measured", "estimated") and not recording.begins_late
    if known or recording.earlier is None:
        return None
    return LeadIn(recording.earlier, state)


def initial_state(
    recording: LoadedRecording, model: mujoco.MjModel, start: float, first: bool
) -> np.ndarray:
    """State at a time of a recording; the samples before a later stretch help to find it."""
    given = recording.part.initial
    default = create_initial_state(model, mujoco.MjData(model).qpos)
    if isinstance(given, InitialState) and first:
        for kind, values in (("qpos", given.qpos), ("qvel", given.qvel)):
            for joint in values:
                _joint(model, joint, f"recording {recording.name!r}: initial.{kind}")
        data = mujoco.MjData(model)
        for joint, value in given.qpos.items():
            data.qpos[model.jnt_qposadr[_joint(model, joint, "")]] = value
        for joint, value in given.qvel.items():
            data.qvel[model.jnt_dofadr[_joint(model, joint, "")]] = value
        return create_initial_state(model, data.qpos, data.qvel)
    if given == "default" and first:
        return default
    measured = recording.measured
    columns = state_columns(model, measured)
    return measured_state(model, measured, columns, start, SMOOTHING, default)


def unmeasured_positions(
    recording: LoadedRecording, model: mujoco.MjModel, parameters: ParameterDict
) -> list[str]:
    """Note that names the joints whose position at the beginning is assumed; empty for none.

    Args:
      recording: the recording.
      model: its model.
      parameters: the unknowns, among which initial positions may be.
    """
    given = recording.part.initial
    told = set(given.qpos) if isinstance(given, InitialState) else set()
    targets = [t.partition("@")[0] for p in parameters.values() for t in p.targets]
    told |= {t.split("/")[1] for t in targets if t.startswith("state/") and t.endswith("/qpos")}
    positions = state_columns(model, recording.measured).positions
    names = [
        model.joint(j).name or f"joint {j}"
        for j in range(model.njnt)
        if int(model.jnt_qposadr[j]) not in positions
    ]
    names = [n for n in names if n not in told]
    if not names:
        return []
    return [
        f"{recording.name}: the position of {listing(names)} was not measured: it is assumed to "
        f"begin at the model's default, and later parts go on from the simulation. Record it, give "
        f"it (initial: {{qpos: ...}}), or make it an unknown (target: state/{names[0]}/qpos, with "
        f"bounds)."
    ]


def _joint(model: mujoco.MjModel, name: str, where: str) -> int:
    names = [model.joint(i).name for i in range(model.njnt)]
    if name not in names:
        raise ExperimentError(
            f"{where} names the joint {name!r}; the model has {listing(names)}."
            f"{did_you_mean(name, names)}"
        )
    return names.index(name)
