"""Logs of a simulated leg, each written by the libraries of the source that it stands for."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

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
    """Write the model of the leg, with motors or position servos, hanging or on a free trunk."""
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


@dataclass(frozen=True)
class Log:
    """What was recorded: times ``(T,)``, and a column a joint."""

    times: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    cmd: np.ndarray


def motion_of_leg(seconds: float = 12.0) -> Log:
    """A motion of the leg at 200 Hz under servos, with friction and armature."""
    actuators = "".join(f'<motor joint="{n}"/>' for n in JOINTS)
    model = mujoco.MjModel.from_xml_string(
        LEG.format(free="", actuators=actuators, **dict(zip(JOINTS, JOINTS, strict=True)))
    )
    t = np.arange(0.0, seconds, 0.005)
    rate = 2 * np.pi * np.array([0.31, 0.43, 0.59])
    size, middle = np.array([0.5, 0.6, 0.7]), np.array([0.1, 0.4, -1.4])
    q = middle + size * np.sin(np.outer(t, rate)) + 0.1 * np.sin(np.outer(t, 2.3 * rate))
    v = np.gradient(q, t, axis=0)
    a = np.gradient(v, t, axis=0)
    tau = link_regressor(model, q, v, a) @ parameters_of(model)
    tau = tau + 0.1 * v + 0.2 * np.tanh(v / 0.02) + 0.01 * a
    return Log(t, q, v, tau, q + tau / 40.0)


def changed(log: Log, **parts: np.ndarray) -> Log:
    """The log with other columns."""
    return replace(log, **{name: np.ascontiguousarray(value) for name, value in parts.items()})


# --- one writer a source: log, folder -> (model, path of the log) ------------------------------


def joint_state_mcap(log: Log, folder: Path) -> tuple[Path, Path]:
    """JointState in MCAP; the order of the joints changes from message to message."""
    module = pytest.importorskip("mcap_ros2.writer")
    definition = (
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\n"
        "float64[] effort\n" + "=" * 80 + "\nMSG: std_msgs/Header\n"
        "builtin_interfaces/Time stamp\nstring frame_id\n" + "=" * 80
        + "\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec"
    )  # fmt: skip
    path = folder / "run.mcap"
    with path.open("wb") as file:
        writer = module.Writer(file)
        schema = writer.register_msgdef("sensor_msgs/msg/JointState", definition)
        for k, t in enumerate(log.times):
            order = [2, 0, 1] if k % 2 else [0, 1, 2]
            stamp = {"sec": int(t), "nanosec": round(1e9 * (t - int(t)))}
            message = {
                "header": {"stamp": stamp, "frame_id": ""},
                "name": [JOINTS[j] for j in order],
                "position": log.q[k, order].tolist(),
                "velocity": log.v[k, order].tolist(),
                "effort": log.tau[k, order].tolist(),
            }
            nanoseconds = int(1e9 * (t + 1000))
            writer.write_message("/joint_states", schema, message, nanoseconds, nanoseconds)
        writer.finish()
    return write_leg(folder), path


def joint_state_bag(log: Log, folder: Path) -> tuple[Path, Path]:
    """JointState in rosbag2."""
    bags = pytest.importorskip("rosbags.rosbag2")
    typesys = pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    state, header, time = (
        store.types[name]
        for name in (
            "sensor_msgs/msg/JointState",
            "std_msgs/msg/Header",
            "builtin_interfaces/msg/Time",
        )
    )
    with bags.Writer(folder / "bag", version=9) as writer:
        link = writer.add_connection("/joint_states", state.__msgtype__, typestore=store)
        for k, t in enumerate(log.times):
            stamp = time(sec=int(t), nanosec=round(1e9 * (t - int(t))))
            message = state(
                header=header(stamp=stamp, frame_id=""),
                name=list(JOINTS),
                position=log.q[k],
                velocity=log.v[k],
                effort=log.tau[k],
            )
            raw = store.serialize_cdr(message, state.__msgtype__)
            writer.write(link, int(1e9 * (t + 1)), raw)
    return write_leg(folder), folder / "bag"


def controller_state(log: Log, folder: Path) -> tuple[Path, Path]:
    """The state of a ros2_control trajectory controller: references and feedback by name."""
    order = [1, 2, 0]
    rows = [
        {
            "joint_names": [JOINTS[j] for j in order],
            "reference": {"positions": log.cmd[k, order].tolist()},
            "feedback": {
                "positions": log.q[k, order].tolist(),
                "velocities": log.v[k, order].tolist(),
            },
        }
        for k in range(len(log.times))
    ]
    path = folder / "jtc.mcap"
    json_mcap(path, log.times, {"/jtc/controller_state": rows})
    return write_leg(folder, servo=True), path


def json_mcap(path: Path, times: np.ndarray, topics: dict[str, list[dict]]) -> None:
    """Write messages as JSON, a second after the zero of their clock."""
    module = pytest.importorskip("mcap.writer")
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


def unitree(log: Log, folder: Path) -> tuple[Path, Path]:
    """Unitree's lowstate and lowcmd, on a free trunk."""
    state, command = [], []
    for q, v, u, c in zip(log.q, log.v, log.tau, log.cmd, strict=True):
        motors = zip(q, v, u, strict=True)
        state.append({"motor_state": [{"q": a, "dq": b, "tau_est": e} for a, b, e in motors]})
        command.append(
            {"motor_cmd": [{"q": a, "dq": 0.0, "tau": 0.0, "kp": 40.0, "kd": 0.5} for a in c]}
        )
    path = folder / "go.mcap"
    json_mcap(path, log.times, {"rt/lowstate": state, "rt/lowcmd": command})
    return write_leg(folder, free=True), path


def lerobot(log: Log, folder: Path) -> tuple[Path, Path]:
    """A LeRobot data set of version 3 in degrees."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    home = folder / "set"
    (home / "meta").mkdir(parents=True)
    (home / "data" / "chunk-000").mkdir(parents=True)
    feature = {"dtype": "float32", "shape": [3], "names": [f"{j}.pos" for j in JOINTS]}
    features = {"observation.state": feature, "action": feature}
    info = {"codebase_version": "v3.0", "fps": 200, "features": features}
    (home / "meta" / "info.json").write_text(json.dumps(info))
    table = pyarrow.table(
        {
            "timestamp": log.times,
            "episode_index": np.zeros(len(log.times), int),
            "observation.state": list(np.degrees(log.q).astype(np.float32)),
            "action": list(np.degrees(log.cmd).astype(np.float32)),
        }
    )
    parquet.write_table(table, home / "data" / "chunk-000" / "file-000.parquet")
    return write_leg(folder, servo=True), home


def pace(log: Log, folder: Path) -> tuple[Path, Path]:
    """PACE's chirp data: commands and positions without names."""
    torch = pytest.importorskip("torch")
    content = {
        "time": torch.tensor(log.times),
        "des_dof_pos": torch.tensor(log.cmd),
        "dof_pos": torch.tensor(log.q),
    }
    torch.save(content, folder / "chirp_data.pt")
    return write_leg(folder), folder / "chirp_data.pt"


def hdf5(log: Log, folder: Path) -> tuple[Path, Path]:
    """HDF5 as Isaac Lab and mjlab write it, joints in an order of its own, with their names."""
    h5py = pytest.importorskip("h5py")
    order = [2, 0, 1]
    with h5py.File(folder / "log.hdf5", "w") as file:
        file["t"] = log.times
        file["joint_pos"], file["joint_vel"] = log.q[:, order], log.v[:, order]
        file["applied_torque"] = log.tau[:, order]
        file["joint_names"] = [JOINTS[j] for j in order]
    return write_leg(folder), folder / "log.hdf5"


def table(log: Log, folder: Path) -> tuple[Path, Path]:
    """CSV with a header."""
    names = ["t", *(f"{j}_{k}" for k in ("pos", "vel", "torque") for j in JOINTS)]
    columns = np.column_stack([log.times, log.q, log.v, log.tau])
    path = folder / "log.csv"
    np.savetxt(path, columns, delimiter=",", header=",".join(names), comments="")
    return write_leg(folder), path


def unnamed_table(log: Log, folder: Path, start: float = 0.0) -> tuple[Path, Path]:
    """CSV without a header: time, positions, velocities, torques, currents."""
    columns = [log.times + start, log.q, log.v, log.tau, log.tau / 7.0]
    path = folder / "log.csv"
    np.savetxt(path, np.column_stack(columns), delimiter=",")
    return write_leg(folder), path


WRITERS: dict[str, Callable[[Log, Path], tuple[Path, Path]]] = {
    "joint_state_mcap": joint_state_mcap,
    "joint_state_bag": joint_state_bag,
    "controller_state": controller_state,
    "unitree": unitree,
    "lerobot": lerobot,
    "pace": pace,
    "hdf5": hdf5,
    "table": table,
    "unnamed_table": unnamed_table,
}
"""Writer of each source."""

WITH_COMMANDS = ("controller_state", "unitree", "lerobot", "pace")
WITH_VELOCITY = tuple(set(WRITERS) - {"lerobot", "pace"})
WITH_TORQUE = ("joint_state_mcap", "joint_state_bag", "unitree", "hdf5", "table", "unnamed_table")
