"""A hanging quadruped from commands and angles alone: 12 joints, 49 unknowns, known truth.

    python benchmarks/hanging_quadruped.py RESULTS [--repeats 20] [--seconds 400]
    python benchmarks/hanging_quadruped.py RESULTS --report

``unitree_b2`` of robotblockset hangs by its trunk. Position servos with gains of 20 to 200 follow
chirps for 30 s; commands and angles are recorded at 200 Hz. Unknown are armature, damping,
Coulomb friction and zero of each joint, and one delay. Each repeat draws another truth and other
noise. RESULTS takes one JSON object a repeat, and further runs go on from there.

Bars: fit, intervals and report within 60 s on two cores; of the 980 pairs of parameter and repeat
at least 93 % inside their intervals.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import mujoco
import numpy as np

from inverse_dynamics import models
from trueup import sysid
from trueup.sysid.experiment.file import parse_experiment

KINDS = ("hip", "thigh", "calf")
JOINTS = [f"{leg}_{kind}_joint" for leg in ("FL", "FR", "RL", "RR") for kind in KINDS]
KP = {"hip": 80.0, "thigh": 140.0, "calf": 200.0}
KD = {"hip": 2.0, "thigh": 3.0, "calf": 3.0}
POSE = {"hip": 0.0, "thigh": 0.8, "calf": -1.5}
SECONDS, RATE, STEP, NOISE = 30.0, 200.0, 0.0025, 5e-4
BOUNDS = {"armature": (0.001, 0.5), "damping": (0.0, 10.0), "frictionloss": (0.0, 10.0),
          "ref": (-0.2, 0.2)}  # fmt: skip
DRAWN = {"armature": (0.02, 0.12), "damping": (0.3, 2.0), "frictionloss": (0.3, 2.0),
         "ref": (-0.05, 0.05)}  # fmt: skip


def kind(joint: str) -> str:
    """Hip, thigh or calf."""
    return joint.split("_")[1]


def truth(seed: int) -> dict[str, float]:
    """Values of the 49 unknowns."""
    rng = np.random.default_rng(seed)
    values = {
        f"{joint}_{what}": float(rng.uniform(*DRAWN[what])) for what in DRAWN for joint in JOINTS
    }
    return values | {"delay": float(rng.uniform(0.005, 0.02))}


def experiment() -> str:
    """The experiment file."""
    text = f"name: quadruped\nmodel:\n  file: {models() / 'unitree_b2.xml'}\n"
    text += f"  base: fixed\n  actuators: position\n  timestep: {STEP}\n"
    for name, gains in (("kp", KP), ("kd", KD)):
        text += f"  {name}: {{{', '.join(f'{j}: {gains[kind(j)]}' for j in JOINTS)}}}\n"
    text += "recordings:\n  - file: log.csv\n    time: t\n    signals:\n"
    text += "".join(f"      {j}_qpos: q_{j}\n" for j in JOINTS)
    text += "    controls:\n" + "".join(f"      {j}: c_{j}\n" for j in JOINTS)
    text += "held_out: {fraction: 0.2}\nmeasurement:\n"
    text += "  delays: {'*_qpos': delay}\n"
    text += f"  signals: {{'*_qpos': {{noise: {NOISE}}}}}\nparameters:\n"
    text += "  delay: {start: 0.01, bounds: [0, 0.04]}\n"
    for what, bounds in BOUNDS.items():
        start = {"armature": 0.03, "ref": 0.0}.get(what, 0.5)
        text += "".join(
            f"  {j}_{what}: {{target: joint/{j}/{what}, start: {start}, bounds: {list(bounds)}}}\n"
            for j in JOINTS
        )
    return text


def record(values: dict[str, float], seed: int, folder: Path) -> None:
    """Write the log of a robot with these values."""
    spec = mujoco.MjSpec.from_file(str(models() / "unitree_b2.xml"))
    for joint in list(spec.joints):
        if joint.type == mujoco.mjtJoint.mjJNT_FREE:
            spec.delete(joint)
    for key in list(spec.keys):
        spec.delete(key)
    for joint in spec.joints:
        joint.armature = values[f"{joint.name}_armature"]
        joint.damping = [values[f"{joint.name}_damping"], 0, 0]
        joint.frictionloss = values[f"{joint.name}_frictionloss"]
        ref = values[f"{joint.name}_ref"]
        joint.ref = np.degrees(ref) if spec.compiler.degree else ref
    for actuator in spec.actuators:
        kp, kd = KP[kind(actuator.target)], KD[kind(actuator.target)]
        actuator.gainprm[0] = kp
        actuator.biasprm[:3] = [0.0, -kp, -kd]
        actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_FALSE
    spec.option.timestep = STEP
    model = spec.compile()
    rng = np.random.default_rng(10_000 + seed)
    t = np.arange(0.0, SECONDS + 2.0, 1.0 / RATE)  # two seconds to settle
    run = np.clip(t - 2.5, 0.0, None)
    command = np.empty((len(t), 12))
    for k, joint in enumerate(JOINTS):
        low, high = 0.1, 6.0 + 0.3 * k
        phase = 2 * np.pi * low * SECONDS / np.log(high / low)
        chirp = np.sin(phase * (np.exp(run / SECONDS * np.log(high / low)) - 1) + k)
        fade = np.clip(run / 0.5, 0.0, 1.0)
        command[:, k] = POSE[kind(joint)] + 0.25 * fade * chirp
    order = [JOINTS.index(model.actuator(i).name) for i in range(model.nu)]
    places = [int(model.joint(j).qposadr[0]) for j in JOINTS]
    data = mujoco.MjData(model)
    data.qpos[places] = [POSE[kind(j)] for j in JOINTS]
    held = np.repeat(command, round(1.0 / (RATE * STEP)), axis=0)  # until the next command
    angles = np.empty_like(held)
    clock = STEP * np.arange(len(angles))
    for step, control in enumerate(held):
        angles[step] = data.qpos[places]
        data.ctrl[:] = control[order]
        mujoco.mj_step(model, data)
    seen = [np.interp(t - values["delay"], clock, column) for column in angles.T]
    measured = np.stack(seen, axis=1) + NOISE * rng.normal(size=(len(t), 12))
    used = t >= 2.0
    table = np.column_stack([t[used] - 2.0, measured[used], command[used]])
    header = ",".join(["t", *(f"q_{j}" for j in JOINTS), *(f"c_{j}" for j in JOINTS)])
    np.savetxt(folder / "log.csv", table, delimiter=",", header=header, comments="")


def repeat(seed: int) -> dict[str, object]:
    """One truth, recorded and identified."""
    values = truth(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        record(values, seed, folder)
        wall, cpu = time.perf_counter(), time.process_time()
        sysid.identify(parse_experiment(experiment()), folder, output=folder / "run", verbose=False)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        solution = json.loads((folder / "run" / "solution.json").read_text())
    rows = {r["name"]: r for r in solution["parameters"]}
    missed = [
        n
        for n, v in values.items()
        if rows[n]["low"] is None or not rows[n]["low"] <= v <= rows[n]["high"]
    ]
    off = {n: (rows[n]["value"] - v) for n, v in values.items()}
    return {
        "seed": seed, "status": solution["status"], "verdict": solution["verdict"]["grade"],
        "wall": wall, "cpu": cpu, "fit": solution["stats"]["seconds"],
        "evaluations": solution["stats"]["evaluations"], "missed": missed,
        "worst": max(off, key=lambda n: abs(off[n])), "count": len(values), "off": off,
        "half_width": {n: None if r["low"] is None else 0.5 * (r["high"] - r["low"])
                       for n, r in rows.items()},
    }  # fmt: skip


def main() -> None:
    """Run what is missing and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=400.0)
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    lines = given.results.read_text().splitlines() if given.results.exists() else []
    done = {entry["seed"]: entry for entry in map(json.loads, lines)}
    began = time.monotonic()
    with given.results.open("a") as file:
        for seed in range(given.repeats):
            longest = max([e["wall"] for e in done.values()], default=0.0)
            late = time.monotonic() - began + longest > given.seconds
            if seed in done or given.report or late:
                continue
            done[seed] = repeat(seed)
            file.write(json.dumps(done[seed]) + "\n")
            file.flush()
    pairs = sum(e["count"] for e in done.values())
    held = pairs - sum(len(e["missed"]) for e in done.values())
    for e in done.values():
        print(f"{e['seed']}: {e['status']}, {e['verdict']}, {e['wall']:.0f} s wall (fit "
              f"{e['fit']:.0f}), {e['cpu']:.0f} CPU s, missed {e['missed']}")  # fmt: skip
    print(f"{len(done)} of {given.repeats} repeats: {held} of {pairs} pairs inside "
          f"({100 * held / max(pairs, 1):.1f} %, bar 93)")  # fmt: skip
    most = SECONDS * max((e["evaluations"] for e in done.values()), default=0)
    print(f"simulated seconds: at most {most:.0f}, beside {4096 * 200 * SECONDS:.3g} of 4096 "
          f"candidates and 200 generations")  # fmt: skip


if __name__ == "__main__":
    main()
