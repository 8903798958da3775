"""Demonstration: noisy recordings of a simulated robot arm with known parameters."""

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from trueup._seeds import check_seed
from trueup.runs.store import atomic

TRUE = {
    "shoulder_armature": 0.35,
    "elbow_armature": 0.12,
    "shoulder_damping": 1.8,
    "elbow_damping": 0.7,
    "shoulder_friction": 0.9,
    "elbow_friction": 0.35,
    "load_mass": 1.3,
}
"""True values of the recordings."""

ARM = """\
<mujoco model="arm">
  <compiler angle="radian"/>
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <light pos="0 -2 3"/>
    <geom type="plane" size="2 2 0.1" rgba="0.85 0.87 0.9 1" contype="0" conaffinity="0"/>
    <body name="upper" pos="0 0 1.2">
      <joint name="shoulder" axis="0 1 0" armature="{shoulder_armature}"
             damping="{shoulder_damping}" frictionloss="{shoulder_friction}"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.04" mass="2.0" rgba="0.2 0.4 0.7 1"/>
      <body name="lower" pos="0 0 -0.4">
        <joint name="elbow" axis="0 1 0" armature="{elbow_armature}"
               damping="{elbow_damping}" frictionloss="{elbow_friction}"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.35" size="0.03" mass="1.0" rgba="0.3 0.6 0.5 1"/>
        <body name="load" pos="0 0 -0.38">
          <inertial pos="0 0 0" mass="{load_mass}" diaginertia="0.002 0.002 0.002"/>
          <geom type="sphere" size="0.05" rgba="0.8 0.5 0.2 1" mass="0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="shoulder_motor" joint="shoulder"/>
    <motor name="elbow_motor" joint="elbow"/>
  </actuator>
  <sensor>
    <jointpos name="shoulder_angle" joint="shoulder"/>
    <jointpos name="elbow_angle" joint="elbow"/>
    <jointvel name="shoulder_speed" joint="shoulder"/>
    <jointvel name="elbow_speed" joint="elbow"/>
  </sensor>
</mujoco>
"""

GUESS = {
    "shoulder_armature": 0.1,
    "elbow_armature": 0.1,
    "shoulder_damping": 1.0,
    "elbow_damping": 1.0,
    "shoulder_friction": 0.3,
    "elbow_friction": 0.3,
    "load_mass": 0.8,
}
"""Values of the model at the start of the identification."""

EXPERIMENT = """\
# A two-joint arm: parameters that are not in its data sheet are identified from two recordings.
name: arm
model:
  file: arm.xml
recordings:
  - file: run_1.csv
    signals: &signals
      shoulder_angle: {column: q1, unit: deg}
      elbow_angle: {column: q2, unit: deg}
      shoulder_speed: {column: dq1, unit: deg/s}
      elbow_speed: {column: dq2, unit: deg/s}
    controls: &controls
      shoulder_motor: tau1
      elbow_motor: tau2
    time: t_ms
    time_unit: ms
    initial: default
  - file: run_2.csv
    signals: *signals
    controls: *controls
    time: t_ms
    time_unit: ms
    initial: default
parameters:
  shoulder_armature: {target: joint/shoulder/armature, bounds: [0.001, 2], scale: log, unit: kg m^2}
  elbow_armature: {target: joint/elbow/armature, bounds: [0.001, 2], scale: log, unit: kg m^2}
  shoulder_damping: {target: joint/shoulder/damping, bounds: [0, 10], unit: N m s/rad}
  elbow_damping: {target: joint/elbow/damping, bounds: [0, 10], unit: N m s/rad}
  shoulder_friction: {target: joint/shoulder/frictionloss, bounds: [0, 5], unit: N m}
  elbow_friction: {target: joint/elbow/frictionloss, bounds: [0, 5], unit: N m}
  load_mass: {target: body/load/mass, bounds: [0.1, 5], unit: kg}
measurement:
  signals:
    "*_angle": {noise: 0.002}   # rad
    "*_speed": {noise: 0.02}    # rad/s
held_out:
  recordings: [run_2]
"""


@dataclass(frozen=True)
class DemoFiles:
    """Files of the demonstration."""

    experiment: Path
    model: Path
    recordings: tuple[Path, ...]


def write_demo(folder: Path, seed: int = 0) -> DemoFiles:
    """Write the model, two noisy recordings and the experiment file.

    Args:
      folder: folder; created if missing.
      seed: seed of the noise.
    """
    check_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    model = folder / "arm.xml"
    atomic.write_text(model, ARM.format(**GUESS))
    recordings = []
    for index, tones in enumerate([(0.31, 0.83, 1.7), (0.23, 0.61, 1.3)]):
        path = folder / f"run_{index + 1}.csv"
        atomic.write_text(path, _record(tones, 8.0, rng))
        recordings.append(path)
    experiment = folder / "experiment.yaml"
    atomic.write_text(experiment, EXPERIMENT)
    return DemoFiles(experiment, model, tuple(recordings))


def _record(tones: tuple[float, ...], duration: float, rng: np.random.Generator) -> str:
    """CSV text of one run of the true arm: times [ms], angles [deg], speeds [deg/s], torques."""
    model = mujoco.MjModel.from_xml_string(ARM.format(**TRUE))
    data = mujoco.MjData(model)
    steps = round(duration / model.opt.timestep)
    t = np.arange(steps) * model.opt.timestep
    phase = rng.uniform(0, 2 * np.pi, (2, len(tones)))
    waves = np.sin(2 * np.pi * np.multiply.outer(t, tones)[:, None, :] + phase)
    torque = waves @ np.array([6.0, 5.0, 4.0]) * np.array([1.6, 0.7])
    from mujoco.rollout import rollout

    start = np.zeros(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    _, sensors = rollout(model, data, start, torque)
    clean = sensors[0]  # row k: the sensors at time k dt, before that step
    noisy = clean + rng.normal(size=clean.shape) * np.array([0.002, 0.002, 0.02, 0.02])
    table = np.column_stack([1e3 * t, np.rad2deg(noisy), torque])
    lines = ["t_ms,q1,q2,dq1,dq2,tau1,tau2"]
    lines += [",".join(f"{v:.6f}" for v in row) for row in table]
    return "\n".join(lines) + "\n"
