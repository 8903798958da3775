"""Configurations and vectors of a MyoAssist checkout find the files that lie around them."""

import json
import shutil

import numpy as np
import pytest

from trueup.cli import main
from trueup.gait import load_configuration

ARGUMENTS = "--musc_model 22 --model dephy -kine --delayed 0 --ExoOn 1 --use_4param_spline"


@pytest.fixture
def checkout(tmp_path):
    """The folders of a checkout, with empty files where only their names count."""
    root = tmp_path / "myoassist"
    for path in (
        "models/22muscle_2D/myoLeg22_2D_BASELINE.xml",
        "models/22muscle_2D/myoLeg22_2D_DEPHY.xml",
        "models/26muscle_3D/myoLeg26_DEPHY.xml",
        "ctrl_optim/optim/ref_data/ref_kinematics_radians.csv",
        "ctrl_optim/results/train.bat",
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    (root / "ctrl_optim/results/train.bat").write_text(f"python train.py {ARGUMENTS}")
    return root


def test_a_batch_file_finds_its_model_and_its_reference(checkout):
    found = load_configuration(checkout / "ctrl_optim/results/train.bat")
    assert found.model_file == str(checkout / "models/22muscle_2D/myoLeg22_2D_DEPHY.xml")
    reference = checkout / "ctrl_optim/optim/ref_data/ref_kinematics_radians.csv"
    assert found.reference == (str(reference),)


def test_a_batch_file_alone_names_neither(checkout, tmp_path):
    alone = tmp_path / "elsewhere" / "train.bat"
    alone.parent.mkdir()
    shutil.copy(checkout / "ctrl_optim/results/train.bat", alone)
    found = load_configuration(alone)
    assert found.model_file is None and found.reference is None


def test_a_vector_walks_as_in_myoassist_by_its_batch_file(recorded_data, capsys):
    tutorial = recorded_data / "myoassist/tutorial"
    (config,), (vector,) = tutorial.glob("*.bat"), tutorial.glob("*_Best.txt")
    words = ["gait", "evaluate", str(vector), "--config", str(config), "sim_time=2", "--json"]
    assert main(words) == 0
    answer = json.loads(capsys.readouterr().out)
    assert any("myoLeg22_2D_TUTORIAL.xml" in note for note in answer["notes"])
    golden = np.load(recorded_data / "golden/myoassist_tutorial_mujoco3.17.0.npz")
    # the pelvis of the recording goes at the same speed over its first two seconds
    going = golden["qpos"][199, 0] - golden["qpos"][0, 0]
    assert answer["terms"]["walked"] == pytest.approx(going, rel=0.02)
