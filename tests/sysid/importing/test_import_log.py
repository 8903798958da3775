"""Import of logs: every source written by its own library, and readings that do not fit."""

from pathlib import Path

import numpy as np
import pytest
from injected_logs import drawn_cases, false_alarms, imported, verdict
from log_writers import (
    JOINTS,
    WRITERS,
    Log,
    changed,
    json_mcap,
    motion_of_leg,
    table,
    unnamed_table,
)

from trueup.cli import main
from trueup.errors import RecordingError
from trueup.sysid.experiment.file import load_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.importing.import_log import Import, propose_import


def readable(found: Import, folder: Path) -> None:
    """An imported file reads its recordings without an edit."""
    (folder / "experiment.yaml").write_text(found.proposal.text)
    prepared = prepare(load_experiment(folder / "experiment.yaml"), folder)
    assert set(prepared.recordings[0].part.signals) >= {"hip_qpos", "calf_qpos"}
    assert set(prepared.recordings[0].part.controls) == {"hip_m", "thigh_m", "calf_m"}


def said(found: Import, aspect: str) -> list[str]:
    heads = ("joint", "column", "order", "unit", "sign", "zero", "velocity")
    return [row[heads.index(aspect)].partition(":")[0] for row in found.rows]


# --- sources ---------------------------------------------------------------------------------


def written(source: str, folder: Path) -> Import:
    """The import of a log without a mistake."""
    model, log = WRITERS[source](motion_of_leg(), folder)
    return propose_import(model, [log], folder)


def test_joint_states_in_mcap_whose_order_of_joints_changes(tmp_path):
    found = written("joint_state_mcap", tmp_path)
    assert found.source == "ROS JointState"
    assert said(found, "order") == ["confirmed"] * 3
    assert "actuators: torque" in found.proposal.text
    readable(found, tmp_path)


def test_joint_states_in_rosbag2(tmp_path):
    found = written("joint_state_bag", tmp_path)
    assert found.source == "ROS JointState"
    readable(found, tmp_path)


def test_a_trajectory_controller_names_its_points_by_its_joints(tmp_path):
    found = written("controller_state", tmp_path)
    assert found.source == "ros2_control controller_state"
    assert any("gains of the position servos" in p for p in found.proposal.open_points)
    readable(found, tmp_path)


def test_unitree_gains_are_in_the_log(tmp_path):
    found = written("unitree", tmp_path)
    assert found.source == "Unitree lowstate"
    assert "kp: {hip_m: 40, thigh_m: 40, calf_m: 40}" in found.proposal.text
    assert "base: fixed" in found.proposal.text
    assert any("free joint is removed" in p for p in found.proposal.open_points)
    readable(found, tmp_path)


def test_unitree_numbers_are_those_of_the_robot(tmp_path):
    # the legs of the model stand in another order than those of the motors
    legs = ("FL", "FR", "RL", "RR")
    joints = [f"{leg}_{part}_joint" for leg in legs for part in JOINTS]
    bodies = "".join(f'<body><joint name="{j}"/><geom size=".1"/></body>' for j in joints)
    motors = "".join(f'<motor name="{j}" joint="{j}"/>' for j in joints)
    (tmp_path / "go2.xml").write_text(
        f"<mujoco><worldbody>{bodies}</worldbody><actuator>{motors}</actuator></mujoco>"
    )
    times = np.arange(0, 3, 0.01)
    state = [
        {
            "motor_state": [
                {"q": np.sin(t + j), "dq": np.cos(t + j), "tau_est": 0.1} for j in range(12)
            ]
        }
        for t in times
    ]
    json_mcap(tmp_path / "go2.mcap", times, {"rt/lowstate": state})
    found = propose_import(tmp_path / "go2.xml", [tmp_path / "go2.mcap"], tmp_path)
    columns = {row[0]: row[1] for row in found.rows}
    assert columns["FR_hip_joint"] == "rt/lowstate/motor_state/0/q"
    assert columns["RL_calf_joint"] == "rt/lowstate/motor_state/11/q"
    # torques that carry no weight cannot confirm the numbers
    assert set(said(found, "order")) == {"assumed"}


def test_lerobot_says_which_of_its_two_units_it_took(tmp_path):
    found = written("lerobot", tmp_path)
    assert found.source == "LeRobot"
    # the calf goes beyond 100, which is degrees; the other joints have the unit of the driver
    assert said(found, "unit") == ["found"] * 3
    readable(found, tmp_path)


def test_pace_without_torch_or_code(tmp_path):
    torch = pytest.importorskip("torch")
    found = written("pace", tmp_path)
    assert found.source == "PACE chirp data"
    assert "actuators: position" in found.proposal.text
    # the law of the robot is unknown: its stiffness is estimated
    assert {"hip_m_kp", "thigh_m_kp", "calf_m_kp"} <= set(found.proposal.parameters)
    assert any("if you know kp and kd" in p for p in found.proposal.open_points)
    readable(found, tmp_path)
    # a file that would run code is refused, and runs nothing
    torch.save({"time": torch.zeros(3), "evil": Path("/")}, tmp_path / "evil.pt")
    with pytest.raises(RecordingError, match=r"contains pathlib[\w.]*PosixPath: only dictionaries"):
        propose_import(tmp_path / "leg.xml", [tmp_path / "evil.pt"], tmp_path)


def test_hdf5_with_its_own_names(tmp_path):
    found = written("hdf5", tmp_path)
    assert found.source == "Isaac Lab or mjlab HDF5"
    assert {r[0]: r[1] for r in found.rows}["calf"] == "joint_pos/0"
    readable(found, tmp_path)


def test_a_table_without_a_header_by_its_values(tmp_path, capsys):
    motion = motion_of_leg()
    backwards = changed(motion, q=motion.q[::-1], v=-motion.v[::-1], tau=motion.tau[::-1])
    unnamed_table(backwards, tmp_path, start=100.0)
    (tmp_path / "log.csv").rename(tmp_path / "more.csv")
    unnamed_table(motion, tmp_path)
    logs = [str(tmp_path / "log.csv"), str(tmp_path / "more.csv")]
    target = str(tmp_path / "experiment.yaml")
    words = ["import", *logs, "--model", str(tmp_path / "leg.xml"), "--output", target]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "Recognised: a table without names" in printed
    assert "columns 7 to 9 are assumed to be torques" in printed
    prepared = prepare(load_experiment(Path(target)), tmp_path)
    assert [r.name for r in prepared.recordings] == ["log", "more"]
    assert prepared.experiment.search.method == "inverse-dynamics"
    # the file is not written over
    assert main(words) == 2
    # and init says the same of one log
    words = ["init", str(tmp_path / "leg.xml"), logs[0], "--output", target, "--overwrite"]
    assert main(words) == 0
    assert load_experiment(Path(target)).recordings[0].time == "0"


# --- readings that do not fit -------------------------------------------------------------------


def _table(folder: Path, log: Log) -> Import:
    model, path = table(log, folder)
    return propose_import(model, [path], folder)


def test_degrees_and_rpm_are_found(tmp_path):
    motion = motion_of_leg()
    plain = _table(tmp_path, motion)
    assert set(said(plain, "velocity")) == {"confirmed"}
    assert said(plain, "sign")[1] == "confirmed"
    found = _table(tmp_path, changed(motion, q=np.degrees(motion.q), v=motion.v * 30 / np.pi))
    assert set(said(found, "unit")) == {"found"}
    assert "unit: rpm" in found.proposal.text
    readable(found, tmp_path)


@pytest.mark.parametrize("joint", [1, 2])
def test_a_mirrored_axis_is_found_by_range_or_weight(tmp_path, joint):
    motion = motion_of_leg()
    sign = np.where(np.arange(3) == joint, -1.0, 1.0)
    found = _table(
        tmp_path,
        changed(motion, q=motion.q * sign, v=motion.v * sign, tau=motion.tau * sign),
    )
    assert said(found, "sign")[joint] == "found"
    assert "scale: -1" in found.proposal.text


def test_a_shifted_zero_is_asked_about_or_listed_as_assumed(tmp_path):
    motion = motion_of_leg()
    moved = motion.q + np.array([0.0, 1.2, 0.0])
    found = _table(tmp_path, changed(motion, q=moved))
    assert said(found, "zero")[1] == "ask"
    assert any("thigh, zero" in p for p in found.proposal.open_points)


def test_currents_are_no_torques(tmp_path):
    motion = motion_of_leg()
    found = _table(tmp_path, changed(motion, tau=motion.tau / 12))
    assert any("they are currents" in p for p in found.proposal.open_points)
    found = _table(tmp_path, changed(motion, tau=-motion.tau))
    assert any("check the sign" in p for p in found.proposal.open_points)


def two_logs(folder: Path, first: float, second: float, later: int = 0) -> list[Path]:
    """Two logs that begin at these times; the second has the samples from ``later`` on."""
    motion = motion_of_leg()
    unnamed_table(motion, folder, start=first)
    (folder / "log.csv").rename(folder / "a.csv")
    parts = ("times", "q", "v", "tau", "cmd")
    cut = changed(motion, **{name: getattr(motion, name)[later:] for name in parts})
    unnamed_table(cut, folder, start=second)
    return [folder / "a.csv", folder / "log.csv"]


def test_logs_of_the_same_hour_are_refused(tmp_path):
    logs = two_logs(tmp_path, 1.7e9, 1.7e9 + 5.0)
    with pytest.raises(RecordingError, match="cover the same time"):
        propose_import(tmp_path / "leg.xml", logs, tmp_path)


def test_two_days_of_a_robot_whose_clock_is_its_uptime_are_two_logs(tmp_path):
    logs = two_logs(tmp_path, 1000.0, 1005.0)
    found = propose_import(tmp_path / "leg.xml", logs, tmp_path)
    assert found.proposal.text.count("  - file:") == 2


def test_a_part_of_a_log_is_no_second_log(tmp_path):
    logs = two_logs(tmp_path, 1000.0, 1000.0, later=400)
    with pytest.raises(RecordingError, match="cover the same time"):
        propose_import(tmp_path / "leg.xml", logs, tmp_path)


@pytest.mark.parametrize("case", drawn_cases(12), ids=lambda case: case.name)
def test_no_mistake_passes_in_silence(case, tmp_path):
    assert verdict(case, imported(case, tmp_path), tmp_path) != "silent"


@pytest.mark.parametrize("source", ["joint_state_mcap", "unitree", "table", "unnamed_table"])
def test_a_log_without_a_mistake_raises_no_question(source, tmp_path):
    assert false_alarms(source, tmp_path) == []
