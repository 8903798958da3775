"""Entries of simulated machines with known parameters: ``python catalogue/make.py FOLDER``."""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from trueup import actuators, runs, sysid
from trueup.actuators import BenchSimulator, FitSettings, ServoLog, ServoModel, trajectory_named
from trueup.sysid.demo import TRUE, write_demo

DT = 0.005  # [s]
SAMPLES = 500

SERVOS = {
    "simulated-xl330": ServoModel.create("xl330", "m3").with_values(
        kt=0.45, R=4.0, armature=0.002, q_offset=0.01,
        friction_base=0.012, friction_viscous=0.004, load_friction_base=0.12,
    ),
    "simulated-mx64": ServoModel.create("mx64", "m1").with_values(
        kt=1.6, R=2.8, armature=0.012, q_offset=-0.02,
        friction_base=0.11, friction_viscous=0.06,
    ),
}  # fmt: skip
BENCHES = {
    "simulated-xl330": (0.1, 7.4, ((0.08, 100.0), (0.15, 100.0), (0.08, 400.0))),
    "simulated-mx64": (0.15, 15.0, ((0.5, 8.0), (1.0, 8.0), (0.5, 32.0))),
}
"""Length [m], supply [V], and mass [kg] and gain of each pair of logs."""


ROBOTS = {"simulated-arm": TRUE}


def record(truth: ServoModel, name: str, number: int, trajectory: str, seed: int) -> ServoLog:
    """One log: the motion of the true servo with noise of 1 mrad, on a step of 1e-6 rad."""
    length, vin, loads = BENCHES[name]
    mass, kp = loads[number]
    times = DT * np.arange(SAMPLES)
    goal, torque_enable = trajectory_named(trajectory)(times)
    log = ServoLog(
        name=f"m{mass:g}_kp{kp:g}_{trajectory}", source="simulated", sha256="",
        motor=truth.servo.name, trajectory=trajectory, mass=mass, arm_mass=0.02, length=length,
        kp=kp, vin=vin, damping=None, dt=DT,
        times=times.round(6), position=np.zeros(SAMPLES), speed=np.zeros(SAMPLES),
        goal_position=goal.round(6), torque_enable=torque_enable,
        load=None, input_volts=None, temperature=None,
    )  # fmt: skip
    motion = BenchSimulator(truth, [log]).simulate()
    random = np.random.default_rng(seed)
    return replace(
        log,
        position=(motion.position[0][0] + random.normal(0.0, 1e-3, SAMPLES)).round(6),
        speed=(motion.speed[0][0] + random.normal(0.0, 0.02, SAMPLES)).round(4),
    )


def make_servo(name: str, target: Path) -> None:
    """Record a servo, fit it, and publish the fit."""
    truth = SERVOS[name]
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder, "logs")
        logs.mkdir()
        for number in range(3):
            for k, trajectory in enumerate(("sin_sin", "lift_and_drop")):
                log = record(truth, name, number, trajectory, 10 * number + k)
                actuators.write_log(log, logs / f"{log.name}.json")
        output = Path(folder, f"{truth.friction.name}.json")
        settings = FitSettings(method="least-squares", trials=3000)
        found = actuators.fit(
            truth.servo.name, truth.friction.name, logs, settings=settings, output=output
        )
        print(name, *found.verdict.lines(), sep="\n  ")
        publish(output.with_suffix(".run"), target / name)


def make_robot(name: str, target: Path) -> None:
    """Record the arm of the demonstration, identify it, and publish the run."""
    with tempfile.TemporaryDirectory() as folder:
        files = write_demo(Path(folder), seed=1)
        experiment = sysid.load_experiment(files.experiment)
        found = sysid.identify(experiment, folder, output=Path(folder, "run"), verbose=False)
        print(name, found.summary["verdict"]["grade"])
        publish(Path(folder, "run"), target / name)


def publish(run: Path, entry: Path) -> None:
    """Publish a run of this file."""
    by = "The trueup authors (simulated)"
    runs.publish(run, entry, licence="CC0-1.0", by=by, overwrite=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for each in SERVOS:
        make_servo(each, Path(sys.argv[1]))
    for each in ROBOTS:
        make_robot(each, Path(sys.argv[1]))
