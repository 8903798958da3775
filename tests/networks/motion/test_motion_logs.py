"""Logs as the simulator takes them: what is stacked, cut, told and scored, by known motions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

pytest.importorskip("torch")

import torch
from joint_log import GRAVITY, RATE, joint_log

from trueup.actuators import ServoModel, find_servo, friction_model
from trueup.errors import RecordingError
from trueup.networks import PdJoint
from trueup.networks.motion.driven_joint import DrivenJoint
from trueup.networks.motion.logs import MAX_STEP, MotionLogs, condition_of, rms_errors
from trueup.networks.motion.overlap import largest_overlap, motion_overlap
from trueup.networks.motion.rollout import SMOOTHING, torque_balance, torque_errors

BASE = PdJoint(kp=0.01, kd=0.02)
LONG, SHORT = joint_log("long", 1.2, kp=50.0), joint_log("short", 0.7, mass=0.2, kp=80.0)
PAIR = MotionLogs.of(BASE, [LONG, SHORT])


def test_a_short_log_ends_with_its_last_row():
    assert PAIR.names == ("long", "short") and PAIR.rate == RATE
    assert PAIR.lengths.tolist() == [240, 140] and PAIR.position.shape == (2, 240)
    for name, field in (("position", "position"), ("speed", "speed")):
        rows = getattr(PAIR, name).numpy()
        np.testing.assert_array_equal(rows[0], getattr(LONG, field))
        np.testing.assert_array_equal(rows[1, :140], getattr(SHORT, field))
        np.testing.assert_array_equal(rows[1, 140:], getattr(SHORT, field)[-1])
    assert PAIR.shortest == pytest.approx(0.7)


def test_the_load_of_a_log_is_that_of_its_masses():
    """A point mass at the tip of a uniform arm: J = (m + a / 3) l^2, weight (m + a / 2) g l."""
    logs = MotionLogs.of(BASE, [joint_log(mass=0.4, arm_mass=0.3, length=0.2)])
    assert float(logs.inertia) == pytest.approx(0.5 * 0.04)
    assert float(logs.gravity) == pytest.approx(0.55 * GRAVITY * 0.2)
    assert logs.torque_scale == pytest.approx(0.55 * GRAVITY * 0.2)


@pytest.mark.parametrize(("rate", "steps"), [(200.0, 2), (400.0, 1), (401.0, 1), (50.0, 8)])
def test_steps_of_the_joint_are_at_most_so_long(rate, steps):
    log = joint_log()
    log = replace(log, dt=1.0 / rate, times=np.arange(len(log)) / rate)
    logs = MotionLogs.of(BASE, [log])
    assert logs.substeps == steps
    assert 1.0 / (logs.rate * steps) <= MAX_STEP + 1e-12
    assert steps == 1 or 1.0 / (logs.rate * (steps - 1)) > MAX_STEP


def delayed(steps):
    """Commands of each step with a delay in steps of 2.5 ms, and a log whose command is a ramp."""
    log = joint_log(goal_position=0.001 * np.arange(200.0))
    model = ServoModel.create(
        find_servo("xl330"), friction_model("m1"), ("command_delay",), command_delay=2.5e-3 * steps
    )
    return MotionLogs.of(model, [log]).goal[0].reshape(-1).numpy(), log


def test_a_delay_of_whole_steps_shifts_the_command():
    now, log = delayed(0)
    np.testing.assert_allclose(now, np.repeat(log.goal_position, 2), rtol=1e-7)
    for steps in (1, 4, 7):
        late, _ = delayed(steps)
        np.testing.assert_allclose(late[steps:], now[:-steps], atol=1e-12)
        np.testing.assert_allclose(late[:steps], now[0], atol=1e-12)


def test_a_delay_between_steps_drives_by_the_mean_over_the_step():
    for steps in (0.5, 2.25, 3.9):
        whole, share = int(steps), steps - int(steps)
        late, early = delayed(whole + 1)[0], delayed(whole)[0]
        np.testing.assert_allclose(
            delayed(steps)[0], (1.0 - share) * early + share * late, atol=1e-12
        )


def test_a_window_is_a_slice_of_each_log():
    rows, starts = torch.tensor([1, 0, 0]), torch.tensor([3, 10, 40])
    window = PAIR.windows(DrivenJoint(BASE), rows, starts, 5)
    assert window.position.shape == (6, 3) and len(window.inputs) == 6
    for column, (row, start) in enumerate(zip(rows, starts, strict=True)):
        log = (LONG, SHORT)[row]
        part = slice(int(start), int(start) + 6)
        np.testing.assert_array_equal(window.position[:, column], log.position[part])
        np.testing.assert_array_equal(window.command[:, column], log.goal_position[part])
        assert float(window.kp[column]) == log.kp
        for sample in window.inputs:
            assert sample.inertia[column] == pytest.approx(log.mass * 0.01)
    beyond = PAIR.windows(DrivenJoint(BASE), torch.tensor([0]), torch.tensor([238]), 5)
    np.testing.assert_array_equal(beyond.position[2:, 0], LONG.position[-1])


def test_a_whole_log_is_the_window_of_all_of_it():
    whole = PAIR.whole(DrivenJoint(BASE))
    np.testing.assert_array_equal(whole.position.T, PAIR.position)
    np.testing.assert_array_equal(whole.speed.T, PAIR.speed)


def test_inputs_of_a_correction_stand_in_the_order_of_their_names():
    names = ("position_gain", "current_ang_vel_rad_s", "angle_error_rad", "current_angle_rad")
    off = replace(SHORT, torque_enable=np.zeros(len(SHORT), bool))
    window = MotionLogs.of(BASE, [LONG, off], names).whole(DrivenJoint(BASE))
    angle, speed = torch.tensor([0.1, 0.2]).double(), torch.tensor([3.0, 4.0]).double()
    found = window.features(7, angle, speed).numpy()
    np.testing.assert_allclose(found[:, [0, 1, 3]], [[50.0, 3.0, 0.1], [80.0, 4.0, 0.2]])
    # without torque there is no error
    np.testing.assert_allclose(found[:, 2], [LONG.goal_position[7] - 0.1, 0.0])


def test_errors_count_the_samples_that_a_log_has():
    """What stands beyond the end of a short log is no error, however large."""
    shifted = PAIR.position.clone()
    shifted[0] += 0.03
    shifted[1, :140:2] -= 0.04
    shifted[1, 140:] = 1e6
    expected = [0.03, 0.04 / np.sqrt(2.0)]
    np.testing.assert_allclose(PAIR.errors(shifted), [expected])
    assert rms_errors(PAIR.position, PAIR.position, PAIR.lengths) == [0.0, 0.0]


def test_the_order_of_the_logs_does_not_matter():
    other = MotionLogs.of(BASE, [SHORT, LONG])
    moved = 1.1 * PAIR.position
    np.testing.assert_allclose(PAIR.errors(moved)[0], other.errors(1.1 * other.position)[0, ::-1])
    assert other.torque_scale == PAIR.torque_scale and other.shortest == PAIR.shortest
    np.testing.assert_allclose(other.inertia.flip(0), PAIR.inertia)


def test_what_drives_a_swing_is_inertia_times_acceleration_and_weight():
    """Angle 0.5 sin(w t): the balance on it within what smoothing takes off its harmonics."""
    log = joint_log(seconds=2.0)
    balance = torque_balance(MotionLogs.of(BASE, [log]))
    inside = slice(20, -20)
    omega, inertia, weight = 2.0 * np.pi, 0.3 * 0.01, 0.3 * GRAVITY * 0.1
    width = max(3, round(SMOOTHING * RATE)) | 1
    # a mean over n samples scales a sine by sin(n x) / (n sin x), x half a sample's phase
    half = 0.5 * omega / RATE
    kept = np.sin(width * half) / (width * np.sin(half))
    slope = np.sin(2.0 * half) / (2.0 * half)
    angle = kept * log.position
    np.testing.assert_allclose(balance.angle[inside], angle[inside], rtol=1e-9, atol=1e-12)
    acceleration = -kept * slope * omega**2 * log.position
    np.testing.assert_allclose(balance.acceleration[inside], acceleration[inside], atol=1e-9)
    expected = inertia * acceleration + weight * np.sin(angle)
    np.testing.assert_allclose(balance.torque[inside], expected[inside], atol=1e-9)
    np.testing.assert_allclose(balance.error[inside], (log.goal_position - angle)[inside])


def test_the_torque_of_a_motion_is_scored_without_its_last_sample():
    """A torque that is 0.2 N m beside what the motion takes is an error of 0.2 N m."""
    logs = []
    for log in (LONG, SHORT):
        acceleration = np.append(np.diff(log.speed) * RATE, np.nan)
        inertia, weight = log.mass * 0.01, log.mass * GRAVITY * 0.1
        torque = inertia * acceleration + weight * np.sin(log.position)
        logs.append(replace(log, columns={"torque": np.nan_to_num(torque, nan=99.0) + 0.2}))
    stacked = MotionLogs.of(BASE, logs)
    assert torque_errors(stacked.position, stacked.speed, stacked) == pytest.approx([0.2, 0.2])
    assert torque_errors(PAIR.position, PAIR.speed, PAIR) is None
    one = MotionLogs.of(BASE, [logs[0], SHORT])
    assert one.torque is None


def test_the_torque_of_a_window_is_that_of_its_motion():
    window = PAIR.whole(DrivenJoint(BASE))
    rows = np.array([[0.3, -0.2], [1.0, 2.0], [1.1, 1.0]])
    angle, before, behind = torch.from_numpy(rows)
    found = window.load_torque(0, angle, before, behind).numpy()
    inertia, weight = np.array([0.3, 0.2]) * 0.01, np.array([0.3, 0.2]) * GRAVITY * 0.1
    expected = inertia * np.array([0.1, -1.0]) * RATE + weight * np.sin([0.3, -0.2])
    np.testing.assert_allclose(found, expected)


def test_conditions_of_a_log_are_what_it_states():
    warm = joint_log(temperature=np.linspace(30.0, 50.0, 200), vin=None,
                     input_volts=np.linspace(7.0, 8.0, 200))  # fmt: skip
    assert condition_of(warm, "temperature_c") == pytest.approx(40.0)
    assert condition_of(warm, "voltage_v") == pytest.approx(7.5)
    assert condition_of(replace(warm, vin=7.4), "voltage_v") == 7.4
    assert condition_of(warm, "inertia_kg_m2") == pytest.approx(0.003)
    for name, word in (("derivative_gain", "kd"), ("temperature_c", "temperature")):
        with pytest.raises(RecordingError, match=f"log has no {word}"):
            condition_of(joint_log(), name)


def test_logs_of_two_rates_are_refused():
    fast = replace(LONG, dt=1e-3, times=1e-3 * np.arange(len(LONG)))
    for logs in ([LONG, fast], [LONG, replace(LONG, dt=None)]):
        with pytest.raises(RecordingError, match="logs must have one sample rate"):
            MotionLogs.of(BASE, logs)
    with pytest.raises(RecordingError, match="list of training logs is empty"):
        MotionLogs.of(BASE, [])


# --- overlap -------------------------------------------------------------------------------------


def motion(seed, centre=0.0, count=400):
    rng = np.random.default_rng(seed)
    return [tuple(centre + rng.normal(size=(2, count)))]


def test_motions_that_share_nothing_have_no_likeness_and_the_same_ones_all():
    apart = motion_overlap({"low": motion(0, -50.0), "high": motion(1, 50.0)})
    assert apart == {"low": 0.0, "high": 0.0}
    grid = np.repeat(np.linspace(-1.0, 1.0, 40), 40), np.tile(np.linspace(-1.0, 1.0, 40), 40)
    assert motion_overlap({name: [grid] for name in "abc"}) == pytest.approx(
        dict.fromkeys("abc", 1.0)
    )


def test_what_visits_half_of_the_others_has_half_of_their_overlap():
    """The others visit one cell region each way; a motion within half of it knows half."""
    wide = np.repeat(np.linspace(-1.0, 1.0, 240), 4), np.tile([-1.0, 0.0, 1.0, 0.5], 240)
    half = wide[0][wide[0] < 0.0], wide[1][wide[0] < 0.0]
    found = motion_overlap({"half": [half], "wide": [wide], "again": [wide]})
    assert found["half"] == pytest.approx(0.5, abs=0.05)
    assert found["wide"] == found["again"] > found["half"]
    assert largest_overlap({"half": [half], "wide": [wide], "again": [wide]}) == "again"


@settings(max_examples=15)
@given(some.floats(1e-3, 1e3), some.floats(1e-3, 1e3), some.permutations(range(4)), some.booleans())
def test_overlap_knows_neither_units_nor_names_nor_order(angle, speed, order, turned):
    """Not either where a motion is cut in two logs."""
    motions = {f"m{n}": motion(n, 0.4 * n) for n in range(4)}
    expected = motion_overlap(motions)
    assert all(0.0 <= share <= 1.0 for share in expected.values())
    changed = {}
    for number in order:
        ((position, rate),) = motions[f"m{number}"]
        position, rate = (-position, -rate) if turned else (position, rate)
        cut = [
            (angle * position[part], speed * rate[part]) for part in (slice(150), slice(150, 400))
        ]
        changed[f"new{number}"] = cut
    found = motion_overlap(changed)
    for number in range(4):
        # a sample on an edge between cells may fall to either side
        assert found[f"new{number}"] == pytest.approx(expected[f"m{number}"], abs=0.02)
