"""``trueup actuator export``: every form, printed or written, and what is refused."""

import ast
import json
import re
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from trueup.actuators import ServoModel, load_model, save_model
from trueup.cli.actuator.export import ExportServo
from trueup.cli.output import Output
from trueup.deploy import FORMS
from trueup.errors import FitError, ParameterError, RecordingError, ReportError


@pytest.fixture
def params(tmp_path):
    return save_model(ServoModel.create("xl330", "m1").with_values(kt=0.4), tmp_path / "m1.json")


def save_log(folder, name, motor="xl330"):
    """An evenly sampled log of a swing."""
    times = 0.005 * np.arange(100)
    entries = [
        {
            "timestamp": t,
            "position": 0.2 * np.sin(3 * t),
            "speed": 0.6 * np.cos(3 * t),
            "goal_position": 0.2 * np.sin(3 * t + 0.1),
            "torque_enable": True,
        }
        for t in times.tolist()
    ]
    header = {"mass": 0.2, "arm_mass": 0.0, "length": 0.1, "kp": 200, "vin": 7.4, "dt": 0.005}
    content = {**header, "motor": motor, "trajectory": "sin_sin", "entries": entries}
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(content))


def test_mjcf_is_written_with_its_error(params, tmp_path, capsys):
    target = tmp_path / "out" / "servo.xml"
    command = ExportServo(params=params, form="mjcf-dcmotor", output=target, json=True)
    assert command.run(Output(json=True)) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["text"] == target.read_text()
    assert found["errors_rad"]["from_model"] < 1e-4
    mujoco.MjSpec.from_file(str(target)).compile()
    with pytest.raises(ReportError, match="--overwrite"):
        command.run(Output())
    again = ExportServo(params=params, form="mjcf-position", output=target, overwrite=True)
    assert again.run(Output()) == 0
    assert "<position" in target.read_text()


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("mujoco", "servo_law(file, {joint: "),
        ("isaac-lab", "DCMotorCfg("),
    ],
)
def test_python_forms_are_python(params, form, words, capsys):
    assert ExportServo(params=params, form=form, keys=("kp=200",)).run(Output()) == 0
    text = capsys.readouterr().out
    ast.parse(text)
    assert words in text
    assert ("kp=200.0" in text) == (form != "isaac-lab")
    assert ("/ 'm1.json'" in text) == (form != "isaac-lab")


@pytest.mark.parametrize("form", sorted(FORMS["servo"]))
def test_no_export_has_an_absolute_path(params, form, tmp_path, capsys):
    """A script finds the parameter file from where it lies itself."""
    target = tmp_path / "deep" / "scripts" / "servo.txt"
    command = ExportServo(params=params, form=form, output=target)
    assert command.run(Output()) == 0
    text = target.read_text()
    assert str(tmp_path) not in text and str(Path.cwd()) not in text
    for path in re.findall(r"Path\(__file__\)\.parent / '([^']*)'", text):
        assert (target.parent / path).resolve() == params.resolve()
    assert ("Path(__file__)" in text) == (form == "mujoco")
    capsys.readouterr()
    assert ExportServo(params=params, form=form).run(Output()) == 0
    assert str(tmp_path) not in capsys.readouterr().out


def test_what_bam_lacks_is_said(tmp_path, capsys):
    model = ServoModel.create("xl330", "m1", ("torque_saturation",))
    params = save_model(model, tmp_path / "m1s.json")
    said = json.loads(params.read_text())["not_in_bam"]
    assert "torque saturation" in said
    assert load_model(params).values == model.values
    target = tmp_path / "servo.py"
    assert ExportServo(params=params, form="mujoco", output=target).run(Output()) == 0
    assert said in capsys.readouterr().out
    plain = save_model(ServoModel.create("xl330", "m6"), tmp_path / "m6.json")
    assert "not_in_bam" not in json.loads(plain.read_text())


def test_what_cannot_be_exported_is_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"none\.json"):
        ExportServo(params=tmp_path / "none.json").run(Output())
    go1 = save_model(ServoModel.create("unitree_go1", "m1"), tmp_path / "go1.json")
    with pytest.raises(FitError, match="form 'position'"):
        ExportServo(params=go1, form="mjcf-dcmotor").run(Output())
    target = tmp_path / "servo.py"
    with pytest.raises(FitError, match=r"'unitree_go1' is 'torque_pd': use the form"):
        ExportServo(params=go1, form="isaac-lab-bam", output=target).run(Output())
    assert not target.exists()


@pytest.mark.parametrize(
    "form", ["mjcf-dcmotor", "mjcf-parallel", "mjcf-position", "isaac-lab", "isaac-lab-bam"]
)
def test_logs_of_another_servo_are_refused(params, form, tmp_path):
    target = tmp_path / "servo.txt"
    logs = tmp_path / "logs"
    save_log(logs, "a.json", "mx64")
    with pytest.raises(RecordingError, match=r"a\.json: .*servo 'mx64', expected 'xl330'"):
        ExportServo(params=params, form=form, logdir=logs, output=target).run(Output())
    assert not target.exists()


def test_a_bad_log_can_be_skipped_and_the_error_is_told(params, tmp_path, capsys):
    logs, target = tmp_path / "logs", tmp_path / "servo.py"
    save_log(logs, "a.json")
    (logs / "b.json").write_text('{"mass": 1}')
    command = ExportServo(params=params, form="isaac-lab", logdir=logs, output=target)
    with pytest.raises(RecordingError, match=r"b\.json.*skip_bad_logs"):
        command.run(Output())
    assert replace(command, keys=("skip_bad_logs=1",)).run(Output()) == 0
    told = capsys.readouterr().out
    assert re.search(r"skipped: .*b\.json: the header has no field", told)
    assert re.search(r"Position difference from the full model: [0-9.]+ mrad", told)
    # a form that loses the model names those that do not, with the model's own error
    assert re.search(r"forms that carry it, with [0-9.]+ mrad: 'mujoco', 'mjlab', ", told)
