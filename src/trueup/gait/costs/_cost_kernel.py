"""What is measured of walks for their costs, compiled: strides, and means over the last of them."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from trueup.gait.controller._compiled import compiled, compiled_once, digest
from trueup.gait.walk import _frames
from trueup.gait.walk._frames import (
    F_ACTIVATION,
    F_ANGLES,
    F_JOINTS,
    F_LIMITS,
    F_LOAD,
    F_METABOLIC,
    F_PITCH,
    F_SOLE,
    F_TIME,
    F_TORSO,
    F_X,
    F_Y,
    F_Z,
)

MEASURES = (
    "strides",
    "distance",
    "speed",
    "effort",
    "velocity",
    "symmetry",
    "grf",
    "pain",
    "scuff",
    "trunk",
    "kinematic",
    "emg",
    "metabolic",
    "metabolic_rate",
)
"""What :data:`measure_walks` gives for each walk; NaN where a walk was too short."""

(
    STRIDES,
    DISTANCE,
    SPEED,
    EFFORT,
    VELOCITY,
    SYMMETRY,
    GRF,
    PAIN,
    SCUFF,
    TRUNK,
    KINEMATIC,
    EMG,
    METABOLIC,
    METABOLIC_RATE,
) = range(len(MEASURES))

SETUP = np.dtype(
    [
        ("strides", np.int64),
        ("swing", np.float64),
        ("stance", np.float64),
        ("period", np.float64),
        ("speed", np.float64),
        ("threshold", np.float64),
        ("grf", np.float64),
        ("clearance", np.float64),
        ("mass", np.float64),
        ("trunk", np.int64),
        ("level", np.bool_),
    ]
)
"""What the measures depend on; an array of one. ``swing`` and ``stance`` are the shortest ones, in
frames."""

TRUNK_REFERENCE, TRUNK_UPRIGHT, TRUNK_RATE = 0, 1, 2
"""What the trunk is compared with: the reference, upright, or no rate of pitch."""


@compiled
def _touch_downs(frames, length, leg, setup, places):
    """Frames at which a foot lands, as ``on_ground`` tells its stance.

    ``places`` holds where the spells under load begin and end until it holds the frames.
    """
    spells, start = 0, -1
    for i in range(length + 1):
        loaded = i < length and frames[i, F_LOAD + leg] > setup.threshold
        if loaded and start < 0:
            start = i
        if loaded or start < 0:
            continue
        if spells and start - places[2 * spells - 1] < setup.swing:
            places[2 * spells - 1] = i  # the load let up for a moment
        else:
            places[2 * spells], places[2 * spells + 1] = start, i
            spells += 1
        start = -1
    count = 0
    for k in range(spells):
        begin, end = places[2 * k], places[2 * k + 1]
        scuffs = end - begin < setup.stance and end < length
        if begin > 0 and not scuffs:
            places[count] = begin
            count += 1
    return count


@compiled
def _sample(frames, start, end, column, part):
    """A column at a part, 0 to 1, of the frames from start to end."""
    at = start + part * (end - start)
    i = min(int(at), end - 1)
    low, high = frames[i, column], frames[i + 1, column]
    return low + (high - low) * (at - i)


@compiled
def _tracked(frames, places, first, last, column, reference, squared):
    """Mean distance of a column from a reference over strides; rows of it are parts of a stride."""
    total, points = 0.0, len(reference)
    for k in range(first, last):
        for p in range(points):
            part = p / points
            value = _sample(frames, places[k], places[k + 1], column, part)
            difference = value - reference[p]
            total += difference * difference if squared else abs(difference)
    return total / ((last - first) * points)


@compiled
def _asymmetry(frames, right, first_r, last_r, left, first_l, last_l):
    """Distance between the mean places of the legs' knees and ankles at their touch-downs [m]."""
    total = 0.0
    for joint in range(2):
        square = 0.0
        for axis in range(3):
            column = F_JOINTS + 3 * joint + axis
            mean_r, mean_l = 0.0, 0.0
            for k in range(first_r, last_r + 1):
                mean_r += frames[right[k], column]
            for k in range(first_l, last_l + 1):
                mean_l += frames[left[k], column + 6]
            mean_r /= last_r - first_r + 1
            mean_l /= last_l - first_l + 1
            square += (mean_r + mean_l) ** 2 if axis == 1 else (mean_r - mean_l) ** 2
        total += math.sqrt(square)
    return total


@compiled
def _scuffing(frames, a, b, setup):
    """Mean shortfall of the soles' height in the middle of swing [m]."""
    total, count = 0.0, 0
    for leg in range(2):
        start = -1
        for i in range(a, b + 1):
            swings = frames[i, F_LOAD + leg] <= setup.threshold
            if swings and start < 0:
                start = i
            if not swings and start >= 0:
                margin = (i - start) // 5
                for j in range(start + margin, i - margin):
                    total += max(setup.clearance - frames[j, F_SOLE + leg], 0.0)
                    count += 1
                start = -1
    return total / count if count else 0.0


@compiled
def _trunk(frames, a, b, places, first, last, reference, setup):
    if setup.trunk == TRUNK_REFERENCE and len(reference):
        if last <= first:
            return math.nan
        return _tracked(frames, places, first, last, F_TORSO, reference, False)
    total = 0.0
    for i in range(a, b):
        if setup.trunk == TRUNK_RATE:
            total += ((frames[i + 1, F_PITCH] - frames[i, F_PITCH]) / setup.period) ** 2
        else:
            total += abs(frames[i, F_TORSO])
    return total / (b - a)


@compiled
def _one_walk(frames, length, setup, reference, trunk, emg, emg_columns, right, left, measures):
    measures[:] = math.nan
    last = max(length - 1, 0)
    measures[DISTANCE] = frames[last, F_X] - frames[0, F_X] if length else 0.0
    rights = _touch_downs(frames, length, 0, setup, right)
    lefts = _touch_downs(frames, length, 1, setup, left)
    last_r, last_l = rights - 1, lefts - 1
    measures[STRIDES] = max(min(last_r, last_l), 0)
    first_r, first_l = max(last_r - setup.strides, 0), max(last_l - setup.strides, 0)
    strides = last_r >= 1 and last_l >= 1
    if strides:
        a, b = left[first_l], left[last_l]
    elif length < 2:
        return
    else:  # what needs no cycle is told of the whole walk, so that walks of no stride differ
        a, b, first_l, last_l = 0, length - 1, 0, 0
    dx, dy = frames[b, F_X] - frames[a, F_X], frames[b, F_Y] - frames[a, F_Y]
    dz = frames[b, F_Z] - frames[a, F_Z]
    # along the ground, which may rise
    measures[SPEED] = math.copysign(math.hypot(dx, dz), dx) / (
        frames[b, F_TIME] - frames[a, F_TIME]
    )
    measures[VELOCITY] = abs(measures[SPEED] - setup.speed)
    squares, excess, pain = 0.0, 0.0, 0.0
    for i in range(a, b):
        for column in range(F_ACTIVATION, frames.shape[1]):
            squares += frames[i, column] ** 2
        excess += max(frames[i, F_LOAD] + frames[i, F_LOAD + 1] - setup.grf, 0.0)
        for k in range(6):
            pain += abs(frames[i, F_LIMITS + k])
    # along the ground, as the speed is; a walk without a stride may have come down in falling
    rise = dz if strides and not setup.level else 0.0
    # no walk of nearly no distance is a cheap one
    metres = max(math.hypot(math.hypot(dx, dy), rise), 0.1)
    measures[EFFORT] = squares * setup.period / (setup.mass * metres)
    energy = (frames[b, F_METABOLIC] - frames[a, F_METABOLIC]) / setup.mass
    measures[METABOLIC] = energy / metres
    measures[METABOLIC_RATE] = energy / (frames[b, F_TIME] - frames[a, F_TIME])
    measures[GRF] = excess / (b - a)
    measures[PAIN] = pain / ((b - a) * setup.mass)
    measures[SCUFF] = _scuffing(frames, a, b, setup)
    measures[TRUNK] = _trunk(frames, a, b, left, first_l, last_l, trunk, setup)
    if not strides:
        return
    measures[SYMMETRY] = _asymmetry(frames, right, first_r, last_r, left, first_l, last_l)
    if reference.shape[1]:
        total = 0.0
        for c in range(3):
            column, curve = F_ANGLES + c, reference[c]
            total += _tracked(frames, right, first_r, last_r, column, curve, False)
            total += _tracked(frames, left, first_l, last_l, column + 3, curve, False)
        measures[KINEMATIC] = total / 6.0
    if emg.shape[1]:
        total = 0.0
        for c in range(len(emg)):
            column = emg_columns[0, c]
            total += _tracked(frames, right, first_r, last_r, column, emg[c], True)
            column = emg_columns[1, c]
            total += _tracked(frames, left, first_l, last_l, column, emg[c], True)
        measures[EMG] = total / (2.0 * len(emg))


def _entry(sources: str) -> Callable[..., Any]:
    def measure(frames, lengths, setup, reference, trunk, emg, columns, right, left, measures):
        if sources != "":
            for i in range(len(lengths)):
                _one_walk(
                    frames[i], lengths[i], setup[0], reference, trunk, emg, columns, right, left,
                    measures[i],
                )  # fmt: skip

    return compiled_once(measure)


measure_walks = _entry(digest(__file__, _frames))
"""Measures ``(n, measures)`` of frames ``(n, frames, columns)`` with ``lengths (n,)``.

``reference (3, points)`` are hip, knee and ankle as frames have them, ``trunk (points,)`` and ``emg
(groups, points)`` likewise; empty ones are not compared. ``columns (2, groups)`` are those of the
activations, ``right`` and ``left`` scratch ``(frames + 1,)`` of whole numbers.
"""
