"""Bases without a servo model, conditions, gains of the firmware, and recorded torque."""

import functools
import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from tests.networks.motion.test_motion_training import LOGS, MODEL, QUICK, blank_log

from trueup.actuators import save_model
from trueup.actuators.logs.files import write_log
from trueup.cli import main
from trueup.errors import FitError, RecordingError
from trueup.networks import PdJoint, run_motion_training
from trueup.networks.motion.base import MotionBase, read_base
from trueup.networks.motion.base_fit import fit_base
from trueup.networks.motion.driven_joint import DrivenJoint
from trueup.networks.motion.joint_step import SampleInputs
from trueup.networks.motion.logs import MotionLogs, correction_inputs
from trueup.networks.motion.rollout import whole_motion
from trueup.networks.motion.trainer import MotionTrainer
from trueup.networks.motion.training import checked_logs, motion_errors, train_motion

JOINT = PdJoint(
    kp=0.012, kd=0.06, stall_torque=0.7, no_load_speed=7.0, armature=0.003, frictionloss=0.02
)


def moved(base, logs, torque=None):
    """Logs with the motion of a base, and with the torque that the load takes."""
    with torch.no_grad():
        stacked = MotionLogs.of(base, logs)
        position, speed = (v.numpy() for v in whole_motion(stacked.whole(DrivenJoint(base)), None))
    found = []
    for index, log in enumerate(logs):
        angle, rate = position[index, : len(log)].copy(), speed[index, : len(log)].copy()
        acceleration = np.append(np.diff(rate) * stacked.rate, 0.0)
        load = float(stacked.inertia[index]) * acceleration
        load = load + float(stacked.gravity[index]) * np.sin(angle)
        columns = {} if torque is None else {"torque": load + torque}
        found.append(replace(log, position=angle, speed=rate, columns=columns))
    return found


@functools.cache
def pd_logs():
    """Logs of a joint with a PD controller, made once and when they are needed."""
    return moved(JOINT, [blank_log(kp, n) for kp in (100.0, 200.0, 400.0) for n in (0, 1)])


def test_a_pd_base_moves_as_its_equation_says():
    """One step by hand: within the curve, along the motion and against it, and held at rest."""
    log = pd_logs()[0]
    logs = MotionLogs.of(JOINT, [log])
    h, inertia = 0.0025, float(logs.inertia[0]) + JOINT.armature
    for target, speed in ((0.05, 0.3), (3.0, 5.0), (3.0, -5.0), (0.2, 0.0), (0.0, 0.0)):
        wanted = JOINT.kp * 100.0 * target - JOINT.kd * speed
        along = JOINT.stall_torque * max(0.0, 1.0 - abs(speed) / JOINT.no_load_speed)
        upper = along if speed > 0 else JOINT.stall_torque
        lower = along if speed < 0 else JOINT.stall_torque
        torque = min(max(wanted, -lower), upper)
        damping = JOINT.kd if torque == wanted else 0.0
        push = (inertia / h + damping) * speed + torque
        left = max(abs(push) - JOINT.frictionloss, 0.0)
        expected = np.copysign(left, push) / (inertia / h + damping)
        zero = torch.zeros(1).double()
        none = np.zeros(1)
        inputs = SampleInputs(
            target=np.full((1, 1), target), on=np.ones((1, 1)), rate_gain=none + 1.0, voltage=none,
            volts=none, warmth=none, inertia=logs.inertia.numpy(), gravity=logs.gravity.numpy(),
        )  # fmt: skip
        _, found = DrivenJoint(JOINT)(
            zero, zero + speed, inputs, correction=zero, gain=zero + 100.0, h=h
        )
        assert float(found) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_the_numbers_of_a_pd_base_are_found_from_the_motion():
    found = fit_base(MotionBase.of("pd"), MotionLogs.of("pd", pd_logs()[:4]))
    for name, value in JOINT.values.items():
        assert found.joint.values[name] == pytest.approx(value, rel=0.02), name
    held = motion_errors(found, pd_logs()[4:])
    assert max(held.values()) < 1e-3


def test_where_a_pd_law_suffices_it_is_what_is_written(tmp_path):
    result = run_motion_training("pd", pd_logs(), tmp_path, settings=replace(QUICK, max_steps=4))
    assert result.network is None
    assert any("PD base is sufficient" in reason.sentence for reason in result.verdict.reasons)
    written = read_base(tmp_path / "base.json")
    assert written.to_dict() == result.training.base.to_dict()
    assert not (tmp_path / "servo.json").exists()
    with pytest.raises(FitError, match="PD base, not a servo model"):
        _ = result.training.servo


def test_a_correction_of_a_pd_base_is_never_worse_than_it_on_held_out_motion():
    result = run_motion_training("pd", LOGS, settings=replace(QUICK, max_steps=8))
    assert np.mean([*result.errors.values()]) <= np.mean([*result.base_errors.values()])
    assert result.to_dict()["base"]["pd"]["kp"] > 0


def test_without_a_base_the_correction_is_the_whole_torque():
    settings = replace(QUICK, max_steps=10, horizons=(0.05,), learning_rate=2e-3)
    done = train_motion("none", pd_logs()[:2], pd_logs()[2:3], settings)
    assert done.base.kind == "none"
    assert done.network is not None and done.network.has_skip
    assert done.validation[1] < 0.5 * done.validation[0]


@pytest.mark.parametrize("base", [JOINT, MODEL], ids=["pd", "servo"])
def test_the_gains_of_the_firmware_are_found_from_the_motion(base):
    truth = MotionBase(base, {50.0: 2.0, 100.0: 1.5})
    told = [replace(log, kp=0.5 * log.kp) for log in pd_logs()[:4]]
    found = fit_base(MotionBase(base), MotionLogs.of(base, moved(truth, told)), True)
    assert found.gains == pytest.approx(truth.gains, rel=0.02)
    assert found.joint == base
    trainer = MotionTrainer(found, *2 * [MotionLogs.of(base, told)], replace(
        QUICK, identify_gains=True))  # fmt: skip
    assert trainer.joint.trained_base().gains == pytest.approx(found.gains)


def test_factors_of_gains_are_interpolated_and_held_beyond_those_that_are_known():
    base = MotionBase(JOINT, {50.0: 2.0, 200.0: 4.0})
    factors = DrivenJoint(base).gain_factors(torch.tensor([10.0, 50.0, 100.0, 200.0, 900.0]))
    expected = [2.0, 2.0, np.sqrt(8.0), 4.0, 4.0]
    np.testing.assert_allclose(factors.detach(), expected, rtol=1e-6)
    assert MotionBase.from_dict(json.loads(json.dumps(base.to_dict()))) == base


def test_recorded_torque_is_scored_beside_the_motion():
    logs = moved(MODEL, LOGS, torque=0.03)
    result = run_motion_training(MODEL, logs, settings=replace(QUICK, max_steps=2))
    assert result.network is None
    for each in result.to_dict()["test"].values():
        assert each["corrected"] == pytest.approx(0.0, abs=1e-9)
        assert each["corrected_torque"] == pytest.approx(0.03, rel=1e-6)


def test_conditions_of_a_log_are_told_where_they_differ():
    motion = ("current_angle_rad", "angle_error_rad", "current_ang_vel_rad_s")
    assert correction_inputs(MODEL, LOGS, ()) == ("current_angle_rad", "current_ang_vel_rad_s")
    assert correction_inputs("none", LOGS, ()) == (*motion, "position_gain")
    heavy = [replace(log, mass=0.4, vin=6.0, damping=1.0) for log in LOGS[:2]]
    light = [replace(log, damping=2.0) for log in LOGS[2:4]]
    names = (*motion, "position_gain", "derivative_gain", "inertia_kg_m2", "voltage_v")
    assert correction_inputs("none", [*heavy, *light], ()) == names
    logs = MotionLogs.of(MODEL, [heavy[0], light[0]], names)
    expected = {"position_gain": [100.0, 200.0], "derivative_gain": [1.0, 2.0],
                "inertia_kg_m2": [0.4 * 0.01, 0.3 * 0.01], "voltage_v": [6.0, 7.4]}  # fmt: skip
    for name, values in expected.items():
        np.testing.assert_allclose(logs.conditions[name], values)
    assert correction_inputs(MODEL, LOGS, ("temperature",)) == (*motion, "temperature_c")
    assert correction_inputs(MODEL, LOGS, ("kp", "angle")) == ("current_angle_rad", "position_gain")
    settings = replace(QUICK, inputs=("kp", "voltage", "temperature"))
    trainer = MotionTrainer(MODEL, *checked_logs(MODEL, LOGS[:2], LOGS[2:3], settings), settings)
    network = trainer.module.to_network()
    assert network.features[3:] == ("position_gain", "voltage_v", "temperature_c")
    assert len(motion_errors(MODEL, LOGS[4:], network)) == 2
    with pytest.raises(RecordingError, match="the log has no temperature"):
        train_motion(MODEL, [replace(LOGS[0], temperature=None)], LOGS[2:3], settings)


def test_gains_that_some_logs_lack_are_refused():
    some = [replace(pd_logs()[0], damping=1.0), *pd_logs()[1:]]
    with pytest.raises(RecordingError, match="1 of 6 logs have one: record it in every log"):
        run_motion_training("pd", some, settings=QUICK)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--base", "pd", "--servo", "m4.json"], "or --base pd or none"),
        ([], "or --base pd or none"),
        (["--base", "xyzzy.json"], "xyzzy.json cannot be read as a base"),
        (["--base", "list.json"], "does not contain a base"),
        (["--base", "kind.json"], "unknown kind of base 'spring'"),
    ],
)
def test_bases_that_cannot_be_are_refused(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for log in LOGS[:3]:
        (tmp_path / "logs").mkdir(exist_ok=True)
        write_log(log, tmp_path / "logs" / f"{log.name}.json")
    save_model(MODEL, tmp_path / "m4.json")
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "kind.json").write_text('{"kind": "spring"}')
    assert main(["network", "train-motion", "logs", "--output", "run", *words]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_raw_logs_are_resampled(tmp_path, capsys):
    (tmp_path / "logs").mkdir()
    for log in LOGS[:4]:
        late = 1e-3 * (np.arange(len(log)) % 3)
        write_log(
            replace(log, dt=None, times=log.times + late), tmp_path / "logs" / f"{log.name}.json"
        )
    save_model(MODEL, tmp_path / "m4.json")
    words = ["network", "train-motion", f"{tmp_path}/logs", "--servo", f"{tmp_path}/m4.json"]
    words += ["--output", f"{tmp_path}/run", "max_steps=2", "horizons=0.05", "--dry-run"]
    assert main([*words, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["logs"]["training"]) == 2
