"""What ``trueup gait optimize --resume`` goes on with, and what it refuses."""

import json

import pytest
import yaml
from given_configurations import FIRST_WALK

from trueup.cli import main
from trueup.runs import RunDirectory

WORDS = ("--sim-time", 0.2, "--popsize", 4, "--maxiter", 1)


def optimized(capsys, configuration, target, *words):
    words = ("optimize", configuration, "--save-path", target, *words, "--quiet", "--json")
    code = main(["gait", *map(str, words)])
    return code, json.loads(capsys.readouterr().out)


def test_a_run_is_not_gone_on_with_by_another_configuration(capsys, tmp_path):
    run = tmp_path / "run"
    assert optimized(capsys, FIRST_WALK, run, *WORDS)[0] == 0
    kept = (run / "experiment.yaml").read_bytes()
    code, answer = optimized(capsys, "walk", run, "--resume", "--maxiter", 2)
    assert code == 2 and "another configuration than walk" in answer["message"]
    assert f"trueup study resume {run}" in answer["message"]
    assert (run / "experiment.yaml").read_bytes() == kept
    assert optimized(capsys, FIRST_WALK, run, "--resume", "--maxiter", 2)[0] == 0
    # its own experiment file is no other one
    experiment = run / "experiment.yaml"
    assert optimized(capsys, experiment, run, "--resume", "--maxiter", 3)[0] == 0
    assert main(["study", "resume", str(run), "--quiet", "--json"]) == 0
    capsys.readouterr()
    assert optimized(capsys, "walk", run, "--resume")[0] == 2


def test_a_file_that_changed_is_another_configuration(capsys, tmp_path):
    file, run = tmp_path / "mine.yaml", tmp_path / "run"
    content = {"cost": "eff", "sim_time": 0.2, "popsize": 4, "maxiter": 1}
    file.write_text(yaml.safe_dump(content))
    assert optimized(capsys, file, run)[0] == 0
    file.write_text(yaml.safe_dump({**content, "cost": "vel"}))
    code, answer = optimized(capsys, file, run, "--resume")
    assert code == 2 and "another configuration than" in answer["message"]


def test_a_run_that_was_killed_at_birth_begins_anew(capsys, tmp_path):
    """Between the marker of the run and what it is there is a tenth of a second."""
    run, whole = tmp_path / "run", tmp_path / "whole"
    RunDirectory.create(run)
    code, answer = optimized(capsys, FIRST_WALK, run, *WORDS)
    assert code == 2 and "--resume" in answer["message"]
    code, answer = optimized(capsys, FIRST_WALK, run, *WORDS, "--resume")
    assert code == 0
    assert answer["cost"] == optimized(capsys, FIRST_WALK, whole, *WORDS)[1]["cost"]


@pytest.mark.parametrize("missing", ["run.json", None])
def test_what_is_no_run_is_not_begun_by_resuming(capsys, tmp_path, missing):
    run = tmp_path / "run"
    if missing is not None:
        run.mkdir()
        (run / "notes.txt").write_text("mine")
    code, _ = optimized(capsys, FIRST_WALK, run, *WORDS, "--resume")
    assert code == 2
    assert not run.exists() or [path.name for path in run.iterdir()] == ["notes.txt"]
