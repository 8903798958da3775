"""The gait cycle: from one touch-down of a foot to its next one."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.gait.costs.reference import Curve

SHORTEST_SWING = 0.1
"""A foot that is off the ground for less has not left it [s]."""

SHORTEST_STANCE = 0.06
"""A foot that touches the ground for less scuffs it [s]."""

POINTS = 101
"""Samples of a cycle, both of its ends included."""


@dataclass(frozen=True)
class Stride:
    """A stride of a leg: numbers of the frames at which it begins, leaves the ground and ends.

    ``lift_off`` is its first frame of swing.
    """

    leg: int
    start: int
    lift_off: int
    end: int

    @property
    def frames(self) -> int:
        """Frames from its beginning to its end."""
        return self.end - self.start

    @property
    def stance(self) -> float:
        """Part of the stride in which the foot is on the ground, 0 to 1."""
        return (self.lift_off - self.start) / self.frames


def on_ground(load: np.ndarray, period: float, threshold: float = 0.1) -> np.ndarray:
    """Whether a foot is in stance ``(frames,)`` bool.

    It is while it is loaded, but for scuffs in swing; a load that lets up for a moment, as between
    heel and toes, does not end a stance.

    Args:
      load: load on the foot ``(frames,)`` [body weights].
      period: time between frames [s].
      threshold: load above which it is on the ground [body weights].
    """
    stance = np.asarray(load) > threshold
    stance = _without_short(stance, False, SHORTEST_SWING / period)
    return _without_short(stance, True, SHORTEST_STANCE / period)


def _without_short(states: np.ndarray, kind: bool, frames: float) -> np.ndarray:
    """States with the spells of a kind that are shorter than some frames turned; not the ends."""
    states = states.copy()
    starts = np.concatenate([[0], np.flatnonzero(np.diff(states)) + 1, [len(states)]])
    for a, b in itertools.pairwise(starts[1:-1]):
        if states[a] == kind and b - a < frames - 1e-9:
            states[a:b] = not kind
    return states


def strides_of(
    load: np.ndarray, leg: int, period: float, threshold: float = 0.1, most: int | None = None
) -> list[Stride]:
    """The complete strides of a leg, in order; the last ``most`` of them where it is given.

    A foot that is loaded at the beginning has touched down before. Arguments as in
    :func:`on_ground`.
    """
    stance = on_ground(load, period, threshold)
    change = np.diff(stance.astype(int))
    downs, ups = np.flatnonzero(change > 0) + 1, np.flatnonzero(change < 0) + 1
    found = [
        Stride(leg, int(start), int(ups[(ups > start) & (ups < end)][0]), int(end))
        for start, end in itertools.pairwise(downs)
    ]
    return found if most is None else found[-most:]


def over_cycle(values: np.ndarray, strides: Sequence[Stride], points: int = POINTS) -> np.ndarray:
    """Values over the cycle of each stride ``(strides, points, ...)``.

    Args:
      values: values at each frame ``(frames, ...)``.
      strides: strides.
      points: samples of a cycle, its last one the next touch-down.
    """
    values = np.asarray(values, dtype=float)
    if not strides:
        return np.zeros((0, points, *values.shape[1:]))
    starts = np.array([stride.start for stride in strides])
    sizes = np.array([stride.frames for stride in strides])
    at = starts[:, None] + np.linspace(0.0, 1.0, points) * sizes[:, None]
    low = np.minimum(at.astype(int), len(values) - 2)
    part = (at - low).reshape(*at.shape, *(1,) * (values.ndim - 1))
    return values[low] * (1.0 - part) + values[low + 1] * part


def mean_cycle(values: np.ndarray, strides: Sequence[Stride], points: int = POINTS) -> Curve | None:
    """Mean over strides of one quantity ``(frames,)``, and its deviation where there are two."""
    cycles = over_cycle(values, strides, points)
    if not len(cycles):
        return None
    return Curve(cycles.mean(axis=0), cycles.std(axis=0, ddof=1) if len(cycles) > 1 else None)
