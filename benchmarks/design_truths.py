"""Designed recordings against a chirp: robots of known truth, same duration, same limits.

    python benchmarks/design_truths.py panda RESULTS [--repeats 10] [--seconds 3000]
    python benchmarks/design_truths.py quadruped RESULTS
    python benchmarks/design_truths.py servo RESULTS
    python benchmarks/design_truths.py panda RESULTS --report

Each repeat draws a truth within 20 % of the start values, designs a recording of 20 s, records it
with the true robot and identifies it. Beside it stand the predicted intervals of a chirp (0.1 to
10 Hz, all joints, as large as the limits allow): its fit wanders along what it does not determine
for longer than all the rest takes. --obtain-chirp records and identifies the chirp too, from the
truth on. RESULTS takes one JSON object a repeat; further runs go on from there.

The servo (xl330, M1) has two logs of one load and gain. Three further ones of 8 s are designed:
mass of three, length of two, gain and trajectory of each. Beside them stand three chirps of 8 s
(0.1 to 10 Hz, as large as the limits of angle, speed and heat allow) of the first load and gain.
Both are fitted from the first fit on, with the first two logs and alone.

Bars: largest interval relative to the bounds, over the parameters that both identify, at most half
of that of the chirp; no limit of position, speed or torque exceeded by the true robot, and no
contact; obtained within 25 % of predicted intervals, pooled over parameters and repeats; found
within 5 minutes on two cores, which are 600 CPU seconds.
"""

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import yaml

import hanging_quadruped as quadruped
from inverse_dynamics import models
from trueup import actuators, runs, sysid
from trueup.actuators import BenchSimulator, ServoLog, ServoModel, Trajectory, trajectory_named
from trueup.actuators.record.designed_trajectories import chirp
from trueup.design import BenchChoices, compared_with
from trueup.design.bench.run import run_bench_design
from trueup.design.bench.spec import BenchDesignSpec
from trueup.design.chirp import largest_chirp
from trueup.design.criterion import half_scales
from trueup.design.motion.files import write_csv
from trueup.design.prepared import PreparedDesign, prepare
from trueup.design.run import run_design
from trueup.design.spec import DesignSpec
from trueup.runs import Budget, RunDirectory, read_solution
from trueup.simulation.targets.variants import ModelVariants
from trueup.sysid.experiment.file import load_experiment, parse_experiment
from trueup.sysid.experiment.model_loading import load_spec
from trueup.sysid.experiment.unknowns import build_parameters

NOISE, RATE, DRAWS = 5e-4, 200.0, 2
IDENTIFIED = 0.5
EFFORT = {"panda": {"library": 24, "polish": 8}, "quadruped": {"library": 24, "polish": 8}}
"""Pieces of the library, and designs of the polish of each piece: within 600 CPU seconds."""

PANDA = [f"joint{k}" for k in range(1, 8)]
PANDA_POSE = [0.0, -0.4, 0.0, -1.8, 0.0, 1.6, 0.8]
START = {"armature": 0.2, "damping": 1.0, "frictionloss": 0.5}
BOUNDS = {"armature": [0.01, 1.0], "damping": [0.0, 10.0], "frictionloss": [0.0, 5.0]}


def without_contact(folder: Path) -> str:
    """The arm's model without contact, which its motions keep away from: three times as fast."""
    file = models() / "panda.xml"
    meshes = mujoco.MjSpec.from_file(str(file)).meshdir
    path = folder / "panda.xml"
    path.write_text(
        f'<mujoco><include file="{file}"/><compiler meshdir="{file.parent / meshes}"/>'
        '<option><flag contact="disable"/></option></mujoco>'
    )
    return str(path)


def panda(folder: Path) -> dict[str, object]:
    """Experiment of the arm: armature, damping and friction of seven joints."""
    parameters = {
        f"{joint}_{what}": {"target": f"joint/{joint}/{what}", "start": START[what],
                            "bounds": BOUNDS[what]}
        for joint in PANDA for what in START
    }  # fmt: skip
    return {
        "name": "panda",
        "model": {"file": without_contact(folder), "timestep": 0.004,
                  "integrator": "implicitfast", "actuators": "position", "kp": 600, "kd": 50},
        "recordings": [{"file": "log.csv", "time": "t",
                        "signals": {f"{j}_qpos": f"q_{j}" for j in PANDA},
                        "controls": {f"actuator{k}": f"c_{k}" for k in range(1, 8)}}],
        "held_out": {"fraction": 0.2},
        "measurement": {"signals": {"*_qpos": {"noise": NOISE}}},
        "parameters": parameters,
        "design": {"draws": DRAWS, "rate": RATE,
                   "pose": dict(zip(PANDA, PANDA_POSE, strict=True)),
                   "limits": {"speed": 2.0, "acceleration": 10.0, "torque_rms": 40.0}},
    }  # fmt: skip


def hanging() -> dict[str, object]:
    """Experiment of the quadruped of ``hanging_quadruped.py``, with limits."""
    content = yaml.safe_load(quadruped.experiment())
    content["design"] = {
        "draws": DRAWS, "rate": RATE,
        "pose": {j: quadruped.POSE[quadruped.kind(j)] for j in quadruped.JOINTS},
        "limits": {"speed": 4.0, "acceleration": 40.0, "clearance": 0.01,
                   "position": {j: [quadruped.POSE[quadruped.kind(j)] - 0.35,
                                    quadruped.POSE[quadruped.kind(j)] + 0.35]
                                for j in quadruped.JOINTS}},
    }  # fmt: skip
    content["recordings"][0]["initial"] = "estimated"
    return content


def truth_near(content: dict[str, object], seed: int) -> dict[str, float]:
    """Values within 20 % of the start values; zeros and delays within a tenth of their bounds."""
    rng = np.random.default_rng(seed)
    out = {}
    for name, part in content["parameters"].items():  # type: ignore[attr-defined]
        low, high = part["bounds"]
        start = part.get("start", 0.0)
        reach = 0.2 * abs(start) if start else 0.1 * (high - low)
        out[name] = float(np.clip(start + rng.uniform(-reach, reach), low, high))
    return out


def record(prepared: PreparedDesign, truth: dict[str, float], commands: np.ndarray, seed: int):
    """Angles ``(T, n)`` with noise, and by how much the true robot exceeds each limit."""
    experiment, robot = prepared.spec.experiment, prepared.robot
    spec = load_spec(experiment.model, prepared.spec.folder)
    parameters = build_parameters(experiment.parameters, spec, spec.copy().compile())
    x = np.array([truth[name] for name in parameters.space().names])
    model = ModelVariants(spec, parameters).model_at(x)
    data = mujoco.MjData(model)
    adr = [int(model.joint(j).qposadr[0]) for j in robot.joints]
    dof = [int(model.joint(j).dofadr[0]) for j in robot.joints]
    data.qpos[adr] = robot.pose
    data.ctrl[list(robot.actuators)] = robot.pose * robot.gears
    mujoco.mj_step(model, data, round(3.0 / model.opt.timestep))
    controls = robot.controls(commands[None])[0]
    places, speeds, forces, postures = [], [], [], []
    for control in controls:
        places.append(data.qpos[adr].copy())
        data.ctrl[:] = control
        mujoco.mj_step(model, data)
        speeds.append(data.qvel[dof].copy())
        forces.append(data.actuator_force[list(robot.actuators)].copy())
        postures.append(data.qpos.copy())
    over = robot.limits.excess(*(np.array(v)[None] for v in (places, speeds, forces)), 0.0)
    clock = model.opt.timestep * np.arange(len(places))
    times = np.arange(len(commands)) / RATE
    seen = np.stack(
        [
            np.interp(times - truth.get("delay", 0.0), clock, column)
            for column in np.array(places).T
        ],
        axis=1,
    )
    spare = prepared.clearance.least - experiment.design.limits.clearance
    lack = max(0.0, prepared.clearance.lack(np.array(postures)[::20]) - spare)
    rng = np.random.default_rng([seed, 7])
    exceeded = {what: float(v[0]) for what, v in over.items()} | {"distance": lack}
    return seen + NOISE * rng.normal(size=seen.shape), exceeded


def identified(
    prepared: PreparedDesign,
    design: Path,
    truth: dict[str, float],
    commands: np.ndarray,
    seed: int,
    word: str,
    start_at_truth: bool = False,
):
    """Relative half-widths by name, run directory, and exceeded limits of a recorded motion."""
    angles, exceeded = record(prepared, truth, commands, seed)
    robot, asked = prepared.robot, prepared.spec.experiment
    part = asked.recordings[0]
    folder = design / word
    folder.mkdir()
    names = [str(part.signals[f"{j}_qpos"]) for j in robot.joints]
    driven = [str(part.controls[robot.model.actuator(i).name]) for i in robot.actuators]
    table = np.column_stack([angles, commands * robot.gears])
    write_csv(folder / "recording.csv", RATE, [*names, *driven], table)
    text = (design / "next_experiment.yaml").read_text()
    content = yaml.safe_load(text)
    content["model"]["file"] = asked.model.file
    if start_at_truth:
        for parameter, value in truth.items():
            content["parameters"][parameter]["start"] = value
    (folder / "experiment.yaml").write_text(yaml.safe_dump(content))
    experiment = load_experiment(folder / "experiment.yaml")
    sysid.identify(experiment, folder, output=folder / "run", verbose=False)
    solution = json.loads((folder / "run" / "solution.json").read_text())
    scale = dict(zip(robot.space.names, half_scales(robot.parameters), strict=True))
    rows = {r["name"]: r for r in solution["parameters"] if r["name"] in scale}
    found = {
        name: float("inf") if r["low"] is None or r["low"] == "-Infinity"
        else 0.5 * (float(r["high"]) - float(r["low"])) / scale[name]
        for name, r in rows.items()
    }  # fmt: skip
    inside = [n for n, r in rows.items() if r["low"] is not None
              and float(r["low"]) <= truth[n] <= float(r["high"])]  # fmt: skip
    return found, folder / "run", exceeded, len(inside) / len(rows), solution["status"]


def robot_repeat(robot: str, seed: int, obtain: bool) -> dict[str, object]:
    """One truth: designed, recorded and identified, beside the chirp."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        content = panda(folder) if robot == "panda" else hanging()
        truth = truth_near(content, seed)
        experiment = parse_experiment(yaml.safe_dump(content))
        wall, cpu, began = time.perf_counter(), time.process_time(), time.process_time()
        spec = DesignSpec.of(experiment, folder, **EFFORT[robot], turns=1, seed=seed,
                             limits=Budget(max_seconds=1e5))  # fmt: skip
        outcome = runs.start(run_design, spec, folder / "design", verbose=False)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        prepared = prepare(spec)
        commands = outcome.result.commands
        own = identified(prepared, folder / "design", truth, commands, seed, "designed")
        compared = compared_with(folder / "design", own[1])
        chirp_over, other = None, {r["name"]: r["chirp"] for r in outcome.summary["parameters"]}
        if obtain:
            simple = largest_chirp(prepared)
            assert simple is not None
            found = identified(prepared, folder / "design", truth, simple[0], seed, "chirp", True)
            other, chirp_over = found[0], found[2]
    both = [n for n in own[0] if own[0][n] < IDENTIFIED and other[n] < IDENTIFIED]
    return {
        "seed": seed, "wall": wall, "cpu": cpu, "status": own[4], "obtained": obtain,
        "designed": max(own[0][n] for n in both), "chirp": max(other[n] for n in both),
        "both": len(both), "count": len(own[0]),
        "chirp_only": [n for n in own[0] if own[0][n] >= IDENTIFIED > other[n]],
        "design_only": int(sum(own[0][n] < IDENTIFIED <= other[n] for n in own[0])),
        "exceeded": own[2], "chirp_exceeded": chirp_over, "inside": own[3],
        "ratios": [r["ratio"] for r in compared["parameters"]],
        "whole": time.process_time() - began, "families": outcome.summary["families"],
    }  # fmt: skip


def servo_log(model: ServoModel, planned: ServoLog, seed: int, folder: Path, name: str) -> Path:
    """A recorded log of the true servo."""
    motion = BenchSimulator(model, [planned]).simulate()
    rng = np.random.default_rng(seed)
    position = motion.position[0][0] + 1e-3 * rng.normal(size=len(planned))
    made = replace(planned, name=name, position=position, speed=motion.speed[0][0].copy(),
                   load=motion.duty[0][0].copy())  # fmt: skip
    path = folder / f"{name}.json"
    actuators.write_log(made, path)
    return path


def bench_log(trajectory: Trajectory) -> ServoLog:
    """A log of the usual load and gain that is to be recorded."""
    times = np.arange(0.0, trajectory.duration, 0.005)
    goals, enable = trajectory(times)
    zeros = np.zeros(len(times))
    return ServoLog(
        name=trajectory.name, source="", sha256="", motor="xl330", trajectory=trajectory.name,
        mass=0.3, arm_mass=0.02, length=0.1, kp=200.0, vin=7.5, damping=None, dt=0.005,
        times=times, position=zeros + goals[0], speed=zeros, goal_position=goals,
        torque_enable=enable, load=zeros, input_volts=zeros + 7.5, temperature=zeros + 30.0,
    )  # fmt: skip


def motion_over(spec: BenchDesignSpec, model: ServoModel, logs: list[ServoLog]) -> dict[str, float]:
    """By how much the true servo exceeds each limit in logs."""
    motion = BenchSimulator(model, logs).simulate()
    over = spec.motion_limits.excess([model], logs, motion, 0.0)
    return {what: float(values.max()) for what, values in over.items()}


def relative(row: dict[str, float]) -> float:
    """Width of an interval over that of the bounds, in the coordinate that is searched."""
    low, high = np.clip(row["interval"], row["lower"], row["upper"])
    if not np.isfinite(row["interval"]).all():
        return 1.0
    if row["scale"] == "log":
        return float(np.log(high / low) / np.log(row["upper"] / row["lower"]))
    return float((high - low) / (row["upper"] - row["lower"]))


def servo_repeat(seed: int) -> dict[str, object]:
    """One true servo: designed logs beside chirps."""
    rng = np.random.default_rng(seed)
    start = {"kt": 0.37, "R": 2.8, "armature": 0.002, "friction_base": 0.02,
             "friction_viscous": 0.005}  # fmt: skip
    truth = ServoModel.create(
        "xl330", "m1", **{n: v * rng.uniform(0.8, 1.2) for n, v in start.items()}
    )

    def fitted(
        paths: list[Path], output: Path, start: Path | None = None
    ) -> dict[str, dict[str, float]]:
        settings = actuators.FitSettings(trials=2500, seed=seed)
        found = actuators.fit("xl330", "m1", paths, settings=settings, output=output, start=start)
        solution = read_solution(RunDirectory.open(found.directory))
        return {r["name"]: r for r in solution["parameters"]}

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = [
            servo_log(truth, bench_log(trajectory_named(t)), 100 * seed + k, folder, f"first{k}")
            for k, t in enumerate(("sin_sin", "lift_and_drop"))
        ]
        began = time.process_time()
        before = folder / "first.json"
        fitted(first, before)
        wall, cpu = time.perf_counter(), time.process_time()
        choices = BenchChoices(masses=(0.15, 0.3, 0.5), lengths=(0.1, 0.15))
        spec = BenchDesignSpec.of(before, choices, anyway=True, seed=seed)
        outcome = runs.start(run_bench_design, spec, folder / "design", verbose=False)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        simple = outcome.summary["chirp"]
        sweep = chirp(simple["amplitude"], 0.1, 10.0, spec.motion_limits.speed,
                      choices.seconds / choices.logs)  # fmt: skip
        logs = {"designed": list(outcome.result.logs), "chirp": [bench_log(sweep)] * choices.logs}
        ends, alone, exceeded = {}, {}, {}
        for word, planned in logs.items():
            paths = [
                servo_log(truth, log, 100 * seed + 50 + k, folder, f"{word}{k}")
                for k, log in enumerate(planned)
            ]
            exceeded[word] = motion_over(spec, truth, planned)
            ends[word] = fitted([*first, *paths], folder / f"{word}.json", before)
            alone[word] = fitted(paths, folder / f"{word}_alone.json", before)
        compared = compared_with(folder / "design", folder / "designed.run")
    half = {word: {n: relative(r) for n, r in rows.items()} for word, rows in ends.items()}
    inside = [
        float(np.mean([rows[n]["interval"][0] <= v <= rows[n]["interval"][1]
                       for n, v in truth.values.items() if n in rows]))
        for rows in ends.values()
    ]  # fmt: skip
    both = shared(half)
    ratios = [r["ratio"] for r in compared["parameters"]]
    single = {word: {n: relative(r) for n, r in rows.items()} for word, rows in alone.items()}
    own = shared(single)
    return {
        "seed": seed, "wall": wall, "cpu": cpu, "both": len(both), "count": len(half["chirp"]),
        "designed": max(half["designed"][n] for n in both),
        "chirp": max(half["chirp"][n] for n in both),
        "alone": [max(single[word][n] for n in own) for word in ("designed", "chirp")],
        "both_alone": len(own),
        "exceeded": exceeded["designed"], "chirp_exceeded": exceeded["chirp"], "inside": inside,
        "ratios": ratios, "whole": time.process_time() - began,
        "logs": [f"{g.mass:g} kg {g.length:g} m kp {g.kp:g}" for g in logs["designed"]],
        "half": half, "half_alone": single,
    }  # fmt: skip


def shared(half: dict[str, dict[str, float]]) -> list[str]:
    """Parameters that both the designed recording and the chirp identify."""
    first, second = half["designed"], half["chirp"]
    return [n for n in first if first[n] < IDENTIFIED and second[n] < IDENTIFIED]


def main() -> None:
    """Run the repeats that are missing and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("robot", choices=("panda", "quadruped", "servo"))
    parser.add_argument("results", type=Path)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3000.0)
    parser.add_argument("--obtain-chirp", action="store_true")
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    lines = given.results.read_text().splitlines() if given.results.exists() else []
    done = {e["seed"]: e for e in map(json.loads, lines) if e["robot"] == given.robot}
    began = time.monotonic()
    for seed in range(given.repeats):
        if seed in done or given.report or time.monotonic() - began > given.seconds:
            continue
        one = (
            servo_repeat(seed)
            if given.robot == "servo"
            else robot_repeat(given.robot, seed, given.obtain_chirp)
        )
        done[seed] = {"robot": given.robot, **one}
        with given.results.open("a") as file:
            file.write(json.dumps(done[seed], default=float) + "\n")
    for e in done.values():
        worst = max(e["exceeded"].values())
        alone = e.get("alone")
        text = "" if alone is None else f"; alone {alone[0] / alone[1]:.3f}"
        print(f"{e['seed']}: designed {100 * e['designed']:.2f} %, chirp {100 * e['chirp']:.2f} % "
              f"({e['designed'] / e['chirp']:.2f}{text}) over {e['both']} of {e['count']}, limits "
              f"{'kept' if worst == 0 else e['exceeded']}; obtained over predicted "
              f"{np.median(e['ratios']):.2f}; {e['cpu']:.0f} CPU s, the whole repeat "
              f"{e.get('whole', np.nan):.0f}")  # fmt: skip
    halved = sum(e["designed"] <= 0.5 * e["chirp"] for e in done.values())
    kept = sum(max(e["exceeded"].values()) == 0 for e in done.values())
    ratios = np.array([r for e in done.values() for r in e.get("ratios", [])])
    near = np.sum((ratios > 0.8) & (ratios < 1.25))
    print(f"{given.robot}, {len(done)} of {given.repeats} repeats: at most half of the chirp in "
          f"{halved}, limits kept in {kept}, {near} of {len(ratios)} intervals within 25 % of the "
          f"prediction (median {np.median(ratios) if len(ratios) else np.nan:.2f}), most "
          f"{max((e['cpu'] for e in done.values()), default=0):.0f} CPU s (bar 600)")  # fmt: skip


if __name__ == "__main__":
    main()
