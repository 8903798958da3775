"""Gait cycles, from one touch-down of a foot to its next, and curves over them.

Costs and reports use the stances, touch-downs and strides of :func:`find_stances`. There are two
other definitions: the stance clock of the exoskeleton, which must be causal
(``_exoskeleton_kernel``), and the steps of the cost of MyoAssist (``_myoassist_kernel``).
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.gait.compiled import compiled, compiled_once

SHORTEST_SWING = 0.1
"""Shortest swing [s]; a shorter unloaded time is a bounce of the foot."""

SHORTEST_STANCE = 0.06
"""Shortest stance [s]; a shorter load is a scuff in swing."""

POINTS = 101
"""Number of samples of a cycle, including both ends."""


@dataclass(frozen=True)
class Curve:
    """A quantity over the gait cycle."""

    mean: np.ndarray
    """Mean of each sample ``(points,)``."""
    sd: np.ndarray | None = None
    """Standard deviation of each sample ``(points,)``; None if unknown."""


@dataclass(frozen=True)
class Stride:
    """A stride of a leg: frame indices of touch-down, lift-off and next touch-down.

    ``lift_off`` is the first frame of swing.
    """

    leg: int
    start: int
    lift_off: int
    end: int

    @property
    def frames(self) -> int:
        """Number of frames."""
        return self.end - self.start

    @property
    def stance(self) -> float:
        """Fraction of the stride with the foot on the ground [0, 1]."""
        return (self.lift_off - self.start) / self.frames


def shortest_frames(period: float) -> tuple[float, float]:
    """Shortest swing and shortest stance [frames], with a tolerance for rounding."""
    return SHORTEST_SWING / period - 1e-9, SHORTEST_STANCE / period - 1e-9


@compiled_once
def find_stances(load, threshold, swing, stance, places):
    """Find the stances of a foot; returns their number.

    A foot is in stance while it is loaded. An unloaded time below ``swing`` frames, such as between
    heel and toes, does not end a stance; a load below ``stance`` frames, such as a toe scuff in
    swing, is not a stance. Intervals at the first and the last frame count with any duration, as
    they may extend beyond the record.

    Args:
      load: load on the foot ``(frames,)`` [body weights].
      threshold: load above which it is on the ground [body weights].
      swing: shortest swing [frames].
      stance: shortest stance [frames].
      places: output, integers ``(frames + 1,)``: alternately the first frame of a stance and of
        the swing after it.
    """
    length, count, start = len(load), 0, -1
    for i in range(length + 1):
        loaded = i < length and load[i] > threshold
        if loaded and start < 0:
            start = i
        if loaded or start < 0:
            continue
        if count and start - places[2 * count - 1] < swing:
            places[2 * count - 1] = i
        else:
            places[2 * count], places[2 * count + 1] = start, i
            count += 1
        start = -1
    # scuffs are removed only now, as two close to each other form one stance
    kept = 0
    for k in range(count):
        begin, end = places[2 * k], places[2 * k + 1]
        if begin > 0 and end < length and end - begin < stance:
            continue
        places[2 * kept], places[2 * kept + 1] = begin, end
        kept += 1
    return kept


@compiled
def find_touch_downs(load, threshold, swing, stance, places):
    """Find the frames at which a foot touches down; returns their number.

    A foot loaded at the first frame has touched down before. Arguments as in
    :func:`find_stances`; ``places`` contains the frames.
    """
    stances = find_stances(load, threshold, swing, stance, places)
    count = 0
    for k in range(stances):
        if places[2 * k] > 0:
            places[count] = places[2 * k]
            count += 1
    return count


def _stances(load: np.ndarray, period: float, threshold: float) -> np.ndarray:
    """First frames of the stances of a foot and of the swings after them ``(stances, 2)``."""
    load = np.ascontiguousarray(load, dtype=float)
    places = np.zeros(len(load) + 1, dtype=np.int64)
    count = find_stances(load, threshold, *shortest_frames(period), places)
    return places[: 2 * count].reshape(-1, 2)


def on_ground(load: np.ndarray, period: float, threshold: float = 0.1) -> np.ndarray:
    """Whether a foot is in stance ``(frames,)`` bool, see :func:`find_stances`.

    Args:
      load: load on the foot ``(frames,)`` [body weights].
      period: time between frames [s].
      threshold: load above which it is on the ground [body weights].
    """
    stance = np.zeros(len(load), dtype=bool)
    for begin, end in _stances(load, period, threshold):
        stance[begin:end] = True
    return stance


def strides_of(
    load: np.ndarray, leg: int, period: float, threshold: float = 0.1, most: int | None = None
) -> list[Stride]:
    """Complete strides of a leg in order, limited to the last ``most``.

    A foot loaded at the beginning has touched down before. Other arguments as in
    :func:`on_ground`.
    """
    stances = [(int(a), int(b)) for a, b in _stances(load, period, threshold) if a > 0]
    found = [
        Stride(leg, start, lift_off, end)
        for (start, lift_off), (end, _) in itertools.pairwise(stances)
    ]
    return found if most is None else found[-most:]


def over_cycle(values: np.ndarray, strides: Sequence[Stride], points: int = POINTS) -> np.ndarray:
    """Values over the cycle of each stride ``(strides, points, ...)``.

    Args:
      values: values at each frame ``(frames, ...)``.
      strides: strides.
      points: number of samples of a cycle, the last at the next touch-down.
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
    """Mean over strides of a quantity ``(frames,)``, with deviation for at least two strides."""
    cycles = over_cycle(values, strides, points)
    if not len(cycles):
        return None
    return Curve(cycles.mean(axis=0), cycles.std(axis=0, ddof=1) if len(cycles) > 1 else None)


def resampled(curve: np.ndarray, points: int) -> np.ndarray:
    """A periodic curve over the gait cycle, resampled."""
    at = np.arange(points) / points * len(curve)
    return np.interp(at, np.arange(len(curve) + 1), np.append(curve, curve[0]))
