"""Servos described in YAML: those that come along, a user's, and what can be wrong with them."""

import dataclasses
import warnings

import numpy as np
import pytest
from bench_logs import make_log

from trueup.actuators import (
    BenchSimulator,
    ServoModel,
    find_servo,
    load_catalogue,
    register,
    servos,
)
from trueup.actuators.catalogue import entries as catalogue
from trueup.errors import ParameterError, TrueupWarning

MINE = """
mine:
  title: Servo of my own
  law: voltage
  vin: 12.0
  kp: 20
  error_gain: 0.1
  max_pwm: 0.9
  parameters:
    kt: [1.0, 0.1, 5.0]
    R: [2.0, 0.5, 10.0]
    armature: [0.01, 1.0e-4, 0.1]
  bounds:
    friction_base: [0.0, 1.0]
    command_delay: [0.0, 0.02]
"""


@pytest.fixture(autouse=True)
def empty_registry(monkeypatch):
    monkeypatch.setattr(catalogue, "_registered", {})


def write(tmp_path, text):
    path = tmp_path / "servos.yaml"
    path.write_text(text)
    return path


def test_servos_of_the_reference_are_there():
    assert set(servos()) >= {
        "mx64", "mx106", "xl320", "xl330", "xl330i", "sts3215", "erob80_100", "erob80_50",
        "unitree_go1",
    }  # fmt: skip
    for name in ("sts3215_12v", "sts3250", "st3025", "hls2915"):
        servo = find_servo(name)
        assert servo.vin == 12.0 and servo.source and servo.disputed
        assert "max_velocity" in ServoModel.create(name, "m1", ("max_velocity",)).names
    assert find_servo("sts3250").starts == {} and find_servo("st3025").starts
    assert "128" in find_servo("xl330").disputed["error_gain"]
    assert find_servo("mx106").max_pwm == 0.9625 and find_servo("erob80_50").damping == 1.0
    bounds = {p.name: (p.lower, p.upper) for p in ServoModel.create("sts3215", "m1").parameters}
    assert bounds["q_offset"] == (-0.2, 0.2)
    assert bounds["max_velocity"][0] == pytest.approx(0.1 * 3400 * 2 * np.pi / 4096)


def test_a_servo_from_a_file_is_simulated(tmp_path):
    (servo,) = load_catalogue(write(tmp_path, MINE))
    assert find_servo("mine") is servo and servo.title == "Servo of my own"
    model = ServoModel.create("mine", "m2", ("command_delay",))
    bounds = {p.name: (p.lower, p.upper) for p in model.parameters}
    assert bounds["friction_base"] == (0.0, 1.0) and bounds["command_delay"] == (0.0, 0.02)
    assert BenchSimulator(model, [make_log()]).costs(model.vector())[0] < 1.0
    with pytest.raises(ParameterError, match="already registered: servos 'mine'"):
        load_catalogue(write(tmp_path, MINE))
    load_catalogue(write(tmp_path, MINE), replace=True)
    with pytest.raises(ParameterError, match="'mine' is already registered"):
        register(servo)
    register(dataclasses.replace(servo, vin=11.0), replace=True)
    assert find_servo("mine").vin == 11.0


WRONG = [
    ("law: voltage", "law: volts", "unknown law 'volts'; available: 'voltage'"),
    ("law: voltage", "lwa: voltage", "unknown key 'lwa'.*Did you mean 'law'"),
    ("  law: voltage\n", "", "the key 'law' is missing"),
    ("max_pwm: 0.9", "max_pwm: 885", "duty cycle between 0 and 1, got 885"),
    ("kt: [1.0, 0.1, 5.0]", "kt: [1.0, 0.1]", "kt: expected .start value, lower bound"),
    ("kt: [1.0, 0.1, 5.0]", "kt: [9.0, 0.1, 5.0]", "'kt': start value 9.0 is outside the bounds"),
    ("kt: [1.0, 0.1, 5.0]", "kv: [1.0, 0.1, 5.0]", "requires the parameters 'kt', 'R', 'armature'"),
    ("1.0e-4", "1e-4", "YAML reads 1e-5 as text"),
    ("vin: 12.0", "vin: twelve", "vin: expected a number, found 'twelve'"),
    ("  vin: 12.0\n", "", "requires a positive vin"),
    ("friction_base:", "friction_bass:", "bounds of unknown parameters 'friction_bass'"),
    ("[0.0, 1.0]", "[1.0, 0.0]", "the lower bound is above the upper one"),
    ("  kp: 20", "  disputed: {kd: half}", "disputed: the entry has no value 'kd'"),
    ("  kp: 20", "  disputed: {error_gain: 2}", "disputed: error_gain: expected a text, found 2"),
    ("kt: [1.0, 0.1, 5.0]", "kt: [1.0, 0.1, .inf]", "kt has no bounds, from 0.1 to inf"),
    ("[0.0, 1.0]", "[0.0, .inf]", "friction_base has no bounds"),
    ("  kp: 20", "  disputed: half", "disputed: expected names with texts, found 'half'"),
    (MINE, "- mine", "expected servos by name, found a list"),
    (MINE, "mine: {law: [", "not a readable YAML file"),
    (MINE, "mine: 3", "expected keys and values, found 3"),
]


@pytest.mark.parametrize(("found", "changed", "message"), WRONG)
def test_a_wrong_entry_is_refused_with_its_file(tmp_path, found, changed, message):
    path = write(tmp_path, MINE.replace(found, changed))
    with pytest.raises(ParameterError, match=message) as caught:
        load_catalogue(path)
    assert str(path) in str(caught.value)
    assert "mine" not in servos()


def test_a_file_that_replaces_a_built_in_servo_is_reported_once(tmp_path):
    path = write(tmp_path, MINE.replace("mine:", "xl330:"))
    with pytest.warns(TrueupWarning, match=r"servos.yaml: replaces the built-in servos 'xl330'"):
        catalogue.use_catalogue(path)
    assert find_servo("xl330").vin == 12.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        catalogue.use_catalogue(path)  # the same values again, as when a run is resumed
        catalogue.use_catalogue(write(tmp_path, MINE))
        catalogue.use_catalogue(None)
    assert {"mine", "xl330"} <= set(servos())
