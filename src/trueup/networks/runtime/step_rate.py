"""How often a network steps in a simulation: at the rate it was trained at, and no other."""

import math

from trueup.errors import FitError


def steps_a_period(rate: float | None, timestep: float) -> int:
    """Physics steps from one step of the network to the next.

    Args:
        rate: samples a second in training [Hz]; None where it is not known: every step then.
        timestep: time step of the simulation [s].

    Raises:
        FitError: the network's period is no whole number of physics steps.
    """
    if not (math.isfinite(timestep) and timestep > 0):
        raise FitError(f"the time step is {timestep} s; it must be that of the simulation")
    if rate is None:
        return 1
    steps = 1.0 / (rate * timestep)
    if round(steps) < 1 or abs(steps - round(steps)) > 1e-3 * steps:
        raise FitError(
            f"the network was trained at {rate:g} Hz and steps every {1.0 / rate:g} s; a physics "
            f"step of {timestep:g} s does not divide that: choose one that does, or train at "
            f"{1.0 / timestep:g} Hz"
        )
    return round(steps)
