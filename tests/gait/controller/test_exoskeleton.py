"""The exoskeleton: torque curves, stance clock, limits."""

import numba
import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

from trueup.errors import GaitError
from trueup.gait import (
    FourParameterProfile,
    Walker,
    WalkSettings,
    WalkSimulation,
    replay_controller,
)
from trueup.gait.controller._exoskeleton_kernel import (
    Clock,
    pchip_slopes,
    pchip_value,
    start_clock,
    tick_clock,
)
from trueup.gait.controller.exoskeleton import PointsProfile
from trueup.gait.walk.frames import Frame
from trueup.gait.walk.gait_cycle import SHORTEST_STANCE, SHORTEST_SWING, on_ground


@numba.njit
def curve(x, y, at):
    slopes, values = np.zeros(len(x)), np.zeros(len(at))
    pchip_slopes(x, y, slopes)
    for i in range(len(at)):
        values[i] = pchip_value(x, y, slopes, at[i])
    return values


def test_curves_are_those_of_scipy():
    rng = np.random.default_rng(0)
    at = np.linspace(0.0, 100.0, 301)
    for size in (2, 3, 5, 8):
        for _ in range(20):
            x = np.concatenate([[0.0], np.sort(rng.uniform(1.0, 99.0, size - 2)), [100.0]])
            y = rng.choice([0.0, 1.0], size) * rng.normal(size=size)
            expected = PchipInterpolator(x, y)(at)
            np.testing.assert_allclose(curve(x, y, at), expected, atol=1e-11 * np.ptp(y) + 1e-13)


def test_knots_of_four_parameters():
    values = np.array([[0.5, 0.467, 0.90, 0.075], [0.5, 0.2, 0.3, 0.5], [1.0, 0.5, 0.9, 1.0]])
    lenient = FourParameterProfile().knots(values, 50.0)
    assert lenient.invalid == {}
    np.testing.assert_allclose(lenient.percent[0], [0.0, 43.3, 90.0, 97.5, 100.0])
    np.testing.assert_allclose(lenient.torque[0], [0.0, 0.0, 25.0, 0.0, 0.0])
    assert (np.diff(lenient.percent, axis=1) > 0.0).all()
    np.testing.assert_allclose(lenient.percent[1], [0.0, 10.0, 30.0, 80.0, 100.0])
    strict = FourParameterProfile(strict=True).knots(values, 50.0)
    assert "peaks at 30 %" in strict.invalid[1] and "falls over 100 %" in strict.invalid[2]


@pytest.mark.parametrize("time", [0.0, 0.001, 0.2, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("side", [0.0, 0.3, 1.0])
def test_a_peak_may_be_anywhere_in_stance(time, side):
    """Only MyoAssist wants it in the second half, where a hip that is extended needs no help."""
    knots = FourParameterProfile().knots(np.array([[1.0, side, time, side]]), 50.0)
    assert not knots.invalid
    assert (np.diff(knots.percent[0]) > 0.0).all()
    assert knots.percent[0, [0, -1]].tolist() == [0.0, 100.0]
    assert knots.percent[0, 2] == pytest.approx(100.0 * time, abs=0.01)
    np.testing.assert_array_equal(knots.torque[0], [0.0, 0.0, 50.0, 0.0, 0.0])


@pytest.mark.parametrize("profile", [FourParameterProfile(), PointsProfile(6)])
def test_every_parameter_is_a_fraction(profile):
    assert {(entry.lower, entry.upper) for entry in profile.entries} == {(0.0, 1.0)}
    assert all(0.0 <= entry.start <= 1.0 for entry in profile.entries)


def test_knots_of_points():
    profile = PointsProfile(6)
    starts = [entry.start for entry in profile.entries]
    np.testing.assert_allclose(starts[:6], [0.0625, 0.125, 0.25, 0.5, 0.25, 0.125])
    knots = profile.knots(np.array([starts]), 10.0)
    np.testing.assert_allclose(knots.percent[0, 1:-1], 100.0 * (np.arange(6) + 0.5) / 6)
    ends = np.array([[0.5] * 6 + [0.0] + [0.5] * 4 + [1.0]])
    assert (np.diff(profile.knots(ends, 10.0).percent) > 0.0).all()
    strict = PointsProfile(6, strict=True).knots(ends, 10.0)
    assert "out of order" in strict.invalid[0]
    with pytest.raises(GaitError, match="at least 1 point"):
        PointsProfile(0)


@pytest.fixture(scope="module")
def torques(compat_simulation, tutorial_vector):
    """Torque of the right leg for its load over time, as MyoAssist has it and as we do."""

    def run(load, compat):
        simulation = compat_simulation(1.0, compat=compat)
        layout, parameters = simulation.layout, simulation.parameters
        measured = np.zeros((len(load), 2, len(layout.measured)))
        measured[:, 0, layout.measured.index("load")] = load
        vector = tutorial_vector.copy()
        for name, value in (("peak", 0.5), ("rise", 0.4), ("peak_time", 0.6), ("fall", 0.3)):
            vector[parameters.index(f"exo_{name}")] = value
        return replay_controller(simulation, vector, measured).torque

    return run


def stances(*lengths, swing=30):
    return np.concatenate([np.repeat([1.0, 0.0], [n, swing]) for n in lengths])


def test_the_stance_clock(torques):
    torque = torques(stances(60, 60), False)[:, 0]
    expected = PchipInterpolator([0, 20, 60, 90, 100], [0, 0, 50, 0, 0])
    percent = np.minimum(100.0 * np.arange(1, 61) * 0.01 / 0.6, 100.0)
    # the first step of a stance has the time of one step
    np.testing.assert_allclose(torque[:60], expected(percent), atol=1e-9)
    np.testing.assert_allclose(torque[90:150], expected(percent), atol=1e-9)
    assert (torques(stances(60), False)[:, 1] == 0.0).all()


def test_torque_is_zero_in_swing(torques):
    """In the reference a stance that ends early leaves its torque on through swing."""
    load = stances(36, 60)
    ours, theirs = torques(load, False)[:, 0], torques(load, True)[:, 0]
    assert theirs[35] > 40.0 and (theirs[36:66] == theirs[35]).all()
    assert (ours[36:66] == 0.0).all()
    np.testing.assert_array_equal(ours[:36], theirs[:36])


def test_the_clock_learns_from_the_last_three_stances(torques):
    torque = torques(stances(80, 80, 80, 80), False)[:, 0]
    stance = [torque[110 * k : 110 * k + 80] for k in range(4)]
    np.testing.assert_array_equal(stance[0], stance[2])
    assert np.argmax(stance[0]) == 35 and np.argmax(stance[3]) == 47
    # touches of less than 35 ms are no stances
    torque = torques(stances(80, 80, 3, 80, 80), False)[:, 0]
    assert np.argmax(torque[-110:-30]) == 47


def test_a_bounce_at_touch_down_does_not_end_a_stance(torques):
    """In the reference a foot that bounces has had a stance, and the next curves come early."""
    steps = [stances(60), stances(60), stances(60)]
    bounced = [np.concatenate([stances(6, swing=2), stances(52)]) for _ in steps]
    whole, bounces = np.concatenate([*steps, *steps]), np.concatenate([*bounced, *steps])
    ours, expected = torques(bounces, False)[:, 0], torques(whole, False)[:, 0]
    np.testing.assert_allclose(ours, np.where(bounces > 0.0, expected, 0.0), atol=1e-9)
    theirs = torques(bounces, True)[:, 0]
    # after stances of 0.52, 0.06 and 0.52 s it expects 0.37 s: the peak comes at 0.22 s
    assert np.argmax(expected[270:330]) == 35
    assert np.argmax(theirs[270:330]) == 21
    # a lift of a tenth of a second is a swing
    apart = np.concatenate([stances(20, swing=10), stances(60), np.zeros(1)])
    assert torques(apart, False)[30, 0] == torques(apart, False)[0, 0]


def test_toes_that_scuff_in_swing_have_no_stance(torques):
    """In the reference a touch of 50 ms is a stance, and the next curves come early."""
    clean = np.concatenate([stances(65, swing=35) for _ in range(6)])
    scuffs = clean.copy()
    for start in range(80, len(clean), 100):
        scuffs[start : start + 5] = 1.0
    ours, expected = torques(scuffs, False)[:, 0], torques(clean, False)[:, 0]
    np.testing.assert_array_equal(ours[clean > 0.0], expected[clean > 0.0])
    # the clock expects 0.65 s: the peak, at 60 % of stance, comes at 0.39 s
    assert np.argmax(ours[500:565]) == 38
    assert np.argmax(torques(scuffs, True)[500:565, 0]) == 14


CLOCK_SIZE = len(Clock)


@numba.njit
def ended_stances(load, shortest_swing, shortest_stance):
    """Durations of the stances that a clock has counted."""
    clock, found = np.zeros(CLOCK_SIZE), np.zeros(len(load))
    count, expects = 0, np.zeros(3)
    start_clock(clock)
    for i in range(len(load)):
        tick_clock(clock, load[i], 0.1, 0.01, shortest_swing, shortest_stance)
        last = clock[Clock.oldest : Clock.newest + 1]
        if (last != expects).any():
            expects[:] = last
            found[count] = last[2]
            count += 1
    return found[:count]


def test_the_clock_counts_the_stances_of_the_gait_cycle():
    """Whatever the load does: touches, bounces, scuffs."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        spells = np.append(rng.choice([1, 2, 4, 5, 6, 7, 9, 10, 11, 40, 70], 60), 20)
        load = np.repeat(np.arange(len(spells)) % 2, spells).astype(float)
        stance = on_ground(load, 0.01)
        edges = np.flatnonzero(np.diff(stance.astype(int)))
        expected = 0.01 * (edges[1::2] - edges[::2])
        durations = ended_stances(load, SHORTEST_SWING - 1e-9, SHORTEST_STANCE - 1e-9)
        np.testing.assert_allclose(durations, expected, atol=1e-9)


@pytest.mark.parametrize(("device", "most"), [("hip", 60.0), ("ankle", 150.0)])
def test_no_torque_is_told_that_the_device_cannot_exert(device, most):
    """MuJoCo holds controls within their range: what is asked for beyond it would not act."""
    walker = Walker.load("planar22", device=device)
    assert walker.exoskeleton_torque == most
    profile = FourParameterProfile()
    with pytest.raises(GaitError, match=f"must be at most {most:g} N m"):
        WalkSimulation(walker, WalkSettings(max_torque=most + 1.0), profile=profile)
    simulation = WalkSimulation(
        walker, WalkSettings(duration=1.0, max_torque=most), profile=profile
    )
    vector = simulation.parameters.start[None].copy()
    vector[:, -4:] = 1.0, 0.3, 0.5, 0.3
    devices = [walker.model.actuator(name).id for name in ("Exo_R", "Exo_L")]
    acting = []

    def observe(tick, batch):
        acting.append(np.abs(np.asarray(batch.bind("actuator_force"))[0, devices]).max())

    records = simulation.run(vector, observe=observe)
    told = records.frames[0, : records.length[0], Frame.exo_r : Frame.exo_l + 1].max()
    assert 0.5 * most < told <= most * (1.0 + 1e-12)
    # frames are fewer than steps of the controller
    assert told <= max(acting) * (1.0 + 1e-9) and max(acting) <= most * (1.0 + 1e-9)
