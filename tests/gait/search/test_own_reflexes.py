"""Searches with own reflexes: stored with their run, resumed, evaluated and exported with it."""

import json

import pytest
import yaml
from given_configurations import FIRST_WALK

from trueup.cli import main
from trueup.gait import shipped_reflexes

WORDS = ("--sim-time", 0.3, "--popsize", 4, "--maxiter", 1)


def own_reflexes(path, gain="11_SOL_CP"):
    """A file with one reflex more, of the centre of pressure."""
    content = yaml.safe_load(shipped_reflexes())
    content["signals"].append({"name": "pressure", "measured": "pressure_x", "delay": 0.01})
    content["gains"].append({"name": gain, "scale": 2.0, "lower": 0})
    reflex = {"name": "11_SOL", "muscle": "SOL", "gate": "stance"}
    content["reflexes"].append({**reflex, "terms": [{"gain": gain, "signal": "pressure"}]})
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


@pytest.fixture
def call(capsys):
    """Call of a command: exit code, and the JSON that it prints."""

    def answer(*words):
        capsys.readouterr()
        code = main([*map(str, words), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return answer


def search(call, target, *words):
    return call("gait", "optimize", FIRST_WALK, "--save-path", target, *words, "--quiet")


def test_a_run_keeps_its_reflexes(call, tmp_path):
    file, run = own_reflexes(tmp_path / "mine.yaml"), tmp_path / "run"
    assert search(call, run, "--controller", file, *WORDS)[0] == 0
    assert "11_SOL_CP" in json.loads((run / "parameters.json").read_text())["parameters"]
    assert (run / "controller.yaml").read_bytes() == file.read_bytes()
    first = call("gait", "evaluate", run)
    # the file of the next trial
    own_reflexes(file, gain="12_SOL_CP")
    assert call("gait", "evaluate", run) == first
    code, answer = search(call, run, "--controller", file, "--resume", "--maxiter", 2)
    assert code == 2 and "another content" in answer["message"]
    file.unlink()
    assert call("gait", "evaluate", run) == first
    assert call("gait", "export", run, "--output", tmp_path / "walk.sto")[0] == 0
    assert call("study", "resume", run, "--quiet")[0] == 0
    own_reflexes(file)
    assert search(call, run, "--controller", file, *WORDS[:-1], 3, "--resume")[0] == 0
    stored = run / "controller.yaml"
    stored.write_text(stored.read_text() + "# changed\n")
    code, answer = call("gait", "evaluate", run)
    assert code == 2 and "controller.yaml has changed" in answer["message"]


def test_a_run_of_the_shipped_reflexes_is_not_resumed_with_own_ones(call, tmp_path):
    own, run = own_reflexes(tmp_path / "mine.yaml"), tmp_path / "run"
    assert search(call, run, *WORDS)[0] == 0
    code, answer = search(call, run, "--controller", own, "--resume", "--maxiter", 2)
    assert code == 2 and "another configuration" in answer["message"]


def test_reflexes_act_on_the_walk(call, tmp_path):
    own = own_reflexes(tmp_path / "mine.yaml")
    runs = [tmp_path / name for name in ("without", "with")]
    costs = [
        search(call, run, *words, *WORDS)[1]["cost"]
        for run, words in zip(runs, ((), ("--controller", own, "start_values=11_SOL_CP:3")))
    ]
    assert costs[0] != costs[1]


def test_another_search_is_told_of_other_reflexes(call, tmp_path):
    own, run = own_reflexes(tmp_path / "mine.yaml"), tmp_path / "run"
    search(call, run, "--controller", own, *WORDS)
    _, answer = search(call, tmp_path / "next", "--param-path", run, *WORDS)
    assert any("has own reflexes, this search the shipped ones" in n for n in answer["notes"])
    again = ("--param-path", run, "--controller", own)
    _, answer = search(call, tmp_path / "again", *again, *WORDS)
    assert not any("reflexes" in note for note in answer["notes"])


def test_the_run_directory_does_not_swallow_its_reflexes(call, tmp_path):
    run = tmp_path / "run"
    search(call, run, "--controller", own_reflexes(tmp_path / "mine.yaml"), *WORDS)
    code, answer = search(call, run, "--controller", run / "controller.yaml", "--overwrite")
    assert code == 2 and "is an input" in answer["message"]
    assert (run / "controller.yaml").is_file()
