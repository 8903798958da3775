"""Difference between MuJoCo with identified servos and the bench simulator, on recorded logs.

For each parameter file: mean and maximum position difference between the bench simulator and
MuJoCo with the compiled servo law, both at 1 ms, over all logs; with ``--mjcf``, the two forms of
MJCF against the full model; and the time of a step with the law relative to one without. Run::

    python benchmarks/servo_in_mujoco.py --logdir shared/data/xl330_bench --params DIR

``DIR`` holds ``m1.json`` to ``m6.json``, such as ``bam/params/xl330`` of better-actuator-models.
Raw logs are resampled every 5 ms first.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import mujoco
import numpy as np
from mujoco.batch import Batch

from trueup.actuators import (
    BenchSimulator,
    ServoLog,
    ServoModel,
    bench_of,
    load_model,
    process,
    read_logs,
    servo_law,
)
from trueup.deploy import export_servo

STEP = 1e-3

PENDULUM = """
<mujoco>
  <option timestep="{step}" gravity="0 0 -1"/>
  <worldbody>
    <body>
      <joint name="hinge" axis="0 1 0"/>
      <inertial pos="0 0 -{length}" mass="{mass}" diaginertia="{rest} {rest} {rest}"/>
    </body>
  </worldbody>
</mujoco>
"""


def pendulum(log: ServoLog) -> mujoco.MjSpec:
    """The pendulum of a log, as a body with half of its inertia in a point mass."""
    bench = bench_of(log)
    length = 0.5 * bench.inertia / bench.gravity_torque
    text = PENDULUM.format(
        step=STEP,
        length=length,
        mass=bench.gravity_torque / length,
        rest=0.5 * bench.inertia,
    )
    return mujoco.MjSpec.from_string(text)


def difference(model: ServoModel, log: ServoLog) -> np.ndarray:
    """Position difference between MuJoCo and the bench at each sample [rad]."""
    offset, substeps = model.values["q_offset"], round((log.dt or 0.0) / STEP)
    servos = servo_law(
        pendulum(log),
        {"hinge": model},
        kp=log.kp,
        vin=log.vin,
        offsets={"hinge": offset},
    )
    batch = Batch(servos.compile(), 1)
    batch.bind("qpos")[:], batch.bind("qvel")[:] = log.position[0] + offset, log.speed[0]
    controls = servos.controls(
        goal={"hinge": np.repeat(log.goal_position, substeps)},
        torque_off={"hinge": np.repeat(1.0 - log.torque_enable, substeps)},
    )
    with servos.installed(batch):
        found = batch.rollout(len(controls), controls[None], record=["qpos"])["qpos"][0, :, 0]
    if servos.failures(batch):
        raise SystemExit(f"{log.name}: {servos.failures(batch)}")
    bench = BenchSimulator(model, [log], max_step=STEP).simulate().position[0][0]
    return np.abs(found[substeps - 1 : -1 : substeps] - offset - bench[1:])


def law_cost(model: ServoModel, log: ServoLog, nsim: int = 200, nstep: int = 1000) -> dict:
    """Time of a step of one simulation [us], with the law and without, on all cores."""
    plain = pendulum(log)
    servos = servo_law(plain, {"hinge": model})
    times = {}
    for kind, compiled in (("with the servo law", servos.compile()), ("without", plain.compile())):
        batch = Batch(compiled, nsim)
        batch.bind("qpos")[:] = 0.5
        best = np.inf
        for _ in range(3):
            began = time.perf_counter()
            if kind == "without":
                batch.rollout(nstep, record=["qpos"])
            else:
                with servos.installed(batch):
                    batch.rollout(nstep, record=["qpos"])
            best = min(best, time.perf_counter() - began)
        times[kind] = 1e6 * best / (nsim * nstep)
    return times


def main() -> None:
    """Compare each model and print the results as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logdir", type=Path, required=True)
    parser.add_argument("--params", type=Path, required=True)
    parser.add_argument("--mjcf", action="store_true", help="the forms of MJCF too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        process(options.logdir, Path(folder), 0.005)
        logs = read_logs(Path(folder))
    results: dict[str, dict] = {}
    for path in sorted(options.params.glob("m*.json")):
        model = load_model(path)
        found = [difference(model, log) for log in logs]
        results[path.stem] = {
            "law, mean difference from the bench [mrad]": 1e3 * np.mean([d.mean() for d in found]),
            "law, greatest [mrad]": 1e3 * max(d.max() for d in found),
        }
        if options.mjcf:
            for form in ("dcmotor", "position"):
                errors = export_servo(model, f"mjcf-{form}", logs=logs).errors or {}
                results[path.stem][f"MJCF {form}, mean differences [mrad]"] = {
                    name: 1e3 * value for name, value in errors.items()
                }
    model = load_model(options.params / "m6.json")
    cost = law_cost(model, logs[0])
    print(json.dumps({"logs": len(logs), "time of a step [us]": cost, **results}, indent=2))


if __name__ == "__main__":
    main()
