"""Errors of inverse dynamics itself, as series by recording."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from trueup.signals import InterpolationMethod


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

    def at(self, name: str, times: np.ndarray) -> np.ndarray | None:
        """Error in a recording, or in a part of it, ``(n, dofs)``; None if it is not known."""
        if name not in self.series:
            return None
        known, values = self.series[name]
        if np.array_equal(known, times):
            return values
        return CubicSpline(known, values)(np.clip(times, known[0], known[-1]))
