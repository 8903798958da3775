"""Errors of inverse dynamics itself, as series by recording."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from trueup.signals import InterpolationMethod

_HARD = ([0.004, 1.0], [0.99, 0.9999, 0.001, 0.5, 2.0])
"""Solver parameters of joint friction that holds at rest and slides at its limit."""


@dataclass(frozen=True)
class Machine:
    """A machine that a recording may be of, by its differences from the model.

    Friction of a machine is harder than MuJoCo's, which is smooth near rest, and its time has no
    steps: a force, a damping and a logged velocity of a simulated machine are those of the
    beginning or end of its step.
    """

    hard: bool = False
    """Whether joints rest and slide with Coulomb's friction, rather than with the model's."""
    step: float = 1.0
    """Time step relative to that of the model."""

    def applied_to(self, spec: Any) -> Any:
        """A model as this machine; the model itself is not changed."""
        out = spec.copy()
        out.option.timestep = spec.option.timestep * self.step
        if self.hard:
            for joint in out.joints:
                # MuJoCo limits the time constant to two time steps
                joint.solref_friction, joint.solimp_friction = _HARD
        return out


AS_MODELLED = Machine()
FINE = 0.25
"""Time step of a machine without steps, relative to that of the model."""

_STEP_SPREAD = 0.15
"""Standard deviation of a time step by the least error, relative to that of the model: other errors
of the motion and the torques look like a step, so that noise alone does not give it."""


@dataclass(frozen=True)
class NoiseEffect:
    """Change of a fit to torques by the noise of its recordings."""

    names: tuple[str, ...]
    """Elements of the parameters ``(p,)``."""
    pulls: np.ndarray
    """Change of the gradient ``J' r`` by each draw of the noise ``(draws, p)``."""

    @property
    def mean(self) -> np.ndarray:
        """Mean change of the gradient ``(p,)``."""
        return np.asarray(self.pulls.mean(axis=0))

    @property
    def spread(self) -> np.ndarray:
        """Covariance ``(p, p)`` of the gradient, with that of the mean of the draws."""
        return np.atleast_2d(np.cov(self.pulls.T)) * (1 + 1 / len(self.pulls))


@dataclass(frozen=True)
class OwnErrors:
    """Errors of inverse dynamics itself."""

    x: np.ndarray
    """Values of the simulated model ``(p,)``."""
    control: InterpolationMethod
    """How controls were held between their samples in the simulation."""
    series: Mapping[str, tuple[np.ndarray, np.ndarray]]
    """Times ``(T,)`` [s], and torque of each joint per unit of its gain ``(T, dofs)``, by
    recording."""
    machine: Machine = AS_MODELLED
    """The simulated machine."""
    noise: NoiseEffect | None = None
    """Effect of the noise of the recordings, whose mean is in the series; None: not known."""
    slopes: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Change of the series ``(T, dofs)`` per relative time step of the machine, by recording."""
    step_spread: float = _STEP_SPREAD
    """Standard deviation of the relative time step."""

    def joined(self, other: "OwnErrors") -> "OwnErrors":
        """The errors of these recordings and those of others."""
        return replace(self, series={**self.series, **other.series})

    def mixed(self, other: "OwnErrors", step: float) -> "OwnErrors":
        """The errors at another time step, on the line through these and those of another step.

        Args:
          other: errors of the same recordings.
          step: time step relative to that of the model.
        """
        between = other.machine.step - self.machine.step
        share = (step - self.machine.step) / between
        series = {
            name: (times, (1 - share) * values + share * other.series[name][1])
            for name, (times, values) in self.series.items()
            if name in other.series
        }
        slopes = {name: (other.series[name][1] - self.series[name][1]) / between for name in series}
        machine = replace(self.machine, step=step)
        return replace(self, series=series, machine=machine, slopes=slopes)

    def at_step(self, step: float) -> "OwnErrors":
        """The errors of a machine with another time step.

        Args:
          step: time step relative to that of the model.
        """
        change = step - self.machine.step
        series = {
            name: (times, values + change * self.slopes.get(name, 0.0))
            for name, (times, values) in self.series.items()
        }
        return replace(self, series=series, machine=replace(self.machine, step=step))

    def shifted(self) -> "OwnErrors":
        """The errors changed by one standard deviation of what is unknown."""
        return self.at_step(self.machine.step + self.step_spread)

    def at(self, name: str, times: np.ndarray) -> np.ndarray | None:
        """Error in a recording, or in a part of it, ``(n, dofs)``; None if it is not known."""
        if name not in self.series:
            return None
        known, values = self.series[name]
        if np.array_equal(known, times):
            return values
        return CubicSpline(known, values)(np.clip(times, known[0], known[-1]))
