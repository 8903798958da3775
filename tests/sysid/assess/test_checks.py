"""Checks before a fit: settings of the simulation that decide the answer."""

import mujoco
import numpy as np
import pytest

from trueup.sysid.assess.checks import check_experiment
from trueup.sysid.experiment.file import parse_experiment

SERVO = """
<mujoco><option timestep="{step}" integrator="implicitfast"/><worldbody><body name="horn">
<joint name="output" axis="0 1 0" armature="0.01" damping="0.3"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.1" size="0.01" mass="0.1"/></body></worldbody>
<actuator><position name="servo" joint="output" kp="8" kv="0.1" delay="0.012" nsample="30"
interp="linear"/></actuator>
<sensor><jointpos name="angle" joint="output" delay="0.004" nsample="8" interp="linear"/></sensor>
</mujoco>
"""
EXPERIMENT = """
name: servo
model: {file: servo.xml}
recordings:
  - {file: steps.csv, signals: {angle: angle}, controls: {servo: target}, initial: INITIAL}
parameters:
  command_delay: {target: actuator/servo/delay, start: 0.015, bounds: [0, 0.029], unit: s}
  sensor_delay: {target: sensor/angle/delay, start: 0.007, bounds: [0, 0.0079], unit: s}
  damping: {target: joint/output/damping, bounds: [0, 2], unit: N m s/rad}
"""


@pytest.mark.parametrize("initial", ["default", "measured"])
def test_a_trial_of_half_the_time_step_keeps_the_buffers_of_delays(tmp_path, initial):
    """Halved with the step, they would refuse the bounds, or cut a delay off and warn of that."""
    model = mujoco.MjModel.from_xml_string(SERVO.format(step=0.001))
    (tmp_path / "servo.xml").write_text(SERVO.format(step=0.001))
    data = mujoco.MjData(model)
    times = np.arange(3000) * model.opt.timestep
    command = 0.4 * np.sign(np.sin(2.1 * times)) + 0.2 * np.sin(2 * np.pi * (0.5 + times) * times)
    rows = []
    for time, target in zip(times, command, strict=True):
        mujoco.mj_forward(model, data)
        rows.append([time, target, data.sensordata[0]])
        data.ctrl[0] = target
        mujoco.mj_step(model, data)
    np.savetxt(tmp_path / "steps.csv", rows, delimiter=",", header="t,target,angle", comments="")
    experiment = parse_experiment(EXPERIMENT.replace("INITIAL", initial))
    found = check_experiment(experiment, tmp_path)
    assert not [s for s in found["simulation"] if "half the time step" in s]
