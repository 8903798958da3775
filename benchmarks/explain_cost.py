"""Cost of an explanation: CPU time and simulations of a log of two joints and 12 s.

The robot carries 0.4 kg that its model lacks; with ``--joints`` its armature, damping and friction
differ too. Other versions of trueup run in the same call, each in its own process.

    python benchmarks/explain_cost.py
    python benchmarks/explain_cost.py --joints --sources ../other/src
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mujoco
import numpy as np
import yaml

STEP, SECONDS, NOISE = 0.002, 12.0, 0.0003

ARM = """<mujoco><option timestep="0.002" integrator="implicitfast"/><compiler angle="radian"/>
<default><joint armature=".03" damping=".3" frictionloss=".15"/></default><worldbody>
<body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0"/>
<inertial pos="0 0 -.15" mass="1.2" diaginertia=".012 .012 .002"/>
<body name="lower" pos="0 0 -.3"><joint name="elbow" axis="0 1 0"/>
<inertial pos="0 0 -.13" mass=".8" diaginertia=".006 .006 .001"/></body></body></worldbody>
<actuator><position name="m0" joint="shoulder" kp="60" kv="2"/>
<position name="m1" joint="elbow" kp="60" kv="2"/></actuator>
<sensor><jointpos name="q0" joint="shoulder"/><jointpos name="q1" joint="elbow"/></sensor>
</mujoco>"""


def write(folder: Path, joints: bool) -> None:
    """Write model, log and experiment."""
    spec = mujoco.MjSpec.from_string(ARM)
    load = spec.body("lower").add_body(pos=[0.0, 0.0, -0.3])
    load.explicitinertial = True
    load.ipos = [0.0, 0.0, 0.0]
    load.mass, load.inertia = 0.4, [1e-5, 1e-5, 1e-5]
    model = spec.compile()
    if joints:
        model.dof_armature *= [1.6, 0.7]
        model.dof_damping *= [0.7, 1.5]
        model.dof_frictionloss *= [1.4, 1.2]
    rng = np.random.default_rng(0)
    tones, phases = rng.uniform(0.1, 1.2, (4, 2)), rng.uniform(0.0, 6.3, (4, 2))
    data, rows = mujoco.MjData(model), []
    for step in range(round((SECONDS + 1.0) / STEP)):
        now = max(step * STEP - 1.0, 0.0)  # it comes to rest first
        waves = np.sin(2 * np.pi * tones * now + phases) - np.sin(phases)
        data.ctrl[:] = 0.7 * min(1.0, now / 0.5) * waves.mean(axis=0)
        if step * STEP >= 1.0:
            rows.append([now, *data.qpos, *data.ctrl])
        mujoco.mj_step(model, data)
    table = np.array(rows)
    table[:, 1:3] += NOISE * rng.normal(size=(len(table), 2))
    np.savetxt(folder / "log.csv", table, delimiter=",", header="t,q0,q1,u0,u1", comments="")
    (folder / "arm.xml").write_text(ARM)
    recording = {
        "file": "log.csv", "time": "t", "signals": {"q0": "q0", "q1": "q1"},
        "controls": {"m0": "u0", "m1": "u1"},
    }  # fmt: skip
    experiment = {
        "name": "arm",
        "model": {"file": "arm.xml"},
        "recordings": [recording],
        "measurement": {"signals": {"q*": {"noise": NOISE}}},
    }
    (folder / "experiment.yaml").write_text(yaml.safe_dump(experiment, sort_keys=False))


def measure(folder: Path) -> dict[str, object]:
    """Explain the log of a folder."""
    from trueup import sysid
    from trueup.explain import explain

    began = time.process_time()
    loaded = sysid.load_experiment(folder / "experiment.yaml")
    found = explain(loaded, folder, output=folder / "run", overwrite=True, verbose=False)
    return {
        "cpu": round(time.process_time() - began, 1),
        "evaluations": found.summary["stats"]["evaluations"],
        "named": found.causes,
        "sentence": found.summary["message"],
    }


def main() -> None:
    """Run this version, and others, and print a row for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--joints", action="store_true")
    parser.add_argument("--sources", type=Path, nargs="*", default=[])
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    print("sources                           CPU s  evaluations  named")
    with tempfile.TemporaryDirectory() as given:
        write(Path(given), options.joints)
        for source in [*options.sources, None]:
            environment = {**os.environ, **({"PYTHONPATH": str(source)} if source else {})}
            done = subprocess.run(
                [sys.executable, __file__, "--measure", given],
                env=environment, capture_output=True, text=True, check=True,
            )  # fmt: skip
            row = json.loads(done.stdout.strip().splitlines()[-1])
            print(f"{source or 'this version'!s:32}{row['cpu']:7.1f}  {row['evaluations']:11d}  "
                  f"{', '.join(row['named'])}\n    {row['sentence']}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
