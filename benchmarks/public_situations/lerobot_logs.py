"""Situations of LeRobot: data sets of version 2.1 and 3.0, and ticks of its servos."""

import json
from pathlib import Path

import numpy as np
from arm_logs import known, three, whole
from judging import Case, Outcome, channels, either, imports, refused, says
from machines import Link, Log, Machine, record, write_model, write_table

POINTER = """version https://git-lfs.github.com/spec/v1
oid sha256:665232916d127eb726be0e4a8ea09109f6739e74ce72c70d813ce1b31d8abe8e
size 146946961
"""


def write_set(
    home: Path,
    episodes: list[tuple[np.ndarray, np.ndarray]],
    names: list[str],
    version: str = "v2.1",
    robot: str = "so100_follower",
    fps: int = 30,
) -> Path:
    """Write a data set.

    Args:
      home: its folder.
      episodes: measured and commanded values ``(n, joints)`` of each.
      names: of the components.
      version: ``"v2.1"``: a file an episode; ``"v3.0"``: all in one.
      robot: its type.
      fps: frames a second.
    """
    import pyarrow
    from pyarrow import parquet

    vector = {"dtype": "float32", "shape": [len(names)], "names": names}
    scalar = {"dtype": "int64", "shape": [1], "names": None}
    features = {
        "action": vector, "observation.state": vector,
        "timestamp": {"dtype": "float32", "shape": [1], "names": None},
        "frame_index": scalar, "episode_index": scalar, "index": scalar, "task_index": scalar,
    }  # fmt: skip
    info = {
        "codebase_version": version, "robot_type": robot, "fps": fps, "features": features,
        "total_episodes": len(episodes), "total_frames": sum(len(q) for q, _ in episodes),
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
    }  # fmt: skip
    (home / "meta").mkdir(parents=True)
    (home / "meta" / "info.json").write_text(json.dumps(info))
    chunk = home / "data" / "chunk-000"
    chunk.mkdir(parents=True)
    tables, first = [], 0
    for number, (q, u) in enumerate(episodes):
        count = len(q)
        tables.append(pyarrow.table({
            "action": list(u.astype(np.float32)), "observation.state": list(q.astype(np.float32)),
            "timestamp": (np.arange(count) / fps).astype(np.float32),
            "frame_index": np.arange(count), "episode_index": np.full(count, number),
            "index": np.arange(first, first + count), "task_index": np.zeros(count, int),
        }))  # fmt: skip
        first += count
    if version == "v3.0":
        parquet.write_table(pyarrow.concat_tables(tables), chunk / "file-000.parquet")
    else:
        for number, part in enumerate(tables):
            parquet.write_table(part, chunk / f"episode_{number:06d}.parquet")
    return home


def _arm(*names: str, seed: int, seconds: float = 14.0) -> tuple[Machine, Log]:
    machine = Machine((three(*names),), kp=30, kv=2, step=1 / 600)
    return machine, record(machine, seed, seconds=seconds, rate=30)


def action_is_state(folder: Path) -> Case:
    """A data set whose action is the state itself."""
    machine, log = _arm("waist_yaw", "shoulder_pitch", "elbow_pitch", seed=31)
    home = write_set(folder / "set", [(log.q, log.q)], log.names, robot="humanoid")

    def judge(o: Outcome) -> list[str]:
        return refused(o, ("copy", "same as", "identical", "equal"))

    return Case(write_model(folder, machine.mjcf()), [home], judge)


def so100_gripper_percent(folder: Path) -> Case:
    """Degrees at the arm and 0 to 100 at the gripper."""
    gripper = Link("gripper", axis="0 1 0", mass=0.1, length=0.06, rest=0.8, reach=0.5,
                   armature=0.01, damping=0.1, friction=0.05, limits=(-0.17, 1.75))  # fmt: skip
    links = (*three("shoulder_pan", "shoulder_lift", "elbow_flex"), gripper)
    machine = Machine((links,), kp=30, kv=2, step=1 / 600)
    log = record(machine, 32, seconds=14, rate=30)

    def units(values: np.ndarray) -> np.ndarray:
        out = np.degrees(values)
        out[:, 3] = 100 * (values[:, 3] + 0.17) / 1.92
        return out

    names = [f"{n}.pos" for n in log.names]
    home = write_set(folder / "set", [(units(log.q), units(log.u))], names, version="v3.0")

    def judge(o: Outcome) -> list[str]:
        if imports(o):
            return refused(o, ("gripper",), ("0 to 100", "percent", "normalised", "unit"))
        words = says(o, ("0 to 100", "0..100", "percent", "normalised"), ("gripper",))
        return [*channels(o), *words]

    return Case(write_model(folder, machine.mjcf()), [home], judge, **known(log, machine))


def so100_normalised(folder: Path) -> Case:
    """Every joint -100 to 100 of its range."""
    limits = ((-2.0, 2.0), (-1.0, 1.6), (-0.8, 1.7))
    links = tuple(
        Link(**{**vars(link), "limits": pair})
        for link, pair in zip(three("shoulder_pan", "shoulder_lift", "elbow_flex"), limits,
                              strict=True)
    )  # fmt: skip
    machine = Machine((links,), kp=30, kv=2, step=1 / 600)
    low, high = np.array(limits).T

    def goal(now: float) -> np.ndarray:  # to both ends of each range
        wave = np.sin(2 * np.pi * np.array([0.13, 0.17, 0.21]) * now)
        return (low + high) / 2 + 0.5 * (high - low) * 1.02 * wave

    log = record(machine, 33, seconds=16, rate=30, goal=goal)

    def units(values: np.ndarray) -> np.ndarray:
        return np.clip(200 * (values - low) / (high - low) - 100, -100, 100)

    names = [f"{n}.pos" for n in log.names]
    home = write_set(folder / "set", [(units(log.q), units(log.u))], names)

    def judge(o: Outcome) -> list[str]:
        words = ("normalised", "-100 to 100", "-100..100", "calibrated range")
        if imports(o):
            return refused(o, words)
        asked = says(o, words, ("shoulder_pan, unit", "shoulder_pan: unit"))
        return either(asked, [*channels(o), *says(o, words)])

    return Case(write_model(folder, machine.mjcf()), [home], judge, **known(log, machine))


def feetech_ticks(folder: Path) -> Case:
    """Raw ticks of three STS3215, with another zero at each joint."""
    names = ("shoulder_pan", "shoulder_lift", "elbow_flex")
    machine = Machine((three(*names),), kp=30, kv=2)
    log = record(machine, 34, seconds=12, rate=50)
    zero = np.array([2048 - 365, 2048 + 209, 2048 - 843])

    def ticks(values: np.ndarray) -> np.ndarray:
        return np.round(values * 4096 / (2 * np.pi)) + zero

    columns = {"time": log.time}
    columns |= {f"{n}_ticks": ticks(log.q)[:, k] for k, n in enumerate(names)}
    columns |= {f"{n}_goal": ticks(log.u)[:, k] for k, n in enumerate(names)}

    def judge(o: Outcome) -> list[str]:
        if imports(o):
            return refused(o, ("zero", "calibration", "homing"), ("4096",))
        if faults := channels(o):
            return faults
        asked = says(o, ("zero", "homing"), ("4096", "tick"))
        return asked or whole(o)

    return Case(
        write_model(folder, machine.mjcf()),
        [write_table(folder / "arm.csv", columns)],
        judge,
        **known(log, machine, free_zeros=names),
    )


def episodes_restart(folder: Path) -> Case:
    """Four episodes in one file, each from time 0."""
    names = ("left_shoulder_pitch", "left_shoulder_roll", "left_elbow")
    machine, log = _arm(*names, seed=35, seconds=24)
    cuts = np.array_split(np.arange(len(log.time)), 4)
    home = write_set(
        folder / "set", [(log.q[c], log.u[c]) for c in cuts], list(names), version="v3.0",
        robot="Unitree_G1_Dex3",
    )  # fmt: skip

    def judge(o: Outcome) -> list[str]:
        if imports(o):
            return refused(o, ("--episode",))
        _, parts = o.loaded
        faults = []
        if len(o.experiment["recordings"]) not in (1, 4):
            faults.append(f"{len(o.experiment['recordings'])} recordings of 4 episodes")
        for part in parts:
            if len(part.sensordata) > len(cuts[0]) + 1:
                faults.append("episodes were joined")
            signal = part.sensordata.signal_mapping["left_elbow_qpos"][1][0]
            values = part.sensordata.data[:, signal]
            if values.min() < log.q[:, 2].min() - 0.01 or values.max() > log.q[:, 2].max() + 0.01:
                faults.append("left_elbow is not in radians")
        return [*faults, *says(o, ("episode",))]

    return Case(write_model(folder, machine.mjcf()), [home], judge)


def lfs_pointer(folder: Path) -> Case:
    """A data set as cloned without Git LFS."""
    machine, log = _arm("waist_yaw", "shoulder_pitch", "elbow_pitch", seed=36, seconds=2)
    home = write_set(folder / "set", [(log.q, log.u)], log.names, robot="Unitree_G1")
    for path in home.rglob("*.parquet"):
        path.write_text(POINTER)

    def judge(o: Outcome) -> list[str]:
        return refused(o, ("git lfs pointer", "git-lfs pointer"), ("git lfs pull",))

    return Case(write_model(folder, machine.mjcf()), [home], judge)
