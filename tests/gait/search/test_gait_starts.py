"""What a gait optimisation begins with: checked before a folder is made, and kept in the run."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from given_configurations import FIRST_WALK

from trueup.cli import main

SHORT = ("--popsize", "4", "--maxiter", "1", "--sim-time", "0.1", "--quiet")


def called(capsys, *words):
    code = main([*map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def optimized(target, *words):
    return ["gait", "optimize", FIRST_WALK, *SHORT, "--save-path", target, *words]


def start_of_run(folder):
    return yaml.safe_load((folder / "experiment.yaml").read_text())["start"]


def nudged(path, n=77):
    vector = 1.0 + 0.01 * np.random.default_rng(0).standard_normal(n)
    vector[0] -= 0.2  # theta_tgt within its bounds
    vector[77:] = 0.4
    np.savetxt(path, vector)
    return vector


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A short run from the nominal vector."""
    folder = tmp_path_factory.mktemp("finished") / "first"
    assert main([*map(str, optimized(folder)), "--json"]) == 0
    return folder


@pytest.fixture
def run(finished, tmp_path):
    """A copy of that run, which a test may change."""
    return Path(shutil.copytree(finished, tmp_path / "first"))


def test_overwriting_the_run_that_it_starts_from_keeps_the_start(capsys, run):
    best = json.loads((run / "solution.json").read_text())["parameters"]
    code, _ = called(capsys, *optimized(run, "--param-path", run, "--overwrite"))
    assert code == 0
    start = start_of_run(run)
    assert start == {row["name"]: row["value"] for row in best}


def test_a_reference_within_the_run_that_is_replaced_is_refused(capsys, run):
    reference = run / "mine.json"
    reference.write_text("{}")
    before = sorted(path.name for path in run.iterdir())
    words = optimized(run, f"reference={reference}", "--overwrite")
    code, answer = called(capsys, *words)
    assert code == 2 and "which is an input, is in the run directory" in answer["message"]
    assert sorted(path.name for path in run.iterdir()) == before


def test_a_run_goes_on_without_what_it_started_from(capsys, run, tmp_path):
    second, whole = tmp_path / "second", tmp_path / "whole"
    assert called(capsys, *optimized(second, "--param-path", run))[0] == 0
    words = optimized(whole, "--param-path", run, "--maxiter", "2")
    code, answer = called(capsys, *words)
    assert code == 0
    shutil.rmtree(run)
    words = ["gait", "optimize", FIRST_WALK, "--save-path", second, "--resume", "--maxiter", "2"]
    code, other = called(capsys, *words, "--quiet")
    assert code == 0 and other["parameters"] == answer["parameters"]


def test_the_resolved_experiment_alone_repeats_a_run(capsys, run, tmp_path):
    second, third = tmp_path / "second", tmp_path / "third"
    code, answer = called(capsys, *optimized(second, "--param-path", run, "--seed", "3"))
    assert code == 0
    file = tmp_path / "alone.yaml"
    file.write_text((second / "experiment.yaml").read_text())
    shutil.rmtree(run)
    shutil.rmtree(second)
    code, other = called(capsys, "gait", "optimize", file, "--save-path", third, "--quiet")
    assert code == 0 and other["parameters"] == answer["parameters"]
    assert other["cost"] == answer["cost"]


def test_the_experiment_of_other_unknowns_is_refused(capsys, run, tmp_path):
    words = ["gait", "optimize", run / "experiment.yaml", "--save-path", tmp_path / "other"]
    code, answer = called(capsys, *words, "--ExoOn", "1", "--model", "ankle")
    assert code == 2 and "other unknowns" in answer["message"]
    assert not (tmp_path / "other").exists()


def test_a_resume_that_is_refused_changes_no_file(capsys, run):
    """A study that does not fit is found before anything that describes the run is written."""
    experiment = run / "experiment.yaml"
    content = yaml.safe_load(experiment.read_text())
    content["start"]["theta_tgt"] += 0.25
    experiment.write_text(yaml.safe_dump(content))
    before = {path.name: path.read_bytes() for path in run.glob("*.yaml")}
    words = ["gait", "optimize", FIRST_WALK, "--save-path", run, "--resume", "--maxiter", "9"]
    code, answer = called(capsys, *words, "--quiet")
    assert code == 2 and "start values" in answer["message"]
    assert {path.name: path.read_bytes() for path in run.glob("*.yaml")} == before


@pytest.mark.parametrize("held", [True, False])
def test_a_pose_that_cannot_be_is_refused_before_a_folder_is_made(capsys, tmp_path, held):
    file = tmp_path / "vector.json"
    file.write_text(json.dumps({"hip_flexion_r": 100.0}))
    words = ("held=hip_flexion_r:100",) if held else ("--param-path", file)
    code, answer = called(capsys, *optimized(tmp_path / "run", *words))
    assert code == 2 and "hip_flexion_r of the pose is" in answer["message"]
    assert not (tmp_path / "run").exists()


def test_a_torque_curve_out_of_order_is_refused_before_a_folder_is_made(
    capsys, tmp_path, recorded_data
):
    """MyoAssist's curves may not rise longer than it takes to their peak."""
    model = recorded_data / "myoassist/models/22muscle_2D/myoLeg22_2D_TUTORIAL.xml"
    (best,) = (recorded_data / "myoassist/tutorial").glob("*_Best.txt")
    vector = np.loadtxt(best)
    vector[-3:] = 0.95, 0.9, 0.05  # rise, time of the peak, fall
    np.savetxt(tmp_path / "vector.txt", vector)
    words = ["gait", "optimize", "tutorial", "--model-file", model, "compat=myoassist", "-eff"]
    words += ["--param-path", tmp_path / "vector.txt", "--save-path", tmp_path / "run", *SHORT]
    code, answer = called(capsys, *words)
    assert code == 2 and "cannot start a walk" in answer["message"]
    assert not (tmp_path / "run").exists()


def test_a_vector_without_a_device_is_not_taken_for_the_free_entries_of_one_with(capsys, tmp_path):
    """With three entries held the unknowns are as many as the entries of a bare vector."""
    vector = nudged(tmp_path / "vector.txt")
    words = ["--model", "ankle", "--ExoOn", "1", "--param-path", tmp_path / "vector.txt"]
    words += ["held=exo_rise:0.3,exo_peak_time:0.6,exo_fall:0.1"]
    assert called(capsys, *optimized(tmp_path / "run", *words))[0] == 0
    start = start_of_run(tmp_path / "run")
    assert len(start) == 77
    bare = tmp_path / "bare"
    words = ["--param-path", tmp_path / "vector.txt"]
    assert called(capsys, *optimized(bare, *words))[0] == 0
    for name, value in start_of_run(bare).items():
        assert start[name] == value
    assert start["theta_tgt"] == vector[0]


def test_gains_of_both_legs_become_those_of_each(capsys, run, tmp_path):
    for source in (run, next(run.glob("*_Best.txt"))):
        target = tmp_path / f"from_{source.name}"
        words = optimized(target, "--param-path", source, "--reflex-mode", "ind")
        assert called(capsys, *words)[0] == 0
        start, shared = start_of_run(target), start_of_run(run)
        best = json.loads((run / "solution.json").read_text())["parameters"]
        found = {row["name"]: row["value"] for row in best}
        assert found.keys() == shared.keys()
        assert start["1_SOL_FG_r"] == start["1_SOL_FG_l"] == found["1_SOL_FG"]
        assert start["hip_flexion_r"] == found["hip_flexion_r"]


def test_a_run_walks_the_same_with_gains_of_each_leg(capsys, run):
    code, one = called(capsys, "gait", "evaluate", run)
    assert code == 0
    code, other = called(capsys, "gait", "evaluate", run, "reflex_mode=ind")
    assert code == 0 and other["scalar"] == one["scalar"]


def test_what_is_taken_over_and_what_is_not_is_said(capsys, tmp_path):
    file = tmp_path / "vector.json"
    file.write_text(json.dumps({"theta_tgt": 1.01, "bogus": 2.0}))
    words = [*map(str, optimized(tmp_path / "run", "--param-path", file))]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "1 start values come from" in told
    assert "Missing in it, so at their default:" in told
    assert "In it, but not a parameter here: 'bogus'" in told


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"theta_tgt": 1.0, "bogus": 2.0}, "are not those of this walk"),
        ("exo", "outside their bounds"),
    ],
)
def test_evaluate_takes_no_other_vector(capsys, tmp_path, run, content, message):
    words = []
    if content == "exo":
        best = json.loads((run / "solution.json").read_text())["parameters"]
        content = {row["name"]: row["value"] for row in best}
        content |= {"exo_peak": 3.0, "exo_rise": 0.2, "exo_peak_time": 0.5, "exo_fall": 0.2}
        words = ["ExoOn=1", "model=ankle"]
    file = tmp_path / "vector.json"
    file.write_text(json.dumps(content))
    code, answer = called(capsys, "gait", "evaluate", file, "sim_time=0.3", *words)
    assert code == 2 and message in answer["message"]


def test_evaluate_takes_no_run_of_another_model(capsys, run):
    code, answer = called(capsys, "gait", "evaluate", run, "ExoOn=1", "model=ankle")
    assert code == 2 and "missing 'exo_peak'" in answer["message"]


@pytest.mark.parametrize("name", ["empty.npy", "complex.npy", "empty.txt", "words.txt"])
def test_files_without_a_vector_are_one_error(capsys, tmp_path, name):
    file = tmp_path / name
    if name == "complex.npy":
        np.save(file, np.ones(77) + 1j)
    else:
        file.write_bytes(b"a b c" if name == "words.txt" else b"")
    code, answer = called(capsys, "gait", "evaluate", file, "sim_time=0.3")
    assert code == 2 and name in answer["message"]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("start_in_cycle=1", "start_in_cycle is not supported by this command; remove it"),
        ("param_path=nosuchfile", "param_path is not supported by this command; remove it"),
        ("search=scatter", "search is not supported by this command; remove it"),
        ("--param-path=nosuchfile", "no option --param-path; trueup "),
    ],
)
def test_settings_of_a_search_are_refused_where_nothing_is_searched(capsys, run, word, message):
    code, answer = called(capsys, "gait", "evaluate", run, word)
    assert code == 2 and message in answer["message"]


def test_the_mode_evaluate_walks_as_its_own_configuration_says(capsys, run, tmp_path):
    """The run was searched for a third of a second; the configuration named here says otherwise."""
    words = ["gait", "optimize", FIRST_WALK, "optim_mode=evaluate", "sim_time=0.2"]
    code, answer = called(capsys, *words, "--param-path", run)
    assert code == 0
    file = next(run.glob("*_Best.txt"))
    words = ["gait", "evaluate", file, "--config", FIRST_WALK, "sim_time=0.2"]
    code, other = called(capsys, *words)
    assert code == 0 and answer["scalar"] == other["scalar"]
