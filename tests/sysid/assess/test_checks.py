"""Checks before a fit: settings of the simulation that decide the answer, and the conclusion."""

import mujoco
import numpy as np
import pytest

from trueup.cli import main
from trueup.fitting.judgement.identifiability import analyse
from trueup.sysid.assess.check_conclusion import conclusion
from trueup.sysid.assess.checks import check_experiment
from trueup.sysid.demo import write_demo
from trueup.sysid.experiment.file import load_experiment, parse_experiment

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
    assert not [s for s in found["valid_with"] if "half the time step" in s]


ARM = """
<mujoco><option timestep="0.004" integrator="implicitfast"/><worldbody>
<body name="upper"><joint name="lift" axis="0 1 0" armature="0.05" damping="0.4"
frictionloss="0.1"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="1"/>
<body name="lower" pos="0 0 -0.3"><joint name="bend" axis="0 1 0" armature="0.03" damping="0.3"
frictionloss="0.1"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.02" mass="0.6"/></body></body></worldbody>
<actuator><position name="m1" joint="lift" kp="60" kv="2"/>
<position name="m2" joint="bend" kp="60" kv="2"/></actuator></mujoco>
"""
ARM_EXPERIMENT = """
name: arm
model: {file: arm.xml}
recordings:
  - {file: log.csv, signals: {lift_qpos: q1, bend_qpos: q2}, controls: {m1: u1, m2: u2}}
parameters:
  lift_armature: {target: joint/lift/armature, start: 0.03, bounds: [0.001, 0.5]}
  lift_damping: {target: joint/lift/damping, start: 0.3, bounds: [0, 5]}
  bend_armature: {target: joint/bend/armature, start: 0.03, bounds: [0.001, 0.5]}
  bend_damping: {target: joint/bend/damping, start: 0.3, bounds: [0, 5]}
control: zoh
"""


def record_arm(folder, size=(0.5, 0.6), rate=250.0, seed=0):
    """Write ``arm.xml`` and ``log.csv`` of a machine with the model's structure."""
    (folder / "arm.xml").write_text(ARM)
    model = mujoco.MjModel.from_xml_string(ARM)
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    every = round(1 / rate / model.opt.timestep)
    speed, phase = rng.uniform(0.2, 1.4, (2, 4)), rng.uniform(0, 6.3, (2, 4))
    rows = []
    for k in range(round(8 * rate)):
        waves = np.sin(2 * np.pi * speed * k / rate + phase) - np.sin(phase)
        command = np.array(size) * waves.mean(axis=1) * min(k / rate, 1.0)
        rows.append([k / rate, *(data.qpos + 2e-4 * rng.normal(size=2)), *command])
        for _ in range(every):
            data.ctrl[:] = command
            mujoco.mj_step(model, data)
    header = "time,q1,q2,u1,u2"
    np.savetxt(folder / "log.csv", rows, delimiter=",", header=header, comments="", fmt="%.9g")


@pytest.mark.parametrize("rate", [250.0, 50.0])
def test_a_right_model_goes_on_without_a_word_against_it(tmp_path, rate):
    record_arm(tmp_path, rate=rate)
    found = check_experiment(parse_experiment(ARM_EXPERIMENT), tmp_path)
    assert found["conclusion"] == {
        "decision": "go on",
        "sentence": "Go on: nothing speaks against a fit.",
        "reasons": [],
        "next": ["identify"],
    }
    # what depends on the time step is a figure
    assert found["simulation"] == []
    assert all("half the time step" in s for s in found["valid_with"])


def test_the_demonstration_is_no_matter_of_settings(tmp_path):
    files = write_demo(tmp_path)
    found = check_experiment(load_experiment(files.experiment), tmp_path)
    assert found["simulation"] == []
    assert found["identifiability"]["identifiable"]


def test_commands_that_are_interpolated_and_not_held_decide(tmp_path):
    record_arm(tmp_path, rate=50.0)
    text = ARM_EXPERIMENT.replace("control: zoh", "control: linear")
    found = check_experiment(parse_experiment(text), tmp_path)
    assert found["conclusion"]["decision"] == "go on, but"
    assert any("control: zoh" in s for s in found["simulation"]), found["simulation"]


def test_what_identify_calls_uncertain_the_check_does_too(tmp_path):
    """The armature of a joint that hardly moves: an effect, but far below noise."""
    record_arm(tmp_path, size=(0.5, 0.0))
    text = ARM_EXPERIMENT.replace("joint/lift/damping", "joint/lift/stiffness").replace(
        "start: 0.3, bounds: [0, 5]}\n  bend", "start: 0.001, bounds: [0, 5]}\n  bend", 1
    )
    found = check_experiment(parse_experiment(text), tmp_path)
    assert found["conclusion"]["decision"] == "go on, but"
    assert any("uncertain" in s for s in found["identifiability"]["sentences"])
    assert any("uncertain" in s for s in found["conclusion"]["reasons"])


def test_positions_with_the_other_sign_stop(tmp_path, capsys):
    record_arm(tmp_path)
    text = ARM_EXPERIMENT.replace("qpos: q1", "qpos: {column: q1, scale: -1}")
    text = text.replace("qpos: q2", "qpos: {column: q2, scale: -1}")
    text = text.replace("m1: u1, m2: u2", "m1: u2, m2: u1").replace(
        "lift_qpos: q2", "lift_qpos: u1"
    )
    (tmp_path / "arm.yaml").write_text(text)
    assert main(["check", str(tmp_path / "arm.yaml")]) == 3
    assert "\nStop, because the model does not follow" in capsys.readouterr().out


def test_parameters_without_effect_stop(tmp_path):
    record_arm(tmp_path)
    text = ARM_EXPERIMENT.partition("parameters:")[0] + (
        "parameters:\n  ratio: {target: option/impratio, start: 1, bounds: [0.5, 2]}\n"
    )
    found = check_experiment(parse_experiment(text), tmp_path)
    assert found["conclusion"]["decision"] == "stop"
    assert "determine none" in found["conclusion"]["sentence"]


def uncertain(names):
    """Parameters of which each is uncertain by its whole value."""
    size = np.ones(len(names))
    return analyse(np.eye(len(names)), size, names, covariance=np.diag(size))


def test_many_uncertain_parameters_are_one_reason():
    names = [f"joint{k}_damping" for k in range(1, 7)]
    for count, reasons in ((1, 1), (2, 2), (6, 1)):
        found = conclusion({}, uncertain(names[:count]), [], [])
        assert found.decision == "go on, but" and len(found.reasons) == reasons
    assert all(name in found.sentence for name in names)


def test_a_zero_that_is_known_well_is_not_called_uncertain(tmp_path):
    """A share of a value that is zero by nature says nothing."""
    record_arm(tmp_path)
    zeros = "".join(
        f"  {name}_zero: {{target: joint/{name}/ref, bounds: [-0.2, 0.2], unit: rad}}\n"
        for name in ("lift", "bend")
    )
    text = ARM_EXPERIMENT.replace("control: zoh", f"{zeros}control: zoh")
    found = check_experiment(parse_experiment(text), tmp_path)
    assert not any("_zero" in s and "uncertain" in s for s in found["conclusion"]["reasons"])
