"""Efforts that are torques, currents with a constant per joint, or errors of the position."""

import numpy as np
import pytest
from log_writers import JOINTS, changed, motion_of_leg, write_leg

from trueup.errors import RecordingError
from trueup.sysid.assess.checks import check_experiment
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.importing.import_log import Import, propose_import

CONSTANTS = np.array([12.0, 9.0, 7.0])


@pytest.fixture(scope="module")
def motion():
    return motion_of_leg(6.0)


def imported(folder, motion, effort="torque", servo=False, command=False) -> Import:
    names = [f"{j}_{k}" for k in ("pos", "vel", effort) for j in JOINTS]
    parts = [motion.q, motion.v, motion.tau]
    if command:
        names += [f"{j}_cmd" for j in JOINTS]
        parts.append(motion.cmd)
    table = np.column_stack([motion.times, *parts])
    np.savetxt(folder / "a.csv", table, delimiter=",", header=",".join(["t", *names]), comments="")
    return propose_import(write_leg(folder, servo=servo), [folder / "a.csv"], folder)


def said(found: Import) -> str:
    return " ".join(found.proposal.open_points)


@pytest.mark.parametrize("effort", ["effort", "current", "motor_cur"])
def test_currents_have_a_constant_per_joint_as_an_unknown(effort, motion, tmp_path):
    found = imported(tmp_path, changed(motion, tau=motion.tau / CONSTANTS), effort)
    assert "they are currents" in said(found) or "are currents by their name" in said(found)
    assert "thigh 9" in said(found) and "calf 7" in said(found)
    for joint in JOINTS:
        assert f"{joint}_m_constant" in found.proposal.parameters
        assert f"actuator/{joint}_m/gainprm/0" in found.proposal.text


def test_torques_have_no_constants(motion, tmp_path):
    found = imported(tmp_path, motion)
    assert "current" not in said(found)
    assert not any("constant" in name for name in found.proposal.parameters)


def test_commands_drive_the_servos_of_a_model_though_currents_were_recorded(motion, tmp_path):
    currents = changed(motion, tau=motion.tau / CONSTANTS)
    found = imported(tmp_path, currents, "current", servo=True, command=True)
    assert [m.column.column for m in found.proposal.controls] == [f"{j}_cmd" for j in JOINTS]
    assert "actuators:" not in found.proposal.text


def test_an_effort_that_is_the_position_error_is_no_torque(motion, tmp_path):
    noise = 2e-4 * np.random.default_rng(2).normal(size=motion.q.shape)
    measured = np.vstack([np.repeat(motion.q[:1], 4, axis=0), motion.q[:-4]]) + noise
    log = changed(motion, q=measured, tau=motion.q - measured, cmd=motion.q)
    with pytest.raises(RecordingError, match=r"position error.*Position plus effort"):
        imported(tmp_path, log, "effort")
    found = imported(tmp_path, log, "effort", command=True)
    assert "position error" in said(found)
    assert [m.column.column for m in found.proposal.controls] == [f"{j}_cmd" for j in JOINTS]
    # a torque of a controller repeats the noise too, but times its stiffness
    torque = motion.tau + 40 * (motion.q - measured)
    found = imported(tmp_path, changed(motion, q=measured, tau=torque), "effort")
    assert "position error" not in said(found)


def test_the_unit_of_a_time_axis_is_asked_where_velocities_contradict_it(motion, tmp_path):
    found = imported(tmp_path, changed(motion, times=3.3 * motion.times))
    assert "time_scale: 0.303" in said(found)


HINGE = """<mujoco><worldbody><body><joint name="hinge" axis="0 0 1"/>
<geom type="cylinder" size=".05 .02" mass=".5"/></body></worldbody>
<actuator><motor name="motor" joint="hinge"/></actuator></mujoco>"""


def test_a_wrong_time_axis_is_the_first_reason_of_a_stop_and_other_columns_have_roles(tmp_path):
    """A servo test bench: target, current and torque, with times that are 3.3 times too long."""
    rng = np.random.default_rng(5)
    times = 0.003 * np.arange(2000)
    target = 1.5 * np.sin(2 * np.pi * 0.7 * times)
    angle = 1.4 * np.sin(2 * np.pi * 0.7 * times - 0.3)
    torque = np.sign(rng.normal(size=2000)) * rng.uniform(2, 9, 2000)
    table = [3.3 * times, target, angle, np.gradient(angle, times), 0.9 * torque, torque]
    header = "Time,TargetPosition,CurrentPosition,Velocity,Current,Torque"
    np.savetxt(
        tmp_path / "a.csv", np.column_stack(table), delimiter=",", header=header, comments=""
    )
    (tmp_path / "hinge.xml").write_text(HINGE)
    found = propose_import(tmp_path / "hinge.xml", [tmp_path / "a.csv"], tmp_path)
    assert found.proposal.roles == {
        "TargetPosition": "command of hinge",
        "Current": "current of hinge",
    }
    check = check_experiment(parse_experiment(found.proposal.text), tmp_path)["conclusion"]
    assert check["decision"] == "stop"
    assert "time_scale: 0.303" in check["reasons"][0]
    assert "a constant is as good" in check["reasons"][1]
