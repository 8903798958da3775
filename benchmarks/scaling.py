"""Time of an identification over the number of unknowns and the seconds of recording.

    python benchmarks/scaling.py [--unknowns 5 10 20 50 100] [--seconds 2 8 30 120]

Twenty driven pendulums with springs and friction, known truth, angles with noise at 200 Hz. The
unknowns are armature, damping, Coulomb friction, stiffness and rest angle of the first joints; the
others are known. Unknowns vary at 8 s, seconds at 20 unknowns. Printed: CPU time of the whole
command (fit, intervals, assessment), of one iteration, and the exponent of a power law through each
column; 1 is linear.
"""

import argparse
import tempfile
import time
from pathlib import Path

import mujoco
import numpy as np
from mujoco.rollout import rollout

from trueup import sysid
from trueup.sysid.experiment.file import parse_experiment

JOINTS, STEP, NOISE = 20, 0.005, 2e-4
KINDS = {
    "armature": (0.05, 0.02, 0.2),
    "damping": (0.3, 0.1, 1.0),
    "frictionloss": (0.1, 0.0, 0.5),
    "stiffness": (4.0, 1.0, 10.0),
    "springref": (0.1, -0.5, 0.5),
}
"""True value and bounds of each kind of unknown."""


def model_xml() -> str:
    """Twenty pendulums beside each other."""
    bodies = "".join(
        f'<body pos="{k} 0 0"><joint name="j{k}" axis="0 1 0" armature=".05" damping=".3" '
        f'frictionloss=".1" stiffness="4" springref=".1"/>'
        '<geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02" mass=".5" contype="0"/></body>'
        for k in range(JOINTS)
    )
    motors = "".join(f'<motor name="j{k}" joint="j{k}"/>' for k in range(JOINTS))
    return (
        f'<mujoco><compiler angle="radian"/><option timestep="{STEP}" integrator="implicitfast"/>'
        f"<worldbody>{bodies}</worldbody><actuator>{motors}</actuator></mujoco>"
    )


def write(folder: Path, seconds: float) -> None:
    """Model and recording."""
    (folder / "model.xml").write_text(model_xml())
    model = mujoco.MjModel.from_xml_string(model_xml())
    times = STEP * np.arange(round(seconds / STEP) + 1)
    rate = np.linspace(0.3, 2.0, JOINTS)
    torque = 1.5 * np.sin(2 * np.pi * np.outer(times, rate) + np.arange(JOINTS))
    start = np.zeros(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    state, _ = rollout(model, mujoco.MjData(model), start, torque[:-1])
    angle = np.vstack([start, state[0]])[:, 1 : 1 + JOINTS]
    angle = angle + np.random.default_rng(0).normal(scale=NOISE, size=angle.shape)
    names = ["t", *(f"q{k}" for k in range(JOINTS)), *(f"u{k}" for k in range(JOINTS))]
    table = np.column_stack([times, angle, torque])
    np.savetxt(folder / "log.csv", table, delimiter=",", header=",".join(names), comments="")


def experiment(unknowns: int) -> str:
    """The experiment file."""
    text = "name: scaling\nmodel: {file: model.xml}\nrecordings:\n  - file: log.csv\n    time: t\n"
    text += "    initial: default\n    signals: {"
    text += ", ".join(f"j{k}_qpos: q{k}" for k in range(JOINTS)) + "}\n    controls: {"
    text += ", ".join(f"j{k}: u{k}" for k in range(JOINTS)) + "}\nheld_out: {fraction: 0.2}\n"
    text += "output: {report: false}\nparameters:\n"
    places = [(k, kind) for k in range(JOINTS) for kind in KINDS][:unknowns]
    for k, kind in places:
        _, low, high = KINDS[kind]
        text += f"  j{k}_{kind}: {{target: joint/j{k}/{kind}, start: {0.5 * (low + high):g}, "
        text += f"bounds: [{low}, {high}]}}\n"
    return text


def measured(unknowns: int, seconds: float) -> tuple[float, float, float]:
    """CPU seconds of the command and of one iteration, and the largest relative error."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), seconds)
        parsed = parse_experiment(experiment(unknowns))
        began = time.process_time()
        found = sysid.identify(parsed, folder, output=Path(folder) / "run", verbose=False)
        whole = time.process_time() - began
        names, x = found.problem.space.names, found.solution.x
        truth = [KINDS[name.rsplit("_", 1)[1]][0] for name in names]
        # an iteration is a Jacobian and a line search
        problem = found.problem
        rows = np.tile(x, (unknowns + 1, 1))
        began = time.process_time()
        problem.costs(rows)
        batch = time.process_time() - began
    return whole, batch, float(np.max(np.abs(x / np.array(truth) - 1)))


def table(title: str, sizes: list[float], cases: list[tuple[int, float]]) -> None:
    """Print one table, row by row, with the exponents of its columns."""
    print(f"{title:>10}  whole [CPU s]  Jacobian [CPU s]  largest error", flush=True)
    runs = []
    for size, case in zip(sizes, cases, strict=True):
        whole, batch, error = measured(*case)
        runs.append((whole, batch))
        print(f"{size:10g}  {whole:13.2f}  {batch:16.3f}  {100 * error:11.2f} %", flush=True)
    if len(sizes) > 1:
        slopes = [np.polyfit(np.log(sizes), np.log([r[k] for r in runs]), 1)[0] for k in (0, 1)]
        print(f"{'exponent':>10}  {slopes[0]:13.2f}  {slopes[1]:16.2f}\n", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--unknowns", type=int, nargs="*", default=[5, 10, 20, 50, 100])
    parser.add_argument("--seconds", type=float, nargs="*", default=[2, 8, 30, 120])
    given = parser.parse_args()
    measured(5, 2.0)  # compiles and loads what the first run of a process does
    table("unknowns", given.unknowns, [(n, 8.0) for n in given.unknowns])
    table("seconds", given.seconds, [(20, s) for s in given.seconds])


if __name__ == "__main__":
    main()
