"""Inputs of servo commands that contradict each other: one sentence each, and nothing written."""

import json
import shutil
from pathlib import Path

import pytest
import servo_model_logs as made
from work import refused

from trueup.actuators.logs.files import log_object, write_log
from trueup.cli import main

ENTRY = Path(__file__).resolve().parents[2] / "catalogue" / "simulated-xl330"

SERVO = """\
my_servo:
  law: voltage
  vin: 12.0
  error_gain: 0.16
  parameters:
    kt: {kt}
    R: [3.0, 0.5, 10.0]
    armature: [0.005, 0.0005, 0.05]
"""


@pytest.fixture(scope="module")
def log():
    return made.recorded(made.M1, made.template_log("kp800", kp=800.0))


def fit_of(folder, *words):
    return ["actuator", "fit", "--actuator", "xl330", "--model", "m1", "--logdir",
            str(folder / "logs"), "--output", str(folder / "m1.json"), *words]  # fmt: skip


def written(folder, log, change=None):
    (folder / "logs").mkdir()
    path = write_log(log, folder / "logs" / "log.json")
    if change is not None:
        content = log_object(log)
        change(content)
        path.write_text(json.dumps(content))


@pytest.mark.parametrize("name", ["current_limit", "error_gain_ratio"])
def test_a_limit_or_gain_that_contradicts_the_logs(name, log, tmp_path, capfd):
    written(tmp_path, log)
    words = fit_of(tmp_path, f"terms={name}", "--set", f"{name}=0.3")
    refused(words, tmp_path, capfd, named=(f"{name} = 0.3", "contradicts the logs"))


def test_logs_of_mixed_gains(log, tmp_path, capfd):
    def mixed(content):
        for number, entry in enumerate(content["entries"]):
            entry["kp"] = 100 if number < 50 else 400

    written(tmp_path, log, mixed)
    refused(fit_of(tmp_path), tmp_path, capfd, named=("800", "from 100 to 400", "split"))

    def without(content):
        mixed(content)
        del content["kp"]

    shutil.rmtree(tmp_path / "logs")
    written(tmp_path, log, without)
    refused(fit_of(tmp_path), tmp_path, capfd, named=("'kp'", "400", "split it by gain"))


def test_a_gain_in_the_entries_that_is_not_that_of_the_header(log, tmp_path, capfd):
    def other(content):
        for entry in content["entries"]:
            entry["kp"] = 400

    written(tmp_path, log, other)
    refused(fit_of(tmp_path), tmp_path, capfd, named=("'kp' is 800", "400", "correct one"))


def test_a_servo_that_was_published_without_logs(tmp_path, capfd):
    shutil.copytree(ENTRY, tmp_path / "mine", ignore=shutil.ignore_patterns("logs", "*.html"))
    words = ["actuator", "evaluate", "--params", str(tmp_path / "mine"), "--logdir",
             str(tmp_path / "mine" / "logs"), "--actuator", "xl330", "--model", "m3"]  # fmt: skip
    refused(words, tmp_path, capfd, named=("'mine'", "published without its logs"))


@pytest.mark.parametrize(
    ("kt", "named"),
    [("1.0", "has no bounds"), ("[1.0]", "has no bounds"), ("[1.0, 0.1, .inf]", "finite")],
)
def test_an_entry_without_bounds(kt, named, log, tmp_path, capfd):
    written(tmp_path, log)
    (tmp_path / "servos.yaml").write_text(SERVO.format(kt=kt))
    catalogue = f"catalogue={tmp_path / 'servos.yaml'}"
    for words in (
        ["actuator", "list", catalogue],
        ["actuator", "process", "--raw", str(tmp_path / "logs"), "--logdir",
         str(tmp_path / "even"), catalogue],
        fit_of(tmp_path, catalogue),
    ):  # fmt: skip
        refused(words, tmp_path, capfd, named=("my_servo", "kt", named))


@pytest.mark.parametrize("what", ["missing", "folder"])
def test_a_catalogue_that_cannot_be_read(what, tmp_path, capfd):
    place = tmp_path / "servos.yaml"
    if what == "folder":
        place.mkdir()
    words = ["actuator", "list", f"catalogue={place}"]
    reason = "Is a directory" if what == "folder" else "No such file or directory"
    refused(words, tmp_path, capfd, named=(f"{place}: cannot be read: {reason}",))


def test_a_start_outside_its_bounds_names_the_servo(tmp_path, capfd):
    (tmp_path / "servos.yaml").write_text(SERVO.format(kt="[5.0, 0.1, 3.0]"))
    words = ["actuator", "list", f"catalogue={tmp_path / 'servos.yaml'}"]
    refused(words, tmp_path, capfd, named=("servo 'my_servo'", "'kt'", "0.1 to 3.0"))


def test_logs_are_processed_with_the_servos_of_a_catalogue(log, tmp_path, capfd):
    written(tmp_path, log, lambda content: content.update(motor="my_servo"))
    (tmp_path / "servos.yaml").write_text(SERVO.format(kt="[1.0, 0.1, 3.0]"))
    words = ["actuator", "process", "--raw", str(tmp_path / "logs"), "--logdir"]
    catalogue = f"catalogue={tmp_path / 'servos.yaml'}"
    assert main([*words, str(tmp_path / "even"), catalogue]) == 0
    (tmp_path / "logs" / "log.json").write_text(json.dumps(log_object(log) | {"motor": "another"}))
    capfd.readouterr()
    words += [str(tmp_path / "other"), catalogue]
    refused(words, tmp_path, capfd, named=("unknown servo 'another'", "my_servo"))
