"""Compiled measures of walks for the cost terms: means over the last strides."""

import math
from enum import IntEnum, auto

import numpy as np

from trueup.gait._index import Index
from trueup.gait.compiled import compiled, compiled_once
from trueup.gait.walk.frames import ACTIVATIONS, LEG_ANGLES, LEG_PLACES, Frame
from trueup.gait.walk.gait_cycle import find_touch_downs


class Measure(Index):
    """Measures of a walk, in the order of :data:`measure_walks`; NaN where a walk was too short.

    Sums over time are from ``first_frame`` to before ``last_frame``.
    """

    strides = auto()
    distance = auto()
    speed = auto()
    effort = auto()
    velocity = auto()
    symmetry = auto()
    variation = auto()
    grf = auto()
    pain = auto()
    scuff = auto()
    trunk = auto()
    kinematic = auto()
    timed = auto()
    emg = auto()
    metabolic = auto()
    metabolic_rate = auto()
    first_frame = auto()
    last_frame = auto()


class Trunk(IntEnum):
    """Target of the trunk: the reference, upright, or zero pitch rate."""

    reference = 0
    upright = 1
    rate = 2


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
        ("cycle", np.float64),
        ("trunk", np.int64),
        ("level", np.bool_),
    ]
)
"""Settings of the measures; an array of one. ``swing`` and ``stance`` are shortest durations
[frames], ``period`` the time between frames [s], ``threshold`` the load of a foot on the ground and
``grf`` the ground reaction without cost [body weights], ``cycle`` the stride time of adults at the
target speed [frames], 0 where there is none, ``clearance`` the height of soles without
cost [m], ``trunk`` a :class:`Trunk`."""

LEAST_DISTANCE = 0.1
"""Smallest divisor of effort and energy [m]: a distance near zero or negative would give an
infinite or a negative cost."""


@compiled
def interpolated(frames, column, start, at, last):
    """A column at a fractional frame ``at``, up to ``last``, both counted from ``start``."""
    i = min(int(at), last - 1)
    low, high = frames[start + i, column], frames[start + i + 1, column]
    return low + (high - low) * (at - i)


@compiled
def _mean_deviation(frames, places, first, last, column, reference, squared):
    """Mean absolute or squared deviation of a column from a reference ``(points,)`` over strides.

    The samples of the reference are evenly spaced over a stride, the last before the next
    touch-down.
    """
    total, points = 0.0, len(reference)
    for k in range(first, last):
        start, end = places[k], places[k + 1]
        for p in range(points):
            at = start + p / points * (end - start)
            difference = interpolated(frames, column, 0, at, end) - reference[p]
            total += difference * difference if squared else abs(difference)
    return total / ((last - first) * points)


@compiled
def _timed_deviation(frames, length, reference, cycle):
    """Mean absolute deviation of both legs from a reference that runs on in time [rad].

    The phase at the first frame is that where both legs together deviate least, half a cycle apart.
    """
    points = reference.shape[1]
    phase, least = 0, math.inf
    for p in range(points):
        total = 0.0
        for leg in range(2):
            place = (p + leg * (points // 2)) % points
            for c in range(3):
                angle = frames[0, Frame.hip_r + LEG_ANGLES * leg + c]
                total += abs(angle - reference[c, place])
        if total < least:
            phase, least = p, total
    total = 0.0
    for i in range(length):
        for leg in range(2):
            at = (phase + 0.5 * leg * points + i / cycle * points) % points
            low = int(at)
            part = at - low
            for c in range(3):
                curve = reference[c]
                goal = curve[low] + part * (curve[(low + 1) % points] - curve[low])
                total += abs(frames[i, Frame.hip_r + LEG_ANGLES * leg + c] - goal)
    return total / (6.0 * length)


@compiled
def _asymmetry(frames, right, first_r, last_r, left, first_l, last_l):
    """Distance between the mean positions of knees and ankles of both legs at touch-down [m].

    Positions are relative to the pelvis; the left ones are mirrored at the sagittal plane (y).
    """
    total = 0.0
    for joint in range(2):
        square = 0.0
        for axis in range(3):
            column = Frame.knee_x_r + 3 * joint + axis
            mean_r, mean_l = 0.0, 0.0
            for k in range(first_r, last_r + 1):
                mean_r += frames[right[k], column]
            for k in range(first_l, last_l + 1):
                mean_l += frames[left[k], column + LEG_PLACES]
            mean_r /= last_r - first_r + 1
            mean_l /= last_l - first_l + 1
            square += (mean_r + mean_l) ** 2 if axis == 1 else (mean_r - mean_l) ** 2
        total += math.sqrt(square)
    return total


@compiled
def _variation(frames, places, first, last):
    """Sum of squared changes of both knees and ankles between touch-downs of a leg [m2].

    Positions are relative to the pelvis.
    """
    total = 0.0
    for k in range(first, last):
        before, after = places[k], places[k + 1]
        for column in range(Frame.knee_x_r, Frame.ankle_z_l + 1):
            total += (frames[after, column] - frames[before, column]) ** 2
    return total


@compiled
def _scuffing(frames, a, b, setup):
    """Mean deficit of the height of the soles from the clearance in mid-swing [m].

    A fifth of the unloaded frames at either end is excluded, when the foot lifts and lands.
    """
    total, count = 0.0, 0
    for leg in range(2):
        start = -1
        for i in range(a, b + 1):
            swings = frames[i, Frame.load_r + leg] <= setup.threshold
            if swings and start < 0:
                start = i
            if not swings and start >= 0:
                margin = (i - start) // 5
                for j in range(start + margin, i - margin):
                    total += max(setup.clearance - frames[j, Frame.sole_r + leg], 0.0)
                    count += 1
                start = -1
    return total / count if count else 0.0


@compiled
def _trunk(frames, a, b, places, first, last, reference, setup):
    """Mean deviation of the trunk from the reference or from upright [rad], or mean squared
    rate."""
    if setup.trunk == Trunk.reference and len(reference):
        if last <= first:
            return math.nan
        return _mean_deviation(frames, places, first, last, Frame.torso_pitch, reference, False)
    total = 0.0
    for i in range(a, b):
        if setup.trunk == Trunk.rate:
            change = frames[i + 1, Frame.pitch] - frames[i, Frame.pitch]
            total += (change / setup.period) ** 2
        else:
            total += abs(frames[i, Frame.torso_pitch])
    return total / (b - a)


@compiled
def _one_walk(frames, length, setup, reference, trunk, emg, emg_columns, right, left, measures):
    measures[:] = math.nan
    last = max(length - 1, 0)
    measures[Measure.distance] = frames[last, Frame.x] - frames[0, Frame.x] if length else 0.0
    rights = find_touch_downs(
        frames[:length, Frame.load_r], setup.threshold, setup.swing, setup.stance, right
    )
    lefts = find_touch_downs(
        frames[:length, Frame.load_l], setup.threshold, setup.swing, setup.stance, left
    )
    last_r, last_l = rights - 1, lefts - 1
    measures[Measure.strides] = max(min(last_r, last_l), 0)
    first_r, first_l = max(last_r - setup.strides, 0), max(last_l - setup.strides, 0)
    strides = last_r >= 1 and last_l >= 1
    # sums over time are from a to b, between touch-downs of the left foot
    if strides:
        a, b = left[first_l], left[last_l]
    elif length < 2:
        return
    else:
        # terms without a cycle are measured over the whole walk, so that walks without a stride
        # differ
        a, b, first_l, last_l = 0, length - 1, 0, 0
    measures[Measure.first_frame], measures[Measure.last_frame] = a, b
    dx, dy = frames[b, Frame.x] - frames[a, Frame.x], frames[b, Frame.y] - frames[a, Frame.y]
    dz = frames[b, Frame.z] - frames[a, Frame.z]
    time = frames[b, Frame.time] - frames[a, Frame.time]
    # along the ground, which may have a slope
    measures[Measure.speed] = math.copysign(math.hypot(dx, dz), dx) / time
    measures[Measure.velocity] = abs(measures[Measure.speed] - setup.speed)
    squares, excess, pain = 0.0, 0.0, 0.0
    for i in range(a, b):
        for column in range(ACTIVATIONS, frames.shape[1]):
            squares += frames[i, column] ** 2
        excess += max(frames[i, Frame.load_r] + frames[i, Frame.load_l] - setup.grf, 0.0)
        for column in range(Frame.limit_hip_r, Frame.limit_ankle_l + 1):
            pain += abs(frames[i, column])
    # along the ground, as the speed; without a stride the height may have changed by a fall
    rise = dz if strides and not setup.level else 0.0
    metres = max(math.hypot(math.hypot(dx, dy), rise), LEAST_DISTANCE)
    measures[Measure.effort] = squares * setup.period / (setup.mass * metres)
    energy = (frames[b, Frame.metabolic] - frames[a, Frame.metabolic]) / setup.mass
    measures[Measure.metabolic] = energy / metres
    measures[Measure.metabolic_rate] = energy / time
    measures[Measure.grf] = excess / (b - a)
    measures[Measure.pain] = pain / ((b - a) * setup.mass)
    measures[Measure.scuff] = _scuffing(frames, a, b, setup)
    measures[Measure.trunk] = _trunk(frames, a, b, left, first_l, last_l, trunk, setup)
    if reference.shape[1] and setup.cycle > 0.0:
        measures[Measure.timed] = _timed_deviation(frames, length, reference, setup.cycle)
    if not strides:
        return
    measures[Measure.symmetry] = _asymmetry(frames, right, first_r, last_r, left, first_l, last_l)
    changes = _variation(frames, right, first_r, last_r) + _variation(frames, left, first_l, last_l)
    # mean over strides and the four points
    measures[Measure.variation] = math.sqrt(changes / (4.0 * (last_r - first_r + last_l - first_l)))
    # each leg is compared with the reference from its touch-down
    if reference.shape[1]:
        total = 0.0
        for c in range(3):
            column, curve = Frame.hip_r + c, reference[c]
            total += _mean_deviation(frames, right, first_r, last_r, column, curve, False)
            column += LEG_ANGLES
            total += _mean_deviation(frames, left, first_l, last_l, column, curve, False)
        measures[Measure.kinematic] = total / 6.0
    if emg.shape[1]:
        total = 0.0
        for c in range(len(emg)):
            column = emg_columns[0, c]
            total += _mean_deviation(frames, right, first_r, last_r, column, emg[c], True)
            column = emg_columns[1, c]
            total += _mean_deviation(frames, left, first_l, last_l, column, emg[c], True)
        measures[Measure.emg] = total / (2.0 * len(emg))


@compiled_once
def measure_walks(frames, lengths, setup, reference, trunk, emg, columns, right, left, measures):
    """Measures ``(n, measures)`` of frames ``(n, frames, columns)`` with ``lengths (n,)``.

    ``reference (3, points)`` are hip, knee and ankle in the convention of frames, as are
    ``trunk (points,)`` and ``emg (groups, points)``; empty ones are not compared. ``columns (2,
    groups)`` are the columns of the activations of the right and the left leg, ``right`` and
    ``left`` integer scratch arrays ``(frames + 1,)``.
    """
    for i in range(len(lengths)):
        _one_walk(
            frames[i], lengths[i], setup[0], reference, trunk, emg, columns, right, left,
            measures[i],
        )  # fmt: skip
