"""Causes that a model lacks, each planted alone: what is named, with its size, and nothing else."""

import json

import numpy as np
import pytest
from gap_logs import MODEL, TURNING, write

from trueup import sysid
from trueup.cli import main
from trueup.explain import explain

LOAD = '<body pos="0.02 0 -0.25"><inertial pos="0 0 0" mass=".4" diaginertia="{0} {0} {0}"/></body>'
SERVO = 'joint="shoulder" kp="40" kv="1"'


def explained(folder, true, **more):
    file = write(folder, true, **more)
    experiment = sysid.load_experiment(file)
    return explain(experiment, folder, output=folder / "run", verbose=False)


def loaded(inertia):
    head, tail = MODEL.split("</body></body></worldbody>")
    return f"{head}{LOAD.format(inertia)}</body></body></worldbody>{tail}"


def test_a_payload_is_a_mass_at_a_place_and_nothing_else_is_named(tmp_path):
    found = explained(tmp_path, loaded(1e-6))
    assert found.causes == ["payload"]
    # short and noisy, the log does not exclude a heavier link with another centre of mass
    assert set(found.together["payload"]) <= {"inertia"}
    mass, x, _, z, *own = found.summary["parameters"]
    assert mass["low"] <= 0.4 <= mass["high"] and mass["high"] - mass["low"] < 0.05
    assert x["value"] == pytest.approx(0.02, abs=0.01)
    assert z["value"] == pytest.approx(-0.25, abs=0.01)
    assert own == []
    first = found.summary["verdict"]["reasons"][0]["sentence"]
    assert first.startswith("Change the payload first, about 0.4 kg (")
    assert "on lower, 0.25 m from its frame" in first
    # without slopes alone: 5628 simulations were needed once for a log like this one
    assert found.summary["stats"]["evaluations"] < 1000


def test_a_wide_payload_has_an_inertia_of_its_own(tmp_path):
    found = explained(tmp_path, loaded(0.02))
    assert found.causes == ["payload"]
    values = {p["name"]: p["value"] for p in found.summary["parameters"]}
    assert values["lower_payload_mass"] == pytest.approx(0.4, rel=0.1)
    assert values["lower_payload_inertia"] == pytest.approx(0.02, rel=0.1)
    assert "own inertia" in found.summary["message"]


def test_a_controller_that_carries_the_weight_is_named(tmp_path):
    true = MODEL.replace("<body ", '<body gravcomp="1" ')
    found = explained(tmp_path, true)
    assert found.causes == ["gravity-compensation"]
    (fraction,) = found.summary["parameters"]
    assert fraction["value"] == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("angle", [0.3, np.pi / 2])
def test_a_tilted_base_is_named_with_its_angle(tmp_path, angle):
    x, z = 9.81 * np.sin(angle), -9.81 * np.cos(angle)
    true = TURNING.replace("<option ", f'<option gravity="{x} 0 {z}" ')
    found = explained(tmp_path, true, modelled=TURNING)
    assert found.causes == ["gravity"]
    tilts = {p["name"]: p["value"] for p in found.summary["parameters"]}
    assert tilts["gravity_tilt_y"] == pytest.approx(-angle, abs=0.02)
    assert f"tilted by -{np.degrees(angle):.2g}"[:12] in found.summary["message"]


def test_gains_that_firmware_scales_are_named_with_the_factor(tmp_path):
    true = MODEL.replace(SERVO, 'joint="shoulder" kp="120" kv="3"')
    found = explained(tmp_path, true)
    assert found.causes == ["gains"]
    values = {p["name"]: p["value"] for p in found.summary["parameters"] if p["changed"]}
    assert values["m0_kp"] == pytest.approx(120.0, rel=0.02)
    assert "times that of the model" in found.summary["message"]


def test_a_range_of_commands_in_the_model_that_cuts_the_log_is_named(tmp_path):
    narrow = MODEL.replace(SERVO, f'{SERVO} ctrlrange="-.1 .1" ctrllimited="true"')
    found = explained(tmp_path, MODEL, modelled=narrow)
    assert found.causes == ["command-range"]
    assert {p["name"] for p in found.summary["parameters"] if p["changed"]} <= {
        "m0_smallest_command",
        "m0_largest_command",
    }
    assert "or beyond, all that the log reaches" in found.summary["message"]


def test_a_range_of_a_joint_in_the_model_that_the_log_leaves_is_named(tmp_path):
    narrow = MODEL.replace('name="elbow"', 'name="elbow" range="-.1 .1" limited="true"')
    found = explained(tmp_path, MODEL, modelled=narrow)
    assert found.causes[0] == "joint-range"


def test_what_was_tried_is_listed_before_no_cause_is_named(tmp_path, capsys):
    """Two sensors that are exchanged are no number of the model."""
    file = write(tmp_path)
    text = (tmp_path / "log.csv").read_text().replace("t,q0,q1", "t,q1,q0", 1)
    (tmp_path / "log.csv").write_text(text)
    words = ["explain", str(file), "-o", str(tmp_path / "run"), "--causes", "delay", "friction"]
    assert main([*words, "--quiet"]) == 0
    said = capsys.readouterr().out
    summary = json.loads((tmp_path / "run" / "solution.json").read_text())
    if not summary["chosen"]:
        sentence = summary["message"]
        assert sentence.index("Tried") < sentence.index("No cause explains the gap")
        assert "delay of commands (" in sentence and "joint friction (" in sentence
        assert f"trueup check {file}" in said
    assert summary["verdict"]["grade"] == "look"


def test_the_next_command_is_named(tmp_path, capsys):
    file = write(tmp_path, late=3)
    words = ["explain", str(file), "-o", str(tmp_path / "run"), "--causes", "delay"]
    assert main([*words, "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "What next:" in said and f"trueup identify {file}" in said
    page = (tmp_path / "run" / "report.html").read_text()
    assert "What next" in page and "trueup identify EXPERIMENT" in page
