"""Parameter files: those that are published, our own, and those that are of something else."""

import json
import subprocess
import sys

import pytest
from bench_logs import make_model

from trueup.actuators import load_model, model_from_dict, published_models, save_model
from trueup.actuators.catalogue.parameter_file import model_to_dict
from trueup.errors import FitError, ParameterError


def test_all_published_files_load(recorded_data, recwarn):
    files = sorted((recorded_data / "actuator_params").glob("*/*.json"))
    assert len(files) == 37
    for file in files:
        content = json.loads(file.read_text())
        model = load_model(file)
        assert model.friction.name == content["model"] == file.stem
        for name, value in content.items():
            if name not in ("model", "actuator"):
                assert model.values[name] == value
    assert not recwarn.list


def test_a_published_file_beyond_the_bounds_is_noted(recorded_data):
    folder = recorded_data / "actuator_params"
    assert any("alpha = 0.76" in note for note in load_model(folder / "xl330" / "m4.json").notes)
    missing = load_model(folder / "erob80_100" / "m1.json")
    assert missing.values["R"] == 2.0 and any(n.startswith("R is missing") for n in missing.notes)


def test_a_model_survives_its_file(tmp_path):
    model = make_model("m6", ("command_delay",), command_delay=0.012)
    content = {**model_to_dict(model), "quadratic": "ungated"}
    content["provenance"] = {"mae": 0.02, "data": "abc"}
    model = model_from_dict(content)
    path = save_model(model, tmp_path / "m6.json")
    again = load_model(path, model="m6", servo="xl330")
    assert again == model and again.provenance["mae"] == 0.02 and again.terms == ("command_delay",)
    written = json.loads(path.read_text())
    assert written["actuator"] == "xl330" and written["kt"] == model.values["kt"]
    assert written["units"]["kt"] == "N m/A" and written["units"]["command_delay"] == "s"


def test_files_are_found_by_motor_and_model(tmp_path, monkeypatch):
    save_model(make_model("m2"), tmp_path / "small" / "m2.json")
    monkeypatch.setenv("TRUEUP_SERVO_MODELS", str(tmp_path))
    assert published_models()["small"] == ("m2",)
    assert load_model(motor_name="small", model="M2").friction.name == "m2"
    with pytest.raises(FitError, match="motor 'small' with model 'm3'; available: 'm2'"):
        load_model(motor_name="small", model="m3")
    with pytest.raises(FitError, match=r"motor 'smal'.*'small'.*Did you mean 'small'"):
        load_model(motor_name="smal", model="m2")
    with pytest.raises(FitError, match="a path, or both motor_name and model"):
        load_model(motor_name="small")
    with pytest.raises(FitError, match="not both"):
        load_model(tmp_path / "small" / "m2.json", motor_name="small")


def content(**changes):
    return {**model_to_dict(make_model("m2")), **changes}


WRONG = [
    (ParameterError, {"model": "m4"}, "'load_friction_base' is missing, which m4 requires"),
    (ParameterError, {"model": "m1"}, "'friction_stribeck' is not a parameter of 'xl330' with m1"),
    (FitError, {"model": "m9"}, "unknown friction model 'm9'"),
    (FitError, {"actuator": "xl331"}, "unknown servo 'xl331'"),
    (
        ParameterError,
        {"model": None},
        "'model' is missing: not the parameter file of a servo",
    ),
    (ParameterError, {"kt": "0.3"}, "kt: expected a finite number, found '0.3'"),
    (ParameterError, {"kt": float("nan")}, "kt: expected a finite number"),
    (ParameterError, {"kt": True}, "kt: expected a finite number, found True"),
    (ParameterError, {"friction_bsae": 1.0}, "Did you mean 'friction_base'"),
    (ParameterError, {"provenance": 3}, "provenance: expected names and values"),
]


@pytest.mark.parametrize(("error", "changes", "message"), WRONG)
def test_a_wrong_file_is_refused_by_name(tmp_path, error, changes, message):
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(content(**changes)))
    with pytest.raises(error, match=message) as caught:
        load_model(path)
    assert str(path) in str(caught.value)


def test_the_file_of_another_model_or_servo_is_refused(tmp_path):
    path = save_model(make_model("m2"), tmp_path / "m2.json")
    with pytest.raises(ParameterError, match="of the friction model 'm2', expected 'm6'"):
        load_model(path, model="m6")
    with pytest.raises(ParameterError, match="of the servo 'xl330', expected 'mx64'"):
        load_model(path, servo="mx64")
    with pytest.raises(ParameterError, match=r"none\.json: cannot be read: No such file"):
        load_model(tmp_path / "none.json")
    (tmp_path / "half.json").write_text('{"kt": 1.0,')
    with pytest.raises(ParameterError, match=r"half\.json: not a parameter file \(invalid JSON"):
        load_model(tmp_path / "half.json")
    with pytest.raises(ParameterError, match="expected names and values, found list"):
        model_from_dict([])


def test_loading_a_model_imports_nothing_of_the_simulators(tmp_path):
    path = save_model(make_model("m2"), tmp_path / "m2.json")
    script = (
        "import sys; from trueup.actuators import load_model; "
        f"print(load_model({str(path)!r}).torque(0.1, 0.0)); "
        "print(sorted({'numba', 'scipy', 'mujoco', 'pydantic', 'torch'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[-1] == "[]"
