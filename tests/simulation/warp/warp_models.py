"""A small model with everything that a leg has, for MuJoCo Warp, and segments of it."""

import importlib.util

import mujoco
import numpy as np
import pytest

from trueup.simulation.engine.batch import BatchEngine
from trueup.simulation.engine.segment import Segment

LEG = """
<mujoco model="leg">
  <option timestep="0.002" integrator="{integrator}" {option}/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1" pos="0 0 {floor}"/>
    <body name="upper">
      <joint name="hip" axis="0 1 0" armature="0.01" damping="0.05" frictionloss="0.05"
             range="-2 2" limited="true"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="0.6" contype="0"
            conaffinity="0"/>
      <body name="lower" pos="0 0 -0.4">
        <joint name="knee" axis="0 1 0" armature="0.01" damping="0.05" frictionloss="0.03"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.025" mass="0.4" contype="0"
              conaffinity="0"/>
        <geom name="foot" type="sphere" pos="0 0 -0.3" size="0.04" mass="0.1"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="hip" joint="hip" kp="20" kv="0.5" delay="0.011" nsample="12" interp="linear"
              forcerange="-8 8"/>
    <position name="knee" joint="knee" kp="15" kv="0.4" timeconst="0.02"/>
  </actuator>
  <sensor>
    <jointpos name="hip_q" joint="hip"/>
    <jointvel name="knee_v" joint="knee"/>
    <actuatorfrc name="hip_f" actuator="hip"/>
    {sensor}
  </sensor>
</mujoco>
"""

needs_warp = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("warp", "mujoco_warp")),
    reason='MuJoCo Warp is not installed: pip install "trueup[gpu]"',
)
"""Mark of tests that simulate with MuJoCo Warp. From an empty cache its kernels take minutes."""

RECORD = ("qpos", "qvel", "sensordata")


def leg(integrator="implicitfast", option="", floor=-0.72, sensor="") -> mujoco.MjModel:
    """The leg, over a floor that its foot reaches."""
    text = LEG.format(integrator=integrator, option=option, floor=floor, sensor=sensor)
    return mujoco.MjModel.from_xml_string(text)


def segment(model: mujoco.MjModel, steps: int, pose=(0.3, -0.2), clock=0.0, name="run") -> Segment:
    """A motion about zero from a pose, with full delay lines."""
    data = mujoco.MjData(model)
    data.qpos[:] = pose
    data.time = clock
    state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    times = clock + np.arange(steps) * model.opt.timestep
    controls = np.stack([0.8 * np.sin(6 * times), 0.5 * np.cos(9 * times)], axis=1)
    return Segment(0.0, state, controls, name, clock)


def collected(engine: BatchEngine, n: int, writes=(), models=None, failures=None) -> dict:
    """Records of each segment: (segment, field) -> (n, steps, width)."""
    parts: dict = {}
    for block in engine.run(n, writes, models, failures):
        for position, index in enumerate(block.segments):
            for name, values in block.records.items():
                parts.setdefault((int(index), name), []).append(values[:, position])
    return {key: np.concatenate(values, axis=1) for key, values in parts.items()}


def largest_difference(first: dict, second: dict) -> dict[str, float]:
    """Largest difference of each field, relative to its size."""
    assert first.keys() == second.keys()
    found: dict[str, float] = {}
    for (index, name), values in first.items():
        apart = np.abs(values - second[index, name]).max() / np.abs(values).max()
        found[name] = max(found.get(name, 0.0), float(apart))
    return found
