"""Preparation of a recorded sequence: channels, weights, controls, simulated windows."""

from collections.abc import Sequence
from dataclasses import replace

import mujoco
import numpy as np

from trueup.errors import SignalError, listing
from trueup.simulation.engine.control_layout import control_in_model_order
from trueup.simulation.engine.segment import Segment
from trueup.simulation.measured.measurement import MeasurementModel
from trueup.simulation.measured.observation import (
    Channel,
    ObservedSequence,
    clock_slack,
    normalisers,
)
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.sysid.fit.compared_channels import channels_of
from trueup.sysid.fit.lead_in_segments import with_lead_in
from trueup.sysid.fit.measured_starts import MeasuredStarts
from trueup.sysid.fit.observation_settings import ObservationSettings
from trueup.sysid.fit.shooting import cut_windows
from trueup.sysid.fit.step_controls import controls_on_grid
from trueup.sysid.recordings.measured_state import state_columns
from trueup.sysid.recordings.sequence_start import state_at


def observe(
    model: mujoco.MjModel,
    trajectory: SystemTrajectory,
    settings: ObservationSettings,
    delay_range: tuple[float, float],
) -> ObservedSequence:
    """Prepare a sequence: simulated windows, compared rows, weights.

    Args:
      model: the model.
      trajectory: the recorded sequence.
      settings: compared signals, weights and windows.
      delay_range: smallest and largest delay that any candidate may have [s].

    Raises:
      SignalError: the sequence does not match the model or the settings.
    """
    name, recorded = trajectory.name, trajectory.sensordata
    channels, columns, owners = channels_of(model, recorded, settings)
    timestep = float(model.opt.timestep)
    controls, start = _controls(model, trajectory, settings, timestep)
    loops = state_columns(model, recorded).loops
    following = () if loops is None else tuple(loops.dofs)
    whole = Segment(start, trajectory.initial_state, controls, name, following=following)
    before: tuple[Segment, ...] = ()
    if trajectory.lead_in is not None:
        *earlier, whole = with_lead_in(model, whole, trajectory.lead_in, settings)
        before = tuple(earlier)
    times, data = recorded.times, recorded.data[:, columns]
    if settings.resample:
        rows = _rows_inside(times, whole, timestep, channels, delay_range)
        times, data = times[rows], data[rows]
    else:
        # the last sensor sample is that of the last but one step unless it is labelled late
        count = min(len(times) - 1, whole.steps - 1 + min(c.lag for c in channels))
        times, data = start + timestep * np.arange(1, count + 1), data[1 : count + 1]
    _check_rows(name, channels, data, whole, timestep)
    relative = np.array([float(settings.weights.get(owner, 1.0)) for owner in owners])
    divisors = normalisers(data, settings.normalise)
    for i, owner in enumerate(owners):
        if owner in settings.noise:
            divisors[i] = settings.noise[owner]
    segments = (replace(whole, first=0, end=len(times)),)
    if settings.window > 0:
        segments = cut_windows(model, whole, times, channels, recorded, settings, delay_range)
    return ObservedSequence(
        name=name,
        channels=tuple(channels),
        signal_names=tuple(owners),
        timestep=timestep,
        times=times,
        measured=data,
        weights=relative / divisors,
        segments=(*before, *segments),
        normalisation=settings.normalise,
        delay_range=delay_range,
    )


def measured_starts(
    model: mujoco.MjModel,
    trajectory: SystemTrajectory,
    settings: ObservationSettings,
    sequence: ObservedSequence,
    measurement: MeasurementModel,
) -> MeasuredStarts:
    """Starts of the segments of a sequence from measured states, for a sensor model.

    Args:
      model: the model.
      trajectory: the recorded sequence.
      settings: settings of :func:`observe`.
      sequence: result of :func:`observe`.
      measurement: sensor model of its channels.
    """
    recorded, lead_in = trajectory.sensordata, trajectory.lead_in
    whole = None if lead_in is None else lead_in.measured
    _, columns, _ = channels_of(model, recorded, settings)
    segments = [s for s in sequence.segments if s.end > s.first]
    if whole is None:
        segments = [s for s in segments if not s.begins or _is_measured(model, trajectory, s)]
    return MeasuredStarts(
        model,
        segments,
        recorded if whole is None else whole,
        columns,
        measurement,
        sequence.delay_range,
        settings.state_smoothing,
        0.0 if settings.exact_sensor_times else sequence.timestep,
    )


def _is_measured(model: mujoco.MjModel, trajectory: SystemTrajectory, first: Segment) -> bool:
    """Whether the state at the start of a sequence is the measured one, and not a given one."""
    columns = state_columns(model, trajectory.sensordata)
    places = [1 + address for address in columns.positions]
    if not places:
        return False
    there = state_at(model, trajectory.sensordata, first.start_time)
    return bool(np.array_equal(there[places], first.initial_state[places]))


def _controls(
    model: mujoco.MjModel,
    trajectory: SystemTrajectory,
    settings: ObservationSettings,
    timestep: float,
) -> tuple[np.ndarray, float]:
    """Control of each step and the time of the first [s]."""
    control = trajectory.control
    start = float(control.times[0])
    if settings.resample:
        slack = clock_slack(control.times[-1:], timestep)
        steps = int(np.ceil((control.times[-1] - start - slack) / timestep))
        return controls_on_grid(model, control, settings, start, steps), start
    # n samples of a control give n - 1 steps: the last one would exceed the recording
    return np.ascontiguousarray(control_in_model_order(model, control)[:-1]), start


def _rows_inside(
    times: np.ndarray,
    segment: Segment,
    timestep: float,
    channels: Sequence[Channel],
    delay_range: tuple[float, float],
) -> slice:
    """Rows for which every channel has simulated samples on both sides, for any delay.

    They depend only on the range of the delays, so that the residual has the same length for every
    candidate.
    """
    lags = [c.lag for c in channels]
    first = segment.start_time + timestep * max(lags) + max(delay_range[1], 0.0)
    last_step = segment.steps - 1 + min(lags)
    last = segment.start_time + timestep * last_step + min(delay_range[0], 0.0)
    slack = clock_slack(times[-1:], timestep)
    begin = int(np.searchsorted(times, first - slack, side="left"))
    end = int(np.searchsorted(times, last + slack, side="right"))
    return slice(begin, max(begin, end))


def _check_rows(
    name: str, channels: Sequence[Channel], data: np.ndarray, segment: Segment, timestep: float
) -> None:
    if len(data) == 0:
        start = segment.start_time
        raise SignalError(
            f"sequence {name!r}: no measured sample lies within the simulated time "
            f"{start:.6g} s to {start + segment.steps * timestep:.6g} s"
        )
    finite = np.all(np.isfinite(data), axis=0)
    if not finite.all():
        bad = [c.name for c, is_finite in zip(channels, finite, strict=True) if not is_finite]
        raise SignalError(
            f"sequence {name!r}: {listing(bad)} contain values that are not finite: fill or "
            "remove them"
        )
