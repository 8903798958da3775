"""Shapes of pieces: polynomials, frequencies and amplitudes by closed forms, and symmetry."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from trueup.design.bench.family import BenchCondition, BenchFamily
from trueup.design.motion.family import (
    FAMILIES,
    HARMONICS,
    CommandLimits,
    MotionFamily,
    chirp,
    largest_amplitude,
    smooth_step,
)

POSE = np.array([0.3, -0.2])
LIMITS = CommandLimits(POSE - 0.5, POSE + 1.0, np.array([2.0, 1.0]), np.array([20.0, 8.0]))
FAMILY = MotionFamily(POSE, LIMITS, 4.0, 100.0)
OPEN = CommandLimits(-np.ones(1), np.ones(1), np.full(1, np.inf), np.full(1, np.inf))
ONE = MotionFamily(np.zeros(1), OPEN, 10.0, 200.0)
"""A joint whose position alone is limited, to 1 rad."""


def row(family=0, tempo=0.0, size=1.0, offset=0.0, cosine=(), sine=()):
    """A row of one joint."""
    numbers = np.zeros((2, HARMONICS))
    numbers[0, : len(cosine)], numbers[1, : len(sine)] = cosine, sine
    return np.array([family, tempo, size, offset, *numbers.ravel()])[None]


def random_rows(count=10, seed=0, family=FAMILY):
    return family.random(count, np.random.default_rng(seed))


# --- the polynomial ------------------------------------------------------------------------------


def test_a_smooth_step_is_the_quintic_that_rests_at_both_ends():
    """The one polynomial of degree 5 with value, slope and bend 0, 0, 0 and 1, 0, 0."""
    powers = np.arange(6)
    ends = []
    for at in (0.0, 1.0):
        for order in range(3):
            factor = [np.prod(np.arange(p - order + 1, p + 1)) if p >= order else 0 for p in powers]
            ends.append([f * at ** max(p - order, 0) for f, p in zip(factor, powers, strict=True)])
    expected = np.linalg.solve(np.array(ends, float), [0, 0, 0, 1, 0, 0])
    at = np.linspace(0.0, 1.0, 31)
    np.testing.assert_allclose(smooth_step(at), np.polyval(expected[::-1], at), atol=1e-12)


@given(some.floats(-5.0, 5.0))
def test_a_smooth_step_is_odd_about_its_middle_and_held_outside(share):
    assert smooth_step(share) + smooth_step(1.0 - share) == pytest.approx(1.0, abs=1e-12)
    assert 0.0 <= smooth_step(share) <= smooth_step(share + 0.01) <= 1.0
    if not 0.0 < share < 1.0:
        assert smooth_step(share) == (share >= 1.0)


# --- amplitudes ----------------------------------------------------------------------------------

TIMES = np.arange(2001) / 1000.0
SINE = np.sin(2 * np.pi * 1.0 * TIMES)[None, :, None]


@pytest.mark.parametrize(
    ("room", "speed", "acceleration", "amplitude"),
    [
        (0.5, 1e6, 1e6, 0.5),
        (1e6, 3.0, 1e6, 3.0 / (2 * np.pi)),
        (1e6, 1e6, 7.0, 7.0 / (2 * np.pi) ** 2),
        (0.0, 3.0, 7.0, 0.0),
    ],
)
def test_the_amplitude_of_a_sine_is_that_of_the_limit_that_it_reaches(
    room, speed, acceleration, amplitude
):
    """A w of the speed, A w^2 of the acceleration."""
    one = np.ones(1)
    limits = CommandLimits(-room * one, room * one, speed * one, acceleration * one)
    found = largest_amplitude(SINE, np.zeros(1), limits, 1000.0)
    assert found.item() == pytest.approx(amplitude, rel=1e-4)


def test_a_shape_that_rests_has_no_amplitude():
    assert largest_amplitude(0.0 * SINE, np.zeros(1), OPEN, 1000.0).item() == 0.0


def test_a_pose_off_the_middle_leaves_the_nearer_side():
    limits = replace(OPEN, lower=np.array([-0.2]), upper=np.array([0.9]))
    for sign in (1.0, -1.0):
        assert largest_amplitude(sign * SINE, np.zeros(1), limits, 1e3).item() == pytest.approx(0.2)
    lifted = SINE + 1.0  # goes up only
    assert largest_amplitude(lifted, np.zeros(1), limits, 1e3).item() == pytest.approx(0.45)


def test_wider_limits_give_as_much_wider_motion():
    rows = random_rows()
    twice = CommandLimits(
        POSE + 2 * (LIMITS.lower - POSE), POSE + 2 * (LIMITS.upper - POSE), 2 * LIMITS.speed,
        2 * LIMITS.acceleration,
    )  # fmt: skip
    found = replace(FAMILY, limits=twice).commands(rows) - POSE
    np.testing.assert_allclose(found, 2.0 * (FAMILY.commands(rows) - POSE), atol=1e-12)


# --- pieces --------------------------------------------------------------------------------------


def test_the_size_of_a_row_scales_its_motion():
    rows = random_rows()
    half = rows.copy()
    half[:, 2::12] *= 0.5
    moved, less = (FAMILY.commands(each) - POSE for each in (rows, half))
    np.testing.assert_allclose(less, 0.5 * moved, atol=1e-12)
    rows[:, 2::12] = 0.0
    np.testing.assert_array_equal(FAMILY.commands(rows), np.broadcast_to(POSE, moved.shape))


def test_a_pose_elsewhere_moves_the_motion_along():
    rows, shift = random_rows(), np.array([0.7, -1.1])
    limits = replace(LIMITS, lower=LIMITS.lower + shift, upper=LIMITS.upper + shift)
    found = replace(FAMILY, pose=POSE + shift, limits=limits).commands(rows)
    np.testing.assert_allclose(found, FAMILY.commands(rows) + shift, atol=1e-12)


def test_joints_in_another_order_have_the_same_motion():
    rows = random_rows()
    swapped = np.hstack([rows[:, :2], rows[:, 14:], rows[:, 2:14]])
    limits = CommandLimits(*(getattr(LIMITS, n)[::-1] for n in vars(LIMITS)))
    found = replace(FAMILY, pose=POSE[::-1], limits=limits).commands(swapped)
    np.testing.assert_allclose(found, FAMILY.commands(rows)[..., ::-1], atol=1e-12)


def test_rows_do_not_see_each_other():
    rows = random_rows()
    together = FAMILY.commands(rows)
    for number, one in enumerate(rows):
        np.testing.assert_allclose(FAMILY.commands(one)[0], together[number], atol=1e-14)


def test_a_mirrored_row_has_the_mirrored_motion_within_even_limits():
    rows = random_rows(family=ONE)
    rows = rows[rows[:, 0] != 1]  # of a chirp the numbers are frequencies
    mirrored = rows.copy()
    mirrored[:, 3:-1], mirrored[:, -1] = -rows[:, 3:-1], rows[:, -1]
    series = rows[:, 0] == 0
    mirrored[series, -1] = -rows[series, -1]  # of steps the last number is a time
    np.testing.assert_allclose(ONE.commands(mirrored), -ONE.commands(rows), atol=1e-12)


@settings(max_examples=25)
@given(some.integers(0, 10**6), some.floats(1.0, 20.0), some.floats(20.0, 400.0))
def test_any_piece_rests_at_both_ends_within_its_limits(seed, seconds, rate):
    family = replace(FAMILY, seconds=seconds, rate=rate)
    commands = family.commands(family.random(5, np.random.default_rng(seed)))
    assert commands.shape == (5, family.samples, 2)
    np.testing.assert_allclose(commands[:, 0], np.broadcast_to(POSE, (5, 2)), atol=1e-12)
    speed = np.gradient(commands, 1.0 / rate, axis=1)
    assert np.all(commands <= LIMITS.upper + 1e-9) and np.all(commands >= LIMITS.lower - 1e-9)
    assert np.all(np.abs(speed) <= LIMITS.speed * (1 + 1e-9))


def power(values, rate):
    """Frequencies [Hz] and the share of the power below each."""
    spectrum = np.abs(np.fft.rfft(values * np.hanning(len(values)))) ** 2
    return np.fft.rfftfreq(len(values), 1.0 / rate), np.cumsum(spectrum) / spectrum.sum()


@pytest.mark.parametrize(("tempo", "base"), [(0.0, 0.1), (0.5, np.sqrt(0.1)), (1.0, 1.0)])
@pytest.mark.parametrize("harmonic", [1, 3, 5])
def test_the_harmonics_of_a_series_lie_at_multiples_of_its_base(tempo, base, harmonic):
    """Of 10 s: from one cycle a piece to a fifth of 5 Hz, by the tempo."""
    moved = ONE.commands(row(0, tempo, sine=[0.0] * (harmonic - 1) + [1.0]))[0, :, 0]
    inside = slice(400, -400)  # where the fade holds nothing back
    expected = np.sin(2 * np.pi * harmonic * base * ONE.times)
    scale = np.sum(moved[inside] * expected[inside]) / np.sum(expected[inside] ** 2)
    np.testing.assert_allclose(moved[inside], scale * expected[inside], atol=1e-12)
    assert np.abs(moved).max() == pytest.approx(1.0)


def test_a_chirp_goes_from_its_first_frequency_to_its_last():
    slow = ONE.commands(row(1, 1.0, cosine=[-1.0, -0.2]))[0, :, 0]
    fast = ONE.commands(row(1, 1.0, cosine=[0.6, 1.0]))[0, :, 0]
    for moved, low, high in ((slow, 0.1, 0.7), (fast, 3.0, 10.1)):
        frequencies, share = power(moved, 200.0)
        assert low <= frequencies[np.searchsorted(share, 0.05)]
        assert frequencies[np.searchsorted(share, 0.95)] <= high
    # a chirp of one frequency at both ends is a sine
    even = ONE.commands(row(1, 1.0, cosine=[0.2, 0.2]))[0, :, 0]
    frequency = np.exp(np.log(0.1) + np.log(100.0) * 0.6)
    peak = np.fft.rfftfreq(2000, 1 / 200.0)[np.abs(np.fft.rfft(even)).argmax()]
    assert peak == pytest.approx(frequency, abs=0.06)


def test_steps_stand_at_their_levels_and_come_back():
    levels = np.array([0.5, -0.25, 1.0, 0.0, -0.75])
    moved = ONE.commands(row(2, 1.0, cosine=levels))[0, :, 0]
    still = np.flatnonzero(np.abs(np.gradient(moved)) < 1e-12)
    stood = [moved[part[0]] for part in np.split(still, np.flatnonzero(np.diff(still) > 1) + 1)
             if len(part) > 20]  # fmt: skip
    np.testing.assert_allclose(stood, [0.0, *levels, 0.0], atol=1e-9)
    # quick steps are shorter than slow ones
    slow = ONE.commands(row(2, 0.0, cosine=levels))[0, :, 0]
    assert np.abs(np.gradient(slow)).max() < 0.3 * np.abs(np.gradient(moved)).max()


def test_an_envelope_holds_the_motion_back_and_the_rest_grows_instead():
    rows = random_rows(4, family=ONE)
    envelope = np.ones((4, ONE.samples))
    envelope[:, 900:1100] = 0.0
    held = ONE.commands(rows, envelope)
    np.testing.assert_array_equal(held[:, 900:1100], 0.0)
    free = ONE.commands(rows)
    ratio = held[:, :900, 0].max(axis=1) / free[:, :900, 0].max(axis=1)
    assert np.all(ratio >= 1.0 - 1e-12) and np.abs(held).max() <= 1.0 + 1e-12


def test_random_rows_are_within_bounds_and_of_every_family():
    rows = random_rows(50, 3)
    low, high = FAMILY.bounds()
    assert rows.shape == (50, FAMILY.size) and len(FAMILY.names()) == FAMILY.size == len(low)
    assert np.all(rows >= low) and np.all(rows <= high)
    assert set(rows[:, 0]) == set(range(len(FAMILIES)))
    assert len(set(FAMILY.names())) == FAMILY.size
    np.testing.assert_array_equal(rows, random_rows(50, 3))
    assert not np.array_equal(rows, random_rows(50, 4))


def test_a_row_that_says_nothing_stays():
    rows = np.stack([FAMILY.rest(), FAMILY.rest(), random_rows(1)[0]])
    rows[1, :2] = 1.0  # a family and a tempo of nothing
    assert FAMILY.still(rows).tolist() == [True, True, False]
    np.testing.assert_array_equal(FAMILY.commands(rows)[:2], np.broadcast_to(POSE, (2, 400, 2)))


def test_the_usual_chirp_reaches_its_limits_and_rests_at_both_ends():
    found = chirp(POSE, LIMITS, 20.0, 200.0)
    speed = np.gradient(found, 1 / 200.0, axis=0)
    acceleration = np.gradient(speed, 1 / 200.0, axis=0)
    np.testing.assert_allclose(found[[0, -1]], np.broadcast_to(POSE, (2, 2)), atol=1e-6)
    pairs = ((found - POSE, 0.5), (speed, LIMITS.speed), (acceleration, LIMITS.acceleration))
    reached = [np.abs(values).max(axis=0) / limit for values, limit in pairs]
    np.testing.assert_allclose(np.max(reached, axis=0), 1.0, rtol=1e-9)
    # all joints move alike
    scaled = (found - POSE) / np.abs(found - POSE).max(axis=0)
    np.testing.assert_allclose(scaled[:, 0], scaled[:, 1], atol=1e-12)


# --- on a bench ----------------------------------------------------------------------------------

LOADS = [BenchCondition(0.1 * k, 0.1, 50.0 * k) for k in (1, 2, 3)]
BENCH = BenchFamily(ONE, LOADS)


def bench_row(condition=0.0, begin=0.5, length=0.4, motion=None):
    motion = row(0, 0.5, offset=0.6, cosine=[0.4], sine=[0.1, 0.2]) if motion is None else motion
    return np.concatenate([[condition], motion[0], [begin, length]])[None]


@pytest.mark.parametrize("begin", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("length", [0.2, 1.0])
def test_the_time_without_torque_is_where_its_numbers_say(begin, length):
    """It begins at 10 to 60 % of the log, and takes up to half of it."""
    _, enabled = BENCH.logs(bench_row(begin=begin, length=length))
    off = np.flatnonzero(~enabled[0]) / 200.0
    assert off[0] == pytest.approx(10.0 * (0.1 + 0.5 * begin), abs=0.006)
    last = min(10.0 * (0.1 + 0.5 * begin) + 5.0 * length, 10.0)
    assert off[-1] == pytest.approx(last, abs=0.011)
    assert np.all(np.diff(off) < 0.006)


def test_without_torque_the_goal_waits_where_the_pendulum_hangs():
    goals, enabled = BENCH.logs(bench_row(length=1.0))
    off = np.flatnonzero(~enabled[0])
    assert np.abs(goals[0, off[30:]]).max() < 1e-12
    # it does not jump: the quintic of 0.1 s has 1.875 / 20 of its rise in a sample at most
    assert np.abs(np.diff(goals[0])).max() < 0.1
    assert np.abs(goals[0, off[-1] + 20]) < 0.05 < np.abs(goals[0, off[-1] + 130])


def test_a_length_up_to_none_keeps_the_torque():
    for length in (0.0, -0.5):
        goals, enabled = BENCH.logs(bench_row(length=length))
        assert enabled.all()
        np.testing.assert_array_equal(goals, ONE.commands(bench_row()[:, 1:-2])[..., 0])


def test_rows_of_a_bench_name_each_load_as_often():
    rows = BENCH.random(30, np.random.default_rng(0))
    low, high = BENCH.bounds()
    assert np.all(rows >= low) and np.all(rows <= high)
    assert np.bincount(rows[:, 0].astype(int)).tolist() == [10, 10, 10]
    assert [BENCH.condition(bench_row(k)[0]) for k in range(3)] == LOADS
    assert len(BENCH.names()) == BENCH.size == rows.shape[1]
    limp = (rows[:, -1] > 0).mean()
    assert 0.1 < limp < 0.7
    assert BENCH.still(np.stack([BENCH.rest(), rows[0]])).tolist() == [True, False]
