"""Proposed unknowns of position servos: bounds, zeros, a late command, joints at rest."""

import mujoco
import numpy as np
import pytest

from trueup import sysid
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.importing.import_log import propose_import

ARM = """<mujoco><compiler angle="radian"/>
<option timestep="0.002" integrator="implicitfast"/><worldbody>
<body name="turret" pos="0 0 0.2"><joint name="turn" axis="0 0 1" damping="0.2"/>
<geom type="capsule" fromto="0 0 0 0 0 0.1" size="0.03" mass="1"/>
<body name="upper" pos="0 0 0.1"><joint name="lift" axis="0 1 0" damping="0.2"/>
<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="1"/>
<body name="tool" pos="0.3 0 0"><joint name="roll" axis="1 0 0" damping="0.02"/>
<geom type="box" size="0.02 0.01 0.01" pos="0.02 0 0.01" mass="0.05"/>
<body name="frame"/></body></body></body></worldbody>
<actuator><position name="m1" joint="turn" kp="40" kv="2"/>
<position name="m2" joint="lift" kp="40" kv="2"/>
<position name="m3" joint="roll" kp="4" kv="0.1"/></actuator></mujoco>"""
JOINTS = ("turn", "lift", "roll")


def record(
    folder, columns=JOINTS, delay=0.0, zero=0.0, armature=0.03, seconds=4.0, bias=0.0, damping=0.0
):
    """Write ``arm.xml`` and ``log.csv`` of a machine that differs in what is given."""
    (folder / "arm.xml").write_text(ARM)
    spec = mujoco.MjSpec.from_string(ARM)
    for joint in spec.joints:
        joint.armature = armature
        joint.damping = joint.damping + damping
    spec.joint("lift").ref = zero
    model = spec.compile()
    data, rng = mujoco.MjData(model), np.random.default_rng(3)
    late = round(delay / 0.002)
    speed, phase = rng.uniform(0.2, 1.2, (3, 4)), rng.uniform(0, 6.3, (3, 4))
    start = np.array([0.0, 0.3, 0.2])
    data.ctrl[:] = start
    for _ in range(1500):
        mujoco.mj_step(model, data)
    sent, rows = [], []
    for step in range(round(seconds / 0.002)):
        if step % 5 == 0:
            waves = np.sin(2 * np.pi * speed * step * 0.002 + phase) - np.sin(phase)
            command = start + 0.4 * waves.mean(axis=1) * min(step * 0.004, 1.0)
            rows.append([step * 0.002, *(data.qpos + bias + 1e-4 * rng.normal(size=3)), *command])
        sent.append(command)
        data.ctrl[:] = sent[step - late] if step >= late else start
        mujoco.mj_step(model, data)
    chosen = [0, *(1 + JOINTS.index(c) for c in columns), *(4 + JOINTS.index(c) for c in columns)]
    header = ",".join(["time", *(f"{c}_pos" for c in columns), *(f"{c}_cmd" for c in columns)])
    table = np.array(rows)[:, chosen]
    np.savetxt(folder / "log.csv", table, delimiter=",", header=header, comments="", fmt="%.9g")


def imported(folder):
    found = propose_import(folder / "arm.xml", [folder / "log.csv"], folder)
    return found.proposal, parse_experiment(found.proposal.text + "output: {report: false}\n")


def test_a_geared_wrist_is_identified_from_the_proposed_file(tmp_path):
    """The rotor of the wrist has 300 times the inertia of its link."""
    record(tmp_path)
    proposal, experiment = imported(tmp_path)
    bounds = {name: part.bounds for name, part in experiment.parameters.items()}
    wrist = float(mujoco.MjModel.from_xml_string(ARM).dof_M0[2])
    assert wrist < 2e-4 < 0.03 < bounds["roll_armature"][1]
    assert "[0, 0]" not in proposal.text
    assert all(part.widen for name, part in experiment.parameters.items() if "zero" not in name)
    found = sysid.identify(experiment, tmp_path, output=tmp_path / "run", verbose=False)
    assert found.summary["verdict"]["grade"] == "use"
    values = dict(zip(found.problem.space.names, found.solution.x, strict=True))
    assert values["roll_armature"] == pytest.approx(0.03, rel=0.03)


def test_a_zero_is_proposed_where_gravity_shows_it(tmp_path):
    record(tmp_path, zero=0.04)
    proposal, experiment = imported(tmp_path)
    assert "lift_zero" in proposal.parameters
    assert "turn_zero" not in proposal.parameters  # a vertical axis
    found = sysid.identify(experiment, tmp_path, output=tmp_path / "run", verbose=False)
    rows = {row["name"]: row for row in found.summary["parameters"]}
    assert rows["lift_zero"]["low"] <= 0.04 <= rows["lift_zero"]["high"]
    assert rows["lift_zero"]["high"] - rows["lift_zero"]["low"] < 0.01


def test_a_late_command_is_an_unknown_of_the_proposed_file(tmp_path):
    record(tmp_path, delay=0.02)
    proposal, experiment = imported(tmp_path)
    assert experiment.model.delay_buffer is not None
    assert any("later than the model simulates" in point for point in proposal.open_points)
    start = experiment.parameters["command_delay"].start
    assert start == pytest.approx(0.02, abs=0.006)
    model = prepare(experiment, tmp_path).training[0].gt_model
    assert (model.actuator_history[:, 0] * model.opt.timestep >= 3 * 0.02).all()


def test_commands_in_time_have_no_delay(tmp_path):
    record(tmp_path)
    proposal, experiment = imported(tmp_path)
    assert experiment.model.delay_buffer is None
    assert "command_delay" not in proposal.parameters


def test_damping_of_all_joints_is_no_delay(tmp_path):
    """By itself, a delay of 20 ms leaves a quarter of the error of most joints."""
    record(tmp_path, damping=np.array([0.5, 0.5, 0.05]), seconds=2.0)
    proposal, _ = imported(tmp_path)
    assert "command_delay" not in proposal.parameters


def test_zeros_of_the_log_alone_are_biases_also_without_gravity(tmp_path):
    """The drive does not share them, so that command and position differ."""
    biases = np.array([0.03, -0.02, 0.015])
    record(tmp_path, bias=biases, delay=0.02, seconds=3.0)
    proposal, experiment = imported(tmp_path)
    names = [f"{joint}_bias" for joint in JOINTS]
    assert set(names) <= set(proposal.parameters)
    assert not any(name.endswith("_zero") for name in proposal.parameters)
    assert experiment.parameters["command_delay"].start == pytest.approx(0.02, abs=0.006)
    assert set(experiment.measurement.biases.values()) == set(names)
    problem = prepare(experiment, tmp_path).problem()
    planted = {
        **{f"{joint}_armature": 0.03 for joint in JOINTS},
        **{f"{joint}_friction": 0.0 for joint in JOINTS},
        **dict(zip(names, biases, strict=True)),
        "command_delay": 0.02,
    }
    start = dict(zip(problem.space.names, problem.space.start, strict=True))
    for name, damping in zip(JOINTS, (0.2, 0.2, 0.02), strict=True):
        planted[f"{name}_damping"] = damping
    values = np.array([[{**start, **planted}[name] for name in problem.space.names]])
    assert (
        problem.costs(values, {})[0, 0] < 0.02 * problem.costs(problem.space.start[None], {})[0, 0]
    )


def test_a_driven_joint_without_columns_is_held(tmp_path):
    record(tmp_path, columns=("turn", "lift"))
    proposal, experiment = imported(tmp_path)
    assert experiment.model.held == ["roll"]
    assert any("'roll' has no column" in point for point in proposal.open_points)
    model = prepare(experiment, tmp_path).training[0].gt_model
    assert (model.njnt, model.nu) == (2, 2)


def test_a_passive_joint_without_columns_is_not_held(tmp_path):
    record(tmp_path, columns=("turn", "lift"))
    motor = '<position name="m3" joint="roll" kp="4" kv="0.1"/>'
    (tmp_path / "arm.xml").write_text(ARM.replace(motor, ""))
    _, experiment = imported(tmp_path)
    assert experiment.model.held == []
