"""The shipped norm of adults, and the searches and reports that take it unasked."""

import json

import numpy as np
import pytest

from trueup.cli import main
from trueup.errors import GaitError
from trueup.gait import GaitConfiguration, adult_norm, load_configuration, make_problem
from trueup.gait.costs.adult_norm import adult_steps, named_norm
from trueup.gait.search.shipped_walk import SHIPPED_WALK

OF_THE_SEED = (
    "tutorial",
    "baseline",
    "debug",
    "exo_4param",
    "exo_4param_kine",
    "exo_npoint",
    "exo_npoint_cont",
)


def _rate(curve, period):
    """Rate of a periodic curve by central differences."""
    return (np.roll(curve, -1) - np.roll(curve, 1)) * len(curve) / (2.0 * period)


@pytest.mark.parametrize(
    ("joint", "touch_down", "spread", "latest"),
    [("hip", 20.0, 40.0, (80, 100)), ("knee", 5.0, 62.0, (65, 80)), ("ankle", 0.0, 26.0, (42, 52))],
)
def test_angles_are_those_of_people(joint, touch_down, spread, latest):
    angle = np.rad2deg(adult_norm().reference.angles[joint].mean)
    assert angle[0] == pytest.approx(touch_down, abs=0.01)
    assert np.ptp(angle) == pytest.approx(spread, abs=1.0)
    # the hip flexes most before touch-down, the knee in swing, the ankle before push-off
    assert latest[0] <= np.argmax(angle) * 100 / len(angle) <= latest[1]


@pytest.mark.parametrize("joint", ["hip", "knee", "ankle"])
def test_power_is_moment_times_speed(joint):
    norm = adult_norm()
    speed = -_rate(norm.reference.angles[joint].mean, 1.117)
    power = norm.moments[joint].mean * speed
    assert np.abs(norm.powers[joint].mean - power).max() < 0.06 * np.abs(power).max()


def test_the_ankle_pushes_off():
    norm = adult_norm()
    assert 1.2 < norm.moments["ankle"].mean.max() < 1.6
    assert 45 <= np.argmax(norm.powers["ankle"].mean) <= 60


@pytest.mark.parametrize("speed", [0.8, 1.25, 1.75])
def test_steps_of_people_make_their_speed(speed):
    cadence, step = adult_steps(speed)
    assert cadence / 60.0 * step == pytest.approx(speed)
    assert 80 < cadence < 130


def test_nobody_walks_at_five_metres_a_second():
    with pytest.raises(GaitError, match=r"the speed is 5 m/s; adults walk at 0\.6 to 2 m/s"):
        adult_steps(5.0)


def test_the_norm_is_named(tmp_path):
    assert named_norm("adult") is adult_norm()
    with pytest.raises(GaitError, match="cannot read the norm"):
        named_norm(tmp_path / "other.json")


@pytest.mark.parametrize("name", OF_THE_SEED)
def test_each_configuration_starts_with_nothing_else_named(name):
    configuration = load_configuration(name).model_copy(update={"sim_time": 0.1})
    problem = make_problem(configuration, threads=1)
    start = problem.space.start[None]
    assert np.isfinite(problem.costs(start)).all()
    tracked = [scenario.objective.reference for scenario in problem.scenarios]
    assert all((gait is adult_norm().reference) == (name != "tutorial") for gait in tracked)


@pytest.mark.parametrize(
    ("speed", "slope", "fits"), [(1.25, 0.0, True), (1.4, 0.5, True), (1.75, 0.0, False)]
)
def test_the_norm_is_taken_unasked_where_it_is_like_the_target(speed, slope, fits):
    kept = {"tgt_vel": (speed,), "tgt_slope": (slope,), "weights": {"kinematic": 1.0}}
    if fits:
        assert make_problem(GaitConfiguration(**kept), threads=1)
    else:
        with pytest.raises(GaitError, match=r"at 1.75 m/s.*reference=adult"):
            make_problem(GaitConfiguration(**kept), threads=1)
        assert make_problem(GaitConfiguration(**kept, reference=("adult",)), threads=1)


def test_a_walk_is_judged_beside_the_norm(capsys):
    words = ["gait", "evaluate", str(SHIPPED_WALK), "sim_time=2", "--json"]
    assert main(words) == 0
    assert "adult walking" in capsys.readouterr().out


def test_the_command_takes_the_norm_by_its_name(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["optimize", "walk", "--speed", "1.6", "reference=adult", "--dry-run", "--json"]
    assert main(["gait", *words]) == 0
    assert not any(
        "No gait is tracked" in note for note in json.loads(capsys.readouterr().out)["notes"]
    )
