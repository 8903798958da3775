"""A training through the simulator as a run: stop, resume, report, plan."""

import json
import signal
from dataclasses import replace

import pytest
import yaml

pytest.importorskip("torch")

from tests.networks.motion.test_motion_training import MODEL, QUICK, TRUTH, blank_log, simulated

from trueup import runs
from trueup.actuators import save_model
from trueup.actuators.catalogue import entries
from trueup.actuators.logs.files import write_log
from trueup.cli import main
from trueup.errors import RunDirectoryError
from trueup.networks import run_motion_training
from trueup.networks.motion.trainer import MotionTrainer
from trueup.runs import RunInterrupted

SETTINGS = replace(QUICK, max_steps=12, horizons=(0.05,), learn_base=True)


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    blank = [blank_log(kp, n, 0.6) for kp in (100.0, 200.0) for n in (0, 1)]
    for log in simulated(TRUTH, blank):
        write_log(log, folder / f"{log.name}.json")
    save_model(MODEL, folder.parent / "m4.json")
    return folder


@pytest.fixture(scope="module")
def whole(logs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    return run_motion_training(MODEL, logs, folder, settings=SETTINGS, verbose=False)


def stopped(monkeypatch, logs, folder, at=7):
    """The run stopped by Ctrl-C after some gradient steps."""
    step = MotionTrainer.step

    def interrupting(self, share):
        step(self, share)
        if self.done == at:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(MotionTrainer, "step", interrupting)
        with pytest.raises(RunInterrupted, match="stopped after 7 gradient steps") as raised:
            run_motion_training(MODEL, logs, folder, settings=SETTINGS, verbose=False)
    assert f"trueup study resume {folder}" in str(raised.value)


def test_a_stopped_run_ends_as_the_uninterrupted_one(monkeypatch, logs, whole, tmp_path, capsys):
    folder = tmp_path / "run"
    stopped(monkeypatch, logs, folder)
    state = runs.state(folder)
    assert (state.kind, state.state, state.evaluations) == ("motion", "stopped", 7)
    assert main(["study", "resume", str(folder), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["history"] == list(whole.training.history)
    assert result["validation"] == whole.to_dict()["validation"]
    assert runs.state(folder).state == "finished"
    content = (folder / "report.html").read_text()
    assert "Angle error of whole logs" in content
    assert all(name in content for name in whole.errors)


def test_a_run_goes_on_in_python_with_the_same_arguments_only(monkeypatch, logs, tmp_path, whole):
    folder = tmp_path / "run"
    stopped(monkeypatch, logs, folder)
    with pytest.raises(RunDirectoryError, match="started with a different 'hidden'"):
        other = replace(SETTINGS, hidden=7)
        run_motion_training(MODEL, logs, folder, settings=other, resume=True, verbose=False)
    again = run_motion_training(MODEL, logs, folder, settings=SETTINGS, resume=True, verbose=False)
    assert again.errors == whole.errors


def test_a_damaged_checkpoint_is_named(monkeypatch, logs, tmp_path, capsys):
    folder = tmp_path / "run"
    stopped(monkeypatch, logs, folder)
    (folder / "checkpoint.npz").write_bytes(b"PK nothing")
    assert main(["network", "train-motion", "--resume", "--output", str(folder), "--quiet"]) == 2
    assert "checkpoint.npz" in capsys.readouterr().err


def test_a_plan_writes_nothing(logs, tmp_path, capsys):
    words = ["network", "train-motion", str(logs), "--servo", str(logs.parent / "m4.json")]
    words += ["--output", str(tmp_path / "run"), "max_steps=50", "horizons=0.05", "--dry-run"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "at most 50 gradient steps" in text
    assert not (tmp_path / "run").exists()
    assert main(["network", "train-motion", str(logs), "--resume", "-o", str(tmp_path)]) == 2
    assert "remove all options except --output" in capsys.readouterr().err
    assert main(["network", "train-motion", "--output", str(tmp_path / "run")]) == 2
    assert "with --servo" in capsys.readouterr().err


def test_a_servo_of_a_catalogue_of_the_user_is_known_again(logs, tmp_path, monkeypatch, capsys):
    """Trained, resumed and evaluated, each as in a process that knows the package's servos only."""
    known = dict(entries._registered)
    catalogue, file, run = (tmp_path / name for name in ("servos.yaml", "mine.json", "run"))
    entry = {"law": "voltage", "vin": 7.4, "kp": 200, "error_gain": MODEL.servo.error_gain}
    ranges = {p.name: [MODEL.values[p.name], p.lower, p.upper] for p in MODEL.servo.parameters}
    catalogue.write_text(yaml.safe_dump({"mine": {**entry, "parameters": ranges}}))
    file.write_text(
        json.dumps(json.loads((logs.parent / "m4.json").read_text()) | {"actuator": "mine"})
    )
    words = ["network", "train-motion", str(logs), "--servo", str(file), "-o", str(run), "--quiet"]
    words += ["max_steps=2", "horizons=0.05", "batch=8", "hidden=4"]

    def called(*words):
        with monkeypatch.context() as patch:
            patch.setattr(entries, "_registered", dict(known))
            return main([str(word) for word in words])

    assert called(*words) == 2
    assert "unknown servo 'mine'" in capsys.readouterr().err and not run.exists()
    assert called(*words, f"catalogue={catalogue}") in (0, 3)
    assert called("study", "resume", run, "--quiet") in (0, 3)
    assert called("network", "evaluate", run, "--data", logs) in (0, 3)
    content = yaml.safe_load((run / "experiment.yaml").read_text())
    assert content["catalogue"] == "../servos.yaml" and "../servos.yaml" in content["inputs"]
    catalogue.write_text(catalogue.read_text().replace("7.4", "8.4"))
    capsys.readouterr()
    assert called("network", "evaluate", run, "--data", logs) == 2
    assert "servos.yaml" in capsys.readouterr().err
