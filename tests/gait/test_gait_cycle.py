"""Strides and means over the gait cycle."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.gait.walk.gait_cycle import (
    SHORTEST_STANCE,
    SHORTEST_SWING,
    Stride,
    mean_cycle,
    on_ground,
    over_cycle,
    strides_of,
)

PERIOD = 0.01


def square(frames, cycle, stance, start=0):
    """A foot that is on the ground for ``stance`` of every ``cycle`` frames."""
    return np.where((np.arange(frames) - start) % cycle < stance, 0.8, 0.0)


@settings(deadline=None)  # compiled at the first call
@given(
    cycle=st.integers(40, 160), part=st.floats(0.3, 0.7), start=st.integers(0, 150),
    most=st.integers(1, 9),
)  # fmt: skip
def test_strides_of_an_even_gait(cycle, part, start, most):
    stance = max(7, min(round(part * cycle), cycle - 11))
    load = square(1000, cycle, stance, start)
    found = strides_of(load, 1, PERIOD)
    downs = [k for k in range(1, 1000) if (k - start) % cycle == 0]
    # what begins before the recording, or ends after it, is no stride
    downs = [k for k in downs if k >= 1 and load[k - 1] == 0.0]
    # a first or last spell that the recording cuts short may be left out, never counted twice
    assert len(downs) - 2 <= len(found) <= len(downs) - 1
    for stride in found:
        assert stride.frames == cycle and stride.leg == 1
        assert stride.stance == pytest.approx(stance / cycle)
        assert stride.start in downs and stride.end in downs
    assert strides_of(load, 1, PERIOD, most=most) == found[-most:]


def turned(states, kind, frames):
    """States with the inner spells of a kind that are shorter than some frames turned."""
    states = list(states)
    spells = [(state, len(list(run))) for state, run in itertools.groupby(states)]
    place = 0
    for number, (state, size) in enumerate(spells):
        inner = 0 < number < len(spells) - 1
        if inner and state == kind and size < frames:
            states[place : place + size] = [not kind] * size
        place += size
    return states


@settings(deadline=None)
@given(
    spells=st.lists(st.integers(1, 25), min_size=1, max_size=14),
    begins=st.booleans(),
    period=st.sampled_from([0.01, 0.004, 0.02]),
)
def test_short_lifts_belong_to_a_stance_and_then_short_stances_to_a_swing(spells, begins, period):
    load = np.concatenate([np.full(n, 0.8 * ((k + begins) % 2)) for k, n in enumerate(spells)])
    lifts = turned(load > 0.1, False, round(SHORTEST_SWING / period))
    expected = turned(lifts, True, round(SHORTEST_STANCE / period))
    assert on_ground(load, period).tolist() == expected


def test_neither_a_scuff_nor_a_dip_of_the_load_is_a_stride():
    load = square(500, 120, 70, 20)
    whole = strides_of(load, 0, PERIOD)
    load[60:63] = 0.0  # between heel and toes
    load[110:113] = 0.5  # scuff in swing
    assert strides_of(load, 0, PERIOD) == whole
    assert on_ground(load, PERIOD)[60:63].all() and not on_ground(load, PERIOD)[110:113].any()
    load[100:110] = 0.5  # a foot that is set down for longer touches down
    assert strides_of(load, 0, PERIOD) != whole


def test_a_foot_that_never_lifts_has_no_stride():
    for load in (np.zeros(300), np.ones(300), np.r_[np.zeros(9), np.ones(1)], np.zeros(1)):
        assert strides_of(load, 0, PERIOD) == []


def test_a_cycle_is_sampled_from_touch_down_to_touch_down():
    strides = [Stride(0, 10, 30, 60), Stride(0, 60, 80, 100)]
    values = np.stack([np.arange(120.0), -np.arange(120.0)], axis=1)
    cycles = over_cycle(values, strides, 11)
    assert cycles.shape == (2, 11, 2)
    np.testing.assert_allclose(cycles[0, :, 0], np.linspace(10, 60, 11))
    np.testing.assert_allclose(cycles[1, :, 1], -np.linspace(60, 100, 11))
    curve = mean_cycle(values[:, 0], strides, 11)
    np.testing.assert_allclose(curve.mean, np.linspace(35, 80, 11))
    np.testing.assert_allclose(curve.sd, np.abs(cycles[1, :, 0] - cycles[0, :, 0]) / np.sqrt(2))


def test_one_stride_has_no_deviation_and_none_no_mean():
    values = np.arange(120.0)
    assert mean_cycle(values, [Stride(0, 10, 30, 60)]).sd is None
    assert mean_cycle(values, []) is None
    assert over_cycle(values, []).shape == (0, 101)


def test_the_last_frame_may_end_a_stride():
    cycles = over_cycle(np.arange(61.0), [Stride(0, 10, 30, 60)], 6)
    np.testing.assert_allclose(cycles[0], np.linspace(10, 60, 6))
