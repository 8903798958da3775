"""Every force of a model is in inverse dynamics, or named as left out."""

import mujoco
import numpy as np
import pytest
import yaml

from trueup.cli import main
from trueup.design import design
from trueup.errors import ExperimentError, SignalError
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.importing.import_log import propose_import
from trueup.sysid.torque.left_out_forces import left_out_forces
from trueup.sysid.torque.left_out_instants import left_out_notes
from trueup.sysid.torque.link_regressor import link_regressor, parameters_of

FOUR_BAR = """<mujoco><compiler angle="radian"/>
<option timestep="0.002" {option}><flag {flag}/></option>
<default><geom type="capsule" size="0.01" contype="0" conaffinity="0"/></default>
<worldbody><site name="wall" pos="0.3 0 0"/>
<body name="base"><joint name="base" axis="0 0 1" damping="0.1"/>
 <geom fromto="0 0 0 0 0 .1" mass="1"/>
 <body name="crank" pos=".1 0 0" {body}>
  <joint name="crank" axis="0 1 0" armature="0.01" damping="0.1" {joint}/>
  <geom fromto="0 0 0 0 0 .2" mass=".3"/>
  <body name="coupler" pos="0 0 .2"><joint name="coupler" axis="0 1 0" damping="0.01"/>
   <geom fromto="0 0 0 .3 0 0" mass=".3"/><site name="tip" pos=".3 0 0"/></body></body>
 <body name="rocker" pos=".4 0 0"><joint name="rocker" axis="0 1 0" damping="0.01"/>
  <geom fromto="0 0 0 0 0 .2" mass=".4"/><site name="end" pos="0 0 .2"/></body>
</body></worldbody>{more}</mujoco>"""
LOOP = (
    '<equality><connect name="loop" body1="coupler" body2="rocker" anchor=".3 0 0"{}/></equality>'
)
ONE = '<tendon><fixed name="cord" {}><joint joint="crank" coef="1"/></fixed></tendon>'
TWO = (
    '<tendon><spatial name="cord" stiffness="50"><site site="tip"/><site site="{}"/></spatial>'
    "</tendon>"
)
MOTOR = '<actuator><motor name="motor" {}/></actuator>'
CRANK, PAIR = {"crank"}, {"coupler", "rocker"}
TRIO, EVERY = {"crank", "coupler", "rocker"}, {"base", "crank", "coupler", "rocker"}

FEATURES = {
    "none": ({}, set()),
    "gravity off": ({"flag": 'gravity="disable"'}, set()),
    "spring": ({"joint": 'stiffness="3" springref="0.4"'}, set()),
    "gravity compensation": ({"body": 'gravcomp="0.7"'}, set()),
    "motor": ({"more": MOTOR.format('joint="crank"')}, set()),
    "plain tendon": ({"more": ONE.format("")}, set()),
    "connect": ({"more": LOOP.format("")}, TRIO),
    "connect of sites": (
        {"more": '<equality><connect site1="tip" site2="end"/></equality>'},
        TRIO,
    ),
    "connect, not active": ({"more": LOOP.format(' active="false"')}, set()),
    "connect, switched off": (
        {"more": LOOP.format(""), "flag": 'equality="disable"'},
        set(),
    ),
    "weld to the world": (
        {"more": '<equality><weld name="hold" body1="coupler"/></equality>'},
        {"base", "crank", "coupler"},
    ),
    "equality of joints": (
        {"more": '<equality><joint joint1="coupler" joint2="rocker"/></equality>'},
        PAIR,
    ),
    "equality of one joint": ({"more": '<equality><joint joint1="crank"/></equality>'}, CRANK),
    "equality of tendons": (
        {
            "more": ONE.format("")
            + '<equality><tendon tendon1="cord" polycoef="0.1 0 0 0 0"/></equality>'
        },
        CRANK,
    ),
    "stiffness of a tendon": ({"more": ONE.format('stiffness="5" springlength="0.3"')}, CRANK),
    "damping of a tendon": ({"more": ONE.format('damping="5"')}, CRANK),
    "friction of a tendon": ({"more": ONE.format('frictionloss="5"')}, CRANK),
    "armature of a tendon": ({"more": ONE.format('armature="1"')}, CRANK),
    "rope to the wall": ({"more": TWO.format("wall")}, {"base", "crank", "coupler"}),
    "rope between links": ({"more": TWO.format("end")}, TRIO),
    "density": ({"option": 'density="100"'}, EVERY),
    "viscosity": ({"option": 'viscosity="1"'}, EVERY),
    "bent spring": ({"joint": 'stiffness="1 2 3"'}, CRANK),
    "bent damping": ({"joint": 'armature="0.01" damping="0.1 0.2 0.3"'}, CRANK),
    "damping of an actuator": ({"more": MOTOR.format('joint="crank" damping="1"')}, CRANK),
    "armature of an actuator": ({"more": MOTOR.format('joint="crank" armature="1"')}, CRANK),
    "springs switched off": ({"joint": 'stiffness="3"', "flag": 'spring="disable"'}, CRANK),
    "dampers switched off": ({"flag": 'damper="disable"'}, EVERY),
}
"""A part of a model, and the joints on which a force acts that inverse dynamics leaves out."""


def four_bar(**parts: str) -> str:
    given = {"option": "", "flag": "", "body": "", "joint": "", "more": "", **parts}
    text = FOUR_BAR.format(**given)
    if given["joint"].startswith("armature"):
        text = text.replace('armature="0.01" damping="0.1" arm', "arm")
    return text


@pytest.mark.parametrize("case", FEATURES)
def test_what_is_not_included_is_named(case):
    parts, expected = FEATURES[case]
    model = mujoco.MjModel.from_xml_string(four_bar(**parts))
    data, random = mujoco.MjData(model), np.random.default_rng(0)
    off = np.zeros(model.nv)
    for _ in range(10):
        crank, speed, push = random.normal(size=3)
        # the loop is closed: a parallelogram
        shape = np.array([0.0, 1.0, -1.0, 1.0])
        qpos, qvel, qacc = shape * crank, shape * speed, shape * push
        if "connect" not in case:
            qpos, qvel, qacc = random.normal(size=(3, model.nv))
        qacc[0] = random.normal()
        data.qpos[:], data.qvel[:], data.qacc[:] = qpos, qvel, qacc
        mujoco.mj_inverse(model, data)
        own = link_regressor(model, qpos[None], qvel[None], qacc[None])[0] @ parameters_of(model)
        own += model.dof_armature * qacc + model.dof_damping * qvel
        own += model.jnt_stiffness * (qpos - model.qpos_spring)
        off = np.maximum(off, np.abs(data.qfrc_inverse - own))
    acting = {model.joint(j).name for j in range(model.njnt) if off[j] > 1e-8}
    said = {
        model.joint(j).name
        for force in left_out_forces(model)
        for j in range(model.njnt)
        if j in force.dofs
    }
    assert said == expected and acting <= said
    # a loop that is closed and a limit that is not reached have no force at some instants
    assert acting == said or "connect" in case


@pytest.mark.parametrize(
    ("transmission", "joints"),
    [
        ('site="tip" gear="1 0 0 0 0 0"', {"base", "crank", "coupler"}),
        ('site="tip" refsite="end" gear="1 0 0 0 0 0"', TRIO),
        ('tendon="cord"', CRANK),
        ('cranksite="tip" slidersite="wall" cranklength="1"', {"base", "crank", "coupler"}),
    ],
)
def test_actuators_that_drive_no_joint_are_named(transmission, joints):
    model = mujoco.MjModel.from_xml_string(
        four_bar(more=ONE.format("") + MOTOR.format(transmission))
    )
    (force,) = left_out_forces(model)
    assert {model.joint(d).name for d in force.dofs} == joints and "'motor'" in force.what


def test_every_kind_of_equality_and_transmission_is_known():
    """A new kind of MuJoCo has to be looked at in left_out_forces."""
    kinds = {n[5:].lower() for n in dir(mujoco.mjtEq) if n.startswith("mjEQ_")}
    assert kinds == {
        *("connect", "weld", "joint", "tendon", "distance"),
        *("flex", "flexvert", "flexstrain"),
    }
    kinds = {n[6:].lower() for n in dir(mujoco.mjtTrn) if n.startswith("mjTRN_")}
    assert kinds == {
        *("joint", "jointinparent", "tendon", "site", "slidercrank", "body", "so3", "undefined")
    }


# --- where it is said ----------------------------------------------------------------------------

ARM = """<mujoco><compiler angle="radian"/><option timestep="0.005"/><worldbody>
<geom name="floor" type="plane" size="2 2 0.1" pos="0 0 {floor}"/>
<body name="upper"><joint name="shoulder" axis="0 1 0" damping="0.1" {limit}/>
 <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="1"/>
 <body name="lower" pos="0 0 -0.3"><joint name="elbow" axis="0 1 0" damping="0.1"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.5"/></body></body></worldbody>
{more}<actuator><motor name="push" joint="shoulder" {range}/><motor name="pull" joint="elbow"/>
</actuator></mujoco>"""


@pytest.fixture
def log(tmp_path):
    times = np.arange(0, 6, 0.01)
    angles = np.stack([0.5 * np.sin(2 * times), 0.4 * np.sin(3 * times)])
    speeds = np.gradient(angles, times, axis=1)
    torques = [2 * np.cos(2 * times), np.sin(3 * times)]
    table = np.column_stack([times, *angles, *speeds, *torques])
    names = "t,shoulder_pos,elbow_pos,shoulder_vel,elbow_vel,shoulder_torque,elbow_torque"
    np.savetxt(tmp_path / "log.csv", table, delimiter=",", header=names, comments="")
    return tmp_path


def arm(folder, **parts: str):
    text = ARM.format(**{"floor": "-2", "limit": "", "more": "", "range": "", **parts})
    (folder / "arm.xml").write_text(text)


def experiment(signals=("shoulder", "elbow"), **search) -> dict:
    return {
        "model": {"file": "arm.xml"},
        "recordings": [
            {
                "file": "log.csv",
                "signals": {f"{n}_qpos": f"{n}_pos" for n in signals},
                "controls": {"push": "shoulder_torque", "pull": "elbow_torque"},
            }
        ],
        "parameters": {"damping": {"target": "joint/shoulder/damping", "bounds": [0, 5]}},
        "search": {"method": "inverse-dynamics", **search},
        "held_out": {"fraction": 0},
    }


def prepared(folder, content):
    return prepare(parse_experiment(yaml.safe_dump(content)), folder)


TENDON = '<tendon><fixed name="cord" stiffness="3"><joint joint="elbow" coef="1"/></fixed></tendon>'
ALL = TENDON.replace("<joint", '<joint joint="shoulder" coef="1"/><joint')
HELD = '<equality><weld name="hold" body1="lower"/></equality>'


def test_a_joint_with_a_force_that_is_left_out_is_not_compared(log):
    arm(log, more=TENDON)
    found = prepared(log, experiment())
    assert any(
        n.startswith(
            "Inverse dynamics does not include the forces of the tendon 'cord' (stiffness)"
        )
        for n in found.notes
    )
    assert found.problem().sequences[0].channel_names == ("shoulder torque",)


def test_a_model_without_a_torque_to_compare_is_refused_with_the_reason(log):
    arm(log, more=ALL)
    with pytest.raises(SignalError, match=r"tendon 'cord' \(stiffness\).*method: least-squares"):
        prepared(log, experiment()).problem()


@pytest.mark.parametrize("method", ["mujoco", "inverse-dynamics"])
def test_a_loop_that_a_recording_does_not_close_is_refused_with_the_time(method, log, capsys):
    arm(log, more=HELD)
    content = yaml.safe_dump(experiment(["shoulder"], method=method))
    (log / "experiment.yaml").write_text(content)
    before = sorted(path.name for path in log.iterdir())
    for command in ("check", "identify", "explain"):
        assert main([command, str(log / "experiment.yaml")]) == 2
        said = capsys.readouterr().err
        assert "log: the equality 'hold' (weld) cannot be closed at 0.09 s, with 'should" in said
    assert sorted(path.name for path in log.iterdir()) == before


BALL = '<equality><connect name="loop" body1="lower" body2="end" anchor="0 0 -.3"/></equality>'


def test_a_loop_that_is_not_solved_is_refused_with_the_reason(log):
    text = ARM.format(floor="-2", limit="", more=BALL, range="").replace(
        "</worldbody>",
        '<body name="end" pos="0 0 -.6"><joint name="ball" type="ball"/>'
        '<geom size=".02" mass=".1"/></body></worldbody>',
    )
    (log / "arm.xml").write_text(text)
    with pytest.raises(ExperimentError, match=r"'loop' \(connect\) closes a loop.*joint 'ball'"):
        prepared(log, experiment(["shoulder"], method="mujoco"))


def test_a_design_for_such_a_loop_is_refused(log):
    text = ARM.format(floor="-2", limit="", more=BALL, range="").replace(
        "</worldbody>",
        '<body name="end" pos="0 0 -.6"><joint name="ball" type="ball"/>'
        '<geom size=".02" mass=".1"/></body></worldbody>',
    )
    (log / "arm.xml").write_text(text)
    content = experiment(["shoulder"], method="mujoco")
    content["model"] |= {"actuators": "position", "kp": 20.0, "kd": 1.0}
    with pytest.raises(ExperimentError, match=r"next recording: the equality 'loop'.*not 'elbow'"):
        design(parse_experiment(yaml.safe_dump(content)), log, log / "design", verbose=False)
    assert not (log / "design").exists()


def test_an_open_loop_is_said(log):
    arm(log, more=HELD.replace("/></eq", ' relpose="0.1 0 0 1 0 0 0"/></eq'))
    notes = prepared(log, experiment(method="mujoco")).notes
    assert any("the equality 'hold' (weld) is open by" in note for note in notes)


def test_an_import_does_not_guess_from_torques_that_it_does_not_know(log):
    arm(log, more=HELD)
    found = propose_import(log / "arm.xml", [log / "log.csv"], log)
    assert {row[3].partition(":")[0] for row in found.rows} <= {"assumed"}
    assert all("no evidence in torques" in row[5] for row in found.rows)
    assert any("the equality 'hold' (weld)" in p for p in found.proposal.open_points)
    assert "inverse-dynamics" not in found.proposal.text
    # without the loop the same torques are looked at
    arm(log)
    found = propose_import(log / "arm.xml", [log / "log.csv"], log)
    assert not any("no evidence in torques" in row[5] for row in found.rows)
    assert "method: inverse-dynamics" in found.proposal.text


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"floor": "-0.55"}, "lower and world are in contact in"),
        ({"limit": 'range="-0.2 0.2"'}, "'shoulder' is beyond the range of the model"),
        (
            {"range": 'ctrlrange="-1 1"'},
            "the control of push is outside its ctrlrange -1 to 1",
        ),
    ],
)
def test_forces_at_some_instants_are_said(parts, words, log):
    arm(log, **parts)
    assert any(words in note for note in prepared(log, experiment()).notes)
    arm(log)
    assert not prepared(log, experiment()).notes


def test_notes_are_those_of_one_recording(log):
    arm(log, more=TENDON)
    whole = prepared(log, experiment()).training[0].measured_rollout[0]
    assert len(left_out_notes(whole)) == 1
