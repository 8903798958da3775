"""Recorded controls resampled to the steps of a simulation."""

import mujoco
import numpy as np

from trueup.signals import TimeSeries
from trueup.simulation.engine.control_layout import control_in_model_order
from trueup.sysid.fit.observation_settings import ObservationSettings


def controls_on_grid(
    model: mujoco.MjModel,
    control: TimeSeries,
    settings: ObservationSettings,
    start: float,
    steps: int,
) -> np.ndarray:
    """Control of each simulation step ``(steps, nu)``, the first at ``start`` [s]."""
    timestep = float(model.opt.timestep)
    # shift the clock to zero to keep the resolution of the grid
    control = TimeSeries(control.times - start, control.data, control.signal_mapping)
    grid = timestep * np.arange(steps)
    # A command takes effect at the nearest step. Waiting for the next one would delay every
    # command by half a step, and a clock with jitter would skip and repeat samples.
    at = grid + 0.499 * timestep if settings.control == "zoh" else grid
    control = TimeSeries(grid, control.interpolate(at, settings.control), control.signal_mapping)
    return np.ascontiguousarray(control_in_model_order(model, control))
