"""Import of logs: every source written by its own library, and readings that do not fit."""

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest

from trueup.cli._main import main
from trueup.errors import RecordingError
from trueup.sysid.experiment.experiment_file import load_experiment
from trueup.sysid.experiment.import_log import Import, propose_import
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.torque.link_regressor import link_regressor, parameters_of

JOINTS = ("hip", "thigh", "calf")

LEG = """<mujoco><option timestep="0.002"/><worldbody><body name="trunk">{free}
<geom type="box" size=".1 .1 .1" mass="5"/>
<body name="hip_link" pos="0.2 0 0"><joint name="{hip}" axis="1 0 0" range="-60 60"/>
 <geom type="capsule" fromto="0 0 0 0 .1 0" size=".03" mass=".8"/>
 <body name="thigh_link" pos="0 .1 0"><joint name="{thigh}" axis="0 1 0" range="-80 120"/>
  <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03" mass="1.5"/>
  <body name="calf_link" pos="0 0 -.3"><joint name="{calf}" axis="0 1 0" range="-150 -10"/>
   <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02" mass=".5"/></body></body></body></body>
</worldbody><actuator>{actuators}</actuator></mujoco>"""


def write_leg(folder: Path, free: bool = False, servo: bool = False, names=JOINTS) -> Path:
    kind = (
        'position name="{0}_m" joint="{0}" kp="40"' if servo else 'motor name="{0}_m" joint="{0}"'
    )
    text = LEG.format(
        free="<freejoint/>" if free else "",
        actuators="".join(f"<{kind.format(n)}/>" for n in names),
        **dict(zip(JOINTS, names, strict=True)),
    )
    path = folder / "leg.xml"
    path.write_text(text)
    return path


class Motion:
    """A motion of the leg at 200 Hz: position, velocity, torque and command of each joint."""

    def __init__(self, folder: Path, seconds: float = 12.0):
        model = mujoco.MjModel.from_xml_path(str(write_leg(folder)))
        t = self.times = np.arange(0.0, seconds, 0.005)
        rate = 2 * np.pi * np.array([0.31, 0.43, 0.59])
        size, middle = np.array([0.5, 0.6, 0.7]), np.array([0.1, 0.4, -1.4])
        self.q = middle + size * np.sin(np.outer(t, rate)) + 0.1 * np.sin(np.outer(t, 2.3 * rate))
        self.v, self.a = (np.gradient(self.q, t, axis=0), None)
        self.a = np.gradient(self.v, t, axis=0)
        tau = link_regressor(model, self.q, self.v, self.a) @ parameters_of(model)
        self.tau = tau + 0.1 * self.v + 0.2 * np.tanh(self.v / 0.02) + 0.01 * self.a
        self.cmd = self.q + self.tau / 40.0


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


def test_joint_states_in_mcap_whose_order_of_joints_changes(tmp_path):
    writer_module = pytest.importorskip("mcap_ros2.writer")
    motion = Motion(tmp_path)
    definition = (
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\n"
        "float64[] effort\n" + "=" * 80 + "\nMSG: std_msgs/Header\n"
        "builtin_interfaces/Time stamp\nstring frame_id\n" + "=" * 80
        + "\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec"
    )  # fmt: skip
    with (tmp_path / "run.mcap").open("wb") as file:
        writer = writer_module.Writer(file)
        schema = writer.register_msgdef("sensor_msgs/msg/JointState", definition)
        for k, t in enumerate(motion.times):
            order = [2, 0, 1] if k % 2 else [0, 1, 2]
            stamp = {"sec": int(t), "nanosec": round(1e9 * (t - int(t)))}
            message = {
                "header": {"stamp": stamp, "frame_id": ""},
                "name": [JOINTS[j] for j in order],
                "position": motion.q[k, order].tolist(),
                "velocity": motion.v[k, order].tolist(),
                "effort": motion.tau[k, order].tolist(),
            }
            nanoseconds = int(1e9 * (t + 1000))
            writer.write_message("/joint_states", schema, message, nanoseconds, nanoseconds)
        writer.finish()
    found = propose_import(tmp_path / "leg.xml", [tmp_path / "run.mcap"], tmp_path)
    assert found.source == "ROS JointState"
    assert said(found, "order") == ["confirmed"] * 3
    assert "actuators: torque" in found.proposal.text
    readable(found, tmp_path)


def test_joint_states_in_rosbag2(tmp_path):
    bags = pytest.importorskip("rosbags.rosbag2")
    typesys = pytest.importorskip("rosbags.typesys")
    motion = Motion(tmp_path)
    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    state, header, time = (
        store.types[name]
        for name in (
            "sensor_msgs/msg/JointState",
            "std_msgs/msg/Header",
            "builtin_interfaces/msg/Time",
        )
    )
    with bags.Writer(tmp_path / "bag", version=9) as writer:
        link = writer.add_connection("/joint_states", state.__msgtype__, typestore=store)
        for k, t in enumerate(motion.times):
            stamp = time(sec=int(t), nanosec=round(1e9 * (t - int(t))))
            message = state(
                header=header(stamp=stamp, frame_id=""),
                name=list(JOINTS),
                position=motion.q[k],
                velocity=motion.v[k],
                effort=motion.tau[k],
            )
            raw = store.serialize_cdr(message, state.__msgtype__)
            writer.write(link, int(1e9 * (t + 1)), raw)
    found = propose_import(tmp_path / "leg.xml", [tmp_path / "bag"], tmp_path)
    assert found.source == "ROS JointState"
    readable(found, tmp_path)


def test_a_trajectory_controller_names_its_points_by_its_joints(tmp_path):
    mcap_writer = pytest.importorskip("mcap.writer")
    motion = Motion(tmp_path)
    write_leg(tmp_path, servo=True)
    rows = []
    for k in range(len(motion.times)):
        order = [1, 2, 0]
        rows.append(
            {
                "joint_names": [JOINTS[j] for j in order],
                "reference": {"positions": motion.cmd[k, order].tolist()},
                "feedback": {
                    "positions": motion.q[k, order].tolist(),
                    "velocities": motion.v[k, order].tolist(),
                },
            }
        )
    _write_json_mcap(
        mcap_writer, tmp_path / "jtc.mcap", motion.times, {"/jtc/controller_state": rows}
    )
    found = propose_import(tmp_path / "leg.xml", [tmp_path / "jtc.mcap"], tmp_path)
    assert found.source == "ros2_control controller_state"
    assert any("gains of the position servos" in p for p in found.proposal.open_points)
    readable(found, tmp_path)


def _write_json_mcap(module, path: Path, times, topics) -> None:
    with path.open("wb") as file:
        writer = module.Writer(file)
        writer.start()
        schema = writer.register_schema("any", "jsonschema", b"{}")
        for topic, rows in topics.items():
            channel = writer.register_channel(topic, "json", schema)
            for t, row in zip(times, rows, strict=True):
                at = int(1e9 * (t + 1))
                writer.add_message(channel, at, json.dumps(row).encode(), at)
        writer.finish()


def test_unitree_gains_are_in_the_log(tmp_path):
    mcap_writer = pytest.importorskip("mcap.writer")
    motion = Motion(tmp_path)
    write_leg(tmp_path, free=True)
    state, command = [], []
    for k in range(len(motion.times)):
        state.append({"motor_state": [{"q": q, "dq": v, "tau_est": u} for q, v, u in zip(
            motion.q[k], motion.v[k], motion.tau[k], strict=True)]})  # fmt: skip
        command.append({"motor_cmd": [{"q": c, "dq": 0.0, "tau": 0.0, "kp": 40.0, "kd": 0.5}
                                      for c in motion.cmd[k]]})  # fmt: skip
    topics = {"rt/lowstate": state, "rt/lowcmd": command}
    _write_json_mcap(mcap_writer, tmp_path / "go.mcap", motion.times, topics)
    found = propose_import(tmp_path / "leg.xml", [tmp_path / "go.mcap"], tmp_path)
    assert found.source == "Unitree lowstate"
    assert "kp: {hip_m: 40, thigh_m: 40, calf_m: 40}" in found.proposal.text
    assert "base: fixed" in found.proposal.text
    assert any("free joint is taken away" in p for p in found.proposal.open_points)
    readable(found, tmp_path)


def test_unitree_numbers_are_those_of_the_robot(tmp_path):
    mcap_writer = pytest.importorskip("mcap.writer")
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
    _write_json_mcap(mcap_writer, tmp_path / "go2.mcap", times, {"rt/lowstate": state})
    found = propose_import(tmp_path / "go2.xml", [tmp_path / "go2.mcap"], tmp_path)
    columns = {row[0]: row[1] for row in found.rows}
    assert columns["FR_hip_joint"] == "rt/lowstate/motor_state/0/q"
    assert columns["RL_calf_joint"] == "rt/lowstate/motor_state/11/q"
    assert set(said(found, "order")) == {"confirmed"}


def test_lerobot_says_which_of_its_two_units_it_took(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    motion = Motion(tmp_path)
    folder = tmp_path / "set"
    (folder / "meta").mkdir(parents=True)
    (folder / "data" / "chunk-000").mkdir(parents=True)
    feature = {"dtype": "float32", "shape": [3], "names": [f"{j}.pos" for j in JOINTS]}
    info = {
        "codebase_version": "v3.0",
        "fps": 200,
        "features": {"observation.state": feature, "action": feature},
    }
    (folder / "meta" / "info.json").write_text(json.dumps(info))
    degrees = np.degrees(motion.q)
    table = pyarrow.table(
        {
            "timestamp": motion.times,
            "episode_index": np.zeros(len(motion.times), int),
            "observation.state": list(degrees.astype(np.float32)),
            "action": list(np.degrees(motion.cmd).astype(np.float32)),
        }
    )
    parquet.write_table(table, folder / "data" / "chunk-000" / "file-000.parquet")
    found = propose_import(write_leg(tmp_path, servo=True), [folder], tmp_path)
    assert found.source == "LeRobot"
    # the calf goes beyond 100, which is degrees; of the others nobody knows
    assert said(found, "unit") == ["ask", "ask", "found"]
    assert any("-100 to 100" in p for p in found.proposal.open_points)
    readable(found, tmp_path)


def test_pace_without_torch_or_code(tmp_path):
    torch = pytest.importorskip("torch")
    motion = Motion(tmp_path)
    content = {
        "time": torch.tensor(motion.times),
        "des_dof_pos": torch.tensor(motion.cmd),
        "dof_pos": torch.tensor(motion.q),
    }
    torch.save(content, tmp_path / "chirp_data.pt")
    found = propose_import(tmp_path / "leg.xml", [tmp_path / "chirp_data.pt"], tmp_path)
    assert found.source == "PACE chirp data"
    assert "actuators: position" in found.proposal.text
    assert any("fill in kp and kd" in p for p in found.proposal.open_points)
    readable(found, tmp_path)
    # a file that would run code is refused, and runs nothing
    torch.save({"time": content["time"], "evil": Path("/")}, tmp_path / "evil.pt")
    with pytest.raises(RecordingError, match=r"names pathlib"):
        propose_import(tmp_path / "leg.xml", [tmp_path / "evil.pt"], tmp_path)


def test_hdf5_with_its_own_names(tmp_path):
    h5py = pytest.importorskip("h5py")
    motion = Motion(tmp_path)
    order = [2, 0, 1]
    with h5py.File(tmp_path / "log.hdf5", "w") as file:
        file["t"] = motion.times
        file["joint_pos"], file["joint_vel"] = motion.q[:, order], motion.v[:, order]
        file["applied_torque"] = motion.tau[:, order]
        file["joint_names"] = [JOINTS[j] for j in order]
    found = propose_import(tmp_path / "leg.xml", [tmp_path / "log.hdf5"], tmp_path)
    assert found.source == "Isaac Lab or mjlab HDF5"
    assert {r[0]: r[1] for r in found.rows}["calf"] == "joint_pos/0"
    readable(found, tmp_path)


def test_a_table_without_a_header_by_its_values(tmp_path, capsys):
    motion = Motion(tmp_path)
    _unnamed(tmp_path / "log.csv", motion)
    _unnamed(tmp_path / "more.csv", motion, start=100.0)
    logs = [str(tmp_path / "log.csv"), str(tmp_path / "more.csv")]
    target = str(tmp_path / "experiment.yaml")
    words = ["import", *logs, "--model", str(tmp_path / "leg.xml"), "--output", target]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "Recognised: a table without names" in printed
    assert "columns 7 to 9 are taken for torques" in printed
    prepared = prepare(load_experiment(Path(target)), tmp_path)
    assert [r.name for r in prepared.recordings] == ["log", "more"]
    assert prepared.experiment.search.method == "inverse-dynamics"
    # the file is not written over
    assert main(words) == 2
    # and init says the same of one log
    words = ["init", str(tmp_path / "leg.xml"), logs[0], "--output", target, "--overwrite"]
    assert main(words) == 0
    assert load_experiment(Path(target)).recordings[0].time == "0"


def _unnamed(path: Path, motion: Motion, start: float = 0.0, current: float = 7.0) -> None:
    table = np.column_stack(
        [motion.times + start, motion.q, motion.v, motion.tau, motion.tau / current]
    )
    np.savetxt(path, table, delimiter=",")


# --- readings that do not fit -------------------------------------------------------------------


def _table(folder: Path, motion: Motion, **changed: np.ndarray) -> Import:
    parts = {"q": motion.q, "v": motion.v, "tau": motion.tau, **changed}
    columns = [motion.times, *(parts[k] for k in ("q", "v", "tau"))]
    names = ["t", *(f"{j}_{k}" for k in ("pos", "vel", "torque") for j in JOINTS)]
    np.savetxt(
        folder / "log.csv",
        np.column_stack(columns),
        delimiter=",",
        header=",".join(names),
        comments="",
    )
    return propose_import(folder / "leg.xml", [folder / "log.csv"], folder)


def test_degrees_and_rpm_are_found(tmp_path):
    motion = Motion(tmp_path)
    plain = _table(tmp_path, motion)
    assert set(said(plain, "velocity")) == {"confirmed"}
    assert said(plain, "sign")[1] == "confirmed"
    found = _table(tmp_path, motion, q=np.degrees(motion.q), v=motion.v * 30 / np.pi)
    assert set(said(found, "unit")) == {"found"}
    assert "unit: rpm" in found.proposal.text
    readable(found, tmp_path)


@pytest.mark.parametrize("joint", [1, 2])
def test_a_mirrored_axis_is_found_by_range_or_weight(tmp_path, joint):
    motion = Motion(tmp_path)
    sign = np.where(np.arange(3) == joint, -1.0, 1.0)
    found = _table(tmp_path, motion, q=motion.q * sign, v=motion.v * sign, tau=motion.tau * sign)
    assert said(found, "sign")[joint] == "found"
    assert "scale: -1" in found.proposal.text


def test_a_shifted_zero_is_asked_about_or_listed_as_assumed(tmp_path):
    motion = Motion(tmp_path)
    moved = motion.q + np.array([0.0, 1.2, 0.0])
    found = _table(tmp_path, motion, q=moved)
    assert said(found, "zero")[1] == "ask"
    assert any("thigh, zero" in p for p in found.proposal.open_points)


def test_currents_are_no_torques(tmp_path):
    motion = Motion(tmp_path)
    found = _table(tmp_path, motion, tau=motion.tau / 12)
    assert any("they are currents" in p for p in found.proposal.open_points)
    found = _table(tmp_path, motion, tau=-motion.tau)
    assert any("look at the sign" in p for p in found.proposal.open_points)


def test_logs_of_the_same_hour_are_refused(tmp_path):
    motion = Motion(tmp_path)
    _unnamed(tmp_path / "a.csv", motion, start=1000.0)
    _unnamed(tmp_path / "b.csv", motion, start=1005.0)
    with pytest.raises(RecordingError, match="cover the same time"):
        propose_import(tmp_path / "leg.xml", [tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path)
