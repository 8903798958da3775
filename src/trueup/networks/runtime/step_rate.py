"""Step interval of a network in a simulation, at the rate of its training."""

import math

from trueup.errors import FitError


def steps_a_period(rate: float | None, timestep: float) -> int:
    """Physics steps per step of the network.

    Args:
        rate: sample rate in training [Hz]; None where it is unknown: one physics step.
        timestep: time step of the simulation [s].

    Raises:
        FitError: the period of the network is not a whole number of physics steps.
    """
    if not (math.isfinite(timestep) and timestep > 0):
        raise FitError(f"the time step is {timestep} s; it must be positive")
    if rate is None:
        return 1
    steps = 1.0 / (rate * timestep)
    if round(steps) < 1 or abs(steps - round(steps)) > 1e-3 * steps:
        raise FitError(
            f"the network was trained at {rate:g} Hz; its period of {1.0 / rate:g} s is not a "
            f"multiple of the physics step of {timestep:g} s: change the step, or train at "
            f"{1.0 / timestep:g} Hz"
        )
    return round(steps)
