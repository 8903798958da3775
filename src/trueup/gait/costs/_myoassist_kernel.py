"""The cost terms of MyoAssist, compiled: strides, and what it measures over them.

They are kept with their peculiarities, for comparison; :mod:`trueup.gait.cost_terms` has our own.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from trueup.gait.controller._compiled import compiled, compiled_once, digest
from trueup.gait.walk import _frames
from trueup.gait.walk._frames import (
    F_ACTIVATION,
    F_ANGLES,
    F_HEEL,
    F_JOINTS,
    F_LOAD,
    F_TIME,
    F_X,
    F_Y,
)

TERMS = (
    "lefts",
    "rights",
    "stage",
    "velocity",
    "symmetry",
    "effort",
    "kinematic",
    "trunk",
    "grf",
    "emg",
    "distance_x",
    "distance_y",
    "time",
)
"""What :data:`myoassist_terms` gives for each walk."""

LEFTS, RIGHTS, STAGE, VELOCITY, SYMMETRY, EFFORT, KINEMATIC, TRUNK, GRF, EMG, DX, DY, TIME = range(
    len(TERMS)
)

FEW_STEPS, FEW_PAIRS, COMPLETE = 0, 1, 2
"""How far a walk could be judged."""

POINTS = 100
"""Samples of a stride."""

SETUP = np.dtype(
    [
        ("strides", np.int64),
        ("gap", np.int64),
        ("speed", np.float64),
        ("grf", np.float64),
        ("mass", np.float64),
    ]
)
"""What the terms depend on; an array of one."""

LEFT, RIGHT = 0, 1

_ANGLE_R, _ANGLE_L = F_ANGLES + 2, F_ANGLES + 5


@compiled
def _find_events(frames, length, gap, places, sides):
    """Steps of a walk: frames at which a heel is loaded anew, and the side of each.

    The side is told by which ankle is bent further, steps closer than ``gap`` frames are dropped.
    """
    count, last, before = 0, -gap - 1, False
    before_left = False
    for i in range(length):
        right, left = frames[i, F_HEEL] > 0.1, frames[i, F_HEEL + 1] > 0.1
        rises = (right and not before) or (left and not before_left)
        before, before_left = right, left
        if not rises or i - last <= gap:
            continue
        last = i
        if frames[i, _ANGLE_L] == frames[i, _ANGLE_R]:
            continue
        places[count] = i
        sides[count] = LEFT if frames[i, _ANGLE_L] < frames[i, _ANGLE_R] else RIGHT
        count += 1
    return count


@compiled
def _symmetry(frames, places, sides, count, first, strides):
    """Distance between the right and left places of knee and ankle at touch-down; NaN if few."""
    total, right, pairs = 0.0, first, 0
    for left in range(first, count):
        if sides[left] != LEFT:
            continue
        while right < count and sides[right] != RIGHT:
            right += 1
        if right >= count:
            break
        for joint in range(2):
            square = 0.0
            for axis in range(3):
                one = frames[places[right], F_JOINTS + 3 * joint + axis]
                other = frames[places[left], F_JOINTS + 6 + 3 * joint + axis]
                square += (one + other) ** 2 if axis == 1 else (one - other) ** 2
            total += math.sqrt(square)
        pairs += 1
        right += 1
    return total / strides if pairs >= strides else math.nan


@compiled
def _sample(frames, start, n, column, k):
    """Sample ``k`` of 100 of a stride of ``n`` frames, held at its last frame."""
    at = min(k * (n / (POINTS - 1.0)), n - 1.0)
    i = min(int(at), n - 2)
    low, high = frames[start + i, column], frames[start + i + 1, column]
    return low + (high - low) * (at - i)


@compiled
def _tracking(frames, places, count, first, compared, squared, most, sums):
    """Distances of columns from a reference over strides; how many strides were compared."""
    strides, columns, reference = 0, compared[0], compared[1]
    sums[:] = 0.0
    for k in range(first, count - 2, 2):
        if strides == most:
            break
        start, n = places[k], places[k + 2] - places[k]
        for c in range(len(columns)):
            for p in range(POINTS):
                difference = _sample(frames, start, n, columns[c], p) - reference[p, c]
                sums[c] += difference * difference if squared else abs(difference)
        strides += 1
    return strides


@compiled
def _one_walk(frames, length, setup, effort_muscles, angles, emg, scratch, terms):
    """Terms of one walk; ``angles`` and ``emg`` are columns and their reference."""
    places, sides, sums = scratch[0], scratch[1], scratch[2]
    strides = setup.strides
    terms[:] = math.nan
    count = _find_events(frames, length, setup.gap, places, sides)
    lefts = 0
    for k in range(count):
        lefts += sides[k] == LEFT
    terms[LEFTS], terms[RIGHTS], terms[STAGE] = lefts, count - lefts, FEW_STEPS
    if lefts < strides + 1 or count - lefts < strides + 1:
        return
    last = count - 1
    while sides[last] != LEFT:
        last -= 1
    first, seen = last, 0
    while seen < strides:
        first -= 1
        seen += sides[first] == LEFT
    a, b, end = places[first], places[last], last + 1
    dx, dy = frames[b, F_X] - frames[a, F_X], frames[b, F_Y] - frames[a, F_Y]
    dt = frames[b, F_TIME] - frames[a, F_TIME]
    terms[DX], terms[DY], terms[TIME] = dx, dy, dt
    terms[VELOCITY] = math.hypot(dx / dt - setup.speed, dy / dt)
    terms[SYMMETRY] = _symmetry(frames, places, sides, end, first, strides)
    terms[STAGE] = FEW_PAIRS if math.isnan(terms[SYMMETRY]) else COMPLETE
    total = 0.0
    for i in range(a, b + 1):
        for m in range(len(effort_muscles)):
            total += frames[i, F_ACTIVATION + effort_muscles[m]] ** 2
    terms[EFFORT] = total / (setup.mass * math.hypot(dx, dy))
    total = 0.0
    for i in range(a, b):
        load = frames[i, F_LOAD] + frames[i, F_LOAD + 1]
        total += load if load > setup.grf else 0.0
    terms[GRF] = total / (b - a)
    if angles[1].shape[0] == POINTS:
        n = _tracking(frames, places, end, first, angles, False, count, sums)
        terms[TRUNK] = sums[0] / n
        terms[KINEMATIC] = 0.0
        for c in range(1, len(angles[0])):
            terms[KINEMATIC] += sums[c] / n
    if emg[1].shape[0] == POINTS:
        _tracking(frames, places, end, first, emg, True, strides, sums)
        terms[EMG] = 0.0
        for c in range(len(emg[0])):
            terms[EMG] += sums[c] / strides


def _entry(sources: str) -> Callable[..., Any]:
    def terms_of(frames, lengths, setup, effort_muscles, angles, emg, scratch, terms):
        if sources != "":
            for i in range(len(lengths)):
                _one_walk(
                    frames[i], lengths[i], setup[0], effort_muscles, angles, emg, scratch, terms[i]
                )

    return compiled_once(terms_of)


myoassist_terms = _entry(digest(__file__, _frames))
"""Arguments as in :func:`_one_walk`, with the walks in front."""
