"""Torque profiles of an exoskeleton over the stance phase, and their parameters.

A profile defines knots (percent of stance, torque) with monotone cubic interpolation (PCHIP), which
does not overshoot the knots.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from trueup.errors import GaitError
from trueup.gait.controller.parameter_vector import Entry

_APART = 1e-3
"""Smallest distance of knots [% of stance]."""


@dataclass(frozen=True)
class Knots:
    """Knots of the torque curves of a batch of candidates.

    Attributes:
      percent: percent of stance ``(n, k)``, rising.
      torque: torque at the knots ``(n, k)`` [N m].
      invalid: candidate -> reason why its curve is invalid.
      clipped: candidate -> note on the part of its curve that differs from its parameters.
    """

    percent: np.ndarray
    torque: np.ndarray
    invalid: dict[int, str]
    clipped: dict[int, str] = field(default_factory=dict)


class Profile(Protocol):
    """Torque profile: its parameters, and the resulting knots."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Entries of a parameter vector."""
        ...

    def knots(self, values: np.ndarray, max_torque: float) -> Knots:
        """Knots for parameters ``values (n, entries)``."""
        ...


def _entry(name: str, start: float, free: bool = True) -> Entry:
    return Entry(name, "exoskeleton", lower=0.0, upper=1.0, start=start, free=free)


@dataclass(frozen=True)
class FourParameterProfile:
    """Profile with one peak: its height, its time, and its rise and fall times.

    Sides that extend beyond stance are truncated.

    Args:
      fixed: whether the parameters are excluded from a search.
      strict: refuse such parameters instead, and peaks before mid-stance, as in MyoAssist.
    """

    fixed: bool = False
    strict: bool = False

    @property
    def entries(self) -> tuple[Entry, ...]:
        """``exo_peak`` (fraction of the largest torque), ``exo_rise``, ``exo_peak_time`` and
        ``exo_fall`` (fractions of stance)."""
        starts = {"peak": 0.5, "rise": 0.467, "peak_time": 0.90, "fall": 0.075}
        return tuple(_entry(f"exo_{name}", start, not self.fixed) for name, start in starts.items())

    def knots(self, values: np.ndarray, max_torque: float) -> Knots:
        """Five knots."""
        peak = values[:, 0] * max_torque
        rise, time, fall = (100.0 * values[:, k] for k in (1, 2, 3))
        invalid: dict[int, str] = {}
        clipped: dict[int, str] = {}
        if not self.strict:
            clipped = _out_of_stance(rise, time, fall)
            time = np.clip(time, 2.0 * _APART, 100.0 - 2.0 * _APART)
            rise = np.clip(rise, _APART, time - _APART)
            fall = np.clip(fall, _APART, 100.0 - time - _APART)
        for i in range(len(values) if self.strict else 0):
            if not 50.0 <= time[i] <= 100.0:
                invalid[i] = f"the torque peaks at {time[i]:.4g} % of stance, not in 50 to 100 %"
            elif not 0.0 < rise[i] < time[i]:
                invalid[i] = (
                    f"the torque rises over {rise[i]:.4g} %, but its peak is at {time[i]:.4g} %"
                )
            elif not 0.0 < fall[i] < 100.0 - time[i]:
                invalid[i] = (
                    f"the torque falls over {fall[i]:.4g} % after its peak at {time[i]:.4g} %, "
                    "beyond stance"
                )
        percent = np.zeros((len(values), 5))
        torque = np.zeros((len(values), 5))
        percent[:, 1:4] = np.stack([time - rise, time, time + fall], axis=1)
        percent[:, 4] = 100.0
        torque[:, 2] = peak
        for i in invalid:
            percent[i] = np.linspace(0.0, 100.0, 5)
            torque[i] = 0.0
        return Knots(percent, torque, invalid, clipped)


def _out_of_stance(rise: np.ndarray, time: np.ndarray, fall: np.ndarray) -> dict[int, str]:
    """Notes on candidates with sides beyond stance; arguments ``(n,)`` [%]."""
    early, late = rise > time + _APART, fall > 100.0 - time + _APART
    found = {}
    for i in np.flatnonzero(early | late):
        sides = []
        if early[i]:
            sides.append(f"its rise of {rise[i]:.4g} % is truncated at touch-down")
        if late[i]:
            sides.append(f"its fall of {fall[i]:.4g} % is truncated at lift-off")
        peak = f"the torque peaks at {time[i]:.4g} % of stance"
        found[int(i)] = f"{peak}: {', '.join(sides)}"
    return found


@dataclass(frozen=True)
class PointsProfile:
    """A torque in each of ``count`` equal parts of stance, at a time within that part.

    Args:
      count: number of points.
      fixed: whether the parameters are excluded from a search.
      strict: refuse points that coincide at the end of a part, and torques below a hundredth, as in
        MyoAssist; otherwise such points are separated.
    """

    count: int = 4
    fixed: bool = False
    strict: bool = False

    def __post_init__(self):
        if self.count < 1:
            raise GaitError(f"a torque profile requires at least 1 point; found {self.count}")

    @property
    def entries(self) -> tuple[Entry, ...]:
        """``exo_torque_<i>`` (fractions of the largest torque), then ``exo_time_<i>`` (fractions of
        each part of stance)."""
        n = self.count
        middle = n // 2 if n % 2 == 0 else (n - 1) // 2
        free = not self.fixed
        torques = [_entry(f"exo_torque_{i}", 0.5 / 2.0 ** abs(i - middle), free) for i in range(n)]
        times = [_entry(f"exo_time_{i}", 0.5, free) for i in range(n)]
        return (*torques, *times)

    def knots(self, values: np.ndarray, max_torque: float) -> Knots:
        """Knots at the points, with zero torque at both ends of stance."""
        n = self.count
        torque = np.zeros((len(values), n + 2))
        percent = np.zeros((len(values), n + 2))
        torque[:, 1:-1] = values[:, :n] * max_torque
        times = values[:, n:] if self.strict else np.clip(values[:, n:], 1e-3, 1.0 - 1e-3)
        percent[:, 1:-1] = 100.0 * (np.arange(n) + times) / n
        percent[:, -1] = 100.0
        invalid: dict[int, str] = {}
        given = 100.0 * (np.arange(n) + values[:, n:]) / n
        meet = (np.diff(given, axis=1) <= 0.0).any(axis=1)
        clipped = {
            int(
                i
            ): f"the times of the torque points, {', '.join(f'{p:.4g}' for p in given[i])} % of "
            "stance, are not increasing; the points are separated"
            for i in np.flatnonzero(meet & (not self.strict))
        }
        for i in range(len(values) if self.strict else 0):
            if (np.diff(percent[i]) <= 0.0).any():
                times = ", ".join(f"{p:.4g}" for p in percent[i])
                invalid[i] = f"the times of the torque points are out of order: {times} %"
            elif not ((values[i, :n] >= 0.01) & (values[i, :n] <= 1.0)).all():
                invalid[i] = "a torque point is not between 0.01 and 1 of the largest torque"
            if i in invalid:
                percent[i] = np.linspace(0.0, 100.0, n + 2)
                torque[i] = 0.0
        return Knots(percent, torque, invalid, clipped)
