"""Models with simulated recordings whose truth is known."""

import mujoco
import numpy as np
from mujoco import rollout

from trueup.signals import TimeSeries
from trueup.simulation import create_initial_state
from trueup.simulation.measured.model_sequences import ModelSequences

PENDULUM = """
<mujoco>
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <body name="rod">
      <joint name="pivot" axis="0 1 0" damping=".15" armature=".02"/>
      <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.5" mass="1" contype="0"/>
    </body>
  </worldbody>
  <actuator><motor name="motor" joint="pivot"/></actuator>
  <sensor><jointpos name="angle" joint="pivot"/><jointvel name="speed" joint="pivot"/></sensor>
</mujoco>
"""

DOUBLE_PENDULUM = """
<mujoco>
  <option timestep="0.002" integrator="RK4"/>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0" damping=".002"/>
      <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.5" mass="1" contype="0"/>
      <body name="lower" pos="0 0 -.5">
        <joint name="elbow" axis="0 1 0" damping=".001"/>
        <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.4" mass=".5" contype="0"/>
      </body>
    </body>
  </worldbody>
  <sensor>
    <jointpos name="shoulder" joint="shoulder"/><jointpos name="elbow" joint="elbow"/>
    <jointvel name="shoulder_speed" joint="shoulder"/><jointvel name="elbow_speed" joint="elbow"/>
  </sensor>
</mujoco>
"""


def simulate(text, controls, qpos, qvel=None, edit=None):
    """Spec as given, and states and exact sensors of an edited one at every step."""
    spec = mujoco.MjSpec.from_string(text)
    model = spec.copy().compile()
    true = model
    if edit is not None:
        edited = spec.copy()
        edit(edited)
        true = edited.compile()
    start = create_initial_state(model, qpos, qvel)
    controls = np.asarray(controls, float).reshape(len(controls), model.nu)
    state, sensors = rollout.rollout(true, mujoco.MjData(true), start, controls[None, :-1])
    return spec, model, start, state[0], sensors[0]


def recording(
    text, controls, qpos, qvel=None, edit=None, clock=0.0, every=1, name="run", exact=False
):
    """Sequences of one simulated recording, with the toolbox's sensor times unless ``exact``."""
    spec, model, start, _, sensors = simulate(text, controls, qpos, qvel, edit)
    dt = model.opt.timestep
    times = clock + dt * np.arange(len(controls))
    controls = np.asarray(controls, float).reshape(len(controls), model.nu)
    sensor_times = times[:-1] if exact else times[1:]
    measured = TimeSeries.from_names(sensor_times[::every], sensors[::every], model)
    control = (
        TimeSeries.from_control_names(times, controls, model)
        if model.nu
        else TimeSeries(times, controls)
    )
    return ModelSequences(name, spec, name, start, control, measured)


def wobble(n, seed=0, dt=0.002):
    """A smooth torque ``(n, 1)``."""
    rng = np.random.default_rng(seed)
    t = dt * np.arange(n)
    return sum(
        a * np.sin(2 * np.pi * f * t + p)
        for a, f, p in zip([1.5, 0.8, 0.5], [0.5, 1.3, 2.9], rng.uniform(0, 6, 3), strict=True)
    )[:, None]
