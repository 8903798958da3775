"""Compiled cost terms of MyoAssist: its step detection, and its measures over steps.

They reproduce MyoAssist for comparison with its results; the terms of trueup are in ``_kernel``,
which shares only the interpolation. Differences: a step is a rising heel load instead of a
touch-down, and its side is that of the more flexed ankle; strides run from every second step to
the next but one, so that a missed step swaps the legs; a stride is sampled up to one frame beyond
its end; both legs are compared with activations in the phase of the left leg; effort is a sum over
frames and depends on the controller rate; the ground reaction counts in full where it exceeds its
threshold.
"""

import math
from enum import IntEnum, auto
from typing import NamedTuple

import numpy as np

from trueup.gait._index import Index
from trueup.gait.compiled import compiled, compiled_once
from trueup.gait.costs._kernel import interpolated
from trueup.gait.walk.frames import ACTIVATIONS, LEG_PLACES, Frame


class Term(Index):
    """Terms of a walk, in the order of :data:`myoassist_terms`; NaN where a walk was too short."""

    lefts = auto()
    rights = auto()
    stage = auto()
    velocity = auto()
    symmetry = auto()
    effort = auto()
    kinematic = auto()
    trunk = auto()
    grf = auto()
    emg = auto()
    distance_x = auto()
    distance_y = auto()
    time = auto()


class Stage(IntEnum):
    """Extent to which a walk could be evaluated."""

    few_steps = 0
    few_pairs = 1
    complete = 2


class Side(IntEnum):
    """Side of a step."""

    left = 0
    right = 1


POINTS = 100
"""Number of samples of a stride."""

HEEL_LOAD = 0.1
"""Load above which a heel is on the ground [body weights]."""

SETUP = np.dtype(
    [
        ("strides", np.int64),
        ("gap", np.int64),
        ("speed", np.float64),
        ("grf", np.float64),
        ("mass", np.float64),
    ]
)
"""Settings of the terms; an array of one. ``gap`` is the smallest distance of steps [frames]."""


class Tracked(NamedTuple):
    """Columns of frames ``(c,)`` and their reference ``(100, c)``; empty without one."""

    columns: np.ndarray
    reference: np.ndarray


class Scratch(NamedTuple):
    """Frames and sides of steps ``(frames,)``, and sums of tracked columns ``(c,)``."""

    places: np.ndarray
    sides: np.ndarray
    sums: np.ndarray


@compiled
def _find_steps(frames, length, gap, places, sides):
    """Find the frames of rising heel load, and their sides; returns their number.

    Steps within ``gap`` frames of the last one, and those with equal ankle angles, are dropped.
    """
    count, last = 0, -gap - 1
    before_r = before_l = False
    for i in range(length):
        right = frames[i, Frame.heel_r] > HEEL_LOAD
        left = frames[i, Frame.heel_l] > HEEL_LOAD
        # a rise of either heel load is a step; the legs need not alternate
        rises = (right and not before_r) or (left and not before_l)
        before_r, before_l = right, left
        if not rises or i - last <= gap:
            continue
        last = i
        ankle_r, ankle_l = frames[i, Frame.ankle_r], frames[i, Frame.ankle_l]
        if ankle_l == ankle_r:
            continue
        places[count] = i
        # at heel strike the leading ankle is more dorsiflexed, its angle smaller
        sides[count] = Side.left if ankle_l < ankle_r else Side.right
        count += 1
    return count


@compiled
def _symmetry(frames, places, sides, count, first, strides):
    """Mean distance of knee and ankle between left and next right steps [m]; NaN if few.

    Positions are relative to the pelvis, mirrored at the sagittal plane (y). The sum over all pairs
    is divided by the number of strides.
    """
    total, right, pairs = 0.0, first, 0
    for left in range(first, count):
        if sides[left] != Side.left:
            continue
        while right < count and sides[right] != Side.right:
            right += 1
        if right >= count:
            break
        for joint in range(2):
            square = 0.0
            for axis in range(3):
                # frames have knee (x, y, z), then ankle (x, y, z), right leg before left leg
                column = Frame.knee_x_r + 3 * joint + axis
                one = frames[places[right], column]
                other = frames[places[left], column + LEG_PLACES]
                square += (one + other) ** 2 if axis == 1 else (one - other) ** 2
            total += math.sqrt(square)
        pairs += 1
        right += 1
    return total / strides if pairs >= strides else math.nan


@compiled
def _track(frames, places, count, first, tracked, squared, most, sums):
    """Sum the deviations of columns from their reference over strides; returns their number."""
    strides, columns, reference = 0, tracked.columns, tracked.reference
    sums[:] = 0.0
    # every second step starts a stride, assuming that the legs alternate
    for k in range(first, count - 2, 2):
        if strides == most:
            break
        start, n = places[k], places[k + 2] - places[k]
        for c in range(len(columns)):
            for p in range(POINTS):
                # n frames have n - 1 intervals: samples beyond are those of the last frame
                at = min(p * (n / (POINTS - 1.0)), n - 1.0)
                value = interpolated(frames, columns[c], start, at, n - 1)
                difference = value - reference[p, c]
                sums[c] += difference * difference if squared else abs(difference)
        strides += 1
    return strides


@compiled
def _one_walk(frames, length, setup, effort_muscles, angles, emg, scratch, terms):
    """Terms of one walk.

    Args:
      frames: frames of the walk.
      length: number of frames.
      setup: settings.
      effort_muscles: muscles included in the effort.
      angles: the trunk, then hip, knee and ankle of both legs; a :class:`Tracked`.
      emg: activations; a :class:`Tracked`.
      scratch: a :class:`Scratch`.
      terms: output, see :class:`Term`.
    """
    places, sides, sums = scratch.places, scratch.sides, scratch.sums
    strides = setup.strides
    terms[:] = math.nan
    count = _find_steps(frames, length, setup.gap, places, sides)
    lefts = 0
    for k in range(count):
        lefts += sides[k] == Side.left
    terms[Term.lefts], terms[Term.rights] = lefts, count - lefts
    terms[Term.stage] = Stage.few_steps.value
    if lefts < strides + 1 or count - lefts < strides + 1:
        return
    # from the left step before the last ``strides`` ones to the last one
    last = count - 1
    while sides[last] != Side.left:
        last -= 1
    first, seen = last, 0
    while seen < strides:
        first -= 1
        seen += sides[first] == Side.left
    a, b, end = places[first], places[last], last + 1
    dx, dy = frames[b, Frame.x] - frames[a, Frame.x], frames[b, Frame.y] - frames[a, Frame.y]
    dt = frames[b, Frame.time] - frames[a, Frame.time]
    terms[Term.distance_x], terms[Term.distance_y], terms[Term.time] = dx, dy, dt
    # lateral drift counts as an error of the velocity vector
    terms[Term.velocity] = math.hypot(dx / dt - setup.speed, dy / dt)
    terms[Term.symmetry] = _symmetry(frames, places, sides, end, first, strides)
    few_pairs = math.isnan(terms[Term.symmetry])
    terms[Term.stage] = Stage.few_pairs.value if few_pairs else Stage.complete.value
    # a sum over frames without the time step, divided by mass and distance
    total = 0.0
    for i in range(a, b + 1):
        for m in range(len(effort_muscles)):
            total += frames[i, ACTIVATIONS + effort_muscles[m]] ** 2
    terms[Term.effort] = total / (setup.mass * math.hypot(dx, dy))
    total = 0.0
    for i in range(a, b):
        # the whole load counts, not its excess over the threshold
        load = frames[i, Frame.load_r] + frames[i, Frame.load_l]
        total += load if load > setup.grf else 0.0
    terms[Term.grf] = total / (b - a)
    if angles.reference.shape[0] == POINTS:
        n = _track(frames, places, end, first, angles, False, count, sums)
        terms[Term.trunk] = sums[0] / n
        terms[Term.kinematic] = 0.0
        for c in range(1, len(angles.columns)):
            terms[Term.kinematic] += sums[c] / n
    if emg.reference.shape[0] == POINTS:
        _track(frames, places, end, first, emg, True, strides, sums)
        terms[Term.emg] = 0.0
        for c in range(len(emg.columns)):
            terms[Term.emg] += sums[c] / strides


@compiled_once
def myoassist_terms(frames, lengths, setup, effort_muscles, angles, emg, scratch, terms):
    """Terms of walks; arguments as in :func:`_one_walk`, with walks as the first axis."""
    for i in range(len(lengths)):
        _one_walk(frames[i], lengths[i], setup[0], effort_muscles, angles, emg, scratch, terms[i])
