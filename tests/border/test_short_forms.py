"""Short forms of an experiment file: taken where they leave no doubt, explained where not."""

import copy
from typing import Any

import driven_pendulum as pendulum
import mujoco
import pytest
import yaml
from work import tree

from trueup.cli import main
from trueup.sysid.experiment.file import load_experiment
from trueup.sysid.experiment.unknowns import build_parameters

RECORDING = pendulum.EXPERIMENT["recordings"][0]

ACCEPTED: dict[str, dict[str, Any]] = {
    "model": {"model": "pendulum.xml"},
    "recordings as files": {"recordings": ["run.csv"]},
    "recordings as one file": {"recordings": "run.csv"},
    "recordings as one mapping": {"recordings": RECORDING},
    "target": {"parameters": {"armature": "joint/hinge/armature"}},
    "held out fraction": {"held_out": 0.25},
    "search": {"search": "mujoco"},
    "level": {"confidence": 0.9},
    "output": {"output": "elsewhere"},
}

EXPLAINED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "search": ({"search": "fast"}, ("search.method", "'fast'", "'cmaes'")),
    "level": ({"confidence": "95 %"}, ("'95 %'", "confidence:\n", "level: 0.95")),
    "held out": ({"held_out": "run_2"}, ("'run_2'", "'run'")),
    "measurement": ({"measurement": "x"}, ("'x'", "measurement:\n", "noise")),
    "noise": ({"measurement": {"signals": {"angle": 2.0}}}, ("2.0", "signals: {angle: {noise")),
    "parameters": ({"parameters": ["a"]}, ("['a']", "parameters:\n", "target", "bounds")),
    "parameter": ({"parameters": {"a": 3}}, ("parameters.a", "found 3", "target", "bounds")),
    "bounds": (
        {"parameters": {"a": {"target": "joint/hinge/damping", "bounds": 3}}},
        ("[0.1, 5]",),
    ),
    "value zero": (
        {"parameters": {"a": "joint/hinge/frictionloss"}},
        ("parameters.a", "0.0", "bounds: [0, 1]"),
    ),
    "signals": (
        {"recordings": [{**RECORDING, "signals": ["angle"]}]},
        ("signals", "['angle']", "signals:\n", "angle: "),
    ),
    "model": ({"model": 4}, ("found 4", "model:\n", "file: ")),
    "window": ({"window": "1 s"}, ("'1 s'", "a number", "window: 0.5")),
    "false": ({"parameters": {False: "joint/hinge/damping"}}, ("false", "in quotes")),
    "number": ({"parameters": {3: "joint/hinge/damping"}}, ("name 3", "in quotes")),
    "actuator": ({"recordings": [{**RECORDING, "controls": {"motor": False}}]}, ("in quotes",)),
}


def written(files: pendulum.Files, changes: dict[str, Any]) -> None:
    experiment = {**copy.deepcopy(pendulum.EXPERIMENT), **changes}
    files.experiment.write_text(yaml.safe_dump(experiment, sort_keys=False))


@pytest.fixture
def files(tmp_path):
    return pendulum.write(tmp_path)


@pytest.mark.parametrize("case", ACCEPTED)
def test_a_short_form_is_accepted(case, files, capsys):
    written(files, ACCEPTED[case])
    assert main(["check", str(files.experiment), "--json"]) == 0
    # what is kept in a run directory is read again as the same
    text = yaml.safe_dump(load_experiment(files.experiment).model_dump(mode="json"))
    files.experiment.write_text(text)
    assert yaml.safe_dump(load_experiment(files.experiment).model_dump(mode="json")) == text
    assert main(["check", str(files.experiment), "--json"]) == 0


def test_a_target_alone_has_bounds_about_the_value_of_the_model(files, capsys):
    written(files, {"parameters": {"armature": "joint/hinge/armature"}})
    spec = mujoco.MjSpec.from_file(str(files.model))
    parts = load_experiment(files.experiment).parameters
    (armature,) = build_parameters(parts, spec, spec.compile()).values()
    assert armature.value == pytest.approx(0.02)
    assert (armature.min_value, armature.max_value) == pytest.approx((0.001, 0.4))


def test_columns_named_after_signals_are_taken_and_said(files, capsys):
    written(files, {"recordings": ["run.csv"]})
    assert main(["check", str(files.experiment)]) == 0
    assert "angle from angle, speed from speed, motor from torque" in capsys.readouterr().out


def test_columns_of_other_names_are_listed(files, capsys):
    files.recording.write_text(files.recording.read_text().replace("t,angle,speed,", "t,foo,bar,"))
    written(files, {"recordings": ["run.csv"]})
    assert main(["check", str(files.experiment)]) == 2
    said = capsys.readouterr().err
    for words in ("'angle'", "'foo'", "signals: {"):
        assert words in said


@pytest.mark.parametrize("case", EXPLAINED)
def test_another_shape_is_named_with_the_lines_to_write(case, files, capsys):
    changes, expected = EXPLAINED[case]
    written(files, changes)
    before = tree(files.folder)
    assert main(["identify", str(files.experiment)]) == 2
    said = capsys.readouterr().err
    assert said.removeprefix("trueup: ").strip()
    for words in expected:
        assert words in said, said
    assert tree(files.folder) == before


@pytest.mark.parametrize("name", ["off", "yes", "no", "on", "true", "null", "3"])
def test_a_name_that_yaml_does_not_read_as_text_is_explained(name, files, capsys):
    text = yaml.safe_dump(pendulum.EXPERIMENT, sort_keys=False)
    files.experiment.write_text(text.replace("  armature:\n", f"  {name}:\n"))
    assert main(["identify", str(files.experiment)]) == 2
    said = capsys.readouterr().err
    assert f'"{name}"' in said and "line " in said
