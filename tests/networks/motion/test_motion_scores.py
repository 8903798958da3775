"""Parts, starts, checkpoints and scores of a training by motion, without any training."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

pytest.importorskip("torch")

import torch
from joint_log import GRAVITY, RATE, joint_log

from trueup.errors import RecordingError, RunDirectoryError
from trueup.networks import MotionSettings, PdJoint
from trueup.networks.model.torch_network import TorchNetwork
from trueup.networks.motion.base import MotionBase
from trueup.networks.motion.base_fit import starting_pd
from trueup.networks.motion.checkpoint import (
    check_state,
    read_state,
    steps_and_seconds,
    write_state,
)
from trueup.networks.motion.driven_joint import DrivenJoint
from trueup.networks.motion.logs import MotionLogs
from trueup.networks.motion.report import motion_report
from trueup.networks.motion.result import MotionParts, evaluated, motion_parts
from trueup.networks.motion.rollout import horizon_errors, torque_balance
from trueup.networks.motion.simulated_training import file_name
from trueup.networks.motion.starting_correction import starting_correction, zero_network
from trueup.networks.motion.trainer import MotionTrainer
from trueup.networks.motion.training import Motion, MotionTraining, reached_by

BASE = PdJoint(0.01, 0.02, 5.0, 50.0, 0.001, 0.001)
INPUTS = ("current_angle_rad", "angle_error_rad", "current_ang_vel_rad_s")
QUICK = MotionSettings(hidden=4, max_steps=200, batch=4, horizons=(0.05, 0.1, 0.2), seconds=1e6)
LOGS = [joint_log(f"log{n}", 0.8, kp=kp) for n, kp in enumerate((50.0, 100.0, 200.0))]


# --- parts ---------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(some.lists(some.tuples(some.sampled_from([50.0, 100.0, 200.0]), some.sampled_from("abc")),
                  min_size=3, max_size=9, unique=True),
       some.sets(some.sampled_from("abc"), max_size=1), some.booleans())  # fmt: skip
def test_every_log_is_in_one_part(pairs, held, by_gain):
    """However logs are named and held out; where a part would be empty, that is said."""
    logs = [joint_log(f"{name}{kp:g}", 0.1, kp=kp, trajectory=name) for kp, name in pairs]
    gains = sorted({kp for kp, _ in pairs})
    known = [name for name in held if any(name == own for _, own in pairs)]
    test_kp = [gains[0]] if by_gain else []
    try:
        parts = motion_parts(logs, test_kp=test_kp, test=known)
    except RecordingError as error:
        assert "logs remains for" in str(error)
        return
    names = [log.name for part in (parts.training, parts.validation, parts.test) for log in part]
    assert sorted(names) == sorted(log.name for log in logs)
    assert parts.training and parts.validation
    highest = gains[-1:] if len(gains) > 2 and not test_kp and not known else test_kp
    expected = {log.name for log in logs if log.kp in highest or log.trajectory in known}
    assert {log.name for log in parts.test} == expected


def test_a_log_can_be_named_by_its_own_name_or_its_trajectory():
    logs = [joint_log(f"{t}{n}", 0.1, trajectory=t) for t in "ab" for n in range(2)]
    by_name = motion_parts(logs, test=["a0"], validation=["b"])
    assert [log.name for log in by_name.test] == ["a0"]
    assert [log.name for log in by_name.validation] == ["b0", "b1"]
    assert [log.name for log in by_name.training] == ["a1"]


# --- scores --------------------------------------------------------------------------------------


class Corrected:
    """What a result takes from a network."""

    features = INPUTS


NETWORK = Corrected()


def finished(base_errors, own_errors, network=NETWORK, held=None):
    """A result by errors of base and correction, on test logs of these errors."""
    test = held or tuple(
        joint_log(f"test{n}", 0.5, position=np.full(100, 0.1 * n)) for n in range(len(own_errors))
    )
    done = MotionTraining(
        network, MotionBase.of(BASE), MotionBase.of("none"), (0.3, 0.1), (), 7, 1.0
    )
    parts = MotionParts(tuple(LOGS[:2]), (LOGS[2],), test)
    base, own = (
        {log.name: Motion(log.position, error, None) for log, error in zip(test, errors)}
        for errors in (base_errors, own_errors)
    )
    return evaluated(done, parts, base, own)


def test_a_correction_is_kept_where_its_mean_error_is_not_larger():
    better, equal = finished([0.3, 0.1], [0.05, 0.3]), finished([0.2], [0.2])
    assert better.network is equal.network is NETWORK
    assert better.errors == {"test0": 0.05, "test1": 0.3}
    worse = finished([0.3, 0.1], [0.05, 0.36])
    assert worse.network is None and worse.errors == worse.base_errors
    assert worse.training.base.kind == "none"


def test_scores_are_in_millirad_beside_the_base_and_a_constant():
    """The constant is the mean angle of the training logs."""
    mean = float(np.concatenate([log.position for log in LOGS[:2]]).mean())
    result = finished([0.3, 0.1], [0.05, 0.02])
    for number, each in enumerate(result.verdict.comparisons):
        assert (each.channel, each.unit, each.held_out) == (f"angle of test{number}", "mrad", True)
        assert each.error == pytest.approx((50.0, 20.0)[number])
        base, constant = each.baselines.values()
        assert base == pytest.approx((300.0, 100.0)[number])
        assert constant == pytest.approx(1e3 * abs(0.1 * number - mean))
    scores = result.to_dict()["test"]
    assert scores["test0"] == {"base": 0.3, "corrected": 0.05, "deviation": 0.0, "horizons": []}


def test_names_of_logs_do_not_change_their_scores():
    one = finished([0.3, 0.1], [0.05, 0.02])
    logs = one.parts.test
    renamed = tuple(replace(log, name=f"other {log.name}") for log in logs[::-1])
    other = finished([0.1, 0.3], [0.02, 0.05], held=renamed)
    pairs = zip(one.verdict.comparisons, other.verdict.comparisons[::-1], strict=True)
    for first, second in pairs:
        assert (first.error, first.baselines) == (second.error, second.baselines)
    assert one.verdict.grade == other.verdict.grade


class Drifting:
    """Windows of two recordings at rest, which the simulation leaves at 1 and 2 rad/s."""

    position = torch.zeros(121, 2, dtype=torch.float64)
    speed = torch.tensor([[1.0, 2.0]], dtype=torch.float64).repeat(121, 1)

    def features(self, step, position, speed):
        return position[:, None]

    def after(self, step, position, speed, correction):
        return position + (speed + correction) / 100.0, speed


class Doubling:
    """A correction of 1 rad/s from its second sample on, which thus has a memory."""

    def unlimited(self, inputs, state):
        return torch.full((2, 1), 0.0 if state is None else 1.0, dtype=torch.float64), 1


def test_errors_by_horizon_are_those_at_its_end():
    """Of a drift of 1 rad/s after 0.08 to 0.1 s, of the samples from 0.09 s on."""
    first, second = horizon_errors(Drifting(), None, [121, 25], 100.0)
    assert first[0.1] == pytest.approx(np.sqrt(np.mean(np.square([0.08, 0.09, 0.1]))))
    assert first[1.0] == pytest.approx(np.sqrt(np.mean(np.linspace(0.8, 1.0, 21) ** 2)))
    assert second == {0.1: pytest.approx(2 * first[0.1])}  # shorter than the others


def test_a_correction_remembers_what_was_before_the_last_recorded_state():
    plain, _ = horizon_errors(Drifting(), None, [121, 121], 100.0)
    corrected, _ = horizon_errors(Drifting(), Doubling(), [121, 121], 100.0)
    assert corrected[0.1] == pytest.approx(2 * plain[0.1], rel=0.02)


class Ended:
    """What a result takes from a trainer."""

    best, base, history, done, seconds = "network", "moved", [{"steps": 10}], 20, 3.0

    def __init__(self, best_error):
        self.base_error, self.best_error = 0.2, best_error


def test_a_correction_has_to_better_its_base_by_a_share():
    for error, kept in ((0.2, False), (0.1981, False), (0.1979, True), (0.05, True)):
        done = reached_by(Ended(error), "start")
        assert (done.network, done.base) == (("network", "moved") if kept else (None, "start"))
        assert done.validation == (0.2, error) and (done.steps, done.start) == (20, "start")


# --- starts --------------------------------------------------------------------------------------


def test_an_untrained_network_gives_no_torque_whatever_it_is_told():
    told = np.random.default_rng(0).normal(3.0, 2.0, (50, 3))
    for family in ("gru", "lstm", "mlp"):
        network = zero_network(told, INPUTS, RATE, 1.4, replace(QUICK, family=family))
        assert network.normalization.output_deviation == pytest.approx(0.2 * 1.4)
        np.testing.assert_allclose(network.normalization.input_mean, told.mean(axis=0), rtol=1e-6)
        module = TorchNetwork(network).double()
        found, _ = module.unlimited(torch.linspace(-9.0, 9.0, 24).double().reshape(2, 4, 3))
        np.testing.assert_array_equal(found.detach(), np.zeros((2, 4)))


def test_seeds_give_other_weights_and_the_same_ones_again():
    told = np.random.default_rng(0).normal(size=(50, 3))
    found = [zero_network(told, INPUTS, RATE, 1.0, QUICK, seed).weights for seed in (0, 0, 1, None)]
    same = [all(np.array_equal(found[0][n], other[n]) for n in found[0]) for other in found]
    assert same == [True, True, False, True]


@pytest.mark.parametrize("family", ["mlp", "gru"])
def test_without_a_base_a_correction_starts_as_the_linear_torque(family):
    """Of angle, error and speed, by least squares over what the recorded motion takes."""
    logs = MotionLogs.of("none", LOGS, INPUTS)
    own = replace(QUICK, family=family, history=1)
    module = starting_correction(logs, DrivenJoint("none"), own, True)
    balance = torque_balance(logs)
    told = np.stack([balance.angle, balance.error, balance.speed], axis=1)
    torque, _ = module.unlimited(torch.from_numpy(told)[:, None])
    ones = np.column_stack([told, np.ones(len(told))])
    expected = ones @ np.linalg.lstsq(ones, balance.torque, rcond=None)[0]
    np.testing.assert_allclose(torque[:, 0].detach(), expected, rtol=1e-4, atol=1e-5)
    assert np.std(expected) > 0.03
    idle = starting_correction(logs, DrivenJoint(BASE), own, False)
    assert not idle.unlimited(torch.from_numpy(told)[:, None])[0].any()


def driven(gain, rate_gain, friction, armature):
    """A log whose torques are those of a law: the command is what the law needs at each sample."""
    times = np.arange(600) / RATE
    angle = 0.5 * np.sin(3.0 * times) + 0.3 * np.sin(8.0 * times + 1.0)
    speed = 1.5 * np.cos(3.0 * times) + 2.4 * np.cos(8.0 * times + 1.0)
    acceleration = -4.5 * np.sin(3.0 * times) - 19.2 * np.sin(8.0 * times + 1.0)
    load = (0.003 + armature) * acceleration + 0.3 * GRAVITY * 0.1 * np.sin(angle)
    drive = load + rate_gain * speed + friction * np.tanh(speed / 0.05)
    return joint_log(seconds=3.0, position=angle, speed=speed, goal_position=angle + drive / gain,
                     kp=1.0)  # fmt: skip


def test_numbers_of_a_pd_joint_are_found_from_the_balance_of_its_torques():
    given = (2.0, 0.05, 0.04, 0.004)
    found = starting_pd(MotionLogs.of("pd", [driven(*given)]))
    values = (found.kp, found.kd, found.frictionloss, found.armature)
    assert values == pytest.approx(given, rel=0.1)
    # gains in another unit: the law has the same torque
    half = starting_pd(MotionLogs.of("pd", [replace(driven(*given), kp=2.0)]))
    assert 2.0 * half.kp == pytest.approx(found.kp) and half.kd == pytest.approx(found.kd)


def test_numbers_of_a_pd_joint_are_positive_whatever_the_log():
    backwards = replace(driven(2.0, 0.05, 0.04, 0.004), goal_position=np.linspace(0.0, 1.0, 600))
    found = starting_pd(MotionLogs.of("pd", [backwards]))
    assert all(value > 0 and math.isfinite(value) for value in found.values.values())


# --- the trainer ---------------------------------------------------------------------------------


@pytest.fixture
def trainer():
    logs = MotionLogs.of(BASE, LOGS[:2], INPUTS[::2])
    return MotionTrainer(BASE, logs, MotionLogs.of(BASE, LOGS[2:], INPUTS[::2]), QUICK)


def test_a_training_starts_at_the_error_of_its_base(trainer):
    """A correction of no torque is the base, and nothing is better than it yet."""
    errors = [float(trainer._whole_errors(trainer.held, own).mean()) for own in (True, False)]
    assert errors[0] == errors[1] == trainer.base_error == trainer.best_error > 0.0
    assert trainer.best is None and trainer.base.joint == BASE


def test_the_share_of_a_training_is_that_of_its_steps_or_of_its_time(trainer):
    trainer.done = 50
    assert trainer.share == 0.25 and trainer.every == 10
    trainer.seconds = 0.8e6
    assert trainer.share == pytest.approx(0.8)


def test_rates_warm_up_and_fall_to_nothing_as_a_cosine(trainer):
    rates = []
    for done, share in ((0, 0.0), (19, 0.0), (100, 0.5), (100, 1.0)):
        trainer.done = done
        trainer.step(share)
        rates.append([group["lr"] for group in trainer.optimizer.param_groups])
    highest = QUICK.learning_rate
    np.testing.assert_allclose([r[0] for r in rates], highest * np.array([0.05, 1.0, 0.5, 0.0]))
    # numbers of the base move slower than weights, always by the same share
    np.testing.assert_allclose([r[1] for r in rates[:3]], [0.2 * r[0] for r in rates[:3]])
    assert trainer.done == 101


def test_a_step_of_no_rate_moves_nothing(trainer):
    before = {n: value.clone() for n, value in trainer.module.state_dict().items()}
    trainer.step(1.0)
    for name, value in trainer.module.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0.0, atol=1e-15)
    assert trainer.loss_sum > 0.0


def test_a_checkpoint_brings_back_all_that_a_step_depends_on(tmp_path, trainer):
    """Two trainers, one through a file, take the same next step."""
    file = tmp_path / "checkpoint.npz"
    for _ in range(3):
        trainer.step(0.1)
    trainer.best, trainer.best_error = trainer.module.to_network(), 0.01
    trainer.history.append({"steps": 3, "error": 0.01})
    write_state(trainer, file)
    check_state(file)
    assert steps_and_seconds(file) == (3, 0.0)
    other = MotionTrainer(BASE, trainer.logs, trainer.held, replace(QUICK, seed=9))
    read_state(other, file)
    for each in (trainer, other):
        each.step(0.1)
    assert (other.done, other.best_error, other.history) == (4, 0.01, trainer.history)
    assert other.loss_sum == trainer.loss_sum
    for first, second in zip(trainer.module.parameters(), other.module.parameters(), strict=True):
        assert torch.equal(first, second)
    assert torch.equal(trainer.joint.steps, other.joint.steps)
    for name, value in trainer.best.weights.items():
        np.testing.assert_array_equal(other.best.weights[name], value)


def test_a_checkpoint_that_is_cut_or_changed_is_named(tmp_path):
    whole, file = tmp_path / "whole.npz", tmp_path / "damaged.npz"
    np.savez(whole, state=np.frombuffer(b'{"done": 3, "seconds": 1.5}', np.uint8))
    data, refused = whole.read_bytes(), 0
    for place in range(0, len(data), 3):
        for content in (data[:place], data[:place] + bytes([data[place] ^ 8]) + data[place + 1 :]):
            file.write_bytes(content)
            for read in (check_state, steps_and_seconds):
                try:
                    read(file)
                except RunDirectoryError as error:
                    assert "damaged.npz" in str(error) and "damaged" in str(error)
                    refused += 1
    assert refused > len(data) / 2
    assert steps_and_seconds(whole) == (3, 1.5)
    assert steps_and_seconds(tmp_path / "none.npz") == (0, 0.0)
    check_state(tmp_path / "none.npz")


# --- files ---------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(some.text("aé\0/\\. _-+:\n", max_size=6))
def test_any_name_is_a_file_in_the_folder(name):
    found = file_name(name)
    assert found and "/" not in found and "\0" not in found and not found.startswith(".")
    assert file_name(found) == found


def test_a_folder_without_scores_is_no_finished_training(tmp_path):
    with pytest.raises(RunDirectoryError, match=r"has no metrics\.json"):
        motion_report(tmp_path)
    (tmp_path / "metrics.json").write_text('{"test": 3}')
    with pytest.raises(RunDirectoryError, match="is damaged"):
        motion_report(tmp_path)
