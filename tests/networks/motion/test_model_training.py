"""Corrections of the joints of a MuJoCo model: gradient, what they learn, what is refused."""

import json

import friction_arm
import numpy as np
import pytest
import yaml

pytest.importorskip("torch")

import torch

from trueup.cli import main
from trueup.errors import TrueupError
from trueup.networks import MotionSettings, load_network, run_model_training
from trueup.networks.motion.of_model.training import model_parts, model_trainer
from trueup.networks.motion.rollout import whole_motion
from trueup.sysid import load_experiment
from trueup.sysid.experiment.preparation import prepare

QUICK = MotionSettings(hidden=6, max_steps=60, batch=6, horizons=(0.1,), learning_rate=4e-2)


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    return friction_arm.write(tmp_path_factory.mktemp("arm"))


@pytest.fixture(scope="module")
def parts(arm):
    return model_parts(prepare(load_experiment(arm), arm.parent, needs_parameters=False), QUICK)


def test_friction_that_the_model_lacks_is_learned_at_every_joint(arm, tmp_path):
    result = run_model_training(arm, tmp_path / "run", settings=QUICK, verbose=False)
    assert list(result.errors) == ["swing3 shoulder", "swing3 elbow"]
    for name, error in result.errors.items():
        assert error < 0.5 * result.base_errors[name]
    assert result.verdict.grade.value == "use"
    shoulder = load_network(tmp_path / "run/network_shoulder.safetensors")
    assert shoulder.features == ("current_angle_rad", "current_ang_vel_rad_s")
    assert shoulder.rate == pytest.approx(200.0)
    content = json.loads((tmp_path / "run/metrics.json").read_text())
    assert content["logs"]["test"] == ["swing3 shoulder", "swing3 elbow"]
    assert (tmp_path / "run/report.html").is_file()


def test_the_model_alone_moves_as_mujoco_does(parts):
    """Along whole recordings, by the engine of the training and by single steps."""
    import mujoco

    joints = parts.test.driven(parts.base, False, False)
    with torch.no_grad():
        positions, _ = whole_motion(parts.test.whole(joints), None)
    model = parts.base.model
    data, found = mujoco.MjData(model), []
    data.qpos[:], data.qvel[:] = parts.test.position[0, 0], parts.test.speed[0, 0]
    for controls in parts.test.controls[0]:
        found.append(data.qpos.copy())
        for control in controls:
            data.ctrl[:] = control
            mujoco.mj_step(model, data)
    np.testing.assert_allclose(positions.numpy().T, found, atol=1e-9)


def test_the_gradient_of_a_window_is_that_of_differences(parts, monkeypatch):
    """By weights of both networks, through 20 samples of a joined arm; none goes through the time
    before the window."""
    monkeypatch.setattr("trueup.networks.motion.trainer.BURN_IN", 0.0)
    trainer = model_trainer(parts, QUICK)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weight in trainer.module.parameters():
            weight += 0.2 * torch.randn(weight.shape, generator=generator)

    def loss():
        trainer.random = np.random.default_rng(1)
        return trainer._window_loss(0.1)

    loss().backward()
    for member in trainer.module.members:
        weight = member.head.weight
        with torch.no_grad():
            found = []
            for step in (1e-4, -1e-4):
                weight[0, 2] += step
                found.append(float(loss()))
                weight[0, 2] -= step
        expected = (found[0] - found[1]) / 2e-4
        assert float(weight.grad[0, 2]) == pytest.approx(expected, rel=1e-3, abs=1e-6)


def test_where_the_model_suffices_it_is_what_is_written(arm, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(friction_arm, "FRICTION", np.zeros(2))
    exact = friction_arm.write(tmp_path)
    words = ["network", "train-motion", str(exact), "-o", str(tmp_path / "run")]
    words += ["max_steps=10", "horizons=0.05"]
    assert main([*words, "--dry-run"]) == 0
    assert "Angle error of the model" in capsys.readouterr().out
    assert not (tmp_path / "run").exists()
    assert main([*words, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    print(content["validation"], content["test"])
    assert not content["corrected"]
    assert not list((tmp_path / "run").glob("*.safetensors"))
    assert any("The model is sufficient" in str(each) for each in content["verdict"]["reasons"])


def changed(folder, change):
    file = friction_arm.write(folder, seconds=1.0)
    content = yaml.safe_load(file.read_text())
    change(content)
    file.write_text(yaml.safe_dump(content))
    return file


def without_elbow(content):
    for part in content["recordings"]:
        del part["signals"]["elbow_qpos"]


def with_activation(content):
    content["model"] = {"file": "slow.xml"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without_elbow, "joint 'elbow' was not measured"),
        (
            lambda c: c.update(recordings=c["recordings"][2:]),
            "at least two are required in addition to those held out",
        ),
        (with_activation, "activation states"),
    ],
)
def test_experiments_that_cannot_be_trained_on_are_refused(change, words, tmp_path):
    slow = """<actuator><general name="shoulder" joint="shoulder" dyntype="filter" dynprm="0.1"/>
    <general name="elbow" joint="elbow" dyntype="filter" dynprm="0.1"/></actuator></mujoco>"""
    (tmp_path / "slow.xml").write_text(friction_arm.ARM.replace("</mujoco>", slow))
    with pytest.raises(TrueupError, match=words):
        run_model_training(changed(tmp_path, change), settings=QUICK, verbose=False)


def test_options_of_servo_logs_are_refused(arm, tmp_path, capsys):
    for words, message in (
        (["--base", "pd"], "remove --servo"),
        (["inputs=kp"], "is a condition of servo logs"),
        (["target=torque"], "are trained on their motion"),
        (["validation=swing9"], "no training recording named 'swing9'"),
        (["horizons=9"], "longer than the shortest recording"),
    ):
        assert main(["network", "train-motion", str(arm), "-o", str(tmp_path / "r"), *words]) == 2
        assert message in capsys.readouterr().err
