"""The written module of mjlab reads parameter files of any servo and friction model."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from distinct_servos import LAWS, distinct_model
from exported_modules import DT, MEMORYLESS, module_of

from trueup.actuators import FRICTION_MODELS, ServoModel, find_servo, save_model, servos
from trueup.deploy import export_servo

torch = pytest.importorskip("torch")

import mjlab_stand_in  # noqa: E402


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    mjlab_stand_in.install(monkeypatch)


def motion_of(cfg) -> np.ndarray:
    """Positions of the stand-in's pendulums for goals that swing and step, and a released joint."""
    scene = mjlab_stand_in.Pendulums([(cfg, ["shoulder"])], {"shoulder": (0.4, 0.1)}, DT)
    scene.start(0.3)
    motion = []
    for k in range(200):
        motion.append(scene.positions.numpy())
        scene.actuators[0].torque_enable[:] = not 120 < k < 150
        scene.step(float(np.sin(0.08 * k) + 0.7 * (k > 90)))
    return np.array(motion)


def configuration(module, **settings):
    return module.BamActuatorCfg(target_names_expr=(".*",), **settings)


@pytest.mark.parametrize("law", LAWS)
def test_a_file_moves_as_the_module_that_was_written_from_it(law, tmp_path):
    terms = (*MEMORYLESS[law], "command_delay", "max_velocity")
    model = distinct_model(law, "m6", terms)
    gains = {"kp": 23.0, **({"kd": 0.31} if law in ("current_pd", "torque_pd") else {})}
    settings = {"winding_temperature": 44.0, **gains}
    own = motion_of(configuration(module_of(model, "mjlab"), **settings))
    # another friction model and other numbers, of the same servo
    other = module_of(ServoModel.create(model.servo, "m1"), "mjlab")
    path = save_model(model, tmp_path / "servo.json")
    read = motion_of(configuration(other, json_path=str(path), **settings))
    assert np.ptp(own) > 0.05
    np.testing.assert_array_equal(read, own)
    assert np.abs(motion_of(configuration(other, **settings)) - own).max() > 1e-3


@pytest.mark.parametrize("friction", FRICTION_MODELS)
def test_every_friction_model_is_read(friction, tmp_path):
    model = distinct_model("voltage", friction)
    path = save_model(model, tmp_path / "servo.json")
    module = module_of(ServoModel.create(model.servo, "m6"), "mjlab")
    found = configuration(module, json_path=path).load()
    assert found.values == model.values
    assert found.reads_load == model.friction.reads_load
    own = motion_of(configuration(module_of(model, "mjlab")))
    np.testing.assert_array_equal(motion_of(configuration(module, json_path=path)), own)


@pytest.mark.parametrize("name", servos())
def test_every_servo_of_the_catalogue_is_read_without_a_provenance(name, tmp_path):
    model = ServoModel.create(name, "m1")
    path = tmp_path / "flat.json"
    path.write_text(json.dumps({"model": "m1", "actuator": name, **model.values}))
    found = module_of(ServoModel.create("xl320", "m3"), "mjlab").load_model(path)
    servo = find_servo(name)
    assert found.values == model.values
    assert found.servo.gains(3.0, 2.0) == servo.gains(3.0, 2.0)
    assert (found.servo.law, found.servo.max_amps) == (servo.law, servo.max_amps)
    np.testing.assert_equal(found.servo.vin, servo.vin)


def test_what_a_file_may_leave_out_is_filled_in(tmp_path):
    model = ServoModel.create("erob80_100", "m1")
    content = {"model": "m1", "actuator": "erob80_100", **model.values}
    del content["R"], content["q_offset"]
    path = tmp_path / "published.json"
    path.write_text(json.dumps(content))
    found = module_of(model, "mjlab").load_model(path)
    assert (found.values["R"], found.values["q_offset"]) == (model.values["R"], 0.0)


def test_gain_and_voltage_are_those_of_the_export_or_of_the_file(tmp_path):
    model = ServoModel.create("xl330", "m1")
    module = module_of(model, "mjlab", kp=200.0, vin=6.5)
    own = module.load_model()
    assert (own.servo.kp, own.servo.vin) == (200.0, 6.5)
    conditions = [
        {"kp": 100.0, "vin": 7.1, "damping": None, "inertia": 0.01, "gravity_torque": 0.3}
    ]
    stated = replace(model, provenance={"conditions": conditions})
    read = module.load_model(save_model(stated, tmp_path / "stated.json"))
    assert (read.servo.kp, read.servo.vin) == (model.servo.kp, 7.1)
    assert module_of(stated, "mjlab").load_model().servo.vin == 7.1
    free = replace(model, provenance={"conditions": ["text", {"vin": "high"}, 3]})
    read = module.load_model(save_model(free, tmp_path / "free.json"))
    assert read.servo.vin == model.servo.vin


M1 = {"model": "m1", "actuator": "xl330", **ServoModel.create("xl330", "m1").values}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read"),
        ("{", "invalid JSON"),
        ([1], "expected names and values, found list"),
        ({**M1, "model": 3}, "the key 'model' is missing"),
        ({**M1, "model": "m9"}, "unknown model 'm9'; this module contains m1, m2"),
        ({**M1, "actuator": "hs422"}, "unknown actuator 'hs422'"),
        ({**M1, "model": "m4"}, "friction_stribeck, .* missing"),
        ({**M1, "load_friction_base": 0.1}, "'load_friction_base' is not a parameter"),
        ({**M1, "kt": "0.4"}, "kt: expected a finite number"),
        ({**M1, "kt": True}, "kt: expected a finite number"),
        ({**M1, "kt": 10**400}, "kt: expected a finite number, found 1000"),
        ({**M1, "R": float("nan")}, "R: expected a finite number"),
        ({**M1, "friction_base": -0.1}, "must not be negative"),
        ({**M1, "quadratic": "squared"}, "unknown form 'squared'"),
        ({**M1, "backlash": 0.01}, "second body"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(tmp_path, content, words):
    path = tmp_path / "bad.json"
    if content is not None:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    module = module_of(ServoModel.create("xl330", "m1"), "mjlab")
    with pytest.raises(module.ParameterError, match=words) as refused:
        motion_of(configuration(module, json_path=path))
    assert "bad.json" in str(refused.value)


@pytest.mark.parametrize("path", ["", 5, b"servo.json", ["servo.json"]])
def test_a_path_that_is_none_is_refused(path):
    module = module_of(ServoModel.create("xl330", "m1"), "mjlab")
    with pytest.raises(module.ParameterError, match=r"json_path is .*set it to the path"):
        configuration(module, json_path=path).load()


def test_a_file_of_an_editor_of_windows_and_a_model_in_capitals_are_read(tmp_path):
    path = tmp_path / "servo.json"
    path.write_text("\ufeff" + json.dumps({**M1, "model": "M1"}), encoding="utf-8")
    module = module_of(ServoModel.create("xl330", "m6"), "mjlab")
    assert module.load_model(path).friction == "m1"


def test_the_module_runs_where_trueup_is_not_installed(tmp_path):
    model = distinct_model("voltage", "m6", ("torque_saturation", "max_velocity"))
    (tmp_path / "servo_mjlab.py").write_text(export_servo(model, "mjlab").text)
    path = save_model(model.with_values(kt=0.5), tmp_path / "servo.json")
    code = f"""
import sys
sys.modules["trueup"] = None
sys.path[:0] = [{str(tmp_path)!r}, {mjlab_stand_in.__file__.rpartition("/")[0]!r}]
import mjlab_stand_in as stand_in
sys.modules |= stand_in.modules()
from servo_mjlab import BamActuator, BamActuatorCfg
cfg = BamActuatorCfg(target_names_expr=(".*",), json_path={str(path)!r})
scene = stand_in.Pendulums([(cfg, ["shoulder"])], {{"shoulder": (0.4, 0.1)}}, 0.005)
scene.start(0.3)
scene.step(1.0)
assert isinstance(scene.actuators[0], BamActuator)
assert scene.actuators[0].model.values["kt"] == 0.5
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
