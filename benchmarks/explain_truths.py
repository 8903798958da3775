"""Planted causes of a gap: does the explanation name them, and nothing where there is no gap?

Logs of 3 s of an arm with three joints, or of a leg whose foot slides over a floor, are recorded in
simulation from a robot that differs from its model in one cause, in two or in none. Each cause is
planted by another way than the explanation frees it where there is one: a payload as a point mass,
an encoder by shifting commands and measurements, a delay by late commands.

    python benchmarks/explain_truths.py --repeats 20 --results explain.jsonl
    python benchmarks/explain_truths.py --repeats 20 --only none --results explain.jsonl
    python benchmarks/explain_truths.py --repeats 1 --only several --torques --results explain.jsonl

Kinds: twelve causes, ``two`` (at once), ``several`` (:data:`SEVERAL`) and ``none``. A cause counts
as named where it is the first one, or the data cannot tell it from the first one; two at once where
both are among the first three; several where all of them, or what the data cannot tell from them,
are among as many first ones. ``--torques`` records the torques of the joints too. Results are
appended, and repeats that the file holds are not run again.
"""

import argparse
import json
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import mujoco
import numpy as np
import yaml

from trueup import sysid
from trueup.explain import explain

STEP, SECONDS, NOISE = 0.004, 3.0, 0.001
TORQUE_NOISE = 0.02
"""Of recorded torques [N m]."""

ARM = """<mujoco><option timestep="0.004" integrator="implicitfast"/><compiler angle="radian"/>
<worldbody><body name="base"><joint name="yaw" axis="0 0 1" armature=".02" damping=".2"/>
<inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01"/>
<body name="upper"><joint name="shoulder" axis="0 1 0" armature=".02" damping=".2"
frictionloss=".1"/>
<inertial pos="0 0 -.15" mass="1.2" diaginertia=".01 .01 .002"/>
<body name="lower" pos="0 0 -.3"><joint name="elbow" axis="0 1 0" armature=".02" damping=".2"
frictionloss=".1"/><inertial pos="0 0 -.13" mass=".8" diaginertia=".006 .006 .001"/>
</body></body></body></worldbody>
<actuator><position name="m0" joint="yaw" kp="40" kv="1"/>
<position name="m1" joint="shoulder" kp="40" kv="1"/>
<position name="m2" joint="elbow" kp="40" kv="1"/></actuator>
<sensor><jointpos name="q0" joint="yaw"/>
<jointpos name="q1" joint="shoulder"/><jointpos name="q2" joint="elbow"/></sensor></mujoco>"""

LEG = """<mujoco><option timestep="0.004" integrator="implicitfast"/><compiler angle="radian"/>
<worldbody><geom name="floor" type="plane" size="2 2 .1" friction=".8"/>
<body name="trunk" pos="0 0 .5"><joint name="height" type="slide" axis="0 0 1"/>
<inertial pos="0 0 0" mass="2" diaginertia=".01 .01 .01"/>
<body name="thigh"><joint name="hip" axis="0 1 0" armature=".01" damping=".2" frictionloss=".05"/>
<inertial pos="0 0 -.13" mass=".6" diaginertia=".005 .005 .001"/>
<body name="shank" pos="0 0 -.27"><joint name="knee" axis="0 1 0" armature=".01" damping=".2"
frictionloss=".05"/><inertial pos="0 0 -.12" mass=".3" diaginertia=".003 .003 .001"/>
<geom name="foot" type="sphere" size=".02" pos="0 0 -.27" friction=".8"/>
</body></body></body></worldbody>
<actuator><position name="m0" joint="hip" kp="80" kv="2"/>
<position name="m1" joint="knee" kp="80" kv="2"/></actuator>
<sensor><jointpos name="q0" joint="height"/>
<jointpos name="q1" joint="hip"/><jointpos name="q2" joint="knee"/></sensor></mujoco>"""

MOTORS = ARM.replace(
    ARM[ARM.index("<actuator>") : ARM.index("<sensor>")],
    """<actuator><motor name="m0" joint="yaw"/><motor name="m1" joint="shoulder"/>
<motor name="m2" joint="elbow"/></actuator>
""",
)
ROBOTS = {"servos": ARM, "motors": MOTORS, "leg": LEG}

SEVERAL = (
    ("motors", ("damping",)),
    ("servos", ("friction-loss",)),
    ("motors", ("damping", "armature")),
    ("motors", ("damping", "armature", "mass")),
    ("servos", ("damping", "armature")),
    ("servos", ("mass", "gravity")),
    ("servos", ("limits",)),
    ("servos", ("limits", "damping")),
    ("motors", ("torque-constant", "friction-loss")),
    ("servos", ("delay", "armature")),
    ("leg", ("damping", "armature")),
    ("leg", ("contact-friction",)),
    ("motors", ("delay",)),
    ("motors", ("limits", "damping")),
    ("motors", ("gravity", "armature", "friction-loss")),
    ("motors", ("armature",)),
)
"""Robots, and what is planted at once, all large."""
NAMED = {"damping": "friction", "friction-loss": "friction", "mass": "inertia"}
"""Causes of what is planted under another name."""

SIZES = {
    "delay": (0.004, 0.01),
    "gains": (0.1, 0.25),
    "friction": (0.5, 1.5),
    "armature": (0.4, 1.2),
    "payload": (0.03, 0.1),
    "inertia": (0.1, 0.3),
    "gravity": (0.05, 0.5),
    "gravity-compensation": (0.1, 1.0),
    "gear": (0.01, 0.05),
    "encoder-zero": (0.07, 0.12),
    "contact-friction": (0.3, 0.5),
    "limits": (0.93, 0.8),
    "damping": (0.5, 0.2),
    "mass": (0.1, 0.3),
    "friction-loss": (1.0, 3.0),
    "torque-constant": (0.9, 0.7),
}
"""Small and large size of each cause: seconds, relative change, kg, rad, share of the weight or of
the largest torque; share of the damping and of the torque in the model."""
CAUSES = tuple(c for c in SIZES if c not in ("damping", "mass", "friction-loss", "torque-constant"))


@dataclass
class Planted:
    """A robot that differs from its model."""

    spec: mujoco.MjSpec
    late: float = 0.0
    """Delay of commands [s]."""
    zero: np.ndarray = field(default_factory=lambda: np.zeros(3))
    """What the encoder of each joint shows beyond its angle [rad]."""
    limit: float = 0.0
    """Share of the torque that it reaches to which each motor is limited; 0 for no limit."""

    def plant(self, cause: str, size: float, rng: np.random.Generator) -> None:
        """Add a cause."""
        spec, sign = self.spec, rng.choice([-1.0, 1.0])
        size *= rng.uniform(0.9, 1.1)
        if cause == "delay":
            self.late = size
        elif cause == "gains":
            for motor in spec.actuators:
                gain = motor.gainprm[0] * (1 + sign * size)
                motor.gainprm[0], motor.biasprm[1] = gain, -gain
        elif cause == "friction":
            for joint in spec.joints[-2:]:
                joint.damping = joint.damping * (1 + size)
                joint.frictionloss = joint.frictionloss * (1 + 2 * size)
        elif cause == "armature":
            for joint in spec.joints[-2:]:
                joint.armature = joint.armature * (1 + size)
        elif cause == "damping":
            for joint in spec.joints[-2:]:
                joint.damping = joint.damping * size
        elif cause == "friction-loss":
            for joint in spec.joints[-2:]:
                joint.frictionloss = joint.frictionloss * (1 + size)
        elif cause == "torque-constant":
            for motor in spec.actuators:
                motor.gainprm[0] = size
        elif cause == "mass":
            spec.bodies[-2].mass *= 1 + size
            spec.bodies[-2].inertia = spec.bodies[-2].inertia * (1 + size)
        elif cause == "inertia":
            spec.bodies[-2].mass *= 1 + size
        elif cause == "gravity":
            spec.option.gravity = 9.81 * np.array([sign * np.sin(size), 0.0, -np.cos(size)])
        elif cause == "gravity-compensation":
            for body in spec.bodies[1:]:
                body.gravcomp = min(size, 1.0)
        elif cause == "gear":
            for motor in spec.actuators:
                motor.gear = [1 + sign * size, 0, 0, 0, 0, 0]
        elif cause == "payload":
            body = spec.bodies[-1]
            payload = body.add_body(pos=[0.02, 0, -0.24])
            payload.explicitinertial = True
            payload.mass, payload.inertia = size, [1e-6, 1e-6, 1e-6]
        elif cause == "encoder-zero":
            self.zero[1:] = size * rng.choice([-1.0, 1.0], 2)
        elif cause == "contact-friction":
            for geom in spec.geoms:
                geom.friction = [geom.friction[0] * (1 - size), *geom.friction[1:]]
        elif cause == "limits":
            self.limit = size


def record(
    robot: Planted, xml: str, folder: Path, rng: np.random.Generator, torques: bool = False
) -> None:
    """Write model, log and experiment."""
    leg, motors = xml is LEG, xml is MOTORS
    model = robot.spec.compile()
    measured = [model.joint(j).name for j in range(model.njnt)][:3]
    tones, phases = rng.uniform(0.4, 2.0, (4, model.nu)), rng.uniform(0, 6.3, (4, model.nu))
    rest = np.array([0.45, -0.9]) if leg else np.zeros(3)
    reach = (
        np.array([0.3, 0.25]) if leg else np.array([1.0, 6.0, 1.5]) if motors else np.full(3, 0.7)
    )
    zero = robot.zero[-model.nu :]

    def goal(now: float) -> np.ndarray:
        now = STEP * np.floor(now / STEP + 1e-9)  # a command holds until the next
        waves = np.sin(2 * np.pi * tones * max(now, 0.0) + phases) - np.sin(phases)
        return rest + reach * min(1.0, max(now, 0.0) / 0.3) * waves.mean(axis=0)

    def run(limits: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        for motor in range(model.nu if limits is not None else 0):
            model.actuator_forcelimited[motor] = 1
            model.actuator_forcerange[motor] = limits[motor] * np.array([-1.0, 1.0])
        data = mujoco.MjData(model)
        if leg:
            data.qpos[:3] = -0.03, *rest
        for _ in range(400):  # comes to rest
            data.ctrl[:] = rest - zero
            mujoco.mj_step(model, data)
        rows, forces, applied = [], [], []
        for step in range(round(SECONDS / STEP)):
            now = step * STEP
            data.ctrl[:] = goal(now - robot.late) - zero
            rows.append([now, *(data.qpos[:3] + robot.zero), *goal(now)])
            mujoco.mj_step(model, data)
            forces.append(np.abs(data.actuator_force))
            applied.append(data.actuator_force.copy())
        first, last = np.split(np.array(forces), [round(0.75 * len(forces))])
        table = np.column_stack([rows, applied]) if torques else np.array(rows)
        return table, np.minimum(first.max(axis=0), last.max(axis=0))

    table, reached = run(None)
    if robot.limit:  # below what each part reaches: else no fit could learn it, or nothing judge
        table, _ = run(robot.limit * reached)
    table[:, 1:4] += NOISE * rng.normal(size=(len(table), 3))
    commands = [f"u{k}" for k in range(model.nu)]
    efforts = [f"f{k}" for k in range(model.nu if torques else 0)]
    if torques:
        table[:, -model.nu :] += TORQUE_NOISE * rng.normal(size=(len(table), model.nu))
        sensors = [f'<jointactuatorfrc name="{f}" joint="{j}"/>'
                   for f, j in zip(efforts, measured[-model.nu :], strict=True)]  # fmt: skip
        xml = xml.replace("</sensor>", "".join([*sensors, "</sensor>"]))
    header = ",".join(["t", "q0", "q1", "q2", *commands, *efforts])
    np.savetxt(folder / "log.csv", table, delimiter=",", header=header, comments="")
    (folder / "robot.xml").write_text(xml)
    experiment = {
        "name": "robot",
        "model": {"file": "robot.xml"},
        "recordings": [
            {
                "file": "log.csv",
                "time": "t",
                "signals": {s: s for s in (*(f"q{k}" for k in range(len(measured))), *efforts)},
                "controls": {f"m{k}": f"u{k}" for k in range(model.nu)},
            }
        ],
        "measurement": {"signals": {"q*": {"noise": NOISE}}},
    }
    if torques:
        experiment["measurement"]["signals"]["f*"] = {"noise": TORQUE_NOISE}
    (folder / "experiment.yaml").write_text(yaml.safe_dump(experiment, sort_keys=False))


def planted_in(kind: str, size: int, seed: int) -> tuple[list[tuple[str, float]], str]:
    """Causes with their sizes, and the model, of one repeat."""
    if kind == "none":
        return [], LEG if seed % 2 else ARM
    if kind == "several":
        robot, causes = SEVERAL[seed % len(SEVERAL)]
        return [(c, SIZES[c][1]) for c in causes], ROBOTS[robot]
    if kind != "two":
        return [(kind, SIZES[kind][size])], LEG if kind == "contact-friction" else ARM
    rng = np.random.default_rng([77, seed])
    pair = rng.choice(CAUSES, 2, replace=False)
    xml = LEG if "contact-friction" in pair else ARM
    return [(str(c), SIZES[c][int(rng.integers(2))]) for c in pair], xml


def one(kind: str, size: int, seed: int, torques: bool = False) -> dict[str, object]:
    """One repeat."""
    rng = np.random.default_rng([["none", "two", *CAUSES, "several"].index(kind), size, seed])
    planted, xml = planted_in(kind, size, seed)
    robot = Planted(mujoco.MjSpec.from_string(xml))
    for cause, amount in planted:
        robot.plant(cause, amount, rng)
    with tempfile.TemporaryDirectory() as given:
        folder = Path(given)
        record(robot, xml, folder, rng, torques)
        began = time.process_time()
        loaded = sysid.load_experiment(folder / "experiment.yaml")
        found = explain(loaded, folder, output=folder / "run", verbose=False)
        cpu = time.process_time() - began
    gap = found.summary["gap"]
    return {
        "kind": kind,
        "size": size,
        "seed": seed,
        "torques": torques,
        "planted": list(dict.fromkeys(NAMED.get(cause, cause) for cause, _ in planted)),
        "named": found.causes,
        "together": found.together,
        "ranking": found.ranking,
        "gap": gap["model"] / gap["noise"],
        "left": gap["explained"] / gap["noise"],
        "cpu": cpu,
        "evaluations": found.summary["stats"]["evaluations"],
    }


def is_right(row: dict) -> bool:
    """Whether a repeat came out as it was planted."""
    if row["kind"] == "none":
        return not row["named"]
    if row["kind"] == "two":
        return set(row["planted"]) <= set(row["ranking"][:3]) and bool(row["named"])
    if row["kind"] == "several":
        named = [{c, *row["together"][c]} for c in row["named"][: len(row["planted"])]]
        return all(any(c in own for own in named) for c in row["planted"])
    first = row["named"][:1]
    return row["kind"] in [*first, *(a for c in first for a in row["together"][c])]


def show(rows: list[dict]) -> None:
    """Print the counts of each kind and size."""
    print(
        "kind              size     n  right  alone  group  gap/noise  below 3  CPU s  simulations"
    )
    for kind, size in dict.fromkeys((row["kind"], row["size"]) for row in rows):
        own = [row for row in rows if (row["kind"], row["size"]) == (kind, size)]
        groups = [1 + len(r["together"].get(r["named"][0], [])) for r in own if r["named"]]
        alone = sum(r["named"] == r["planted"] and not any(r["together"].values()) for r in own)
        gaps = [row["gap"] for row in own]
        print(f"{kind:17} {size:4d} {len(own):5d} {sum(map(is_right, own)):6d} {alone:6d} "
              f"{np.mean(groups or [0]):6.1f} {np.median(gaps):10.1f} "
              f"{sum(g < 3 for g in gaps):8d} "
              f"{np.mean([row['cpu'] for row in own]):6.1f} "
              f"{np.mean([row['evaluations'] for row in own]):12.0f}")  # fmt: skip
    for row in rows:
        if not is_right(row):
            print("wrong:", row["kind"], row["size"], row["seed"], row["planted"], row["named"],
                  row["together"], f"gap {row['gap']:.1f}, left {row['left']:.1f}")  # fmt: skip


def main() -> None:
    """Run the repeats that are missing and print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--only", nargs="+", default=[*CAUSES, "two", "none"])
    parser.add_argument("--results", type=Path, default=Path("explain_truths.jsonl"))
    parser.add_argument("--torques", action="store_true", help="record torques of joints too")
    options = parser.parse_args()
    rows: list[dict] = []
    if options.results.is_file():
        rows = [json.loads(line) for line in options.results.read_text().splitlines()]
    done = {(row["kind"], row["size"], row["seed"], row.get("torques", False)) for row in rows}
    for seed in range(options.repeats):
        for kind in options.only:
            count = len(SEVERAL) if kind == "several" else 2
            for size in range(count):
                number = seed if kind in CAUSES else count * seed + size
                place = (kind, size if kind in CAUSES else 0, number, options.torques)
                if place in done:
                    continue
                rows.append(json.loads(json.dumps(one(*place))))
                with options.results.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    order = [*CAUSES, "two", "several", "none"]
    show(sorted(rows, key=lambda r: (order.index(r["kind"]), r["size"], r["seed"])))


if __name__ == "__main__":
    main()
