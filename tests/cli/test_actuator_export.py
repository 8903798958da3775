"""``trueup actuator export``: every form, printed or written, and what is refused."""

import ast
import json

import mujoco
import pytest

from trueup.actuators import ServoModel, save_model
from trueup.cli.actuator_export import ExportServo
from trueup.cli.output import Output
from trueup.errors import FitError, ParameterError, ReportError


@pytest.fixture
def params(tmp_path):
    return save_model(ServoModel.create("xl330", "m1").with_values(kt=0.4), tmp_path / "m1.json")


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
        ("mjlab", "ServoActuatorCfg("),
        ("isaac-lab", "DCMotorCfg("),
    ],
)
def test_python_forms_are_python(params, form, words, capsys):
    assert ExportServo(params=params, form=form, kp=200.0).run(Output()) == 0
    text = capsys.readouterr().out
    ast.parse(text)
    assert words in text
    assert ("kp=200.0" in text) == (form != "isaac-lab")
    assert (str(params.resolve()) in text) == (form != "isaac-lab")


def test_what_cannot_be_exported_is_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"none\.json"):
        ExportServo(params=tmp_path / "none.json").run(Output())
    go1 = save_model(ServoModel.create("unitree_go1", "m1"), tmp_path / "go1.json")
    with pytest.raises(FitError, match="form 'position'"):
        ExportServo(params=go1, form="mjcf-dcmotor").run(Output())
