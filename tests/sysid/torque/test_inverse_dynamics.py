"""Inverse dynamics: exact regressors, known truth, cross-check of a simulation, plain errors."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from trueup import sysid
from trueup.errors import ExperimentError, ModelError, SignalError
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.torque.bandwidth import halves
from trueup.sysid.torque.data import slowest_speeds, torque_data
from trueup.sysid.torque.friction_structure import missing_friction
from trueup.sysid.torque.linear_fit import base_columns, linear_fit
from trueup.sysid.torque.link_regressor import link_regressor, parameters_of
from trueup.sysid.torque.setup import torque_setup

TREE = """<mujoco><worldbody>
<body name="a" pos=".1 .2 .3" euler="10 20 30">
 <joint name="s" type="slide" axis="1 2 0" pos=".1 0 .2"/>
 <joint name="h" axis="0 1 1" pos=".1 .2 .3" ref="20"/>
 <geom type="box" size=".1 .2 .3" pos=".1 .1 0" euler="5 6 7"/>
 <body name="b" pos="0 .3 .1" quat="1 .2 .3 .4" gravcomp=".5">
  <joint name="k" axis="1 0 .3" pos="0 .1 .1"/><geom type="box" size=".1 .1 .3" pos=".1 .2 .1"/>
  <body pos=".1 .1 .1"><geom size=".05" pos=".1 0 0"/></body>
 </body></body></worldbody></mujoco>"""

ARM = """<mujoco><option timestep="0.002"/><worldbody>
<body name="upper"><joint name="shoulder" axis="0 1 0" damping="0.3"/>
 <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".04" mass="2"/>
 <body name="fore" pos="0 0 -.4"><joint name="elbow" axis="0 1 0" damping="0.1"/>
  <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03" mass="1"/></body></body>
</worldbody><actuator>
 <position name="shoulder" joint="shoulder" kp="50" ctrlrange="-1 1"/>
 <position name="elbow" joint="elbow" kp="50" ctrlrange="-1 1"/></actuator></mujoco>"""

TRUTH = {"armature": (0.05, 0.02), "damping": (0.6, 0.25), "frictionloss": (0.8, 0.3)}

EXPERIMENT = """
name: arm
model: {file: arm.xml, actuators: torque}
recordings:
  - file: arm.csv
    signals: {shoulder_qpos: q1, elbow_qpos: q2, shoulder_qvel: v1, elbow_qvel: v2}
    controls: {shoulder: t1, elbow: t2}
parameters:
  armature: {target: joint/*/armature, each: true, start: 0.01, bounds: [0, 1]}
  damping: {target: joint/*/damping, each: true, start: 0.05, bounds: [0, 5]}
  friction: {target: joint/*/frictionloss, each: true, start: 0.05, bounds: [0, 5]}
output: {report: false}
"""


def write_arm(folder: Path, noise: float = 0.0, seed: int = 0, sign: float = 1.0) -> None:
    """Record an arm that follows sines exactly, with the torques that this needs."""
    model = mujoco.MjModel.from_xml_string(ARM)
    times = 0.005 * np.arange(3000)
    phase = 2 * np.pi * np.outer(times, [0.23, 0.41, 0.57])
    amplitude = np.array([[0.5, 0.3, 0.2], [0.4, 0.5, 0.3]])
    offset = np.array([[0.0, 1.0, 2.0], [0.5, 2.0, 4.0]])
    rate = 2 * np.pi * np.array([0.23, 0.41, 0.57])
    q, v, a = (np.zeros((len(times), 2)) for _ in range(3))
    for j in range(2):
        q[:, j] = np.sin(phase + offset[j]) @ amplitude[j]
        v[:, j] = np.cos(phase + offset[j]) @ (amplitude[j] * rate)
        a[:, j] = -np.sin(phase + offset[j]) @ (amplitude[j] * rate**2)
    tau = np.einsum("tjk,k->tj", link_regressor(model, q, v, a), parameters_of(model))
    tau += a * TRUTH["armature"] + v * TRUTH["damping"]
    tau += np.tanh(v / 0.002) * TRUTH["frictionloss"]
    tau = sign * tau + np.random.default_rng(seed).normal(scale=noise, size=tau.shape)
    table = np.column_stack([times, q, v, tau])
    header = "t,q1,q2,v1,v2,t1,t2"
    np.savetxt(folder / "arm.csv", table, delimiter=",", header=header, comments="")
    (folder / "arm.xml").write_text(ARM)


def test_the_regressor_is_that_of_mujoco():
    model = mujoco.MjModel.from_xml_string(TREE)
    rng = np.random.default_rng(0)
    q, v, a = (rng.normal(size=(20, 3)) for _ in range(3))
    found = link_regressor(model, q, v, a) @ parameters_of(model)
    data = mujoco.MjData(model)
    for k in range(20):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], v[k], a[k]
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(found[k], data.qfrc_inverse, atol=1e-9)


def test_a_free_joint_is_refused_with_what_to_do():
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body name='trunk'><freejoint/><geom size='.1'/></body></worldbody>"
        "</mujoco>"
    )
    with pytest.raises(ModelError, match=r"'trunk'.*base: fixed"):
        link_regressor(model, np.zeros((1, 7)), np.zeros((1, 6)), np.zeros((1, 6)))


def test_dependent_columns_are_combinations_of_the_columns_before():
    rng = np.random.default_rng(1)
    first = rng.normal(size=(50, 3))
    A = np.column_stack([first[:, 0], first[:, 0] * 1e-6, first[:, 1], first @ [2, -1, 0.5]])
    independent, dependent, relation = base_columns(A)
    assert independent.tolist() == [0, 2, 3]
    assert dependent.tolist() == [1]
    np.testing.assert_allclose(A[:, dependent], A[:, independent] @ relation, atol=1e-12)


def test_inverse_dynamics_finds_the_truth_without_a_simulation(tmp_path):
    write_arm(tmp_path, noise=0.05)
    text = EXPERIMENT + "search: {method: inverse-dynamics}\n"
    found = sysid.identify(parse_experiment(text), tmp_path, output=tmp_path / "run", verbose=False)
    assert found.solution.success
    low, high = found.solution.intervals.T
    truth = np.array([*TRUTH["armature"], *TRUTH["damping"], *TRUTH["frictionloss"]])
    # joints in the order of the model
    assert ((low - 0.01 <= truth) & (truth <= high + 0.01)).all()
    np.testing.assert_allclose(found.solution.x, truth, rtol=0.1, atol=0.01)
    torque = found.summary["torque"]
    assert all(r["identified"] < 1.02 * r["plain_least_squares"] for r in torque["errors"])
    assert not torque["sentences"]
    words = [p["words"] for p in torque["base_parameters"]]
    assert any(w.startswith("shoulder armature + upper Iyy") for w in words)


def test_a_simulation_begins_with_torques_and_is_checked_by_them(tmp_path):
    write_arm(tmp_path, noise=0.02)
    text = EXPERIMENT + "window: 0.2\n"
    found = sysid.identify(parse_experiment(text), tmp_path, output=tmp_path / "run", verbose=False)
    assert any("values of inverse dynamics" in note for note in found.summary["notes"])
    rows = {r["name"]: r for r in found.summary["torque"]["parameters"]}
    assert set(rows) == set(found.problem.space.names)
    assert abs(rows["damping_shoulder"]["torque"] - 0.6) < 0.05
    # and it is scored at each horizon, beside what needs no model
    horizons = {r["horizon"] for r in found.summary["horizons"]}
    assert horizons == {0.1, 0.5, 2.0, "whole"}


def test_intervals_of_base_parameters_hold_the_truth(tmp_path):
    inside = total = 0
    for seed in range(12):
        write_arm(tmp_path, noise=0.2, seed=seed)
        prepared = prepare(parse_experiment(EXPERIMENT), tmp_path)
        runs = [t for group in prepared.training for t in group.measured_rollout]
        fit = linear_fit(torque_data(prepared.training, 10.0, slowest_speeds(runs, 10.0)))
        truth = fit.columns.values.copy()
        for j, joint in enumerate(("shoulder", "elbow")):
            for what, values in TRUTH.items():
                truth[fit.columns.names.index(f"{joint} {what}")] = values[j]
        for base in fit.base:
            inside += abs(base.value - base.coefficients @ truth) <= base.half_width
            total += 1
    assert inside / total > 0.88


def test_a_recording_without_torques_is_refused_with_what_to_do(tmp_path):
    write_arm(tmp_path)
    text = EXPERIMENT.replace("    controls: {shoulder: t1, elbow: t2}\n", "")
    with pytest.raises(SignalError, match="actuators: torque"):
        prepare(parse_experiment(text + "search: {method: inverse-dynamics}\n"), tmp_path).problem()


def test_position_servos_become_motors_or_other_servos(tmp_path):
    write_arm(tmp_path)
    model = prepare(parse_experiment(EXPERIMENT), tmp_path).problem().variants[0].model
    np.testing.assert_array_equal(model.actuator_gainprm[:, 0], 1.0)
    assert not model.actuator_ctrllimited.any() and not model.actuator_biasprm.any()
    servo = EXPERIMENT.replace(
        "actuators: torque", "actuators: position, kp: 20, kd: {shoulder: 1}"
    )
    with pytest.raises(ExperimentError, match="no value for the actuator 'elbow'"):
        prepare(parse_experiment(servo), tmp_path)
    servo = servo.replace("{shoulder: 1}", "{shoulder: 1, elbow: 2}")
    model = prepare(parse_experiment(servo), tmp_path).problem().variants[0].model
    np.testing.assert_array_equal(model.actuator_biasprm[:, :3], [[0, -20, -1], [0, -20, -2]])


def test_a_friction_that_the_model_lacks_is_named(tmp_path):
    write_arm(tmp_path, noise=0.02)
    rows = np.loadtxt(tmp_path / "arm.csv", delimiter=",", skiprows=1)
    names = "t,q1,q2,v1,v2,t1,t2"
    text = parse_experiment(EXPERIMENT + "search: {method: inverse-dynamics}\n")

    def found(extra, folder):
        changed = rows.copy()
        changed[:, 5] += extra
        np.savetxt(tmp_path / "arm.csv", changed, delimiter=",", header=names, comments="")
        result = sysid.identify(text, tmp_path, output=tmp_path / folder, verbose=False)
        return result.summary["torque"]["friction"]

    assert found(0.0, "none") == []
    speed = rows[:, 3]
    load = 3.0 * np.abs(np.sin(rows[:, 1])) * np.tanh(speed / 0.002)
    (sentence,) = found(load, "load")
    assert "shoulder" in sentence and "proportional to the load" in sentence
    (sentence,) = found(1.5 * np.tanh(speed / 0.002) * np.exp(-np.abs(speed) / 0.3), "stribeck")
    assert "shoulder" in sentence and "Stribeck" in sentence


def test_friction_below_the_noise_of_a_sample_is_named_in_its_joint_alone(tmp_path):
    write_arm(tmp_path, noise=0.1)
    rows = np.loadtxt(tmp_path / "arm.csv", delimiter=",", skiprows=1)
    text = parse_experiment(EXPERIMENT + "search: {method: inverse-dynamics}\n")

    def named(extra, unseen=0.0):
        changed = rows.copy()
        edge = int(0.75 * 0.75 * len(rows))  # the last quarter is held out of the fit
        changed[:edge, 6] += extra[:edge]
        changed[edge:, 6] += unseen * extra[edge:]
        np.savetxt(
            tmp_path / "arm.csv", changed, delimiter=",", header="t,q1,q2,v1,v2,t1,t2", comments=""
        )
        setup = torque_setup(prepare(text, tmp_path))
        seen, last = halves(setup.data)
        return missing_friction(seen, last, setup.linear.columns)

    speed = rows[:, 4]
    (found,) = named(0.02 * np.abs(speed), 1.0)
    assert (found.joint, found.structure) == ("elbow", "asymmetric")
    assert found.significance > 4 and 0.8 < found.after / found.before < 0.999
    # friction that drives is none, and what unseen torques do not confirm is not named
    assert named(-0.2 * np.tanh(speed / 0.002) * np.exp(-np.abs(speed) / 0.3), 1.0) == []
    assert named(0.05 * np.abs(speed), -1.0) == []


def test_held_out_recordings_take_no_part_in_the_choice_of_the_filter(tmp_path):
    write_arm(tmp_path, noise=0.05)
    tried = []
    for sign in (1.0, -0.3):
        (tmp_path / "other").mkdir(exist_ok=True)
        write_arm(tmp_path / "other", noise=0.5, seed=1, sign=sign)
        text = EXPERIMENT.replace("parameters:", _second_recording() + "parameters:")
        prepared = prepare(parse_experiment(text), tmp_path)
        tried.append(torque_setup(prepared).bandwidth.tried)
    assert tried[0] == tried[1]


def _second_recording() -> str:
    part = EXPERIMENT[EXPERIMENT.index("  - file") : EXPERIMENT.index("parameters:")]
    named = part.replace("file: arm.csv", "file: other/arm.csv\n    name: other")
    return named + "held_out: {recordings: [other]}\n"
