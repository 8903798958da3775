"""Calibration files of LeRobot as the units and zeros of the positions of servo arms."""

import json

import mujoco
import numpy as np
import pytest
import yaml
from log_writers import JOINTS, changed, lerobot, motion_of_leg, write_leg

from trueup.errors import RecordingError
from trueup.signals import read, select
from trueup.sysid.importing.columns.joint_families import JointColumn, JointLog
from trueup.sysid.importing.evidence.calibration import Motor
from trueup.sysid.importing.evidence.joints import read_joints
from trueup.sysid.importing.evidence.reading import JointSeries, values_of
from trueup.sysid.importing.import_log import propose_import
from trueup.sysid.importing.servo_calibration import calibrated_motors

MOTION = motion_of_leg(3.0)
T = np.arange(0, 6, 0.01)
# the ranges of the leg are -60 to 60, -80 to 120 and -150 to -10 deg
WIDTHS = np.array([120.0, 200.0, 140.0])
LOW = np.array([1365, 900, 1200])
HIGH = LOW + np.round(WIDTHS * 4095 / 360).astype(int)
MIDDLE = np.radians([0.0, 20.0, -80.0])
TICKS = np.round((MOTION.q - MIDDLE) * 4095 / (2 * np.pi) + (LOW + HIGH) / 2)


def arm(*ranges) -> mujoco.MjModel:
    """Links on hinges with these ranges [rad]."""
    bodies = "".join(
        f'<body pos="0 0 -.2"><joint name="j{k}" axis="0 1 0" range="{low} {high}"/>'
        '<geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02" mass="1"/>'
        for k, (low, high) in enumerate(ranges)
    )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian"/><worldbody>{bodies}{"</body>" * len(ranges)}'
        "</worldbody></mujoco>"
    )


def calibration(modes=(0, 0, 0), low=LOW, high=HIGH, names=JOINTS) -> str:
    """A calibration file as lerobot writes it."""
    return json.dumps(
        {
            name: {
                "id": k + 1,
                "drive_mode": modes[k],
                "homing_offset": -1196 + k,
                "range_min": int(low[k]),
                "range_max": int(high[k]),
            }
            for k, name in enumerate(names)
        }
    )


def normalised(modes=(0, 0, 0)) -> np.ndarray:
    values = (TICKS - LOW) / (HIGH - LOW) * 200 - 100
    return np.where(np.array(modes) == 1, -values, values)


def data_set(values: np.ndarray, folder, robot: str = "so101_follower"):
    """A data set with these positions: (model, folder)."""
    degrees = np.radians(values)  # the writer makes degrees of them
    command = np.vstack([degrees[5:], degrees[-5:]])
    _, home = lerobot(changed(MOTION, q=degrees, cmd=command), folder)
    file = home / "meta" / "info.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"robot_type": robot}))
    return write_leg(folder), home


def positions(found, values: np.ndarray) -> np.ndarray:
    """Positions [rad] by the proposed units, scales and offsets."""
    matches = [m for m in found.proposal.signals if m.place.quantity == "position"]
    factor = {"deg": np.pi / 180, "turn": 2 * np.pi}
    units = [row[3] for row in found.rows]
    turns = [factor["turn" if "encoder" in unit else "deg"] for unit in units]
    return np.column_stack(
        [
            (values[:, k] - m.offset) * m.scale * f
            for k, (m, f) in enumerate(zip(matches, turns, strict=True))
        ]
    )


@pytest.mark.parametrize("robot", ["so101_follower", ""])
@pytest.mark.parametrize("modes", [(0, 0, 0), (0, 1, 0)])
def test_lerobot_normalised_positions_take_the_range_of_the_calibration(tmp_path, robot, modes):
    values = normalised(modes)
    model, home = data_set(values, tmp_path, robot)
    place = home / "calibration" / "robots" / "so101_follower"
    place.mkdir(parents=True)
    (place / "blue.json").write_text(calibration(modes))
    found = propose_import(model, [home], tmp_path)
    assert [row[3] for row in found.rows] == ["found: -100 to 100 of the calibrated range"] * 3
    assert all(row[5].startswith("found: ") for row in found.rows)
    np.testing.assert_allclose(positions(found, values), MOTION.q, atol=2e-3)
    assert any("'blue.json' was found" in point for point in found.proposal.open_points)


def test_lerobot_degrees_are_from_the_middle_of_the_calibrated_range(tmp_path):
    values = (TICKS - (LOW + HIGH) / 2) * 360 / 4095
    model, home = data_set(values, tmp_path)
    (tmp_path / "blue.json").write_text(calibration((0, 1, 0)))
    found = propose_import(model, [home], tmp_path)
    assert {row[3] for row in found.rows} == {"found: deg from the middle of the calibrated range"}
    np.testing.assert_allclose(positions(found, values), MOTION.q, atol=2e-3)


def test_lerobot_drive_modes_of_dynamixel_motors_are_within_them(tmp_path):
    values = normalised()
    model, home = data_set(values, tmp_path, "koch_follower")
    (home / "blue.json").write_text(calibration((1, 1, 1)))
    found = propose_import(model, [home], tmp_path)
    np.testing.assert_allclose(positions(found, values), MOTION.q, atol=2e-3)


def test_lerobot_calibrations_of_leaders_are_not_used(tmp_path):
    values = normalised()
    model, home = data_set(values, tmp_path)
    for kind, moved in (("robots", 0), ("teleoperators", 200)):
        (home / "calibration" / kind).mkdir(parents=True)
        (home / "calibration" / kind / "blue.json").write_text(calibration(high=HIGH + moved))
    found = propose_import(model, [home], tmp_path)
    np.testing.assert_allclose(positions(found, values), MOTION.q, atol=2e-3)


def test_ticks_take_the_zero_of_the_lerobot_calibration(tmp_path):
    names = ["t", *(f"{j}_ticks" for j in JOINTS)]
    log = tmp_path / "log.csv"
    table = np.column_stack([MOTION.times, TICKS])
    np.savetxt(log, table, delimiter=",", header=",".join(names), comments="")
    model = write_leg(tmp_path)
    asked = propose_import(model, [log], tmp_path)
    assert all(row[5].startswith("ask: the zero of the encoder") for row in asked.rows)
    (tmp_path / "blue.json").write_text(calibration())
    found = propose_import(model, [log], tmp_path)
    np.testing.assert_allclose(positions(found, TICKS), MOTION.q, atol=2e-3)


def test_lerobot_values_that_may_be_either_are_asked_about_with_both_scales(tmp_path):
    noise = 0.01 * np.random.default_rng(0).normal(size=TICKS.shape)
    values = (TICKS - (LOW + HIGH) / 2) * 360 / 4095 + noise  # filtered: no whole ticks
    model, home = data_set(values, tmp_path)
    (home / "blue.json").write_text(calibration())
    found = propose_import(model, [home], tmp_path)
    assert all(row[3].startswith("ask: degrees or -100 to 100") for row in found.rows)
    assert f"scale: {(HIGH[0] - LOW[0]) * 360 / 4095 / 200:.6g}" in found.rows[0][3]
    np.testing.assert_allclose(positions(found, values), MOTION.q, atol=2e-3)


@pytest.mark.parametrize("mirrored", [False, True])
def test_lerobot_grippers_open_from_the_low_end_of_the_model(mirrored):
    ticks = 2000 + np.round(1300 * (0.5 + 0.4 * np.sin(3 * T)))
    share = (ticks - 2000) / 13
    body = np.round(2048 + 900 * np.sin(T))
    columns = np.column_stack([(body - 2048) / 10, 100 - share if mirrored else share])
    model = arm((-1.6, 1.6), (-0.2, 1.8))
    motors = {
        0: Motor(1048, 3048, False, "blue.json"),
        1: Motor(2000, 3300, mirrored, "blue.json"),
    }
    names = {0: "observation.state/j0.pos", 1: "observation.state/gripper.pos"}
    series = JointSeries(T, (0, 1), columns)
    read = read_joints(model, series, names, False, "LeRobot", motors=motors)
    expected = -0.2 + (ticks - 2000) * 2 * np.pi / 4095
    np.testing.assert_allclose(values_of(read[1], columns[:, 1]), expected, atol=1e-9)


def test_lerobot_calibrations_of_two_arms_are_found_by_their_side(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("")
    place = tmp_path / "calibration/robots/bi_so100"
    place.mkdir(parents=True)
    for side, moved in (("left", 0), ("right", 40)):
        (place / f"blue_{side}.json").write_text(calibration(high=HIGH + moved))
    labels = {f"{side}_{j}": k for k, (side, j) in enumerate(
        (side, j) for side in ("left", "right") for j in JOINTS)}  # fmt: skip
    columns = [JointColumn(f"observation.state/{n}", "position", False, n) for n in labels]
    motors = calibrated_motors([log], JointLog("LeRobot", tuple(columns), labels, False), "")
    assert [motors[k].high for k in range(6)] == [*HIGH, *(HIGH + 40)]


@pytest.mark.parametrize("word", ["ticks", "raw"])
@pytest.mark.parametrize("coded", ["sign bit", "sign", "complement"])
def test_feetech_speeds_have_their_sign_in_a_bit(tmp_path, word, coded):
    speed = np.round(MOTION.v * 4096 / (2 * np.pi))
    negative = {"sign bit": 32768 - speed, "sign": speed, "complement": 65536 + speed}[coded]
    written = np.where(speed < 0, negative, speed)
    heads = ["t", *(f"{j}_{q}_{word}" for q in ("pos", "speed") for j in JOINTS)]
    log = tmp_path / "log.csv"
    table = np.column_stack([MOTION.times, TICKS, written])
    np.savetxt(log, table, delimiter=",", header=",".join(heads), comments="")
    experiment = yaml.safe_load(propose_import(write_leg(tmp_path), [log], tmp_path).proposal.text)
    signals = experiment["recordings"][0]["signals"]
    assert all(signals[f"{j}_qpos"]["scale"] == 1 / 4096 for j in JOINTS)
    if coded == "complement":
        assert not any(f"{j}_qvel" in signals for j in JOINTS)
        return
    assert {signals[f"{j}_qvel"].get("sign_bit", 0) for j in JOINTS} == {15 * (coded != "sign")}
    mapped = {name: given for name, given in signals.items() if name.endswith("_qvel")}
    measured = select(read(log, time="t"), mapped)
    for k, joint in enumerate(JOINTS):
        np.testing.assert_allclose(measured.column(f"{joint}_qvel")[1], MOTION.v[:, k], atol=2e-3)


WRONG = {
    "names": (calibration(names=("hip", "thigh", "knee")), "has no motor calf of set; its motors"),
    "ranges": (calibration(high=LOW - 5), "has the range 1365 to 1360 of hip"),
    "turns": (calibration(high=LOW + 5000), "at most 4095 ticks"),
    "fields": (calibration().replace("drive_mode", "mode"), "no whole number 'drive_mode' of hip"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_lerobot_calibration_that_does_not_fit_is_refused(tmp_path, case):
    content, sentence = WRONG[case]
    model, home = data_set(normalised(), tmp_path)
    (home / "blue.json").write_text(content)
    with pytest.raises(RecordingError) as refused:
        propose_import(model, [home], tmp_path)
    assert sentence.replace("'", "") in str(refused.value).replace("'", "")


def test_lerobot_degrees_far_beyond_the_calibrated_range_are_refused(tmp_path):
    model, home = data_set(np.degrees(MOTION.q) * 1.9 + 0.01, tmp_path)
    (home / "blue.json").write_text(calibration())
    with pytest.raises(RecordingError, match=r"blue.json does not fit the log"):
        propose_import(model, [home], tmp_path)


def test_lerobot_calibrations_that_differ_are_refused(tmp_path):
    model, home = data_set(normalised(), tmp_path)
    (home / "blue.json").write_text(calibration())
    (home / "green.json").write_text(calibration(high=HIGH + 90))
    with pytest.raises(RecordingError, match=r"several calibrations .*'blue.json', 'green.json'"):
        propose_import(model, [home], tmp_path)
