"""Errors of inverse dynamics itself, as series by recording."""

from collections.abc import Mapping
from dataclasses import dataclass
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
    parts: int = 1
    """Steps of the machine per time step of the model."""

    def applied_to(self, spec: Any) -> Any:
        """A model as this machine; the model itself is not changed."""
        out = spec.copy()
        out.option.timestep = spec.option.timestep / self.parts
        if self.hard:
            for joint in out.joints:
                # MuJoCo limits the time constant to two time steps
                joint.solref_friction, joint.solimp_friction = _HARD
        return out


AS_MODELLED = Machine()
MACHINES = (AS_MODELLED, Machine(True), Machine(False, 4), Machine(True, 4))
"""Machines that a recording may be of."""


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

    def at(self, name: str, times: np.ndarray) -> np.ndarray | None:
        """Error in a recording, or in a part of it, ``(n, dofs)``; None if it is not known."""
        if name not in self.series:
            return None
        known, values = self.series[name]
        if np.array_equal(known, times):
            return values
        return CubicSpline(known, values)(np.clip(times, known[0], known[-1]))
