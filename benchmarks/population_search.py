"""Least squares against a population search over the same unknowns: armature, damping, friction,
zero of each joint, and one delay, from commands and angles of a servo arm with known truth.

    python benchmarks/population_search.py [--joints 3] [--population 256] [--generations 200]

The population search is CMA-ES over the same simulations with the unknowns, the bounds and the
stopping rule of PACE (robot in the air, chirps, at most 200 generations); it gives no intervals.
Printed for each: wall and CPU time, simulations, error on held-out angles in units of the noise,
and the largest error of a parameter in percent of its truth.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import mujoco
import numpy as np

from trueup import sysid
from trueup.fitting import CmaEs, CmaEsSettings, minimise
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare

STEP, RATE, SECONDS, NOISE = 0.0025, 200.0, 20.0, 4e-4  # [s], [Hz], [s], [rad]
KP, KD, DELAY = 60.0, 1.5, 0.012
RANGES = {
    "armature": (0.01, 0.06),
    "damping": (0.2, 0.8),
    "frictionloss": (0.1, 0.5),
    "ref": (-0.05, 0.05),
}
BOUNDS = {
    "armature": (1e-4, 0.2),
    "damping": (0.0, 5.0),
    "frictionloss": (0.0, 3.0),
    "ref": (-0.2, 0.2),
}


def model_text(values: dict[str, float], joints: int) -> str:
    """The arm: links of 0.25 m one below the other, hinges about alternating axes."""
    bodies, end = "", ""
    for k in range(joints):
        axis = "0 1 0" if k % 2 == 0 else "1 0 0"
        own = "".join(f' {n}="{values[f"j{k}_{n}"]}"' for n in RANGES)
        bodies += (
            f'<body name="link{k}" pos="0 0 {-0.25 if k else 0}"><joint name="j{k}" axis="{axis}"'
            f'{own}/><geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.025" mass="0.6"/>'
        )
        end += "</body>"
    servos = "".join(
        f'<position name="j{k}" joint="j{k}" kp="{KP}" kv="{KD}"/>' for k in range(joints)
    )
    return (
        '<mujoco><compiler angle="radian"/>'
        f'<option timestep="{STEP}" integrator="implicitfast"/><worldbody>'
        f"{bodies}{end}</worldbody><actuator>{servos}</actuator></mujoco>"
    )


def record(folder: Path, truth: dict[str, float], joints: int, seed: int) -> None:
    """Write the log of a chirp, and the model before the fit."""
    model = mujoco.MjModel.from_xml_string(model_text(truth, joints))
    data = mujoco.MjData(model)
    data.qpos[:] = model.qpos0
    rng = np.random.default_rng(1000 + seed)
    t = np.arange(0.0, SECONDS + 2.0, 1.0 / RATE)
    run = np.clip(t - 2.5, 0.0, None)
    command = np.empty((len(t), joints))
    for k in range(joints):
        low, high = 0.1, 5.0 + 0.5 * k
        phase = 2 * np.pi * low * SECONDS / np.log(high / low)
        chirp = np.sin(phase * (np.exp(run / SECONDS * np.log(high / low)) - 1) + k)
        command[:, k] = 0.3 * np.clip(run / 0.5, 0, 1) * chirp
    held = np.repeat(command, round(1.0 / (RATE * STEP)), axis=0)
    angles = np.empty_like(held)
    for step, control in enumerate(held):
        angles[step] = data.qpos
        data.ctrl[:] = control
        mujoco.mj_step(model, data)
    clock = STEP * np.arange(len(angles))
    seen = np.stack([np.interp(t - DELAY, clock, column) for column in angles.T], axis=1)
    seen += NOISE * rng.normal(size=seen.shape)
    used = t >= 2.0
    table = np.column_stack([t[used] - 2.0, seen[used], command[used]])
    header = ",".join(["t", *(f"q{k}" for k in range(joints)), *(f"c{k}" for k in range(joints))])
    np.savetxt(folder / "log.csv", table, delimiter=",", header=header, comments="")
    start = {name: {"armature": 0.03, "ref": 0.0}.get(name.split("_")[1], 0.4) for name in truth}
    (folder / "arm.xml").write_text(model_text(start, joints))


def experiment(joints: int) -> str:
    """The experiment file."""
    text = "name: arm\nmodel: {file: arm.xml}\nrecordings:\n  - file: log.csv\n    time: t\n"
    text += "    signals:\n" + "".join(f"      j{k}_qpos: q{k}\n" for k in range(joints))
    text += "    controls:\n" + "".join(f"      j{k}: c{k}\n" for k in range(joints))
    text += "held_out: {fraction: 0.2}\nmeasurement:\n  delays: {'*_qpos': delay}\n"
    text += f"  signals: {{'*_qpos': {{noise: {NOISE}}}}}\nparameters:\n"
    text += "  delay: {start: 0.01, bounds: [0, 0.04]}\n"
    for what, bounds in BOUNDS.items():
        start = {"armature": 0.03, "ref": 0.0}.get(what, 0.4)
        text += "".join(
            f"  j{k}_{what}: {{target: joint/j{k}/{what}, start: {start}, "
            f"bounds: {list(bounds)}}}\n"
            for k in range(joints)
        )
    return text


def main() -> None:
    """Run both and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--joints", type=int, default=3)
    parser.add_argument("--population", type=int, default=256)
    parser.add_argument("--generations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    truth = {
        f"j{k}_{n}": float(rng.uniform(*r)) for n, r in RANGES.items() for k in range(given.joints)
    }
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        record(folder, truth, given.joints, given.seed)
        parsed = parse_experiment(experiment(given.joints))
        print(f"{4 * given.joints + 1} unknowns, {SECONDS:g} s at {RATE:g} Hz")
        wall, cpu = time.perf_counter(), time.process_time()
        fit = sysid.identify(parsed, folder, output=folder / "run", verbose=False)
        print(f"least squares with intervals, held-out data and report: {clocks(wall, cpu)}")
        found = json.loads((folder / "run" / "solution.json").read_text())
        rows = {row["name"]: row for row in found["parameters"]}
        true = {**truth, "delay": DELAY}
        held = [n for n, v in true.items() if holds(rows[n], v)]
        least = fit.solution.cost
        print(
            f"  {found['stats']['evaluations']} simulations, cost {least:.6g}, "
            f"{worst({n: rows[n]['value'] for n in true}, true)}; intervals hold {len(held)} of "
            f"{len(true)}; {found['verdict']['grade']}"
        )
        problem = prepare(parsed, folder).problem()
        settings = CmaEsSettings(population=given.population)
        search = CmaEs(problem.space, settings, seed=given.seed)
        best: list[tuple[int, float]] = []
        wall, cpu = time.perf_counter(), time.process_time()
        end = minimise(
            problem,
            search,
            callback=lambda s: best.append((s.evaluations, s.cost)),
            max_evaluations=given.population * given.generations,
        )
        print(f"population search, values only: {clocks(wall, cpu)}")
        for share in (1.0, 0.1, 0.01):
            count = next((n for n, cost in best if cost < (1 + share) * least), None)
            print(f"  within {100 * share:g} % of that cost after {count} simulations")
        values = dict(zip(problem.space.names, end.x, strict=True))
        print(
            f"  {end.stats['evaluations']} simulations, {end.status.value}, cost {end.cost:.6g}, "
            f"{worst(values, true)}"
        )


def clocks(wall: float, cpu: float) -> str:
    """Wall and processor time since two readings."""
    return f"{time.perf_counter() - wall:.1f} s, {time.process_time() - cpu:.1f} CPU s"


def worst(values: dict[str, float], true: dict[str, float]) -> str:
    """The largest error, relative for all parameters but the zeros."""
    zeros = [n for n in true if n.endswith("ref")]
    errors = {n: abs(values[n] / v - 1) for n, v in true.items() if n not in zeros}
    name = max(errors, key=lambda n: errors[n])
    off = max(abs(values[n] - true[n]) for n in zeros)
    return f"largest error {100 * errors[name]:.2g} % ({name}), zeros within {off:.1e} rad"


def holds(row: dict, value: float) -> bool:
    """Whether the interval of a parameter holds its truth."""
    return row["low"] is not None and row["low"] <= value <= row["high"]


if __name__ == "__main__":
    main()
