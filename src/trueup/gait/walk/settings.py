"""Settings of the simulation of walks."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from trueup.errors import GaitError, listing

FRAME_PERIOD = 0.01
"""Time between frames, which the costs are computed from [s]."""


@dataclass(frozen=True)
class WalkSettings:
    """Settings of the simulation and the control of walks."""

    duration: float = 20.0
    """Simulated time, one frame at least [s]."""
    pose: str = "walk_left"
    """Keyframe and pose that a walk starts from."""
    joint_speeds: Mapping[str, float] = field(default_factory=dict)
    """Initial speeds of joints that a vector does not hold [rad/s, m/s], by name; those of the
    keyframe where absent. See :func:`trueup.gait.cycle_start`."""
    delayed: bool = True
    """Neural delays at their physiological values; the controller then runs every millisecond, or
    at each step of a model whose steps are longer."""
    period: float = 0.01
    """Time from one run of the controller to the next without delays [s]."""
    max_torque: float = 100.0
    """Largest torque of the exoskeleton [N m]."""
    compat: bool = False
    """Order and lags of MyoAssist: signals come from a forward pass after the step, an exoskeleton
    holds its torque when a stance ends early, and delays are one step shorter."""
    per_leg: bool = False
    """Separate gains for each leg."""
    lowest: float = 0.65
    """Height of the pelvis below which a walker has fallen [m]."""
    steepest: float = 60.0
    """Lean of the pelvis beyond which it has fallen [deg]."""
    threads: int = 0
    """Threads that simulate; 0 for all cores."""

    def __post_init__(self):
        for name in ("duration", "period"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise GaitError(f"{name} is {getattr(self, name)}, it has to be above 0 s")
        least = FRAME_PERIOD if self.delayed else max(FRAME_PERIOD, self.period)
        if self.duration < least * (1.0 - 1e-9):
            raise GaitError(
                f"the simulated time is {self.duration:g} s, less than the {least:g} s from one "
                "frame of a walk to the next: give that or more (--sim-time)"
            )
        if not 0.0 <= self.max_torque < math.inf:
            raise GaitError(f"max_torque is {self.max_torque} N m, it has to be 0 or more")
        wrong = [name for name, speed in self.joint_speeds.items() if not math.isfinite(speed)]
        if wrong:
            raise GaitError(f"the speeds of {listing(wrong)} at the start are not finite")
        if self.threads < 0:
            raise GaitError(f"threads is {self.threads}: give their number, or 0 for all cores")

    def steps_of(self, timestep: float) -> int:
        """Steps of a model from one run of the controller to the next.

        Raises:
          GaitError: the period is no whole number of steps.
        """
        if self.delayed:
            return max(1, round(0.001 / timestep))
        steps = round(self.period / timestep)
        if steps < 1 or abs(steps * timestep - self.period) > 1e-9:
            raise GaitError(
                f"the controller's period of {self.period:g} s is no whole number of the model's "
                f"steps of {timestep:g} s"
            )
        return steps
