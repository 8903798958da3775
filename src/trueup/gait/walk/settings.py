"""Settings of the simulation and the control of walks."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from trueup.errors import GaitError, listing

FRAME_PERIOD = 0.01
"""Time between the frames from which the costs are computed [s]."""


@dataclass(frozen=True)
class WalkSettings:
    """Settings of the simulation and the control of walks."""

    duration: float = 20.0
    """Simulated time [s], at least one frame."""
    pose: str = "walk_left"
    """Keyframe and pose at the start of a walk."""
    joint_speeds: Mapping[str, float] = field(default_factory=dict)
    """Initial speeds, by name, of joints that are not part of a vector [rad/s, m/s]; by default
    those of the keyframe. See :func:`trueup.gait.cycle_start`."""
    delayed: bool = True
    """Neural delays at their physiological values; the controller then runs every millisecond, or
    at each time step of the model if that is longer."""
    period: float = 0.01
    """Period of the controller without delays [s]."""
    max_torque: float = 100.0
    """Maximum torque of the exoskeleton [N m]."""
    compat: bool = False
    """Order and lags of MyoAssist: signals are taken from a forward pass after the step, an
    exoskeleton holds its torque when a stance ends early, and delays are one step shorter."""
    per_leg: bool = False
    """Separate gains for each leg."""
    lowest: float | None = None
    """Height of the pelvis below which the walker has fallen [m]; None: that of its anatomy."""
    steepest: float | None = None
    """Tilt of the pelvis above which the walker has fallen [deg]; None: that of its anatomy, and in
    addition the slope of the ground, except with `compat`."""
    threads: int = 0
    """Number of simulation threads; 0 uses all cores."""

    def __post_init__(self):
        for name in ("duration", "period"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise GaitError(f"{name} is {getattr(self, name)} s; it must be above 0 s")
        least = FRAME_PERIOD if self.delayed else max(FRAME_PERIOD, self.period)
        if self.duration < least * (1.0 - 1e-9):
            raise GaitError(
                f"the simulated time is {self.duration:g} s, shorter than one frame of a walk, "
                f"{least:g} s: increase --sim-time"
            )
        if not 0.0 <= self.max_torque < math.inf:
            raise GaitError(f"max_torque is {self.max_torque} N m; it must be 0 or more")
        wrong = [name for name, speed in self.joint_speeds.items() if not math.isfinite(speed)]
        if wrong:
            raise GaitError(f"the initial speeds of {listing(wrong)} must be finite")
        if self.threads < 0:
            raise GaitError(f"threads is {self.threads}; it must be 1 or more, or 0 for all cores")

    def steps_of(self, timestep: float) -> int:
        """Number of time steps of a model per period of the controller.

        Raises:
          GaitError: the period is not a multiple of the time step.
        """
        if self.delayed:
            return max(1, round(0.001 / timestep))
        steps = round(self.period / timestep)
        if steps < 1 or abs(steps * timestep - self.period) > 1e-9:
            raise GaitError(
                f"the period of the controller, {self.period:g} s, is not a multiple of the time "
                f"step of the model, {timestep:g} s: change one of them"
            )
        return steps
