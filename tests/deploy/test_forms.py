"""The registry of forms: one name per simulator for all commands, and what is refused."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from random_networks import random_network

from trueup.actuators import ServoModel, save_model
from trueup.cli import main
from trueup.deploy import (
    FORMS,
    DrawsExport,
    DrawsRequest,
    Form,
    ServoExport,
    export_network,
    export_servo,
    find_form,
    register_form,
)
from trueup.deploy.forms import THINGS
from trueup.errors import FitError
from trueup.knowledge import Draws
from trueup.networks import save_network

SERVO = ServoModel.create("xl330", "m1")


@pytest.fixture
def registry(monkeypatch):
    """The registry, as it was before, when the test is over."""
    for thing, forms in FORMS.items():
        monkeypatch.setitem(FORMS, thing, dict(forms))


def test_a_simulator_has_one_name_for_all_that_it_takes():
    names = {name for forms in FORMS.values() for name in forms}
    folders = {p.name for p in Path(sys.modules["trueup.deploy"].__file__).parent.iterdir()}
    for name in ("mujoco", "mjlab", "isaac-lab", "newton", "playground"):
        assert name in names and name.replace("-", "_") in folders
    assert not [name for name in names if "_" in name or name != name.lower()]
    for thing, forms in FORMS.items():
        assert thing in THINGS
        assert all(form.name == name and form.thing == thing for name, form in forms.items())


@pytest.mark.parametrize(
    ("old", "thing", "new"),
    [
        ("mjlab-module", "servo", "mjlab"),
        ("newton-module", "servo", "newton"),
        ("numpy-module", "servo", "numpy"),
        ("isaac-lab-gru", "network", "isaac-lab"),
        ("isaac-lab-lstm", "network", "isaac-lab"),
        ("isaac-lab-mlp", "network", "isaac-lab"),
        ("isaaclab", "servo", "isaac-lab"),
        ("isaaclab", "draws of a model", "isaac-lab"),
        ("isaaclab", "draws of a servo", "isaac-lab"),
        ("isaaclab", "draws of an ensemble of networks", "isaac-lab"),
    ],
)
def test_former_spellings_are_taken_and_not_listed(old, thing, new):
    assert find_form(old, thing).name == new
    assert old not in FORMS[thing]


@pytest.mark.parametrize(
    ("name", "thing", "words"),
    [
        ("mjlabs", "servo", "unknown export form 'mjlabs'.*'mujoco'.*Did you mean 'mjlab'"),
        ("onnx", "servo", "'onnx' supports a network, not an identified servo; forms for an"),
        ("mujoco", "network", "'mujoco' supports an identified servo, not a network; .*'onnx'"),
        ("playground", "network", "'playground' supports draws of a model, not a network"),
        (
            "json",
            "servo",
            "supports draws of a model and draws of a servo and draws of an",
        ),
        ("", "draws of a servo", "unknown export form ''; forms for draws of a servo are 'mjlab'"),
    ],
)
def test_a_name_that_does_not_fit_says_what_does(name, thing, words):
    with pytest.raises(FitError, match=words):
        find_form(name, thing)


def test_commands_refuse_a_form_before_anything_is_read_or_written(tmp_path, capsys):
    params = save_model(SERVO, tmp_path / "servo.json")
    save_network(random_network("gru"), tmp_path / "network.safetensors")
    target = tmp_path / "new" / "out"
    network = ["network", "export", str(tmp_path / "network.safetensors"), "-o", str(target)]
    servo = ["actuator", "export", "--params", str(params), "-o", str(target)]
    for words, form, said in (
        (servo, "onnx", "supports a network, not an identified servo"),
        (servo, "mjlab2", "Did you mean 'mjlab'"),
        (network, "mjcf-dcmotor", "supports an identified servo, not a network"),
        (network, "isaac_lab", "Did you mean 'isaac-lab'"),
    ):
        assert main([*words, "--form", form]) == 2
        assert said in capsys.readouterr().err
        assert not target.parent.exists()


def test_forms_of_a_user_are_found_when_they_are_used(registry, tmp_path):
    with pytest.raises(FitError, match="unknown export form 'urdf'"):
        export_servo(SERVO, "urdf")
    register_form(Form("urdf", "servo", "dynamics", lambda r: ServoExport("<dynamics/>"), ".urdf"))
    assert export_servo(SERVO, "urdf").text == "<dynamics/>"

    def write(deployment, path):
        Path(path).write_text(deployment.network.family)
        return "use"

    register_form(Form("urdf", "network", "family", write, ".txt"))
    assert export_network(random_network("gru"), "urdf", tmp_path / "n.txt").usage == "use"
    assert (tmp_path / "n.txt").read_text() == "gru"
    draws = Form(
        "urdf", "draws of a model", "names", lambda r: DrawsExport(r.rows.names), files=("a",)
    )
    register_form(draws)
    rows = Draws(("kt",), ("",), ("",), np.zeros((3, 1)))
    assert find_form("urdf", "draws of a model").write(DrawsRequest(rows, "arm")).contents == (
        "kt",
    )
    with pytest.raises(FitError, match="'robot', which cannot be exported; available: 'servo'"):
        register_form(Form("urdf", "robot", "", write))


def test_the_registry_is_light():
    code = (
        "import sys, trueup.deploy.forms\n"
        "heavy = {'numpy', 'torch', 'mujoco', 'numba', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
