"""Multiple shooting: short windows of a long recording, each from the measured state.

An open-loop simulation of minutes drifts away from any recording, and its cost has many local
minima (H. G. Bock 1983, on short intervals). Windows keep the prediction near the data.
"""

from collections.abc import Sequence
from dataclasses import replace

import mujoco
import numpy as np

from trueup.errors import SignalError, listing
from trueup.signals import TimeSeries
from trueup.simulation.engine.segment import Segment
from trueup.simulation.measured.observation import Channel, clock_slack
from trueup.sysid.fit.observation_settings import ObservationSettings
from trueup.sysid.fit.window_states import window_label
from trueup.sysid.recordings.measured_state import measured_state, state_columns, unmeasured_entries


def cut_windows(
    model: mujoco.MjModel,
    whole: Segment,
    times: np.ndarray,
    channels: Sequence[Channel],
    recorded: TimeSeries,
    settings: ObservationSettings,
    delay_range: tuple[float, float],
) -> tuple[Segment, ...]:
    """Split one long segment into windows of ``settings.window`` seconds.

    The first has the sequence's initial state, the others the measured one; unmeasured states, such
    as activations and delay buffers, continue from the previous window.

    Args:
      model: the model.
      whole: the sequence in one segment.
      times: times of the compared rows ``(T,)`` [s].
      channels: compared channels.
      recorded: measured signals, from which the windows start.
      settings: length and initial states of the windows.
      delay_range: smallest and largest delay that any candidate may have [s].

    Returns:
      Segments of all intervals, including those without measured rows.

    Raises:
      SignalError: the position of a joint was not measured, or a window contains no step.
    """
    timestep = float(model.opt.timestep)
    steps = round(settings.window / timestep)
    if steps < 2:
        raise SignalError(
            f"windows of {settings.window:g} s have {steps} steps of {timestep:g} s: "
            f"increase window"
        )
    columns = state_columns(model, recorded)
    missing = columns.unknown(model)
    if missing:
        raise SignalError(
            f"windows require the measured position of every joint; missing: {listing(missing)}. "
            f"Record them, or simulate the sequence without windows (window: 0)"
        )
    carried = unmeasured_entries(model, columns)
    lags = [c.lag for c in channels]
    shortest, longest = min(delay_range[0], 0.0), max(delay_range[1], 0.0)
    # a window predicts from its first simulated sample plus the longest delay; it overlaps the next
    # window by as much
    lead = max(lags) * timestep + longest
    extra = int(np.ceil((longest - shortest) / timestep - 1e-6)) + max(lags) - min(lags) + 1
    sensor_lag = 0.0 if settings.exact_sensor_times else timestep
    segments = []
    for index, first in enumerate(range(0, whole.steps, steps)):
        start = whole.start_time + first * timestep
        state = whole.initial_state
        if index:
            smoothing = settings.state_smoothing
            state = measured_state(model, recorded, columns, start, smoothing, state, sensor_lag)
        segments.append(
            Segment(
                start,
                state,
                whole.controls[first : first + steps + extra],
                window_label(whole.sequence, index),
                whole.clock + first * timestep,
                carried if index else whole.carried,
                following=whole.following,
            )
        )
    starts = np.array([segment.start_time for segment in segments])
    edges = np.searchsorted(times, starts + lead - clock_slack(times[-1:], timestep))
    # no row is lost before the first window or after the last
    edges = [0, *edges[1:].tolist(), len(times)]
    return tuple(
        replace(segment, first=first, end=end)
        for segment, first, end in zip(segments, edges[:-1], edges[1:], strict=True)
    )
