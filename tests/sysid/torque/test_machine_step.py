"""Time step of a simulated machine, found in noisy recordings of a machine with a shorter one."""

import mujoco
import numpy as np
import pytest

from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare

_LEG = """
<mujoco><option timestep="{step}"/><worldbody><body><joint name="hip" axis="1 0 0" {hip}/>
  <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".04" mass="2"/>
  <body pos="0 0 -.3"><joint name="knee" axis="0 1 0" {knee}/>
    <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03" mass="1"/></body></body></worldbody>
<actuator><motor name="hip" joint="hip"/><motor name="knee" joint="knee"/></actuator></mujoco>
"""
_EXPERIMENT = """
model: {file: leg.xml}
recordings:
  - file: leg.csv
    time: t
    signals: {hip_qpos: q1, knee_qpos: q2, hip_qvel: v1, knee_qvel: v2}
    controls: {hip: u1, knee: u2}
parameters:
  hip_armature: {target: joint/hip/armature, start: 0.02, bounds: [0, 1]}
  hip_damping: {target: joint/hip/damping, start: 0.1, bounds: [0, 10]}
  hip_friction: {target: joint/hip/frictionloss, start: 0.1, bounds: [0, 10]}
  knee_armature: {target: joint/knee/armature, start: 0.02, bounds: [0, 1]}
  knee_damping: {target: joint/knee/damping, start: 0.1, bounds: [0, 10]}
  knee_friction: {target: joint/knee/frictionloss, start: 0.1, bounds: [0, 10]}
control: zoh
search: {method: inverse-dynamics}
"""
_TRUE = 'armature="0.04" damping="1.2" frictionloss="1.0"'
_STEP = 0.25  # of the machine, relative to the model's of 2 ms


def _record(folder, seed):
    """Write a leg, and a log at 200 Hz of one that moves in steps of 0.5 ms."""
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(_LEG.format(step=0.002 * _STEP, hip=_TRUE, knee=_TRUE))
    data = mujoco.MjData(model)
    times = np.arange(0.0, 8.0, 0.005)
    rates, phases = rng.uniform(0.6, 16.0, (5, 2)), rng.uniform(0.0, 6.28, (5, 2))
    goals = np.sin(times[:, None, None] * rates + phases).mean(axis=1)
    rows = []
    for now, goal in zip(times, goals * np.minimum(1.0, times / 1.5)[:, None], strict=True):
        torque = 150 * (goal - data.qpos) - 5 * data.qvel
        noise = rng.normal(size=(2, 2)) * np.array([[1e-4], [5e-3]])
        rows.append([now, *(data.qpos + noise[0]), *(data.qvel + noise[1]), *torque])
        data.ctrl[:] = torque
        mujoco.mj_step(model, data, nstep=10)
    header = "t,q1,q2,v1,v2,u1,u2"
    np.savetxt(folder / "leg.csv", rows, delimiter=",", header=header, comments="")
    (folder / "leg.xml").write_text(_LEG.format(step=0.002, hip="", knee=""))


@pytest.mark.parametrize("seed", [0, 3])
def test_noise_of_the_motion_does_not_lengthen_the_step_of_the_machine(tmp_path, seed):
    _record(tmp_path, seed)

    own = prepare(parse_experiment(_EXPERIMENT), tmp_path).problem().own_errors

    assert own is not None
    assert own.machine.step == pytest.approx(_STEP, abs=0.2)
    assert abs(own.machine.step - _STEP) < own.step_spread
