"""Units of joints by all evidence of a log: its joints, ranges, steps, torques, commands."""

import mujoco
import numpy as np
import pytest
from log_writers import changed, motion_of_leg, table

from trueup.sysid.importing.evidence.encoder_steps import step_of
from trueup.sysid.importing.evidence.joints import read_joints
from trueup.sysid.importing.evidence.reading import JointSeries, values_of
from trueup.sysid.importing.import_log import propose_import

T = np.arange(0, 6, 0.01)
MOTION = np.column_stack(
    [0.3 + 0.6 * np.sin(2 * T), 0.2 + 0.8 * np.sin(1.3 * T), -0.4 + 0.5 * np.sin(2.9 * T)]
)


def arm(*ranges) -> mujoco.MjModel:
    """Links on hinges, with these ranges [rad]; None for no range."""
    bodies = ""
    for k, ends in enumerate(ranges):
        limits = f'range="{ends[0]} {ends[1]}"' if ends else ""
        bodies += (
            f'<body pos="0 0 -.2"><joint name="j{k}" axis="0 1 0" {limits}/>'
            '<geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02" mass="1"/>'
        )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian"/><worldbody>{bodies}{"</body>" * len(ranges)}'
        "</worldbody></mujoco>"
    )


def read(model, position, **parts):
    stated = parts.pop("stated", None)
    source = parts.pop("source", "a table")
    robot = parts.pop("robot", "")
    joints = tuple(range(position.shape[1]))
    series = JointSeries(T, joints, position, **parts)
    columns = {j: f"j{j}_pos" for j in joints}
    return read_joints(model, series, columns, False, source, stated, robot)


WIDE = [(-2.5, 2.5)] * 3


def test_a_joint_beyond_its_range_has_the_unit_of_the_others():
    # 1.4 rad is beyond 0.9; that is not a reason to call this joint's column degrees
    model = arm(None, (-0.9, 0.9), None)
    position = MOTION * np.array([1, 1.6, 1])
    readings = read(model, position)
    assert [r.unit for r in readings] == ["rad"] * 3
    assert readings[1].sure_of("zero") == "ask"
    assert "beyond the range" in {s[0]: s[2] for s in readings[1].says}["zero"]


def test_outliers_decide_nothing(tmp_path):
    motion = motion_of_leg(4.0)
    q = motion.q.copy()
    q[50::200, 0] = -12.4222
    q[70::200, 1] = 400.0
    model, log = table(changed(motion, q=q), tmp_path)
    rows = propose_import(model, [log], tmp_path).rows
    assert [row[3][:12] for row in rows] == ["assumed: rad"] * 3


def test_degrees_are_those_of_all_joints():
    position = np.degrees(MOTION)
    position[:, 2] = 2.0 + 0.01 * np.sin(T)  # hardly moves
    assert [r.unit for r in read(arm(*WIDE), position)] == ["deg"] * 3


@pytest.mark.parametrize(
    ("unit", "turn", "bits"), [("deg", 360, 12), ("rad", 2 * np.pi, 14), ("turn", 1, 14)]
)
def test_the_step_of_an_encoder_tells_the_unit(unit, turn, bits):
    step = turn / 2**bits
    position = np.round(MOTION * turn / (2 * np.pi) / step) * step
    readings = read(arm(None, None, None), position)
    assert [r.unit for r in readings] == [unit] * 3
    assert {r.sure_of("unit") for r in readings} == {"confirmed"}


@pytest.mark.parametrize("decimals", [2, 3, 4])
def test_written_decimals_are_no_step(decimals):
    readings = read(arm(*WIDE), np.round(MOTION, decimals))
    assert {(r.unit, r.sure_of("unit")) for r in readings} == {("rad", "assumed")}


def test_counts_have_an_open_zero():
    ticks = np.round(MOTION * 4096 / (2 * np.pi)) + np.array([1700, 2300, 2048])
    readings = read(arm(None, None, None), ticks)
    for k, reading in enumerate(readings):
        off = values_of(reading, ticks[:, k]) - MOTION[:, k]
        assert np.ptp(off) < 4e-3
        assert reading.sure_of("zero") == "ask"
        assert "1/4096 turn" in {s[0]: s[2] for s in reading.says}["unit"]


def test_percent_of_a_gripper_beside_radians():
    position = MOTION.copy()
    position[:, 2] = 50 + 45 * np.sin(T)
    reading = read(arm((-2, 2), (-2, 2), (0.0, 0.8)), position)[2]
    np.testing.assert_allclose(values_of(reading, position[:, 2]), 0.008 * position[:, 2])
    assert reading.sure_of("unit") == "found"


def test_the_weight_of_a_pendulum_tells_turns_from_radians():
    model = arm(None)
    q = MOTION[:, :1] * 2
    v = np.gradient(q, T, axis=0)
    data = mujoco.MjData(model)
    torque = np.zeros_like(q)
    for k, (a, b) in enumerate(zip(q, np.gradient(v, T, axis=0), strict=True)):
        data.qpos[:], data.qvel[:], data.qacc[:] = a, v[k], b
        mujoco.mj_inverse(model, data)
        torque[k] = data.qfrc_inverse
    torque += 0.05 * v
    turn = 2 * np.pi
    (reading,) = read(model, q / turn, velocity=v / turn, effort=torque)
    assert (reading.unit, reading.velocity_unit) == ("turn", "turn/s")
    (reading,) = read(model, q, velocity=v, effort=torque)
    assert (reading.unit, reading.velocity_unit) == ("rad", "rad/s")


def test_a_command_may_have_another_unit_than_its_position():
    readings = read(arm(*WIDE), MOTION, command=np.degrees(MOTION))
    assert [r.command_unit for r in readings] == ["deg"] * 3
    assert {r.command_unit for r in read(arm(*WIDE), MOTION, command=1.3 * MOTION)} == {""}


def test_a_stated_unit_that_the_values_exclude_is_asked_about():
    stated = dict.fromkeys(range(3), "deg")
    fine = read(arm(*WIDE), np.degrees(MOTION), stated=stated)
    assert {(r.unit, r.sure_of("unit")) for r in fine} == {("deg", "found")}
    counts = np.round(MOTION * 65536 / (2 * np.pi)) + 32768
    assert {r.sure_of("unit") for r in read(arm(*WIDE), counts, stated=stated)} == {"ask"}


def test_lerobot_robots_other_than_servo_arms_are_in_radians():
    readings = read(arm(*WIDE), MOTION, source="LeRobot", robot="Unitree_G1_Inspire")
    assert [r.unit for r in readings] == ["rad"] * 3


def test_normalised_values_of_servo_arms_are_clipped():
    normalised = np.clip(100 * 1.3 * np.sin(T[:, None] * np.array([1.0, 1.7, 2.3])), -100, 100)
    readings = read(arm(*WIDE), normalised, source="LeRobot", robot="so100_follower")
    for k, reading in enumerate(readings):
        np.testing.assert_allclose(values_of(reading, normalised[:, k]), 0.025 * normalised[:, k])
        assert reading.sure_of("unit") == "ask"


def test_a_command_that_follows_its_position_is_asked_about():
    later = np.vstack([np.repeat(MOTION[:1], 4, axis=0), MOTION[:-4]])
    for command, position, sure in ((MOTION, later, "assumed"), (later, MOTION, "ask")):
        readings = read(arm(*WIDE), position, command=command)
        assert {r.sure_of("command") for r in readings} == {sure}


@pytest.mark.parametrize("reach", [0.0006, 0.003, 0.3])
def test_a_motion_within_a_coarse_step_says_nothing_of_it(reach):
    """An arm at rest with 19 bits, as float32: all values are near a multiple of 360/1024."""
    t, count = np.linspace(0, 10, 300), 2 * np.pi / 2**19
    values = -0.783 + count * np.round(reach * np.sin(2.1 * t) / count)
    found = step_of(values.astype(np.float32).astype(float))
    assert found is None or (found.unit, found.counts) == ("rad", 2**19)
    assert found is not None or reach > 0.1
