"""Coverage of exported draws: how often the true motion lies in their 90 % band.

Robots with known truth are recorded with noise, identified and exported again and again. In the
part of the held-out recording that rejects no draw, the motion of the true model is compared with
the band of the draws (5 to 95 %), pooled over times, channels and repeats; beside it the band of
draws with the same ranges and no correlation, which plain ranges of single parameters are.

    python benchmarks/posterior_coverage.py arm --repeats 100 --results coverage.jsonl

Results are appended, and repeats that the file holds are not run again. Robots: ``arm`` (two
joints, torques, eight unknowns, two of which only act together), ``servo`` (one joint behind a
position servo, with a delay), ``quadruped`` (twelve joints hanging, position servos, 36 unknowns).
"""

import argparse
import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import yaml

from trueup import sysid
from trueup.errors import RunDirectoryError
from trueup.knowledge.held_out_check import BAND, is_scoring
from trueup.knowledge.identified import identified_run
from trueup.randomise.randomisation import export_randomisation

BAR = (0.84, 0.96)
STEP = 0.005


@dataclass(frozen=True)
class Robot:
    """A robot with known truth."""

    xml: str
    """MJCF with the values of parameters in braces."""
    truth: dict[str, float]
    targets: dict[str, str]
    bounds: dict[str, tuple[float, float]]
    seconds: float
    goal: float
    """Size of commands [N m or rad]."""
    noise: tuple[float, float]
    """Noise of angles [rad] and speeds [rad/s]."""

    def start(self) -> dict[str, float]:
        """Values at which the fit begins, off by a quarter."""
        return {name: 0.625 * low + 0.375 * high for name, (low, high) in self.bounds.items()}


def arm() -> Robot:
    """Two joints driven by torques; armature and inertia of the forearm act together."""
    xml = """<mujoco><option timestep="0.005" integrator="implicitfast"/><worldbody>
    <body name="upper"><joint name="shoulder" axis="0 1 0" armature="{a1}" damping="{d1}"
      frictionloss="{f1}"/><inertial pos="0 0 -.2" mass="2" diaginertia=".03 .03 .003"/>
     <body name="lower" pos="0 0 -.4"><joint name="elbow" axis="0 1 0" armature="{a2}"
      damping="{d2}" frictionloss="{f2}"/><inertial pos="0 0 -.2" mass="{m}"
      diaginertia=".01 .01 .001"/></body></body></worldbody>
    <actuator><motor name="m1" joint="shoulder"/><motor name="m2" joint="elbow"/></actuator>
    <sensor><jointpos name="q1" joint="shoulder"/><jointpos name="q2" joint="elbow"/>
     <jointvel name="v1" joint="shoulder"/><jointvel name="v2" joint="elbow"/></sensor></mujoco>"""
    truth = {"a1": .3, "d1": 1.5, "f1": .6, "a2": .1, "d2": .6, "f2": .3, "m": 1.4}  # fmt: skip
    targets = {
        f"{word[0]}{i + 1}": f"joint/{joint}/{word}"
        for i, joint in enumerate(("shoulder", "elbow"))
        for word in ("armature", "damping", "frictionloss")
    }
    bounds = {n: (0.2 * v, 3 * v) for n, v in truth.items()}
    return Robot(xml, truth, {**targets, "m": "body/lower/mass"}, bounds, 4.0, 6.0, (0.01, 0.1))


def servo() -> Robot:
    """One joint behind a position servo."""
    xml = """<mujoco><option timestep="0.005" integrator="implicitfast"/><worldbody>
    <body name="arm"><joint name="hinge" axis="0 1 0" armature="{a}" damping="{d}"
      frictionloss="{f}"/><inertial pos="0 0 -.15" mass=".5" diaginertia=".001 .001 .001"/></body>
    </worldbody><actuator><position name="s" joint="hinge" kp="{kp}"/></actuator>
    <sensor><jointpos name="q" joint="hinge"/><jointvel name="v" joint="hinge"/></sensor>
    </mujoco>"""
    truth = {"a": 0.02, "d": 0.3, "f": 0.15, "kp": 6.0}
    targets = {"a": "joint/hinge/armature", "d": "joint/hinge/damping",
               "f": "joint/hinge/frictionloss", "kp": "actuator/s/kp"}  # fmt: skip
    bounds = {n: (0.2 * v, 3 * v) for n, v in truth.items()}
    return Robot(xml, truth, targets, bounds, 4.0, 0.8, (0.003, 0.05))


def quadruped() -> Robot:
    """Twelve joints of a robot that hangs, behind position servos."""
    truth, targets, bodies, servos, sensors = {}, {}, [], [], []
    rng = np.random.default_rng(11)
    for leg, place in enumerate(("0.2 0.1", "0.2 -0.1", "-0.2 0.1", "-0.2 -0.1")):
        text = "</body></body></body>"
        parts = (("1 0 0", "0 0 0", 1.0), ("0 1 0", "0 0.05 0", 1.5), ("0 1 0", "0 0 -0.25", 0.4))
        for k, (axis, position, mass) in reversed(list(enumerate(parts))):
            name = f"j{leg}{k}"
            for letter, word, value in (("a", "armature", 0.03), ("d", "damping", 0.5),
                                        ("f", "frictionloss", 0.4)):  # fmt: skip
                truth[f"{letter}{leg}{k}"] = value * float(rng.uniform(0.7, 1.3))
                targets[f"{letter}{leg}{k}"] = f"joint/{name}/{word}"
            where = f"{place} 0" if k == 0 else position
            text = (f'<body name="b{leg}{k}" pos="{where}"><joint name="{name}" axis="{axis}" '
                    f'armature="{{a{leg}{k}}}" damping="{{d{leg}{k}}}" '
                    f'frictionloss="{{f{leg}{k}}}"/><inertial pos="0 0 -0.12" mass="{mass}" '
                    'diaginertia=".01 .01 .003"/>') + text  # fmt: skip
            servos.append(f'<position name="s{leg}{k}" joint="{name}" kp="40"/>')
            sensors += [f'<jointpos name="q{leg}{k}" joint="{name}"/>',
                        f'<jointvel name="v{leg}{k}" joint="{name}"/>']  # fmt: skip
        bodies.append(text)
    xml = ('<mujoco><option timestep="0.005" integrator="implicitfast"/><worldbody>'
           + "".join(bodies) + "</worldbody><actuator>" + "".join(servos) + "</actuator><sensor>"
           + "".join(sensors) + "</sensor></mujoco>")  # fmt: skip
    bounds = {n: (0.2 * v, 3 * v) for n, v in truth.items()}
    return Robot(xml, truth, targets, bounds, 4.0, 0.5, (0.003, 0.05))


ROBOTS = {"arm": arm, "servo": servo, "quadruped": quadruped}


def record(robot: Robot, folder: Path, seed: int) -> tuple[np.ndarray, list[str]]:
    """Write two logs and the experiment; returns the true motion of the second, and its columns."""
    model = mujoco.MjModel.from_xml_string(robot.xml.format(**robot.truth))
    (folder / "robot.xml").write_text(robot.xml.format(**robot.start()))
    names = [model.sensor(i).name for i in range(model.nsensor)]
    commands = [model.actuator(i).name for i in range(model.nu)]
    rng = np.random.default_rng(seed)
    sizes = np.array([robot.noise[0] if n.startswith("q") else robot.noise[1] for n in names])
    for log in range(2):
        data = mujoco.MjData(model)
        # the excitation belongs to the robot, the noise to the repeat
        tones = np.random.default_rng(log).uniform(0.3, 2.5, (3, model.nu))
        phases = np.random.default_rng(log + 7).uniform(0, 6, (3, model.nu))
        rows = []
        for k in range(round(robot.seconds / STEP)):
            t = k * STEP
            ramp = min(1.0, t / 0.5)
            waves = np.sin(2 * np.pi * tones * t + phases)
            data.ctrl[:] = ramp * robot.goal * waves.mean(axis=0)
            mujoco.mj_forward(model, data)
            rows.append([t, *data.sensordata, *data.ctrl])
            mujoco.mj_step(model, data)
        table = np.array(rows)
        truth = table[:, 1 : 1 + len(names)].copy()
        table[:, 1 : 1 + len(names)] += rng.normal(size=truth.shape) * sizes
        header = ",".join(["t", *names, *(f"u_{c}" for c in commands)])
        np.savetxt(folder / f"log{log}.csv", table, delimiter=",", header=header, comments="")
    common = {
        "signals": {n: n for n in names},
        "controls": {c: f"u_{c}" for c in commands},
        "time": "t",
        "initial": "default",
    }
    recordings = [{"file": f"log{i}.csv", **common} for i in range(2)]
    experiment = {
        "name": "robot",
        "model": {"file": "robot.xml"},
        "recordings": recordings,
        "parameters": {n: {"target": robot.targets[n], "bounds": list(robot.bounds[n])}
                       for n in robot.targets},
        "measurement": {"signals": {f"{letter}*": {"noise": size}
                                    for letter, size in zip("qv", robot.noise, strict=True)}},
        "held_out": {"recordings": ["log1"]},
        "output": {"report": False},
    }  # fmt: skip
    (folder / "experiment.yaml").write_text(yaml.safe_dump(experiment, sort_keys=False))
    return truth, names


def one(name: str, seed: int, draws: int) -> dict[str, float | int | str]:
    """One repeat."""
    began = time.process_time()
    robot = ROBOTS[name]()
    with tempfile.TemporaryDirectory() as given:
        folder = Path(given)
        truth, names = record(robot, folder, seed)
        loaded = sysid.load_experiment(folder / "experiment.yaml")
        result = sysid.identify(loaded, folder, output=folder / "run", verbose=False)
        try:
            made = export_randomisation(
                folder / "run", folder / "dr", draws=draws, seed=seed, anyway=True
            )
        except RunDirectoryError as error:  # a fit that is no optimum gives no draws
            return {"robot": name, "seed": seed, "refused": str(error).split(":")[-1]}
        assert made.check is not None
        band = made.check.bands[0]
        rows = np.round(band.times / STEP).astype(int)
        order = [names.index(channel) for channel in band.channels]
        true = truth[rows][:, order]
        known = identified_run(folder / "run", anyway=True)
        rng = np.random.default_rng(seed)
        space = known.parameters.space()
        loose = space.from_search(known.belief.independent().draw(draws, rng))
        problem = known.held_out_problem()
        assert problem is not None
        ((_, predicted),) = problem.predictions(loose)
        times = problem.sequences[0].times
        scoring = is_scoring(times)
        whole = truth[np.round(times[scoring] / STEP).astype(int)][:, order]
        plain = np.quantile(predicted[:, scoring], BAND, axis=0)
        low, high = band.band[:, band.scoring]
        return {
            "robot": name,
            "seed": seed,
            "verdict": result.summary["verdict"]["grade"],
            "inside": float(((true[band.scoring] >= low) & (true[band.scoring] <= high)).mean()),
            "width": float((high - low).mean()),
            "plain_inside": float(((whole >= plain[0]) & (whole <= plain[1])).mean()),
            "plain_width": float((plain[1] - plain[0]).mean()),
            "excluded": made.check.excluded,
            "drawn": made.check.drawn,
            "cpu": time.process_time() - began,
        }  # fmt: skip


def main() -> None:
    """Run the repeats that are missing and print the shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("robot", choices=ROBOTS)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--results", type=Path, default=Path("posterior_coverage.jsonl"))
    options = parser.parse_args()
    rows = []
    if options.results.is_file():
        rows = [json.loads(line) for line in options.results.read_text().splitlines()]
    rows = [row for row in rows if row["robot"] == options.robot]
    for seed in range(options.repeats):
        if not any(row["seed"] == seed for row in rows):
            rows.append(one(options.robot, seed, options.draws))
            with options.results.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    refused = sum("refused" in row for row in rows)
    rows = [row for row in rows if "refused" not in row]
    inside, plain = (np.mean([row[k] for row in rows]) for k in ("inside", "plain_inside"))
    factor = np.median([row["plain_width"] / row["width"] for row in rows])
    print(f"{options.robot}, {len(rows)} repeats and {refused} without an optimum: "
          f"{100 * inside:.1f} % of the true motion inside "
          f"(bar {100 * BAR[0]:.0f} to {100 * BAR[1]:.0f}); without correlation "
          f"{100 * plain:.1f} %, {factor:.2f} times as wide; "
          f"{np.mean([row['cpu'] for row in rows]):.1f} CPU s a repeat")  # fmt: skip


if __name__ == "__main__":
    main()
