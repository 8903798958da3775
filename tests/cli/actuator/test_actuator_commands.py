"""``trueup actuator fit``, ``evaluate`` and ``list``: files, resume after a kill, wrong input."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from servo_bench_logs import write_logs
from tests.waiting import until

from trueup.cli import main
from trueup.runs import RunDirectory, Store


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    return write_logs(tmp_path_factory.mktemp("logs"))


@pytest.fixture
def options(logdir, tmp_path):
    words = ["actuator", "fit", "--actuator", "xl330", "--model", "m1", "--logdir", logdir]
    return [*map(str, words), "--output", str(tmp_path / "m1.json")]


def test_fit_then_evaluate(options, command, logdir, tmp_path):
    quick = ["--method", "least-squares", "--trials", "400", "--validation_kp", "400"]
    code, found = command(*options, *quick)
    assert code in (0, 3)
    assert found["held_out"]["by_log"].keys() == {"kp400"}
    assert found["mae"] == found["training"]["mae"] < 2e-3
    assert found["mae"] < 0.1 * found["start"]["training"]
    names = [row["name"] for row in found["parameters"]]
    assert names[:3] == ["kt", "R", "armature"]
    assert all(row["interval"] is not None for row in found["parameters"])
    written = json.loads((tmp_path / "m1.json").read_text())
    assert written["kt"] == found["parameters"][0]["value"]
    assert len(written["provenance"]["inputs"]) == 3

    evaluate = ["actuator", "evaluate", "--logdir", logdir, "--params", tmp_path / "m1.json"]
    code, errors = command(*evaluate, "--actuator", "xl330", "--model", "m1")
    assert code == 0
    assert errors["by_log"] == {**found["training"]["by_log"], **found["held_out"]["by_log"]}
    assert errors["mae"] == pytest.approx(np.mean(list(errors["by_log"].values())))
    assert command(*options, "--eval")[1]["mae"] == errors["mae"]
    assert command(*evaluate, "scheme=bam")[1]["mae"] != errors["mae"]
    code, wrong = command(*evaluate, "--model", "m6")
    assert code == 2
    assert "the friction model 'm1', expected 'm6'" in wrong["message"]

    # one that has ended stays as it is; another cannot take its place unasked
    run = str(tmp_path / "m1.run")
    code, again = command("study", "resume", run)
    assert again["parameters"] == found["parameters"]
    assert command("study", "show", run)[1]["kind"] == "servo"
    code, refused = command(*options, *quick)
    assert code == 2
    assert "--overwrite" in refused["message"]
    code, changed = command(*options, *quick, "--resume", "--seed", "1")
    assert code == 2
    assert "a different 'seed'" in changed["message"]


def test_people_see_what_a_fit_is_worth(options, capsys):
    quick = ["--method", "random", "--trials", "64", "--validation-kp", "0", "--quiet"]
    assert main([*options, *quick, "--set", "R=3.2", "--reset_period", "0.4"]) == 0
    text = capsys.readouterr().out
    assert "mean absolute error, mrad" in text
    assert "95 % interval" in text
    assert "before the fit" in text
    assert "  R " not in text


def test_a_dry_run_writes_nothing(options, command, tmp_path):
    code, planned = command(*options, "--dry-run", "--validation-kp", "100", "200")
    assert code == 0
    assert planned["held_out_logs"] == ["kp100", "kp200"]
    assert planned["choice"] is None
    assert not list(tmp_path.iterdir())


def test_a_dry_run_without_a_model_says_what_is_tried(options, command, tmp_path):
    place = options.index("--model")
    unnamed = [*options[:place], *options[place + 2 :], "--dry-run"]
    code, planned = command(*unnamed, "try_terms=torque_saturation")
    assert code == 0
    assert planned["choice"]["models"] == ["m1", "m2", "m3", "m4", "m5", "m6"]
    assert planned["choice"]["terms"] == ["torque_saturation"]
    assert planned["choice"]["left_out"] == ["100", "200", "400"]
    assert 0 < planned["choice"]["seconds"] < 3600
    assert not list(tmp_path.iterdir())


def test_a_fit_begins_from_an_earlier_one(options, command, tmp_path):
    command(*options, "--method", "random", "--trials", "64")
    again = [word.replace("m1.json", "second.json") for word in options]
    run = str(tmp_path / "m1.run")
    code, found = command(*again, "--method", "random", "--trials", "1", "--load-study", run)
    first = json.loads((tmp_path / "m1.run" / "solution.json").read_text())
    assert code == 0
    assert found["mae"] <= first["mae"]
    assert any("m1.run" in note or "earlier" in note for note in found["notes"])


def history(run):
    with Store.open(RunDirectory.open(run).study) as store:
        found = store.history()
    return found.X, found.costs


@pytest.mark.slow
def test_a_killed_fit_goes_on_as_if_it_had_not_been(options, tmp_path):
    words = [*options, "--method", "cmaes", "--trials", "1500", "--seed", "2", "--quiet"]
    whole = [word.replace("m1.json", "whole.json") for word in words]
    assert main(whole) == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "trueup", *words], stdout=subprocess.DEVNULL, env=dict(os.environ)
    )
    run, file = tmp_path / "m1.run", tmp_path / "m1.json"
    try:
        until(lambda: file.exists() and (run / "parameters.json").exists(), process)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert json.loads(file.read_text())["provenance"]["status"] == "in progress"
    assert main(["study", "resume", str(run), "--quiet"]) == 0
    for stopped, straight in zip(history(run), history(tmp_path / "whole.run"), strict=True):
        assert np.array_equal(stopped, straight)
    results = [json.loads((tmp_path / f"{name}.json").read_text()) for name in ("m1", "whole")]
    assert all(results[0][name] == results[1][name] for name in ("kt", "R", "armature"))


def test_list_shows_servos_models_and_terms(command, capsys):
    code, found = command("actuator", "list")
    assert code == 0
    assert {"xl330", "mx106", "sts3215"} <= found["actuators"].keys()
    assert found["models"].keys() == {"m1", "m2", "m3", "m4", "m5", "m6"}
    assert found["actuators"]["xl330"]["parameters"]["kt"]["unit"] == "N m/A"
    assert found["terms"]["command_delay"]["upper"] == 0.05
    assert main(["actuator", "list", "--actuator", "sts3215"]) == 0
    assert "max_velocity" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"--actuator": "xl33"}, "Did you mean 'xl330'"),
        ({"--model": "m9"}, "'m6'"),
        ({"--validation-kp": "300"}, "kp 300 occurs in none of the 3 logs"),
        ({"--set": "r=2"}, "no parameter 'r'"),
        ({"--set": "{'R': 70}"}, "outside its bounds 2 to 5"),
        ({"--set": "R=open('x')"}, "expected values by name"),
        ({"terms=slack": None}, "unknown extended term 'slack'"),
        ({"--actuator": "mx64"}, "is of servo 'xl330', expected 'mx64'"),
        ({"--load-study": "nowhere"}, "no such run directory"),
        ({"--workers": "0"}, "at least 1"),
        ({"vin=0": None}, "above 0 and at most 1e6 V"),
        ({"vin=-5": None}, "above 0 and at most 1e6 V"),
        ({"--reset-period": "0.001"}, "shorter than two samples"),
        ({"speed_weight=nan": None}, "finite and not negative"),
        ({"duty_weight=1000": None}, "contains a measured 'load'"),
    ],
)
def test_wrong_input_is_named(options, command, tmp_path, changes, message):
    words = list(options)
    for option, value in changes.items():
        if option in words:
            words[words.index(option) + 1] = value
        else:
            words += [option] if value is None else [option, value]
    code, error = command(*words)
    assert code == 2
    assert message in error["message"]
    assert not list(tmp_path.iterdir())


def test_logs_that_cannot_be_fitted_are_named(options, command, logdir, tmp_path):
    words = list(options)
    place = words.index("--logdir") + 1
    words[place] = str(tmp_path / "empty")
    (tmp_path / "empty").mkdir()
    assert "contains no log" in command(*words)[1]["message"]
    raw = tmp_path / "raw"
    raw.mkdir()
    content = json.loads((logdir / "kp100.json").read_text())
    del content["dt"]
    (raw / "a.json").write_text(json.dumps(content))
    words[place] = str(raw)
    code, error = command(*words)
    assert code == 2
    assert "trueup actuator process" in error["message"]
    (raw / "b.json").write_text((logdir / "kp200.json").read_text())
    code, found = command(*words, "skip_bad_logs=1", "--method", "random", "--trials", "4")
    assert code == 0
    assert found["training"]["by_log"].keys() == {"b"}
    assert any("a.json" in note for note in found["notes"])


@pytest.mark.parametrize("words", [("m1,m3",), ("m1", "m3"), ("M1,", "m3")])
def test_models_are_separated_by_commas_or_blanks(command, logdir, tmp_path, words):
    given = ("actuator", "compare", "--logdir", logdir, "--output", tmp_path / "run", "--dry-run")
    code, planned = command(*given, "--friction-only", "--models", *words)
    assert code == 0
    assert planned["fitted"] == ["m1", "m3"]
