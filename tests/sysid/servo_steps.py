"""A joint on a position servo, recorded from rest, whose model may have another time step."""

from pathlib import Path

import mujoco
import numpy as np

from trueup import sysid
from trueup.sysid.experiment.file import parse_experiment

TRUTH = {"armature": 0.02, "damping": 0.3, "friction": 0.1}
NOISE = 3e-4
RATE = 100.0

_MODEL = """<mujoco><option timestep="{step}" integrator="implicitfast"/><worldbody><body>
<joint name="j" axis="0 1 0" armature="{armature}" damping="{damping}" frictionloss="{friction}"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.5"/></body></worldbody>
<actuator><position name="m" joint="j" kp="40" kv="{kv}"/></actuator></mujoco>"""
_EXPERIMENT = """
name: j
model: {file: j.xml}
recordings: [{file: log.csv, signals: {j_qpos: q}, controls: {m: u}}]
parameters:
  armature: {target: joint/j/armature, start: 0.01, bounds: [0, 0.2]}
  damping: {target: joint/j/damping, start: 0.1, bounds: [0, 5]}
  friction: {target: joint/j/frictionloss, start: 0.05, bounds: [0, 2]}
output: {report: false}
"""


def identified(
    folder: Path, step=0.002, machine_step=0.002, jump=0.0, kv=0.5, noise=NOISE, seconds=5.0
):
    """The identification of a machine with another time step than its model.

    Args:
      folder: for the files.
      step: time step of the model [s].
      machine_step: time step of the machine [s].
      jump: command at the first sample, of a joint at rest at zero [rad].
      kv: velocity gain of the servo.
      noise: of the angle [rad].
      seconds: duration of the recording.
    """
    values = TRUTH | {"step": machine_step, "kv": kv}
    model = mujoco.MjModel.from_xml_string(_MODEL.format(**values))
    start = {"step": step, "kv": kv, "armature": 0.01, "damping": 0.1, "friction": 0.05}
    (folder / "j.xml").write_text(_MODEL.format(**start))
    data, rng, rows = mujoco.MjData(model), np.random.default_rng(0), []
    for now in np.arange(0.0, seconds, 1.0 / RATE):
        wave = 0.5 * np.sin(3.0 * now) + 0.3 * np.sin(11.0 * now)
        command = jump + wave * (1.0 - np.exp(-now / 0.3))
        rows.append([now, data.qpos[0] + noise * rng.normal(), command])
        data.ctrl[0] = command
        mujoco.mj_step(model, data, round(1.0 / RATE / machine_step))
    np.savetxt(folder / "log.csv", rows, delimiter=",", header="t,q,u", comments="")
    experiment = parse_experiment(_EXPERIMENT)
    return sysid.identify(experiment, folder, output=folder / "run", verbose=False)


def outside(found) -> list[str]:
    """Parameters whose intervals do not hold the truth."""
    rows = {row["name"]: row for row in found.summary["parameters"]}
    return [n for n, true in TRUTH.items() if not rows[n]["low"] <= true <= rows[n]["high"]]
