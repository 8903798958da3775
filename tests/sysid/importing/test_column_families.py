"""Columns by structure: families of numbered or named columns, their joints and their roles."""

import numpy as np
import pytest
from log_writers import JOINTS, json_mcap, motion_of_leg, write_leg

from trueup.cli import main
from trueup.sysid.importing.import_log import propose_import


@pytest.fixture(scope="module")
def motion():
    return motion_of_leg(4.0)


def log_of(folder, motion, names, servo=True, first=1, own=JOINTS):
    """A log whose positions follow the commands by 20 ms, with the noise of an encoder."""
    q = np.vstack([np.repeat(motion.q[:1], 4, axis=0), motion.q[:-4]])
    noise = 2e-4 * np.random.default_rng(0).normal(size=q.shape)
    parts = (q + noise, np.gradient(q, motion.times, axis=0), motion.q)
    heads = [name.format(k + first) for name in names for k in range(3)]
    table = np.column_stack([motion.times, *parts])
    np.savetxt(folder / "a.csv", table, delimiter=",", header=",".join(["t", *heads]), comments="")
    return propose_import(write_leg(folder, servo=servo, names=own), [folder / "a.csv"], folder)


def columns(found):
    signals = {m.place.name: m.column.column for m in found.proposal.signals}
    controls = {m.place.name: m.column.column for m in found.proposal.controls}
    return [{**signals, **controls}.get(n) for n in (
        *(f"{j}_qpos" for j in JOINTS), *(f"{j}_qvel" for j in JOINTS), *(f"{j}_m" for j in JOINTS)
    )]  # fmt: skip


FAMILIES = [
    ("ax{}_actual_rad", "ax{}_rate", "ax{}_target_rad"),
    ("meas_j{}", "spd_j{}", "servo{}_goal"),
    ("motor[{}].pos", "motor[{}].speed", "motor[{}].goal"),
    ("q_{}", "dq_{}", "q_d_{}"),
    ("x{}_1", "x{}_2", "x{}_3"),
    ("a{}", "b{}", "c{}"),
    ("node/{}/state", "node/{}/speed", "node/{}/setpoint"),
    ("id{}_enc", "id{}_vel", "id{}_goal"),
    ("/arm/joint{}/position", "/arm/joint{}/velocity", "/command/joint{}/position"),
]
FIRST = (0, 1, 11)
# the words and the first number are independent: each with one of the other, and two with all
NUMBERED = [
    (names, first)
    for row, names in enumerate(FAMILIES)
    for first in (FIRST if names[0] in ("x{}_1", "a{}") else (FIRST[row % 3],))
]


@pytest.mark.parametrize(("names", "first"), NUMBERED, ids=[f"{n[0]}-{k}" for n, k in NUMBERED])
def test_numbered_columns_are_matched_whatever_their_words(names, first, motion, tmp_path):
    found = log_of(tmp_path, motion, names, first=first)
    assert columns(found) == [name.format(k + first) for name in names for k in range(3)]
    confirmed = all(row[2].startswith("confirmed") for row in found.rows)
    said = any("by the order of the model" in p for p in found.proposal.open_points)
    assert said is not confirmed


def test_the_command_is_the_one_that_leads_though_it_comes_first(motion, tmp_path):
    swapped = log_of(tmp_path, motion, ("b{}", "c{}", "a{}"))
    assert columns(swapped)[0] == "b1" and columns(swapped)[6] == "a1"


def test_six_numbers_are_those_of_the_joints_before_a_gripper(tmp_path):
    bodies = "".join(
        f'<body pos="0 0 -.1"><joint name="{n}" axis="0 1 0"/><geom size=".02" mass="1"/>'
        for n in ("base", "lift", "bend", "roll", "tilt", "turn", "gripper")
    )
    drives = "".join(
        f'<position name="m_{n}" joint="{n}" kp="9"/>'
        for n in ("base", "lift", "bend", "roll", "tilt", "turn", "gripper")
    )
    (tmp_path / "arm.xml").write_text(
        f"<mujoco><worldbody>{bodies}{'</body>' * 7}</worldbody><actuator>{drives}</actuator>"
        "</mujoco>"
    )
    t = np.arange(0, 4, 0.01)
    goal = np.sin(np.outer(t, np.linspace(1, 3, 6)))
    moved = 0.98 * np.vstack([np.repeat(goal[:1], 3, axis=0), goal[:-3]])
    moved += 1e-3 * np.random.default_rng(0).normal(size=moved.shape)
    heads = ["t", *(f"ax{k}_{w}" for w in ("actual", "target") for k in range(1, 7))]
    table = np.column_stack([t, moved, goal])
    np.savetxt(tmp_path / "a.csv", table, delimiter=",", header=",".join(heads), comments="")
    found = propose_import(tmp_path / "arm.xml", [tmp_path / "a.csv"], tmp_path)
    assert [row[:2] for row in found.rows][4:] == [("tilt", "ax5_actual"), ("turn", "ax6_actual")]
    assert [m.column.column for m in found.proposal.controls] == heads[7:]


def test_arms_by_their_side_and_joints_by_their_order(motion, tmp_path):
    own = ("left_pitch_joint", "left_elbow_joint", "right_elbow_joint")
    q = motion.q
    heads = ["t", "states/left_arm/qpos/0", "states/left_arm/qpos/1", "states/right_arm/qpos/0"]
    table = np.column_stack([motion.times, q])
    np.savetxt(tmp_path / "a.csv", table, delimiter=",", header=",".join(heads), comments="")
    # one column is no family: the right elbow needs a second joint to be told by its number
    found = propose_import(write_leg(tmp_path, names=own), [tmp_path / "a.csv"], tmp_path)
    assert [row[:2] for row in found.rows][:2] == [(own[0], heads[1]), (own[1], heads[2])]


def test_temperatures_and_errors_are_no_quantities_of_a_joint(motion, tmp_path):
    names = ["q_1", "q_2", "q_3", "joint_temperatures_1", "joint_temperatures_2",
             "joint_temperatures_3", "q_error_1", "q_error_2", "q_error_3"]  # fmt: skip
    table = np.column_stack([motion.times, motion.q, 30 + motion.q, 0.1 * motion.q])
    np.savetxt(tmp_path / "a.csv", table, delimiter=",", header=",".join(["t", *names]),
               comments="")  # fmt: skip
    found = propose_import(write_leg(tmp_path), [tmp_path / "a.csv"], tmp_path)
    assert found.proposal.left_out["a.csv"] == names[3:]


def test_a_header_that_repeats_names_is_said(motion, tmp_path):
    names = [f"{n}[{k}]" for n in ("q", "q_d", "dq", "tau_J", "q_d") for k in range(3)]
    desired = motion.q + 1e-2 * np.cos(3 * motion.times)[:, None]
    parts = (motion.q, desired, motion.v, motion.tau, desired)
    table = np.column_stack([motion.times, *parts])
    np.savetxt(tmp_path / "a.csv", table, delimiter=",", header=",".join(["t", *names]),
               comments="")  # fmt: skip
    found = propose_import(write_leg(tmp_path), [tmp_path / "a.csv"], tmp_path)
    assert columns(found) == [*names[:3], *names[6:9], *names[9:12]]
    assert any("the header repeats 'q_d[0]'" in p for p in found.proposal.open_points)


def test_a_log_without_a_clock_needs_its_rate(motion, tmp_path, capsys):
    model = write_leg(tmp_path)
    heads = [f"{j}_{k}" for k in ("pos", "torque") for j in JOINTS]
    table = np.column_stack([motion.q, motion.tau])
    np.savetxt(tmp_path / "a.csv", table, delimiter=",", header=",".join(heads), comments="")
    given = ["import", str(tmp_path / "a.csv"), "-m", str(model), "-o", str(tmp_path / "e.yaml")]
    assert main(given) == 2
    assert "no time column: give its rate with --rate" in capsys.readouterr().err
    assert not (tmp_path / "e.yaml").exists()
    assert main([*given, "--rate", "200", "--no-check"]) == 0
    assert "rate: 200" in (tmp_path / "e.yaml").read_text()


def test_numbers_of_rows_are_no_clock(motion, tmp_path, capsys):
    model = write_leg(tmp_path)
    table = np.column_stack([np.arange(len(motion.times)), motion.q, motion.v, motion.tau])
    np.savetxt(tmp_path / "a.csv", table, delimiter=",")
    given = ["import", str(tmp_path / "a.csv"), "-m", str(model), "-o", str(tmp_path / "e.yaml")]
    assert main(given) == 2
    assert "column 0 counts rows" in capsys.readouterr().err


def two_robots(path, motion, other):
    """JointState-like topics of two robots with the same joints."""
    topics = {
        f"{robot}/joint_states": [
            {"name": list(JOINTS), "position": row.tolist()} for row in positions
        ]
        for robot, positions in (("/one", motion.q), ("/two", other))
    }
    json_mcap(path, motion.times, topics)
    return path


def test_two_robots_in_one_log_are_refused(motion, tmp_path, capsys):
    model = write_leg(tmp_path)
    log = two_robots(tmp_path / "a.mcap", motion, motion.q[::-1])
    assert main(["import", str(log), "-m", str(model), "-o", str(tmp_path / "e.yaml")]) == 2
    assert "two robots in one log" in capsys.readouterr().err
    assert not (tmp_path / "e.yaml").exists()
    # the same states, filtered, are those of one robot
    log = two_robots(tmp_path / "b.mcap", motion, motion.q + 1e-3)
    assert len(propose_import(model, [log], tmp_path).rows) == 3


def test_a_second_family_of_positions_is_said(motion, tmp_path):
    heads = ["t", *(f"{n}_{k}" for n in ("actual_q", "tool_pos") for k in range(3))]
    table = np.column_stack([motion.times, motion.q, np.cos(motion.q[:, ::-1] * 3)])
    np.savetxt(tmp_path / "a.csv", table, delimiter=",", header=",".join(heads), comments="")
    found = propose_import(write_leg(tmp_path), [tmp_path / "a.csv"], tmp_path)
    assert [row[1] for row in found.rows] == heads[1:4]
    assert any("tool_pos_{} are positions" in p for p in found.proposal.open_points)


@pytest.mark.parametrize("command", ["j{}_cmd_rad", "j{}_target_pos"])
def test_a_command_by_its_name_is_one_though_the_robot_does_not_follow_it(
    command, motion, tmp_path
):
    t = motion.times
    goal = 0.8 * np.sin(np.outer(t, [2.0, 3.0, 5.0]))  # of servos at the limit of their torques
    names = ("j{}_rad", command)
    heads = ["t", *(name.format(k) for name in names for k in range(1, 4))]
    table = np.column_stack([t, motion.q, goal])
    np.savetxt(tmp_path / "a.csv", table, delimiter=",", header=",".join(heads), comments="")
    found = propose_import(write_leg(tmp_path, servo=True), [tmp_path / "a.csv"], tmp_path)
    assert columns(found)[6:] == heads[4:]
