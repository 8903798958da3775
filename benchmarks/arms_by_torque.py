"""Published arms by torque, from a log and their published model: offsets and links by evidence.

    python benchmarks/arms_by_torque.py RESULTS [--draws 20] [--robots ur10e panda] [--kinds right]
    python benchmarks/arms_by_torque.py RESULTS --report
    python benchmarks/arms_by_torque.py RESULTS --recorded DATA

``trueup import`` and ``trueup identify`` run with nothing edited. Machines are iiwa14, panda and
ur10e of robotblockset with other armature, damping and friction, followed at 500 Hz with noise of
positions, velocities and torques. ``right``: links and torques are those of the model. ``offsets``:
some drives have a constant torque. ``links``: every link has another mass, centre and moments, and
drives have constant torques. The held-out torque error has to be at most 1.05 times that of plain
least squares with free columns of all links, and the fit has to converge; a right model has to end
``use`` without links as unknowns.

``--recorded``: the recordings of a UR10e, with the torques of its currents; one is not fitted.
RESULTS is a folder; it takes one JSON object a machine, and further runs continue from there.
"""

import argparse
import contextlib
import io
import json
import time
from pathlib import Path

import numpy as np
import yaml

from bank.published import folder as models
from bank.published import make_published
from bank.recorder import Motion, Wiring, record
from inverse_dynamics import UR10E_GAINS, UR10E_JOINTS
from trueup.cli import main

ROBOTS = ("iiwa14", "panda", "ur10e")
KINDS = ("right", "offsets", "links")
SECONDS, RATE = 12.0, 500.0
TORQUE_NOISE = 0.01  # of the RMS torque of each joint
FITTED = ("ur-20_02_05-20sec_8harm", "ur-20_01_31-unload", "ur-20_02_10-30sec_12harm")
UNSEEN = "ur-20_01_17-ptp_10_points"


def write_log(path: Path, names, time_of, position, velocity, torque) -> None:
    header = ["time"] + [f"{n}_{what}" for what in ("pos", "vel", "torque") for n in names]
    table = np.column_stack([time_of, position, velocity, torque])
    np.savetxt(path, table, delimiter=",", header=",".join(header), comments="", fmt="%.9g")


def other_links(spec, rng) -> None:
    """Links with other masses, centres and moments, which stay possible."""
    model = spec.compile()
    for body in spec.bodies[1:]:
        i = model.body(body.name).id
        if model.body_mass[i] <= 0:
            continue
        factor = float(np.exp(0.2 * rng.normal()))
        reach = float(np.sqrt(model.body_inertia[i].sum() / (2 * model.body_mass[i])))
        body.explicitinertial = True
        body.mass = factor * model.body_mass[i]
        body.ipos = model.body_ipos[i] + 0.2 * reach * rng.normal(size=3)
        body.fullinertia = [np.nan, 0, 0, 0, 0, 0]
        # one factor for all moments keeps the triangle inequality
        body.inertia = factor * float(np.exp(0.2 * rng.normal())) * model.body_inertia[i]
        body.iquat = model.body_iquat[i]


def simulated(robot: str, kind: str, draw: int, folder: Path) -> tuple[Path, list[Path]]:
    """The model and a log of one machine."""
    rng = np.random.default_rng([ROBOTS.index(robot), KINDS.index(kind), draw])
    machine = make_published(robot, "torque", rng, gripper=False)
    if kind == "links":
        other_links(machine.real, rng)
    log = record(machine, Motion.draw(machine, rng, SECONDS, RATE), Wiring(), rng)
    size = np.sqrt(np.mean(np.square(log.command), axis=0))
    torque = log.command + TORQUE_NOISE * size * rng.normal(size=log.command.shape)
    if kind != "right":
        torque = torque - 0.1 * size * rng.normal(size=len(size)) * (rng.random(len(size)) < 0.5)
    write_log(folder / "log.csv", machine.joints, log.time, log.position, log.velocity, torque)
    truth = {k.replace("frictionloss", "friction"): v for k, v in machine.truth.items()}
    (folder / "truth.json").write_text(json.dumps(truth))
    return Path(machine.model), [folder / "log.csv"]


def recorded(data: Path, folder: Path) -> tuple[Path, list[Path]]:
    """The model and the recordings of a UR10e, with names and torques."""
    logs = []
    for name in (*FITTED, UNSEEN):
        part = "validation_data" if name == UNSEEN else "identification_data"
        table = np.loadtxt(data / "ur10e" / part / f"{name}.csv", delimiter=",")
        logs.append(folder / f"{name}.csv")
        joints = [f"{j}_joint" for j in UR10E_JOINTS]
        torque = table[:, 13:19] * UR10E_GAINS
        write_log(logs[-1], joints, table[:, 0], table[:, 1:7], table[:, 7:13], torque)
    return models() / "ur10e.xml", logs


def judged(model: Path, logs: list[Path], folder: Path) -> dict:
    """Import and identify, and what came."""
    out, run = folder / "experiment.yaml", folder / "run"
    began = time.process_time()
    said = io.StringIO()
    arguments = ["import", *map(str, logs), "--model", str(model), "--output", str(out)]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main([*arguments, "--overwrite", "--reversed", "none"])
    imported = time.process_time()
    (folder / "import.txt").write_text(said.getvalue())
    text = out.read_text()
    if (folder / f"{UNSEEN}.csv") in logs:
        # the recording of another kind of motion is not fitted
        text = text.replace("fraction: 0.25", f"recordings: [{UNSEEN}]")
        out.write_text(text)
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        main(["identify", str(out), "--output", str(run), "--quiet", "--overwrite"])
    seconds = time.process_time() - imported
    solution = json.loads((run / "solution.json").read_text())
    errors = solution["torque"]["errors"]
    own, plain, before = (
        float(np.linalg.norm([row[key] for row in errors]))
        for key in ("identified", "plain_least_squares", "initial")
    )
    asked = yaml.safe_load(text)["parameters"]
    return {
        "import": code,
        "grade": solution["verdict"]["grade"],
        "status": solution["status"],
        "import_seconds": imported - began,
        "identify_seconds": seconds,
        "identified": own,
        "plain": plain,
        "initial": before,
        "offsets": sum(name.endswith("_offset") for name in asked),
        "masses": sum(p.get("inertia_type") == "density" for p in asked.values()),
        "links": sum(p.get("inertia_type") == "pseudo" for p in asked.values()),
        "reasons": [r["sentence"] for r in solution["verdict"]["reasons"] if r["grade"] != "use"],
        "parameters": solution["parameters"],
    }


def hits(row: dict, truth: dict) -> tuple[int, int]:
    """Intervals of joints that hold the truth, and all of them."""
    inside = total = 0
    for p in row["parameters"]:
        true = truth.get(p["name"])
        if true is not None and p["low"] is not None:
            total += 1
            inside += int(p["low"] <= true <= p["high"])
    return inside, total


def report(folder: Path) -> None:
    file = folder / "results.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []
    for row in rows:
        print(
            f"{row['robot']} {row['kind']} {row['draw']}: {row['grade']}, {row['status']}, "
            f"{row['offsets']} offsets, {row['masses']} masses, {row['links']} links; torque error "
            f"{row['identified']:.4g}, plain {row['plain']:.4g}, ratio "
            f"{row['identified'] / row['plain']:.3f}, before {row['initial']:.4g}; intervals "
            f"{row['inside']} of {row['total']}; import {row['import_seconds']:.0f}, identify "
            f"{row['identify_seconds']:.0f} CPU s"
        )
        for sentence in row["reasons"]:
            print(f"    {sentence[:200]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--robots", nargs="+", default=ROBOTS)
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--recorded", type=Path)
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    table = given.folder / "results.jsonl"
    done = set()
    if table.is_file():
        rows = map(json.loads, table.read_text().splitlines())
        done = {(r["robot"], r["kind"], r["draw"]) for r in rows}
    todo = [(r, k, d) for d in range(given.draws) for r in given.robots for k in given.kinds]
    if given.recorded:
        todo = [("ur10e", "recorded", 0)]
    for robot, kind, draw in [] if given.report else todo:
        if (robot, kind, draw) in done:
            continue
        work = given.folder / f"{robot}-{kind}-{draw}"
        work.mkdir(exist_ok=True)
        if kind == "recorded":
            sources, truth = recorded(given.recorded, work), {}
        else:
            sources = simulated(robot, kind, draw, work)
            truth = json.loads((work / "truth.json").read_text())
        found = judged(*sources, work)
        inside, total = hits(found, truth)
        found |= {"robot": robot, "kind": kind, "draw": draw, "inside": inside, "total": total}
        with table.open("a") as out_file:
            out_file.write(json.dumps(found) + "\n")
    report(given.folder)
