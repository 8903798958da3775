"""Multiple shooting: a long recording as short windows that each start from the measured state.

An open-loop simulation of minutes drifts away from any recording, and its cost has a thousand
local minima (H. G. Bock 1983 calls for short intervals). Windows keep the prediction near the data.
"""

from dataclasses import replace

import mujoco
import numpy as np

from trueup.errors import SignalError, listing
from trueup.simulation.observation import Window, clock_slack
from trueup.simulation.segment import Segment
from trueup.simulation.system_trajectory import SystemTrajectory
from trueup.sysid.fit.observed_sequence import ObservationSettings
from trueup.sysid.fit.window_states import window_label
from trueup.sysid.recordings.measured_state import measured_state, state_columns, unmeasured_entries


def cut_windows(
    model: mujoco.MjModel,
    whole: Window,
    trajectory: SystemTrajectory,
    settings: ObservationSettings,
) -> tuple[tuple[Window, ...], tuple[Segment, ...]]:
    """Cut one long window into windows of ``settings.window`` seconds.

    The first keeps the sequence's initial state, the others start from the measured one; what has
    no measurement, such as activations and delay buffers, goes on from the window before.

    Returns:
      Windows, and the segments of all stretches, of those without measured rows too.

    Raises:
      SignalError: the position of a joint was not measured, or a window holds no step.
    """
    timestep = whole.timestep
    steps = round(settings.window / timestep)
    if steps < 2:
        raise SignalError(
            f"windows of {settings.window:g} s hold {steps} steps of {timestep:g} s: "
            f"make them longer"
        )
    columns = state_columns(model, trajectory.sensordata)
    missing = columns.missing(model)
    if missing:
        raise SignalError(
            f"windows need the measured position of every joint; not measured: {listing(missing)}. "
            f"Record them, or simulate the sequence in one piece (window: 0)"
        )
    segment = whole.segment
    carried = unmeasured_entries(model, columns)
    lags = [c.lag for c in whole.channels]
    shortest, longest = min(whole.delay_range[0], 0.0), max(whole.delay_range[1], 0.0)
    # a window predicts from its first simulated sample on, late by the longest delay; it runs on
    # until the next window has got as far
    lead = max(lags) * timestep + longest
    extra = int(np.ceil((longest - shortest) / timestep - 1e-6)) + max(lags) - min(lags) + 1
    slack = clock_slack(whole.times[-1:], timestep)
    windows, segments = [], []
    for first in range(0, segment.steps, steps):
        last = first + steps >= segment.steps
        start = segment.start_time + first * timestep
        state = segment.initial_state
        if first:
            state = measured_state(
                model,
                trajectory.sensordata,
                columns,
                start,
                settings.state_smoothing,
                state,
                0.0 if settings.exact_sensor_times else timestep,
            )
        piece = Segment(
            start,
            state,
            segment.controls[first : first + steps + extra],
            window_label(segment.sequence, first // steps),
            segment.clock + first * timestep,
            carried if first else segment.carried,
        )
        segments.append(piece)
        bounds = start + lead + np.array([0.0, steps * timestep]) - slack
        begin, end = np.searchsorted(whole.times, bounds, side="left")
        if last:
            end = len(whole.times)
        if end > begin:
            windows.append(
                replace(
                    whole,
                    segment=piece,
                    times=whole.times[begin:end],
                    measured=whole.measured[begin:end],
                )
            )
    return tuple(windows), tuple(segments)
