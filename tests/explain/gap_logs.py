"""A small arm behind position servos, recorded with something that its model does not have."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

MODEL = """<mujoco><option timestep="0.004" integrator="implicitfast"/><worldbody>
<body name="upper"><joint name="shoulder" axis="0 1 0" armature=".03" damping=".3"/>
<inertial pos="0 0 -.15" mass="1.2" diaginertia=".01 .01 .002"/>
<body name="lower" pos="0 0 -.3"><joint name="elbow" axis="0 1 0" armature=".03" damping=".3"/>
<inertial pos="0 0 -.13" mass=".8" diaginertia=".006 .006 .001"/></body></body></worldbody>
<actuator><position name="m0" joint="shoulder" kp="40" kv="1"/>
<position name="m1" joint="elbow" kp="40" kv="1"/></actuator>
<sensor><jointpos name="q0" joint="shoulder"/><jointpos name="q1" joint="elbow"/></sensor></mujoco>
"""
TURNING = MODEL.replace(
    '<body name="upper">',
    '<body name="base"><joint name="yaw" axis="0 0 1" armature=".02" damping=".2"/>'
    '<inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01"/><body name="upper">',
)
TURNING = TURNING.replace("</body></body></worldbody>", "</body></body></body></worldbody>")
TURNING = TURNING.replace(
    "</actuator>", '<position name="m2" joint="yaw" kp="40" kv="1"/></actuator>'
)
TURNING = TURNING.replace("</sensor>", '<jointpos name="q2" joint="yaw"/></sensor>')
"""The same on a base that turns."""
NOISE = 0.001


def write(
    folder: Path,
    true: str = MODEL,
    late: int = 0,
    since: int = 0,
    seed: int = 0,
    modelled: str = MODEL,
    **more: Any,
) -> Path:
    """Write model, log and an experiment without parameters; returns the experiment file.

    Args:
      folder: where they go.
      true: MJCF of the robot.
      late: steps by which commands act late.
      since: first step at which they do.
      seed: seed of commands and noise.
      modelled: MJCF of the model.
      more: further keys of the experiment.
    """
    model = mujoco.MjModel.from_xml_string(true)
    rng = np.random.default_rng(seed)
    tones, phases = rng.uniform(0.4, 2.0, (3, model.nu)), rng.uniform(0, 6.3, (3, model.nu))
    now = np.arange(600)[:, None, None] * model.opt.timestep
    waves = np.sin(2 * np.pi * tones * now + phases) - np.sin(phases)
    goals = 0.7 * np.minimum(1.0, now[:, 0] / 0.3) * waves.mean(axis=1)
    data, rows = mujoco.MjData(model), []
    mujoco.mj_forward(model, data)
    for step, goal in enumerate(goals):
        rows.append([data.time, *data.sensordata, *goal])
        data.ctrl[:] = goals[max(step - late, 0) if step >= since else step]
        mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)
    table = np.array(rows)
    table[:, 1 : 1 + model.nu] += NOISE * rng.normal(size=(len(table), model.nu))
    signals, commands = ([f"{kind}{k}" for k in range(model.nu)] for kind in "qu")
    header = ",".join(["t", *signals, *commands])
    np.savetxt(folder / "log.csv", table, delimiter=",", header=header, comments="")
    (folder / "arm.xml").write_text(modelled)
    recording = {
        "file": "log.csv",
        "time": "t",
        "signals": {name: name for name in signals},
        "controls": {f"m{k}": name for k, name in enumerate(commands)},
    }
    experiment = {
        "name": "arm",
        "model": {"file": "arm.xml"},
        "recordings": [recording],
        "measurement": {"signals": {"q*": {"noise": NOISE}}},
        **more,
    }
    file = folder / "experiment.yaml"
    file.write_text(yaml.safe_dump(experiment, sort_keys=False))
    return file
