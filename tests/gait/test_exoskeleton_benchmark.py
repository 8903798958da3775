"""The benchmark of exoskeletons: its searches, and what it says of both arms."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from trueup.errors import GaitError
from trueup.gait import load_configuration, make_problem


@pytest.fixture
def benchmark_of_exoskeletons(monkeypatch, tmp_path):
    """The benchmark, with walks of a fraction of a second and few candidates."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    module = importlib.import_module("gait_exoskeleton")
    small = load_configuration(module.CONFIGURATION).plain() | {"popsize": 4, "sim_time": 0.3}
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(small))
    monkeypatch.setattr(module, "CONFIGURATION", str(tmp_path / "small.yaml"))
    return module


@pytest.fixture
def searches(benchmark_of_exoskeletons):
    return benchmark_of_exoskeletons.Searches(
        start=benchmark_of_exoskeletons.START, generations=1, device="ankle", slope=5.0
    )


def experiment_of(directory):
    return yaml.safe_load(directory.experiment.read_text())


def test_both_arms_search_the_same_gains_from_the_same_moment(
    benchmark_of_exoskeletons, searches, tmp_path
):
    arms = ("with", "without")
    runs = [benchmark_of_exoskeletons.searched(tmp_path, searches, arm, 3) for arm in arms]
    with_device, without = [experiment_of(run) for run in runs]
    curve = {"exo_peak": 0.06, "exo_rise": 0.25, "exo_peak_time": 0.35, "exo_fall": 0.25}
    assert with_device["start"] == {**without["start"], **curve}
    assert set(without["start"]) == set(benchmark_of_exoskeletons.NEAR["ankle"])
    stored = json.loads(benchmark_of_exoskeletons.START.read_text())
    for content in (with_device, without):
        configuration = content["configuration"]
        assert configuration["joint_speeds"] == stored["joint_speeds"]
        # the rest of the vector stays as it is stored; 1 are entries that nothing reads
        held = configuration["held"].values()
        assert set(held) | set(without["start"].values()) >= set(stored["vector"]) - {1.0}
    own = ("held", "model", "ExoOn", "param_path")
    same = [
        {key: value for key, value in content["configuration"].items() if key not in own}
        for content in (with_device, without)
    ]
    assert same[0] == same[1]


def test_a_run_goes_on_with_what_it_was_begun_with(
    benchmark_of_exoskeletons, searches, tmp_path, capsys
):
    run = benchmark_of_exoskeletons.searched(tmp_path, searches, "without", 3)
    kept = run.experiment.read_bytes()
    again = benchmark_of_exoskeletons.searched(tmp_path, searches, "without", 3)
    assert again.path == run.path and run.experiment.read_bytes() == kept
    other = json.loads(searches.start.read_text())
    other["vector"][0] += 1e-3
    (tmp_path / "walk.json").write_text(json.dumps(other))
    for changed in ({"slope": 0.0}, {"start": tmp_path / "walk.json"}):
        with pytest.raises(GaitError, match="was not done"):
            benchmark_of_exoskeletons.searched(tmp_path, searches._replace(**changed), "without", 3)
        assert "another configuration" in capsys.readouterr().err
    assert run.experiment.read_bytes() == kept


def test_an_arm_ends_with_a_candidate_of_the_last_generations(
    benchmark_of_exoskeletons, searches, tmp_path, capsys
):
    found = benchmark_of_exoskeletons.spared(tmp_path, searches, "with", 3)
    printed = capsys.readouterr().out
    assert "with the device ankle, seed 3, 5 evaluations" in printed
    assert "torque over stance" in printed
    best = np.loadtxt(tmp_path / "with_ankle_3_Best.txt")
    assert best.shape == (81,) and np.isfinite(found.cost)


def test_both_arms_are_compared_as_they_walk_and_at_equal_speed(benchmark_of_exoskeletons):
    def spared(cost, effort, beside, left_over):
        several = [
            benchmark_of_exoskeletons.AtSpeed(at_speed, 0.01 * at_speed, 40, 64)
            for at_speed in (beside, left_over)
        ]
        return benchmark_of_exoskeletons.Spared(cost, effort, *several)

    device = {1: spared(65.0, 0.90, 0.95, 0.93), 2: spared(66.0, 0.80, 0.90, 0.91)}
    without = {1: spared(70.0, 1.00, 1.00, 1.00), 2: spared(69.0, 1.00, 1.00, 1.00)}
    lines = benchmark_of_exoskeletons.compared([device, without], 1.02)
    told = {line.partition(": ")[0]: line.partition(": ")[2] for line in lines}
    assert "-10.0 %" in told["seed 1"]
    assert "for each kg of the body it is -8.2 %" in told["seed 1"]
    assert told["mean of the seeds"] == "-15.0 ± 5.0 %"
    # of each arm the one that cost least, which need not be of the same seed
    cheapest = "cheapest walk of all seeds"
    assert "0.90000 with the device against 1.00000 without" in told[cheapest]
    at = "from the walks beside, at 1.25 m/s"
    assert told[f"seed 1, {at}"].endswith("-5.0 ± 1.3 %")
    assert told[f"seed 2, {at}"].endswith("-10.0 ± 1.3 %")
    assert told[f"{cheapest}, {at}"].endswith("-5.0 ± 1.3 %")
    assert told[f"mean of the seeds, {at}"] == "-7.5 ± 2.5 %"
    at = "from all candidates left over, at 1.25 m/s"
    assert told[f"seed 1, {at}"].endswith("-7.0 ± 1.3 %")
    assert told[f"mean of the seeds, {at}"] == "-8.0 ± 1.0 %"
    assert len(told) == len(lines) == 3 + 1 + 3 + 1 + 2 + 1


def test_one_seed_has_no_mean(benchmark_of_exoskeletons):
    several = benchmark_of_exoskeletons.AtSpeed(1.0, 0.0, 64, 64)
    walk = benchmark_of_exoskeletons.Spared(1.0, 1.0, several, several)
    lines = benchmark_of_exoskeletons.compared([{3: walk}, {3: walk}], 1.0)
    assert [line.partition(" ")[0] for line in lines] == ["seed", "seed", "seed"]


def test_effort_at_speed_is_a_line_through_the_walks_that_last(
    benchmark_of_exoskeletons, monkeypatch, walk_problem
):
    scenario = benchmark_of_exoskeletons.for_long(walk_problem)
    assert scenario.simulation.settings.duration == benchmark_of_exoskeletons.DURATION
    speed = np.array([1.20, 1.24, 1.30, 1.25])
    terms = {
        "lasted": np.array([20.0, 20.0, 20.0, 19.9]),
        "speed": speed,
        "effort": np.where(speed == 1.25, 9.0, 0.5 - 2.0 * (speed - 1.25)),
    }
    monkeypatch.setattr(benchmark_of_exoskeletons, "evaluate", lambda *_: (None, terms))
    found = benchmark_of_exoskeletons.effort_at_speed(scenario, np.zeros((4, 81)))
    assert (found.lasted, found.walked) == (3, 4)
    assert found.effort == pytest.approx(0.5) and found.error == pytest.approx(0.0, abs=1e-7)
    terms["lasted"][0] = 3.0
    fewer = benchmark_of_exoskeletons.effort_at_speed(scenario, np.zeros((4, 81)))
    assert fewer.lasted == 2 and np.isnan(fewer.effort)


@pytest.fixture
def walk_problem(benchmark_of_exoskeletons):
    return make_problem(load_configuration(benchmark_of_exoskeletons.CONFIGURATION), threads=1)
