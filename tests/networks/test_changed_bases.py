"""A base of a run whose logs have changed is refused by trainings, or marked in what they write."""

import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("hydra")

from dataclasses import replace

import yaml
from random_networks import random_network
from small_trainings import SMALL
from tests.networks.motion.test_motion_training import MODEL, TRUTH, blank_log, simulated

from trueup.actuators import load_model, save_model
from trueup.actuators.catalogue.parameter_file import model_to_dict
from trueup.actuators.logs.files import write_log
from trueup.cli import main
from trueup.errors import RunDirectoryError
from trueup.networks import PdJoint, SyntheticSettings, load_network, load_numpy_network, synthesize
from trueup.networks.motion.base import MotionBase, read_base
from trueup.networks.motion.of_model.run import prepare
from trueup.networks.motion.of_model.spec import ModelMotionSpec
from trueup.networks.runtime.numpy_file import save_numpy_network
from trueup.networks.training import ModelSettings, load_configuration
from trueup.runs import RunDirectory, atomic, provenance
from trueup.runs.store.experiment_file import write_experiment
from trueup.sysid import load_experiment

MARK = "made although log.csv has changed since the run m4.run was made"


@pytest.fixture
def changed_run(tmp_path):
    """The run directory of a fit whose log holds something else by now."""
    log = tmp_path / "log.csv"
    log.write_text("t,q\n0,1\n")
    run = RunDirectory.create(tmp_path / "m4.run")
    record = {"format_version": 2, "inputs": provenance.hashed([log])}
    atomic.write_json(run.provenance, record)
    write_experiment(run, "servo", 1, {"inputs": ["../log.csv"]})
    log.write_text("t,q\n0,2\n")
    return run.path


@pytest.fixture
def servo(changed_run):
    """The parameter file of the servo, beside its run."""
    return save_model(MODEL, changed_run.with_name("m4.json"))


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    blank = [blank_log(kp, n, 0.6) for kp in (100.0, 200.0) for n in (0, 1)]
    for log in simulated(TRUTH, blank):
        write_log(log, folder / f"{log.name}.json")
    return folder


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recordings") / "data"
    synthesize(SyntheticSettings(inertias=(0.05,), duration=4.0), folder)
    return folder


def refused(words, target, capsys):
    """Check that a command names the log and writes nothing."""
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "log.csv has changed" in said and "--anyway" in said
    assert not target.exists()


def test_a_training_by_motion_refuses_or_marks(servo, logs, tmp_path, capsys):
    run = tmp_path / "run"
    words = ["network", "train-motion", str(logs), "--output", str(run), "--quiet"]
    words += ["max_steps=6", "horizons=0.05", "learn_base=0"]
    refused([*words, "--servo", str(servo)], run, capsys)
    assert main([*words, "--servo", str(servo), "--anyway", "--json"]) in (
        0,
        3,
    )
    assert json.loads(capsys.readouterr().out)["made_although"] == MARK
    assert MARK in (run / "report.html").read_text()
    # what lies in the run says so wherever it is taken to
    alone = tmp_path / "alone.json"
    alone.write_text((run / "servo.json").read_text())
    assert load_model(alone).provenance["made_although"] == MARK


def test_a_base_of_such_a_run_too(changed_run, logs, tmp_path, capsys):
    base = MotionBase.of(PdJoint(kp=2.0, kd=0.1))
    atomic.write_json(changed_run / "base.json", base.to_dict())
    with pytest.raises(RunDirectoryError, match=r"log\.csv has changed"):
        read_base(changed_run / "base.json")
    taken = read_base(changed_run / "base.json", anyway=True)
    assert taken.mark == taken.with_values({"kp": 3.0}, {}).mark == MARK
    assert MotionBase.from_dict(taken.to_dict()) == taken
    run = tmp_path / "run"
    words = ["network", "train-motion", str(logs), "--base", str(changed_run / "base.json")]
    refused([*words, "--output", str(run)], run, capsys)


def test_a_model_of_such_a_run_too(changed_run, tmp_path):
    (changed_run / "arm.xml").write_text("<mujoco/>")
    text = {"model": {"file": "m4.run/arm.xml"}, "recordings": [{"file": "a.csv"}]}
    (tmp_path / "arm.yaml").write_text(yaml.safe_dump(text))
    experiment = load_experiment(tmp_path / "arm.yaml")
    with pytest.raises(RunDirectoryError, match=r"log\.csv has changed"):
        prepare(ModelMotionSpec.of(experiment, tmp_path))


def test_a_servo_beneath_a_network_refuses_or_marks(servo, recordings, tmp_path, capsys):
    run = tmp_path / "run"
    words = ["network", "train", f"data.data_base_dir={recordings}", *SMALL, "--output", str(run)]
    words += [
        "train.max_epochs=1",
        "model.use_residual=true",
        f"model.servo_base={servo}",
        "--quiet",
    ]
    refused(words, run, capsys)
    with pytest.raises(RunDirectoryError, match=r"log\.csv has changed"):
        ModelSettings(use_residual=True, servo_base=str(servo))
    assert main([*words, "--anyway", "--json"]) in (0, 3)
    assert json.loads(capsys.readouterr().out)["made_although"] == MARK
    assert MARK in (run / "config.yaml").read_text()
    assert load_network(run / "network.safetensors").provenance["made_although"] == MARK
    # its configuration starts another one, which says so too
    assert load_configuration((), run / "config.yaml").mark == MARK


def test_an_archive_of_numpy_refuses_or_keeps_its_mark(changed_run):
    file = changed_run / "network.npz"
    save_numpy_network(random_network("gru"), file)
    with pytest.raises(RunDirectoryError, match=r"log\.csv has changed"):
        load_numpy_network(file)
    taken = load_numpy_network(file, anyway=True)
    assert taken.provenance["made_although"] == MARK
    with atomic.marked(MARK):
        save_numpy_network(replace(taken, provenance={}), file.parent.parent / "alone.npz")
    alone = load_numpy_network(file.parent.parent / "alone.npz")
    assert alone.provenance["made_although"] == MARK
    assert alone.weights.keys() == taken.weights.keys()


def test_a_parameter_file_keeps_its_mark(tmp_path):
    with atomic.marked(MARK):
        save_model(MODEL, tmp_path / "m4.json")
    model = load_model(tmp_path / "m4.json")
    assert model.provenance["made_although"] == MARK
    assert model_to_dict(model)["provenance"]["made_although"] == MARK
