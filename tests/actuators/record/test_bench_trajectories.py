"""Trajectories: their equations, their limits, and the properties they are designed for."""

import numpy as np
import pytest

from trueup.actuators import (
    Trajectory,
    all_trajectories,
    chirp,
    multisine,
    read_logs,
    releases,
    slow_ramp,
    staircase,
    trajectory_named,
)
from trueup.actuators.record.trajectory import MotionLimits, check_trajectory
from trueup.errors import RecordingError

QUARTER = np.pi / 2


@pytest.mark.parametrize(
    ("name", "time", "angle", "enable"),
    [
        ("lift_and_drop", 1.0, -QUARTER / 2, True),
        ("lift_and_drop", 1.999, -QUARTER, True),
        ("lift_and_drop", 2.0, -QUARTER, False),
        ("lift_and_drop", 9.0, -QUARTER, False),
        ("sin_time_square", 3.0, np.sin(9.0), True),
        ("up_and_down", 1.5, QUARTER / 2, True),
        ("up_and_down", 4.5, 0.9 * QUARTER, True),
        ("sin_sin", 2.0, np.sin(2) * QUARTER + 0.5 * np.sin(10) * np.sin(4), True),
        ("half_sine", np.pi, QUARTER, True),
        ("steps", 0.999, 0.0, True),
        ("steps", 1.0, 0.75, True),
        ("steps", 2.5, 1.55, True),
        ("steps", 4.5, 0.75, True),
        ("steps", 5.5, 0.0, True),
        ("brutal", 2.0, QUARTER, True),
        ("nothing", 3.0, 0.0, False),
    ],
)
def test_the_standard_trajectories_follow_their_equations(name, time, angle, enable):
    found, torque = trajectory_named(name).at(time)
    assert found == pytest.approx(angle, abs=1e-5)
    assert torque is enable


def test_recorded_goals_are_those_of_the_trajectories(recorded_data):
    for log in read_logs(recorded_data / "xl330_bench"):
        goals, enable = trajectory_named(log.trajectory)(log.times)
        # the goal was computed up to 10 ms before the time stamp
        earlier, _ = trajectory_named(log.trajectory)(log.times - 0.01)
        low, high = np.minimum(goals, earlier) - 2e-3, np.maximum(goals, earlier) + 2e-3
        assert ((log.goal_position >= low) & (log.goal_position <= high)).all(), log.name
        assert (enable == log.torque_enable).mean() > 0.99


@pytest.mark.parametrize("trajectory", all_trajectories().values(), ids=lambda t: t.name)
def test_every_trajectory_is_within_the_usual_limits_and_says_what_it_is_for(trajectory):
    check_trajectory(trajectory, MotionLimits())
    assert len(trajectory.identifies) > 40
    assert trajectory.at(0.0)[0] == pytest.approx(0.0, abs=1e-9)
    angle, enable = trajectory(np.linspace(0, trajectory.duration, 11))
    assert angle.shape == enable.shape == (11,)


def test_the_designed_trajectories_end_at_rest():
    for trajectory in (multisine(), chirp(), staircase(), slow_ramp(), releases()):
        end = trajectory.duration
        angles, _ = trajectory(np.array([end - 2e-3, end]))
        np.testing.assert_allclose(angles, 0.0, atol=2e-3)


def test_the_phases_of_the_multisine_keep_its_peak_low():
    times = np.arange(1.0, 9.0, 1e-3)  # without the ends, where it fades in and out
    speed = np.gradient(multisine()(times)[0], times)
    assert np.abs(speed).max() / speed.std() < 2.0  # all phases zero: 7.6
    spectrum = np.abs(np.fft.rfft(np.gradient(multisine()(np.arange(0, 10, 1e-3))[0])))
    assert spectrum[2:31].sum() > 0.9 * spectrum.sum() * 0.9


def test_the_chirp_keeps_its_speed():
    times = np.arange(0.0, 10.0, 1e-3)
    speed = np.gradient(chirp(highest=8.0, speed=6.0)(times)[0], times)
    assert 4.5 < np.abs(speed).max() < 6.0


def test_the_staircase_holds_the_same_angles_on_both_ways():
    trajectory = staircase(highest=1.0, steps=2, move=0.5, hold=1.0)
    times = np.arange(0.5, trajectory.duration, 1.5)
    np.testing.assert_allclose(trajectory(times)[0], [0.0, 0.5, 1.0, 0.5, 0.0], atol=1e-12)


def test_releases_are_caught_at_rest():
    trajectory = releases(angles=(1.0, -0.5), fall=2.0)
    for (start, end), angle in zip(trajectory.limp, (1.0, -0.5), strict=True):
        assert trajectory.at(start - 1e-3) == (pytest.approx(angle), True)
        assert trajectory.at((start + end) / 2) == (pytest.approx(0.0), False)
        assert trajectory.at(end) == (pytest.approx(0.0, abs=1e-12), True)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (MotionLimits(highest=1.0), "goes up to 1.76 rad at .* the limit is 1 rad"),
        (MotionLimits(lowest=-0.5), "goes down to -1.76 rad at .* the limit is -0.5 rad"),
        (MotionLimits(speed=2.0), r"reaches a speed of 3\.67 rad/s"),
    ],
)
def test_a_trajectory_beyond_a_limit_is_refused(limits, message):
    with pytest.raises(RecordingError, match=f"'sin_sin' {message}"):
        check_trajectory(trajectory_named("sin_sin"), limits)


def test_a_step_is_judged_by_its_height_and_only_while_driven():
    with pytest.raises(RecordingError, match=r"'steps' has a step of 0\.8 rad at 2\.50 s"):
        check_trajectory(trajectory_named("steps"), MotionLimits(jump=0.5))
    limp = Trajectory("limp", 2.0, "", lambda t: 9.0 * (t > 1), limp=((1.0, np.inf),))
    check_trajectory(limp, MotionLimits())


def test_goals_that_are_no_numbers_are_refused():
    with pytest.raises(RecordingError, match="not finite"):
        check_trajectory(Trajectory("bad", 1.0, "", lambda t: t * np.nan), MotionLimits())


def test_an_unknown_trajectory_is_named():
    with pytest.raises(RecordingError, match=r"mean 'sin_sin'\? Available: 'lift_and_drop'"):
        trajectory_named("sinsin")


@pytest.mark.parametrize("make", [lambda: multisine(lowest=5.0), lambda: chirp(lowest=9.0)])
def test_frequencies_that_do_not_fit_are_refused(make):
    with pytest.raises(RecordingError, match="Hz"):
        make()
