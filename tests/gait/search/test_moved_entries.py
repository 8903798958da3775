"""A search that moves some entries only, and starts at values that are given by name."""

import json
import shutil

import numpy as np
import pytest
import yaml
from given_configurations import FIRST_WALK, WITH_DEVICE, nominal_vector

from trueup.cli import main
from trueup.errors import GaitError
from trueup.gait import load_configuration, make_problem

SHORT = ("--popsize", 4, "--maxiter", 1, "--sim-time", 0.1, "--quiet")
MOVED = ("1_SOL_FG", "knee_angle_r")


def called(capsys, *words):
    code = main(["gait", *map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def optimized(capsys, target, *words, configuration=FIRST_WALK):
    return called(capsys, "optimize", configuration, *SHORT, "--save-path", target, *words)


def experiment_of(folder):
    return yaml.safe_load((folder / "experiment.yaml").read_text())


def best_of(folder):
    return np.loadtxt(next(folder.glob("*_Best.txt")))


@pytest.fixture
def vector(tmp_path):
    parameters = problem_of().parameters
    values = 1.0 + 0.01 * np.random.default_rng(0).standard_normal(77)
    values[parameters.group("activation")] = 1.0  # the least that it may be
    for name in ("theta_tgt", "knee_off_st", "mtp_tgt"):  # where 1 is out of the bounds
        values[parameters.index(name)] = parameters.start[parameters.index(name)]
    np.savetxt(tmp_path / "vector.txt", values)
    return values


@pytest.fixture
def file(tmp_path, vector):
    return tmp_path / "vector.txt"


def problem_of(**changes):
    return make_problem(load_configuration(FIRST_WALK).with_changes(changes), threads=1)


def test_only_what_is_named_is_moved():
    problem = problem_of(moved=MOVED)
    assert problem.space.names == MOVED
    assert problem.space.deviation is not None and len(problem.space.deviation) == 2


def test_a_group_stands_for_its_entries():
    problem = problem_of(moved=("pose", "1_SOL_FG"), ExoOn=True)
    groups = {entry.name: entry.group for entry in problem.parameters.entries}
    pose = {name for name, group in groups.items() if group == "pose"}
    assert set(problem.space.names) == {*pose, "1_SOL_FG"}
    # a configuration holds for a search without a device as well
    assert problem_of(moved=("exoskeleton", "1_SOL_FG")).space.names == ("1_SOL_FG",)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"moved": ("1_SOL",)}, r"no entry '1_SOL'.*Did you mean"),
        ({"moved": MOVED, "held": {"1_SOL_FG": 1.1}}, "'1_SOL_FG' is in both moved and held"),
        ({"moved": ("gain",), "held": {"1_SOL_FG": 1.1}}, "'1_SOL_FG' is in both moved and held"),
        ({"moved": ("exoskeleton",)}, "no free entry of this walk"),
        (
            {"moved": ("exoskeleton",), "ExoOn": True, "fixed_exo": True},
            "no free entry of this walk",
        ),
        ({"moved": ()}, "moved: "),
    ],
)
def test_what_cannot_be_moved_is_refused(changes, words):
    with pytest.raises(GaitError, match=words):
        problem_of(**changes)


def test_others_stay_where_the_search_starts(capsys, tmp_path, vector, file):
    run = tmp_path / "run"
    code, answer = optimized(capsys, run, "--param-path", file, f"moved={','.join(MOVED)}")
    assert code == 0
    assert [row["name"] for row in answer["parameters"]] == list(MOVED)
    names = problem_of().parameters.names
    others = [names.index(name) for name in problem_of().space.names if name not in MOVED]
    np.testing.assert_array_equal(best_of(run)[others], vector[others])
    start = experiment_of(run)["start"]
    assert start == {name: vector[names.index(name)] for name in MOVED}


def test_others_may_be_held_elsewhere(capsys, tmp_path, vector, file):
    run = tmp_path / "run"
    words = ("--param-path", file, f"moved={','.join(MOVED)}", "held=Tr_Sw:0.7")
    assert optimized(capsys, run, *words)[0] == 0
    names = problem_of().parameters.names
    best = best_of(run)
    assert best[names.index("Tr_Sw")] == 0.7
    assert best[names.index("theta_tgt")] == vector[0]


def test_the_run_alone_goes_on_is_repeated_and_walks(capsys, tmp_path, vector, file):
    run, again, alone = (tmp_path / name for name in ("run", "again", "alone.yaml"))
    words = ("--param-path", file, f"moved={','.join(MOVED)}")
    code, whole = optimized(capsys, tmp_path / "whole", *words, "--maxiter", 2)
    assert code == 0
    code, answer = optimized(capsys, run, *words)
    file.unlink()
    assert code == 0
    shutil.copy(run / "experiment.yaml", alone)
    code, other = called(capsys, "optimize", alone, "--save-path", again, "--quiet")
    assert code == 0 and other["parameters"] == answer["parameters"]
    np.testing.assert_array_equal(best_of(again), best_of(run))
    code, walked = called(capsys, "evaluate", run)
    assert code == 0 and walked["scalar"] == pytest.approx(answer["cost"], rel=1e-12)
    words = ("--save-path", run, "--resume", "--maxiter", 2, "--quiet")
    code, resumed = called(capsys, "optimize", FIRST_WALK, *words)
    assert code == 0 and resumed["parameters"] == whole["parameters"]


def test_another_run_starts_from_all_of_it(capsys, tmp_path, vector, file):
    first, second = tmp_path / "first", tmp_path / "second"
    assert optimized(capsys, first, "--param-path", file, f"moved={','.join(MOVED)}")[0] == 0
    assert optimized(capsys, second, "--param-path", first)[0] == 0
    start = experiment_of(second)["start"]
    problem = problem_of()
    best = dict(zip(problem.parameters.names, best_of(first), strict=True))
    assert start == {name: best[name] for name in problem.space.names}


def test_the_experiment_of_a_run_does_not_mix_two_walks(capsys, tmp_path, vector, file):
    """It holds what was not moved at the values of the first walk."""
    run, other = tmp_path / "run", tmp_path / "other"
    assert optimized(capsys, run, "--param-path", file, f"moved={','.join(MOVED)}")[0] == 0
    np.savetxt(tmp_path / "another.txt", vector + 0.01)
    words = ("--param-path", tmp_path / "another.txt")
    experiment = run / "experiment.yaml"
    code, answer = optimized(capsys, other, *words, configuration=experiment)
    assert code == 2 and "use the original configuration" in answer["message"]
    assert not other.exists()


def test_start_values_come_before_those_of_the_path(capsys, tmp_path, vector, file):
    run = tmp_path / "run"
    words = ("--param-path", file, "start_values=Tr_Sw:0.7,1_SOL_FG:1.1")
    assert optimized(capsys, run, *words)[0] == 0
    start = experiment_of(run)["start"]
    assert (start["Tr_Sw"], start["1_SOL_FG"], start["theta_tgt"]) == (0.7, 1.1, vector[0])
    # what is not moved stays there
    words = (*words, f"moved={','.join(MOVED)}")
    assert optimized(capsys, tmp_path / "some", *words)[0] == 0
    assert experiment_of(tmp_path / "some")["start"]["1_SOL_FG"] == 1.1
    assert best_of(tmp_path / "some")[problem_of().parameters.names.index("Tr_Sw")] == 0.7


def test_a_repeated_experiment_may_start_elsewhere(capsys, tmp_path, vector, file):
    run, other = tmp_path / "run", tmp_path / "other"
    assert optimized(capsys, run, "--param-path", file)[0] == 0
    words = ("start_values=Tr_Sw:0.7",)
    code, _ = optimized(capsys, other, *words, configuration=run / "experiment.yaml")
    assert code == 0
    first, second = experiment_of(run)["start"], experiment_of(other)["start"]
    assert second == {**first, "Tr_Sw": 0.7}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("1_SOL:1.0",), "no entry '1_SOL'"),
        (("1_SOL_FG:-1.0",), "must be from 0.1 to"),
        (("1_SOL_FG:1.0,1_SOL_FG:1.1",), "twice"),
        (("1_SOL_FG:1.0", "held=1_SOL_FG:1.2"), "it is held at 1.2"),
        (("exo_peak:2.0", "--ExoOn", 1), "must be from 0 to 1"),
        (("knee_angle_r:100.0",), "cannot start a walk"),
    ],
)
def test_start_values_that_cannot_be_are_refused(capsys, tmp_path, words, told):
    first, *others = words
    code, answer = optimized(capsys, tmp_path / "run", f"start_values={first}", *others)
    assert code == 2 and told in answer["message"]
    assert not (tmp_path / "run").exists()


def test_both_arms_of_a_comparison_take_the_same_configuration(capsys, tmp_path, vector, file):
    words = ("--param-path", file, "perturbed_repeats=2")
    arms = {"with": (), "without": ("--model", "baseline", "--ExoOn", 0)}
    for name, device in arms.items():
        target = tmp_path / name
        given = (*words, *device)
        code, _ = optimized(capsys, target, *given, configuration=WITH_DEVICE)
        assert code == 0
    notes = experiment_of(tmp_path / "with")["notes"]
    assert not any("at their default" in line for line in notes)
    starts = {name: experiment_of(tmp_path / name)["start"] for name in arms}
    curve = {"exo_peak": 0.06, "exo_rise": 0.25, "exo_peak_time": 0.35, "exo_fall": 0.25}
    assert starts["with"] == {**starts["without"], **curve}
    assert len(starts["without"]) == 9
    (note,) = [line for line in experiment_of(tmp_path / "without")["notes"] if "exo_" in line]
    assert note.startswith("No exoskeleton is on: 'exo_peak'")


def test_a_start_in_the_cycle_of_a_walk_is_what_stays(capsys, tmp_path, monkeypatch):
    """The pose that is found there is held with the gains."""
    monkeypatch.setattr("trueup.gait.search.starts.cycle_start", found_in_cycle)
    vector = nominal_vector()
    np.savetxt(tmp_path / "vector.txt", vector)
    run = tmp_path / "run"
    words = ("--param-path", tmp_path / "vector.txt", "start_in_cycle=1", "moved=1_SOL_FG")
    assert optimized(capsys, run, *words)[0] == 0
    names = problem_of().parameters.names
    assert best_of(run)[names.index("hip_flexion_r")] == 1.02
    assert experiment_of(run)["configuration"]["joint_speeds"] == {"knee_angle_r": 0.5}


def found_in_cycle(simulation, vector):
    """What the search for a steady stride would find, which takes seconds."""
    from trueup.gait import CycleStart

    changed = vector.copy()
    changed[simulation.parameters.index("hip_flexion_r")] = 1.02
    return CycleStart(changed, {"knee_angle_r": 0.5}, 4.0)
