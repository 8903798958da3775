"""Situations of motors and microcontrollers: turns, ticks of clocks, foreign frames, scopes."""

from pathlib import Path

import numpy as np
from arm_logs import ARM, known, named, whole
from judging import Case, Outcome, refused, says
from machines import Link, Machine, record, write_model, write_table


def moteus_turns(folder: Path) -> Case:
    """One joint in revolutions."""
    link = Link("output", mass=0.9, length=0.4, rest=0.0, reach=1.2, armature=0.02, damping=0.1,
                friction=0.12)  # fmt: skip
    machine = Machine(((link,),))
    log = record(machine, 41, seconds=10)
    turn = 2 * np.pi
    columns = {
        "timestamp": 1723.25 + log.time, "position": log.q[:, 0] / turn,
        "velocity": log.v[:, 0] / turn, "torque": log.u[:, 0],
    }  # fmt: skip

    def judge(o: Outcome) -> list[str]:
        return whole(o) or says(o, ("turn", "rev"))

    return Case(
        write_model(folder, machine.mjcf()),
        [write_table(folder / "moteus.csv", columns)],
        judge,
        **known(log, machine),
    )


def serial_unlabelled(folder: Path) -> Case:
    """Numbers of a serial monitor without names, header or clock."""
    link = Link("motor", mass=0.3, length=0.2, rest=0.0, reach=1.0, armature=0.005, damping=0.05,
                friction=0.03)  # fmt: skip
    machine = Machine(((link,),), kp=5, kv=0.3)
    log = record(machine, 42)
    voltage = 0.8 * log.torque[:, 0] + 0.05 * log.v[:, 0]
    path = folder / "monitor.txt"
    rows = np.column_stack([log.u[:, 0], voltage, log.v[:, 0], log.q[:, 0]])
    np.savetxt(path, rows, delimiter="\t", fmt="%.4f")

    def judge(o: Outcome) -> list[str]:
        return refused(o, ("rate", "clock", "time", "sample"))

    return Case(write_model(folder, machine.mjcf()), [path], judge, **known(log, machine))


def signed_micros(folder: Path) -> Case:
    """A clock of signed microseconds that rolls over."""
    machine = Machine((ARM,))
    log = record(machine, 43)
    counts = (2**31 - 3_000_000 + np.round(1e6 * log.time).astype(np.int64) + 2**31) % 2**32
    columns = {"micros": counts - 2**31}
    columns |= {f"{n}_pos": log.q[:, k] for k, n in enumerate(log.names)}
    columns |= {f"{n}_torque": log.u[:, k] for k, n in enumerate(log.names)}

    def judge(o: Outcome) -> list[str]:
        return whole(o) or says(o, ("roll", "2^32", "wrap", "overflow", "4294967296"))

    return Case(
        write_model(folder, machine.mjcf()),
        [write_table(folder / "log.csv", columns)],
        judge,
        **known(log, machine),
    )


def simulink_struct(folder: Path) -> Case:
    """Scopes of Simulink: a structure with time per signal."""
    from scipy.io import savemat

    machine = Machine((named(ARM, "hip_pitch", "knee"),))
    log = record(machine, 44)

    def scope(values: np.ndarray, label: str) -> dict:
        signals = {
            "values": values, "dimensions": float(values.shape[1]), "label": label,
            "blockName": f"robot/{label}",
        }  # fmt: skip
        return {"time": log.time[:, None], "signals": signals, "blockName": "robot/Scope"}

    path = folder / "run.mat"
    savemat(path, {
        "joints_position": scope(log.q, "joints_position"),
        "joints_torque": scope(log.u, "joints_torque"),
    })  # fmt: skip

    def judge(o: Outcome) -> list[str]:
        return whole(o) or says(o, ("order",))

    return Case(write_model(folder, machine.mjcf()), [path], judge, **known(log, machine))


def velocity_sign(folder: Path) -> Case:
    """A velocity with the other sign than the slope of its position."""
    links = named(ARM, "r_thumb_proximal", "r_thumb_distal")
    links = tuple(
        Link(**{**vars(k), "mass": 0.3 * k.mass, "armature": 0.2 * k.armature}) for k in links
    )
    machine = Machine((links,))
    log = record(machine, 45)
    columns = {"time": log.time}
    columns |= {f"{n}_pos": log.q[:, k] for k, n in enumerate(log.names)}
    columns |= {f"{n}_vel": (1, -1)[k] * log.v[:, k] for k, n in enumerate(log.names)}
    columns |= {f"{n}_torque": log.u[:, k] for k, n in enumerate(log.names)}

    def judge(o: Outcome) -> list[str]:
        words = says(o, ("r_thumb_distal",), ("slope", "opposite", "sign of the velocity"))
        return [*whole(o), *words]

    return Case(
        write_model(folder, machine.mjcf()),
        [write_table(folder / "hand.csv", columns)],
        judge,
        **known(log, machine),
    )


def can_spikes(folder: Path) -> Case:
    """Positions with a foreign frame once a second."""
    machine = Machine((named(ARM, "wrist_2", "wrist_3"),), step=0.002)
    log = record(machine, 46, rate=250)
    q = log.q.copy()
    for k in range(2):
        q[60 + 70 * k :: 250, k] = -12.4222
    columns = {"time": log.time}
    columns |= {f"{n}_pos": q[:, k] for k, n in enumerate(log.names)}
    columns |= {f"{n}_torque": log.u[:, k] for k, n in enumerate(log.names)}

    def judge(o: Outcome) -> list[str]:
        return [*whole(o), *says(o, ("jump", "outlier", "spike", "single sample"))]

    return Case(
        write_model(folder, machine.mjcf()),
        [write_table(folder / "bus.csv", columns)],
        judge,
        **known(log, machine),
    )


def semicolon_comma(folder: Path) -> Case:
    """A table of pandas with semicolons, decimal commas and a column of row numbers."""
    machine = Machine((ARM,))
    log = record(machine, 47)
    names = ["", "time", "shoulder_pos", "elbow_pos", "shoulder_torque", "elbow_torque"]
    rows = [";".join(names)]
    for k, row in enumerate(np.column_stack([log.time, log.q, log.u])):
        rows.append(";".join([str(k), *(f"{x:.8f}".replace(".", ",") for x in row)]))
    path = folder / "run.csv"
    path.write_text("\n".join(rows) + "\n")
    return Case(write_model(folder, machine.mjcf()), [path], whole, **known(log, machine))
