"""Training through the simulated joint: its step, what it learns, what it refuses."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from distinct_servos import LAWS, TERMS, distinct_model

from trueup.actuators import BenchSimulator, ServoModel, find_servo, friction_model, save_model
from trueup.actuators.logs.files import write_log
from trueup.actuators.logs.servo_log import ServoLog
from trueup.cli import main
from trueup.errors import FitError, RecordingError, RunDirectoryError
from trueup.networks import MotionSettings, load_network, run_motion_training
from trueup.networks.motion.base import MotionBase
from trueup.networks.motion.driven_joint import DrivenJoint
from trueup.networks.motion.evaluation import evaluate_motion
from trueup.networks.motion.logs import MAX_STEP, MotionLogs
from trueup.networks.motion.result import MotionParts, evaluated, motion_parts
from trueup.networks.motion.starting_correction import starting_correction
from trueup.networks.motion.trainer import MotionTrainer
from trueup.networks.motion.training import (
    Motion,
    MotionTraining,
    motion_errors,
    motions,
    train_motion,
)

MODEL = ServoModel.create(
    find_servo("xl330"), friction_model("m4"), kt=0.38, R=3.4, armature=2e-3, friction_base=0.01,
    friction_viscous=0.005, friction_stribeck=0.01, load_friction_base=0.07,
    load_friction_stribeck=0.05, dtheta_stribeck=0.5, alpha=1.2, q_offset=0.02,
)  # fmt: skip
TRUTH = replace(MODEL, values={**MODEL.values, "friction_viscous": 0.05, "friction_base": 0.04})
QUICK = MotionSettings(hidden=6, max_steps=40, batch=16, horizons=(0.1,), learning_rate=2e-2)


def blank_log(kp: float, number: int, seconds: float = 1.6) -> ServoLog:
    """A log whose command is a sine; its motion is still to be simulated."""
    times = np.arange(round(seconds / 0.005)) * 0.005
    goal = (0.8 + 0.1 * number) * np.sin(2 * np.pi * (0.8 + 0.3 * number) * times)
    zeros = np.zeros_like(times)
    return ServoLog(
        name=f"xl330_kp{kp:g}_t{number}", source="made", sha256="", motor="xl330",
        trajectory=f"t{number}", mass=0.3, arm_mass=0.0, length=0.1, kp=kp, vin=7.4, damping=None,
        dt=0.005, times=times, position=zeros, speed=zeros, goal_position=goal,
        torque_enable=times < seconds - 0.2, load=None, input_volts=zeros + 7.1,
        temperature=zeros + 31.0,
    )  # fmt: skip


def simulated(model: ServoModel, logs: list[ServoLog]) -> list[ServoLog]:
    """The logs with the motion of a servo."""
    found = BenchSimulator(model, logs, max_step=MAX_STEP).simulate()
    return [
        replace(log, position=position[0].copy(), speed=speed[0].copy())
        for log, position, speed in zip(logs, found.position, found.speed, strict=True)
    ]


LOGS = simulated(TRUTH, [blank_log(kp, n) for kp in (100.0, 200.0, 400.0) for n in (0, 1)])
WHOLE = MotionLogs.of(TRUTH, LOGS).whole(DrivenJoint(TRUTH))
SPEEDS = [*WHOLE.speed, WHOLE.speed[-1]]
TORQUES = torch.stack(
    [WHOLE.load_torque(k, WHOLE.position[k], SPEEDS[k], SPEEDS[k + 1]) for k in range(320)], dim=1
).numpy()
"""Torque on the load of each log [N m]."""


def test_windows_of_an_exact_model_have_no_loss():
    """Each window starts in the state of its first sample and is simulated as the whole."""
    logs = MotionLogs.of(TRUTH, LOGS)
    trainer = MotionTrainer(TRUTH, logs, logs, QUICK)
    trainer.step(0.0)
    assert trainer.loss_sum < 1e-20


@pytest.mark.parametrize("law", LAWS)
def test_the_step_is_that_of_the_bench_simulator(law):
    model = distinct_model(law, "m6", (*TERMS[law], "command_delay"), command_delay=0.012)
    logs = [replace(log, motor=model.servo.name, kp=2.0, damping=0.1) for log in LOGS[:2]]
    found = BenchSimulator(model, logs, max_step=MAX_STEP).simulate()
    errors = motion_errors(model, logs)
    for position, log in zip(found.position, logs, strict=True):
        expected = np.sqrt(np.mean((position[0] - log.position) ** 2))
        assert errors[log.name] == pytest.approx(expected, rel=1e-9)


def test_friction_that_the_model_lacks_is_learned_from_command_and_angle(tmp_path):
    result = run_motion_training(MODEL, LOGS, tmp_path, settings=QUICK)
    assert {log.kp for log in result.parts.test} == {400.0}
    assert result.network is not None
    for name, error in result.errors.items():
        assert error < 0.8 * result.base_errors[name]
    assert result.verdict.grade.value == "use"
    saved = load_network(tmp_path / "network.safetensors")
    again = motion_errors(result.training.servo, result.parts.test, saved)
    assert again == pytest.approx(result.errors)
    assert "angle error, corrected" in (tmp_path / "report.html").read_text()
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert metrics["corrected"]
    for each in metrics["test"].values():
        assert [row["horizon"] for row in each["horizons"]] == [0.1, 0.3, 1.0]
        # this servo holds its command: what the model lacks shows the longer the more
        assert each["horizons"][0]["corrected"] < each["horizons"][-1]["corrected"]
    assert "Errors by horizon" in (tmp_path / "report.html").read_text()
    held = [log for log in LOGS if log.kp == 400.0]
    found = evaluate_motion(tmp_path, held)
    assert found.errors == pytest.approx(result.errors)
    ahead = [row["error"] for row in found.to_dict()["logs"][held[0].name]["horizons"]]
    of_log = metrics["test"][held[0].name]["horizons"]
    assert ahead == pytest.approx([row["corrected"] for row in of_log])
    assert found.base_errors == pytest.approx(result.base_errors)
    assert found.unseen and found.verdict.grade.value == "use"
    known = evaluate_motion(tmp_path, LOGS[:2])
    assert not known.unseen
    assert any("2 of 2 logs were in the training" in r.sentence for r in known.verdict.reasons)
    assert metrics["logs"]["validation"] == ["xl330_kp100_t0", "xl330_kp200_t0"]


def test_where_the_servo_model_suffices_it_is_what_is_written(tmp_path):
    exact = simulated(MODEL, LOGS)
    few = replace(QUICK, max_steps=4)
    result = run_motion_training(MODEL, exact, tmp_path, settings=few)
    assert result.network is None
    assert result.errors == result.base_errors
    assert not (tmp_path / "network.safetensors").exists()
    assert any("servo model is sufficient" in reason.sentence for reason in result.verdict.reasons)
    assert "corrected" not in (tmp_path / "report.html").read_text()
    found = evaluate_motion(tmp_path, exact[-1:])
    assert not found.corrected
    assert found.errors == pytest.approx({exact[-1].name: result.errors[exact[-1].name]})


def test_what_is_no_finished_training_of_servo_logs_is_not_evaluated(tmp_path, capsys):
    with pytest.raises(RunDirectoryError):
        evaluate_motion(tmp_path, LOGS[:1])
    few = replace(QUICK, max_steps=1)
    run_motion_training(MODEL, LOGS, tmp_path / "run", settings=few)
    words = ["network", "evaluate", str(tmp_path / "run")]
    assert main(words) == 2
    assert "give their folder as --data" in capsys.readouterr().err
    assert main([*words, "--data", str(tmp_path), "--inertia", "0.1"]) == 2
    assert "give --data alone" in capsys.readouterr().err
    (tmp_path / "run" / "metrics.json").unlink()
    assert main([*words, "--data", str(tmp_path)]) == 2
    assert "the training is not finished" in capsys.readouterr().err


def test_the_parameters_of_the_servo_can_be_learned_along():
    done = train_motion(MODEL, LOGS[:2], LOGS[2:3], replace(QUICK, learn_base=True))
    assert done.servo.values["friction_viscous"] != MODEL.values["friction_viscous"]
    assert done.validation[1] < done.validation[0]


def test_the_torque_can_be_the_target():
    logs = [replace(log, columns={"torque": torque}) for log, torque in zip(LOGS, TORQUES)]
    settings = replace(QUICK, target="torque", learn_base=False, max_steps=60)
    done = train_motion(MODEL, logs[:4], logs[4:5], settings)
    before, after = (motions(MODEL, logs[4:5], network)[0] for network in (None, done.network))
    assert after.torque_error < 0.8 * before.torque_error
    with pytest.raises(RecordingError, match="requires the field 'torque'"):
        train_motion(MODEL, LOGS[:2], logs[4:5], settings)


def test_the_gradient_of_a_sample_is_that_of_differences():
    """Of the state, the correction, the gain and the numbers of the base, over two steps."""
    joint = DrivenJoint(MODEL, learned=True)
    windows = MotionLogs.of(MODEL, LOGS[:3]).whole(joint)
    start = joint.reached().detach()
    given = [windows.position[20], windows.speed[20], torch.tensor([0.01, -0.02, 0.03]).double(),
             windows.gain, start[:, None].expand(-1, 3).contiguous()]  # fmt: skip
    given = [each.clone().requires_grad_() for each in given]
    assert len(windows.inputs[20].target[0]) == 2

    def sample(position, speed, correction, gain, numbers):
        return windows.after(20, position, speed, correction, gain, numbers)

    assert torch.autograd.gradcheck(sample, given, eps=1e-7, atol=1e-5, rtol=1e-4)


def test_a_correction_that_is_worse_on_angles_it_has_not_seen_is_not_written():
    training = [replace(log, position=0.3 * log.position) for log in LOGS[:4]]
    parts = MotionParts(tuple(training[:2]), tuple(training[2:]), (LOGS[4],))
    network = starting_correction(
        MotionLogs.of(MODEL, LOGS[:1]), DrivenJoint(MODEL), QUICK, False
    ).to_network()
    base = MotionBase.of(MODEL)
    done = MotionTraining(network, base, base, (1.0, 0.5), (), 1, 1.0)
    name, motion = LOGS[4].name, Motion(LOGS[4].position, 0.01, None)
    result = evaluated(done, parts, {name: motion}, {name: replace(motion, angle_error=0.02)})
    assert result.network is None and result.errors == {name: 0.01}
    sentence = " ".join(reason.sentence for reason in result.verdict.reasons)
    assert "20 mrad on held-out logs" in sentence
    seen = np.concatenate([log.position for log in training[:2]])
    share = np.mean((LOGS[4].position > seen.max()) | (LOGS[4].position < seen.min()))
    assert share > 0.3 and f"{100 * share:.0f} % of its samples are at angles" in sentence


def test_a_base_that_was_fitted_to_the_test_logs_is_named():
    """Its error there is no baseline: it has seen them."""
    parts = MotionParts(tuple(LOGS[:2]), tuple(LOGS[2:4]), (LOGS[4],))
    name, motion = LOGS[4].name, Motion(LOGS[4].position, 0.01, None)
    verdicts = []
    for logs in (LOGS[:4], LOGS):
        model = replace(MODEL, provenance={"training_logs": {log.name: 0.01 for log in logs}})
        done = MotionTraining(None, *[MotionBase.of(model)] * 2, (1.0, 1.0), (), 1, 1.0)
        verdicts.append(evaluated(done, parts, {name: motion}, {name: motion}).verdict)
    words = f"was fitted to the test logs '{name}'"
    told = [any(words in reason.sentence for reason in each.reasons) for each in verdicts]
    assert told == [False, True]


def test_the_trajectory_that_is_most_like_the_others_validates():
    """A small slow one judges little, and a wide one visits what the others do not."""
    names = ("wide", "narrow", "alike", "other")
    scales = dict(zip(names, (3.0, 0.05, 1.0, 0.9), strict=True))
    logs = [
        replace(log, trajectory=name, name=f"{name}{n}", position=scales[name] * log.position,
                speed=scales[name] * log.speed)
        for name in names for n, log in enumerate(LOGS[:2])
    ]  # fmt: skip
    parts = motion_parts([*logs, replace(LOGS[4], name="last")], test=["last"])
    assert {log.trajectory for log in parts.validation} < {"alike", "other"}


def test_the_command_trains_and_says_what_it_is_worth(tmp_path, capsys):
    (tmp_path / "logs").mkdir()
    for log in LOGS:
        write_log(log, tmp_path / "logs" / f"{log.name}.json")
    save_model(MODEL, tmp_path / "m4.json")
    words = [
        "network",
        "train-motion",
        str(tmp_path / "logs"),
        "--servo",
        str(tmp_path / "m4.json"),
    ]
    words += ["--output", str(tmp_path / "run"), "max_steps=10", "horizons=0.05"]
    assert main([*words, "test=t1", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result["test"]) == {f"xl330_kp{kp}_t1" for kp in (100, 200, 400)}
    assert result["verdict"]["grade"] in ("use", "look", "do not use")
    assert main([*words, "--quiet"]) == 2
    assert "already contains a run" in capsys.readouterr().err
    assert main([*words, "--overwrite", "--seconds", "soon"]) == 2
    assert "--seconds" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"goal_position": np.zeros(320)}, "the command is constant in all 1 logs"),
        (
            {"position": 60.0 * LOGS[0].position},
            "angles of position reach .*these appear to be degrees",
        ),
        ({"mass": 0.0}, "Motion alone determines only the ratio"),
    ],
)
def test_logs_that_cannot_be_trained_on_are_refused(change, words):
    bad = replace(LOGS[0], **change)
    with pytest.raises(RecordingError, match=words):
        train_motion(MODEL, [bad], [bad], QUICK)


def test_horizons_names_and_terms_that_cannot_be(tmp_path):
    with pytest.raises(RecordingError, match="longer than the shortest recording"):
        train_motion(MODEL, LOGS[:1], LOGS[1:2], replace(QUICK, horizons=(3.0,)))
    with pytest.raises(RecordingError, match="no log has the gain 300"):
        motion_parts(LOGS, test_kp=[300.0])
    with pytest.raises(RecordingError, match="no log or trajectory named 't7'"):
        motion_parts(LOGS, test=["t7"])
    with pytest.raises(RecordingError, match=r"none of .* logs remains for training"):
        motion_parts(LOGS, test=["t1"], validation=["t0"])
    loose = ServoModel.create(find_servo("xl330"), friction_model("m1"), ("backlash",))
    with pytest.raises(FitError, match="backlash"):
        train_motion(loose, LOGS[:1], LOGS[1:2], QUICK)
