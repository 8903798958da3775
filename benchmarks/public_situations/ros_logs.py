"""Situations of ROS: bags of joint states, and exports of them."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from arm_logs import ARM, known, named, three, whole
from judging import (
    Case,
    Outcome,
    channels,
    either,
    holds,
    imports,
    intervals,
    refused,
    says,
)
from machines import Link, Log, Machine, record, write_model, write_table

JOINT_STATE = (
    "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\n"
    "float64[] effort\n" + "=" * 80 + "\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\n"
    "string frame_id\n" + "=" * 80 + "\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec"
)
ARRAY = (
    "std_msgs/MultiArrayLayout layout\nfloat64[] data\n" + "=" * 80
    + "\nMSG: std_msgs/MultiArrayLayout\nstd_msgs/MultiArrayDimension[] dim\nuint32 data_offset\n"
    + "=" * 80 + "\nMSG: std_msgs/MultiArrayDimension\nstring label\nuint32 size\nuint32 stride"
)  # fmt: skip
EPOCH = 1_745_000_000  # s

Message = tuple[float, str, dict]


def stamped(t: float) -> dict:
    """A header of a time from the beginning [s]."""
    return {"stamp": {"sec": EPOCH + int(t), "nanosec": round(1e9 * (t - int(t)))}, "frame_id": ""}


def states(log: Log, effort: np.ndarray, order: list[int] | None = None) -> Iterator[Message]:
    """Messages of joint states in one order."""
    order = order or list(range(len(log.names)))
    for k, t in enumerate(log.time):
        yield t, "/joint_states", {
            "header": stamped(t),
            "name": [log.names[j] for j in order],
            "position": log.q[k, order].tolist(),
            "velocity": log.v[k, order].tolist(),
            "effort": effort[k, order].tolist(),
        }  # fmt: skip


def write_mcap(path: Path, messages: list[Message]) -> Path:
    """Write joint states, and arrays of numbers on other topics, by mcap_ros2."""
    from mcap_ros2.writer import Writer

    with path.open("wb") as file:
        writer = Writer(file)
        state = writer.register_msgdef("sensor_msgs/msg/JointState", JOINT_STATE)
        array = writer.register_msgdef("std_msgs/msg/Float64MultiArray", ARRAY)
        for t, topic, message in sorted(messages, key=lambda m: m[0]):
            at = int(1e9 * (EPOCH + t + 2e-4))
            writer.write_message(topic, state if "name" in message else array, message, at, at)
        writer.finish()
    return path


def arrays(log: Log, topic: str) -> Iterator[Message]:
    """Commands of all joints as arrays."""
    for t, row in zip(log.time, log.u, strict=True):
        yield t, topic, {"layout": {"dim": [], "data_offset": 0}, "data": row.tolist()}


def ur_effort_current(folder: Path) -> Case:
    """Joint states of a UR in alphabetical order, with currents as efforts."""
    wrist = Link("wrist", mass=0.5, length=0.12, rest=0.2, reach=0.9, armature=0.02, damping=0.2)
    names = ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint")
    machine = Machine(
        ((*three(*names[:3]), *named((wrist,), names[3])),), step=0.002, integrator="Euler"
    )
    log = record(machine, 11, seconds=10, rate=125)
    constants = np.array([12.5, 11.2, 9.1, 7.4])
    messages = list(states(log, log.u / constants, order=[2, 1, 0, 3]))

    def judge(o: Outcome) -> list[str]:
        if faults := imports(o):
            return faults
        asked = says(o, ("current",), ("constant", "n m/a", "nm/a", "n m per"))
        return [*channels(o), *asked, *intervals(o), *holds(o, constants)]

    parts = known(log, machine)
    parts["controls"] = {}
    parts["truth"] = {**machine.truth}
    return Case(
        write_model(folder, machine.urdf(), "ur.urdf"),
        [write_mcap(folder / "run.mcap", messages)],
        judge,
        **parts,
    )


def two_publishers(folder: Path) -> Case:
    """Joint states of two publishers, one of which sends zeros."""
    machine = Machine((named(ARM, "lift_joint", "tilt_joint"),), kp=60, kv=3)
    log = record(machine, 12, seconds=12, rate=50)
    messages = list(states(log, np.full(log.q.shape, np.nan)))
    for t in log.time:
        messages.append((t + 1e-5, "/joint_states", {
            "header": stamped(t), "name": log.names[::-1], "position": [0.0, 0.0],
            "velocity": [], "effort": [],
        }))  # fmt: skip
    messages += arrays(log, "/position_controller/commands")

    def judge(o: Outcome) -> list[str]:
        why = ("publisher", "two sources", "alternat", "in turn")
        return either(refused(o, why), [*channels(o), *says(o, why)])

    return Case(
        write_model(folder, machine.mjcf()),
        [write_mcap(folder / "run.mcap", messages)],
        judge,
        **known(log, machine),
    )


def effort_is_error(folder: Path) -> Case:
    """Joint states of NAO, whose effort is the error of the position."""
    machine = Machine((three("HeadYaw", "HeadPitch", "LElbowRoll"),), kp=40, kv=2)
    log = record(machine, 13, rate=100)
    messages = list(states(log, log.u - log.q))

    def judge(o: Outcome) -> list[str]:
        if faults := imports(o):
            return faults if refused(o, ("effort",)) else []
        words = says(o, ("position error", "desired minus", "commanded minus", "not a torque"))
        return either(channels(o), words)

    return Case(
        write_model(folder, machine.mjcf()),
        [write_mcap(folder / "run.mcap", messages)],
        judge,
        **known(log, machine),
    )


def kinova_wrap(folder: Path) -> Case:
    """Continuous joints that turn several times, wrapped to +-pi."""
    links = tuple(
        Link(**{**vars(link), "rest": 0.0, "reach": 8.0})
        for link in named(ARM, "joint_1", "joint_3")
    )
    machine = Machine((links,), step=0.002, integrator="Euler")
    log = record(machine, 16, rate=500, speed=0.5)
    wrapped = (log.q + np.pi) % (2 * np.pi) - np.pi
    columns = {"time": log.time}
    columns |= {f"{n}_position": wrapped[:, k] for k, n in enumerate(log.names)}
    columns |= {f"{n}_effort": log.u[:, k] for k, n in enumerate(log.names)}

    def judge(o: Outcome) -> list[str]:
        return [*whole(o), *says(o, ("unwrap",))]

    return Case(
        write_model(folder, machine.urdf("continuous"), "gen3.urdf"),
        [write_table(folder / "run.csv", columns)],
        judge,
        **known(log, machine),
    )


def two_arms_one_topic(folder: Path) -> Case:
    """A bag with the joint states of two arms in separate messages on one topic."""
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import Stores, get_typestore

    left, right = ("left_base_roll", "left_shoulder_lift"), ("right_base_roll",
                                                            "right_shoulder_lift")  # fmt: skip
    machine = Machine((named(ARM, *left), named(ARM, *right)))
    log = record(machine, 16, rate=200)
    store = get_typestore(Stores.ROS2_HUMBLE)
    state, header, time = (
        store.types[n]
        for n in (
            "sensor_msgs/msg/JointState",
            "std_msgs/msg/Header",
            "builtin_interfaces/msg/Time",
        )
    )
    with Writer(folder / "bag", version=9) as writer:
        link = writer.add_connection("/joint_states", state.__msgtype__, typestore=store)
        for k, t in enumerate(log.time):
            for arm, side in enumerate((left, right)):
                at = 2 * arm
                part = slice(at, at + 2)
                stamp = time(sec=EPOCH + int(t), nanosec=round(1e9 * (t - int(t))))
                message = state(
                    header=header(stamp=stamp, frame_id=""), name=list(side),
                    position=log.q[k, part], velocity=log.v[k, part], effort=log.u[k, part],
                )  # fmt: skip
                raw = store.serialize_cdr(message, state.__msgtype__)
                writer.write(link, int(1e9 * (EPOCH + t)) + arm * 100_000, raw)
    return Case(write_model(folder, machine.mjcf()), [folder / "bag"], whole, **known(log, machine))


def plotjuggler_empty(folder: Path) -> Case:
    """PlotJuggler's export, with empty cells where another topic has the row."""
    machine = Machine((ARM,), step=0.002)
    log = record(machine, 17, rate=500)
    stamp, command = "/joint_states/header/stamp", "/effort_controller/commands"
    head = ["__time", f"{stamp}/nanosec", f"{stamp}/sec"]
    head += [f"/joint_states/{n}/position" for n in log.names]
    head += [f"{command}/data[{k}]" for k in range(2)]
    rows = [",".join(head)]
    for k, t in enumerate(log.time):
        now = 10837 + t
        if k % 10:  # most rows: the command comes a fraction of a millisecond after the state
            rows.append(f"{now:.6f},{round(1e9 * (now % 1))}.0,{int(now)}.0,{log.q[k, 0]:.9f},"
                        f"{log.q[k, 1]:.9f},,")  # fmt: skip
            rows.append(f"{now + 2e-4:.6f},,,,,{log.u[k, 0]:.9f},{log.u[k, 1]:.9f}")
        else:  # both in one row
            rows.append(f"{now:.6f},{round(1e9 * (now % 1))}.0,{int(now)}.0,{log.q[k, 0]:.9f},"
                        f"{log.q[k, 1]:.9f},{log.u[k, 0]:.9f},{log.u[k, 1]:.9f}")  # fmt: skip
    path = folder / "export.csv"
    path.write_text("\n".join(rows) + "\n")
    return Case(write_model(folder, machine.mjcf()), [path], whole, **known(log, machine))


def franka_swapped(folder: Path) -> Case:
    """Joint states in which the values of two joints are exchanged."""
    wrist = Link("wrist", mass=0.7, length=0.2, rest=0.4, reach=0.6, limits=(-0.5, 2.5))
    pan, lift, elbow = three("fr3_joint1", "fr3_joint2", "fr3_joint4")
    lift = Link(**{**vars(lift), "rest": -0.5, "limits": (-1.8, 1.8)})
    roll = Link("fr3_joint3", axis="0 0 1", mass=0.8, rest=0.0, reach=0.7, limits=(-2.9, 2.9))
    elbow = Link(**{**vars(wrist), "joint": "fr3_joint4", "rest": 1.2, "limits": (0.1, 3.0)})
    machine = Machine(((pan, lift, roll, elbow),))
    log = record(machine, 18)
    order = [0, 2, 1, 3]
    moved = log.changed(q=log.q[:, order], v=log.v[:, order])
    messages = list(states(moved, log.u[:, order]))

    def judge(o: Outcome) -> list[str]:
        why = ("exchanged", "swapped", "order: ", "order of", "contradict")
        if imports(o):
            return refused(o, ("fr3_joint2",), why)
        return either(channels(o), says(o, ("fr3_joint2, order", "exchanged", "swapped")))

    return Case(
        write_model(folder, machine.mjcf()),
        [write_mcap(folder / "run.mcap", messages)],
        judge,
        **known(log, machine),
    )
