"""Lead-in segments before a sequence in the middle of a run."""

from dataclasses import replace

import mujoco

from trueup.simulation.engine.lead_in import LeadIn
from trueup.simulation.engine.segment import Segment
from trueup.sysid.fit.observation_settings import ObservationSettings
from trueup.sysid.fit.step_controls import controls_on_grid
from trueup.sysid.fit.window_states import window_label
from trueup.sysid.recordings.measured_state import measured_state, state_columns, unmeasured_entries

_LONGEST = 0.5  # maximum open-loop simulation before the state is reset to the measurement [s]


def with_lead_in(
    model: mujoco.MjModel, whole: Segment, lead_in: LeadIn, settings: ObservationSettings
) -> tuple[Segment, ...]:
    """Segments of the time before a sequence, and the sequence that continues from them.

    Args:
      model: the model.
      whole: the sequence in one segment.
      lead_in: the recording before it.
      settings: windows and interpolation of the sequence.

    Returns:
      Segments in time order. The last is the sequence; it continues from them if the model has
      unmeasured states.
    """
    timestep = float(model.opt.timestep)
    # counted backwards from the start of the sequence, so that the steps are continuous
    steps = int((whole.start_time - lead_in.control.times[0]) / timestep + 1e-6)
    if steps < 1:
        return (whole,)
    start = whole.start_time - steps * timestep
    measured = lead_in.measured
    columns = state_columns(model, measured) if measured is not None else None
    carried = unmeasured_entries(model, columns)
    # a part of a longer run is not its start; a recording with earlier commands only is
    origin = 0.0 if measured is not None else -steps * timestep
    whole = replace(whole, clock=origin + steps * timestep)
    if carried is None:
        return (whole,)
    controls = controls_on_grid(model, lead_in.control, settings, start, steps)
    if settings.window > 0:
        length = round(settings.window / timestep)
    else:
        length = steps if measured is not None else max(round(_LONGEST / timestep), 1)
    segments = []
    for index, first in enumerate(range(0, steps, length)):
        time, state = start + first * timestep, lead_in.state
        if index and measured is not None and columns is not None:
            lag = 0.0 if settings.exact_sensor_times else timestep
            smoothing = settings.state_smoothing
            state = measured_state(model, measured, columns, time, smoothing, state, lag)
        segments.append(
            Segment(
                time,
                state,
                controls[first : first + length],
                window_label(lead_in.name, index) if lead_in.name else "",
                origin + first * timestep,
                carried if index else None,
            )
        )
    return (*segments, replace(whole, carried=carried))
