"""Situations of industrial and research arms: tables of RTDE, libfranka and others."""

from pathlib import Path

import mujoco
import numpy as np
from judging import (
    Case,
    Outcome,
    channels,
    either,
    holds,
    imports,
    intervals,
    names,
    not_used,
    says,
    usable,
)
from machines import Link, Log, Machine, record, write_model, write_table

ARM = (
    Link("shoulder", mass=1.4, rest=0.3, reach=0.7, armature=0.05, damping=0.6, friction=0.4),
    Link("elbow", mass=0.8, rest=0.5, reach=0.8, armature=0.03, damping=0.35, friction=0.25),
)


def named(links: tuple[Link, ...], *names: str) -> tuple[Link, ...]:
    """The links with other names of their joints."""
    return tuple(
        Link(**{**vars(link), "joint": name}) for link, name in zip(links, names, strict=True)
    )


def three(*names: str) -> tuple[Link, ...]:
    """A pan joint and two lift joints."""
    pan = Link("pan", axis="0 0 1", mass=1.0, length=0.1, rest=0.0, reach=0.8)
    return named((pan, *ARM), *names)


def known(log: Log, machine: Machine, **parts: object) -> dict:
    """What a case needs to judge channels and intervals."""
    by_joint = lambda values: {  # noqa: E731
        name: (log.time, values[:, k]) for k, name in enumerate(log.names)
    }
    return {
        "positions": by_joint(log.clean),
        "controls": by_joint(log.u),
        "truth": machine.truth,
        **parts,
    }


def whole(o: Outcome) -> list[str]:
    """Channels, intervals and a usable result."""
    return channels(o) or [*usable(o), *intervals(o)]


def rtde_currents(folder: Path) -> Case:
    """RTDE of a UR10: positions, commands, three sorts of currents, temperatures."""
    names = ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint")
    machine = Machine((three(*names),), kp=120, kv=6, step=0.002)
    log = record(machine, 1, seconds=9.6, rate=125)
    constants = np.array([12.0, 11.0, 9.0])
    current = log.torque / constants
    noisy = current + 0.02 * np.random.default_rng(0).normal(size=current.shape)
    columns = {"timestamp": 1210.4 + log.time}
    parts = {
        "target_q": log.u, "actual_q": log.q, "target_current": current, "actual_current": noisy,
        "joint_control_output": noisy, "joint_temperatures": 28.0 + 0.05 * (log.q > 0.3),
    }  # fmt: skip
    for name, values in parts.items():
        columns |= {f"{name}_{k}": values[:, k] for k in range(3)}
    return Case(
        write_model(folder, machine.mjcf()),
        [write_table(folder / "robot_data.csv", columns)],
        whole,
        **known(log, machine),
    )


def tilted_base(folder: Path) -> Case:
    """An arm mounted at 45 deg, with a model that stands upright."""
    links = named(ARM, "joint_0", "joint_1")
    links = (Link(**{**vars(links[0]), "axis": "1 0 0"}), links[1])
    real = Machine((links,), gravity="0 6.9367 -6.9367", step=0.002)
    log = record(real, 2, rate=250)
    columns = {"timestamp": log.time}
    for k in range(2):
        columns[f"actual_q_{k}"] = log.q[:, k]
    for k in range(2):
        columns[f"actual_torque_{k}"] = log.u[:, k]

    def judge(o: Outcome) -> list[str]:
        causes = ("gravity", "mount", "weight of the links does not", "tilted")
        return imports(o) or not_used(o) or names(o, causes)

    return Case(
        write_model(folder, Machine((links,), step=0.002).mjcf()),
        [write_table(folder / "measured_data.csv", columns)],
        judge,
    )


def franka_repeated_header(folder: Path) -> Case:
    """The CSV of libfranka, in which the names of the command repeat those of a state."""
    machine = Machine((three("joint1", "joint2", "joint3"),), step=0.001)
    log = record(machine, 3, seconds=6, rate=1000)
    desired = log.clean + 1e-5
    parts = (("q", log.q), ("q_d", desired), ("dq", log.v), ("tau_J", log.u), ("q_d", desired))
    head, columns = ["time"], {"time": log.time}
    for number, (name, values) in enumerate(parts):
        for k in range(3):
            head.append(f"{name}[{k}]")
            columns[f"{number}{name}{k}"] = values[:, k]
    return Case(
        write_model(folder, machine.mjcf()),
        [write_table(folder / "log.csv", columns, head=head)],
        whole,
        **known(log, machine),
    )


def range_exceeded(folder: Path) -> Case:
    """A model whose elbow has a narrower range than the arm."""
    links = named(ARM, "shoulder_lift", "elbow_flex")
    real = Machine((links,), kp=40, kv=2)
    elbow = Link(**{**vars(links[1]), "limits": (-0.9, 0.9)})
    log = record(real, 4, rate=100)
    columns = {"time": log.time}
    columns |= {f"{n}_pos": log.q[:, k] for k, n in enumerate(log.names)}
    columns |= {f"{n}_cmd": log.u[:, k] for k, n in enumerate(log.names)}

    def judge(o: Outcome) -> list[str]:
        words = ("range of", "beyond the range", "joint range", "its range")
        return [*channels(o), *says(o, ("elbow_flex",), words)]

    return Case(
        write_model(folder, Machine(((links[0], elbow),), kp=40, kv=2).mjcf()),
        [write_table(folder / "run.csv", columns)],
        judge,
        **known(log, real),
    )


def rizon_gravcomp(folder: Path) -> Case:
    """An arm whose controller compensates gravity, and a model that does not."""
    links = named(ARM, "joint2", "joint4")
    log = record(Machine((links,), kp=60, kv=3, gravity="0 0 0"), 5)
    columns = {"time": log.time}
    columns |= {f"{n}_pos": log.q[:, k] for k, n in enumerate(log.names)}
    columns |= {f"{n}_cmd": log.u[:, k] for k, n in enumerate(log.names)}

    def judge(o: Outcome) -> list[str]:
        return imports(o) or not_used(o) or names(o, ("gravcomp", "gravity"))

    return Case(
        write_model(folder, Machine((links,), kp=60, kv=3).mjcf()),
        [write_table(folder / "run.csv", columns)],
        judge,
    )


def z1_no_friction(folder: Path) -> Case:
    """A URDF without friction and without actuators; a log with commands and gains."""
    machine = Machine(
        (three("joint1", "joint2", "joint3"),), kp=80, kv=3, step=0.002, integrator="Euler"
    )
    log = record(machine, 6, rate=250)
    columns = {"time": log.time}
    columns |= {f"{n}_q": log.q[:, k] for k, n in enumerate(log.names)}
    columns |= {f"{n}_q_des": log.u[:, k] for k, n in enumerate(log.names)}
    columns |= {f"{n}_kp": np.full(len(log.time), 80.0) for n in log.names}
    columns |= {f"{n}_kd": np.full(len(log.time), 3.0) for n in log.names}
    urdf = machine.urdf(dynamics='<dynamics damping="0" friction="0"/>')
    return Case(
        write_model(folder, urdf, "z1.urdf"),
        [write_table(folder / "run.csv", columns)],
        whole,
        **known(log, machine),
    )


def piper_gain_scaled(folder: Path) -> Case:
    """A drive that multiplies the gains of the first joint by 3."""
    links = named(ARM, "joint1", "joint2")
    sent = Machine((links,), kp=15, kv=1)
    text = sent.mjcf(real=True).replace('kp="15" kv="1"', 'kp="45" kv="3"', 1)
    log = record(sent, 7, model=mujoco.MjModel.from_xml_string(text))
    columns = {"time": log.time}
    columns |= {f"{n}_pos": log.q[:, k] for k, n in enumerate(log.names)}
    columns |= {f"{n}_cmd": log.u[:, k] for k, n in enumerate(log.names)}

    def judge(o: Outcome) -> list[str]:
        if faults := channels(o):
            return faults
        gain = ('"gains"', "gain of joint1", "kp of joint1", "gains of joint1")
        factor = either(holds(o, [3.0]), holds(o, [45.0]))  # a factor, or the gain itself
        return either([*not_used(o), *names(o, gain)], [*intervals(o), *factor])

    return Case(
        write_model(folder, sent.mjcf()),
        [write_table(folder / "run.csv", columns)],
        judge,
        **known(log, sent),
    )
