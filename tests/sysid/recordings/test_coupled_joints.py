"""A joint that an equality couples to a measured one begins where that one says."""

import mujoco
import numpy as np
import pytest

from trueup import sysid
from trueup.cli import main
from trueup.signals import SignalType, TimeSeries
from trueup.sysid.recordings.sequence_start import state_at

HAND = """<mujoco><compiler angle="radian"/><option timestep="0.002"><flag {flag}/></option>
<default><geom size=".02" mass="0.1" contype="0" conaffinity="0" pos="0 0 .05"/></default>
<worldbody>
<body><joint name="thumb" axis="0 1 0" armature="0.05" damping="{damping}" {ref}/><geom/></body>
<body><joint name="finger" type="slide" axis="0 1 0" armature="{armature}"/><geom/></body>
<body><joint name="tip" axis="1 0 0" ref="0.4" armature="0.01"/><geom/></body>
</worldbody><equality>{equality}</equality>
<actuator><position name="motor" joint="thumb" kp="20" kv="1"/></actuator>
<sensor><jointpos name="angle" joint="thumb"/></sensor></mujoco>"""
ONE = '<joint joint1="{}" joint2="{}" polycoef="{}" {}/>'
CASES = {
    "a finger follows": ONE.format("finger", "thumb", "0 1 0 0 0", ""),
    "a mimic joint with offset": ONE.format("finger", "thumb", "0.3 -2 0 0 0", ""),
    "the measured one is the first": ONE.format("thumb", "finger", "0 1 0 0 0", ""),
    "the measured one is the first, with offset": ONE.format(
        "thumb", "finger", "0.2 0.5 0 0 0", ""
    ),
    "a polynomial": ONE.format("finger", "thumb", "0.1 1 0.3 -0.2 0.1", ""),
    "an inverted polynomial": ONE.format("thumb", "finger", "0.1 1 0.3 0 0.05", ""),
    "a chain, the last named first": ONE.format("tip", "finger", "0.1 2 0 0 0", "")
    + ONE.format("finger", "thumb", "0 1 0 0 0", ""),
    "one that is held": ONE.format("finger", "thumb", "0 1 0 0 0", "")
    + '<joint joint1="tip" polycoef="0.2 0 0 0 0"/>',
}


def hand(equality, flag="", ref="", damping="0.5", armature="0.05"):
    return HAND.format(equality=equality, flag=flag, ref=ref, damping=damping, armature=armature)


def measured(angle=0.35, slope=0.8):
    times = np.arange(20) * 0.002
    mapping = {"angle": (SignalType.MjSensor, np.array([0]))}
    return TimeSeries(times, (angle + slope * times)[:, None], mapping)


@pytest.mark.parametrize("ref", ["", 'ref="0.2"'])
@pytest.mark.parametrize("case", CASES)
def test_the_equalities_hold_where_a_recording_begins(case, ref):
    model = mujoco.MjModel.from_xml_string(hand(CASES[case], ref=ref))
    data = mujoco.MjData(model)
    state = state_at(model, measured(), 0.0)
    state[np.isnan(state)] = 0.0
    mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    mujoco.mj_forward(model, data)
    assert data.qpos[0] == pytest.approx(0.35)
    assert data.ne == model.neq
    np.testing.assert_allclose(data.efc_pos, 0.0, atol=1e-9)
    np.testing.assert_allclose(data.efc_vel, 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("equality", "flag"),
    [
        (ONE.format("finger", "thumb", "0 1 0 0 0", 'active="false"'), ""),
        (ONE.format("finger", "thumb", "0 1 0 0 0", ""), 'equality="disable"'),
        (ONE.format("thumb", "finger", "0.3 0 0 0 0", ""), ""),
        (ONE.format("tip", "finger", "0 1 0 0 0", ""), ""),
    ],
    ids=["not active", "switched off", "nothing to follow", "of two that are not measured"],
)
def test_nothing_else_follows(equality, flag):
    model = mujoco.MjModel.from_xml_string(hand(equality, flag))
    state = state_at(model, measured(), 0.0)
    assert state[1] == pytest.approx(0.35)
    np.testing.assert_array_equal(state[2:4], model.qpos0[1:])


EXPERIMENT = """model: {{file: hand.xml}}
recordings:
  - {{file: run.csv, time: t, signals: {{angle: angle}}, controls: {{motor: motor}}{initial}}}
window: {window}
parameters:
  damping: {{target: joint/thumb/damping, bounds: [0.05, 10]}}
  armature: {{target: joint/finger/armature, bounds: [0.001, 1]}}
"""


def write(folder, equality, window=0.0, initial=""):
    """An experiment whose hand rests away from zero, and moves."""
    model = mujoco.MjModel.from_xml_string(hand(equality))
    data, times = mujoco.MjData(model), np.arange(1500) * 0.002
    goals = 0.5 + 0.3 * np.sin(2 * np.pi * 0.9 * times) + 0.1 * np.sign(np.sin(9 * times))
    for _ in range(3000):
        data.ctrl[0] = goals[0]
        mujoco.mj_step(model, data)
    noise, rows = np.random.default_rng(0), []
    for time, goal in zip(times, goals, strict=True):
        data.ctrl[0] = goal
        mujoco.mj_forward(model, data)
        rows.append((time, data.qpos[0] + 2e-4 * noise.normal(), goal))
        mujoco.mj_step(model, data)
    np.savetxt(folder / "run.csv", rows, "%.9g", ",", header="t,angle,motor", comments="")
    (folder / "hand.xml").write_text(hand(equality, damping="0.8", armature="0.09"))
    text = EXPERIMENT.format(window=window, initial=initial)
    (folder / "hand.yaml").write_text(text)
    return folder / "hand.yaml"


@pytest.mark.parametrize(
    ("window", "initial"),
    [(0.0, ""), (0.5, ""), (0.0, ", initial: {qpos: {thumb: 0.5012}}")],
    ids=["without windows", "windows", "given"],
)
def test_a_hand_of_which_one_finger_is_recorded_is_identified(tmp_path, window, initial):
    file = write(tmp_path, CASES["one that is held"], window, initial)
    result = sysid.identify(sysid.load_experiment(file), tmp_path, verbose=False)
    found = {row["name"]: row["value"] for row in result.summary["parameters"]}
    assert found["damping"] == pytest.approx(0.5, rel=0.02)
    assert found["armature"] == pytest.approx(0.05, rel=0.1)


def test_joints_that_follow_are_not_named_as_taken_at_the_default(tmp_path, capsys):
    assert main(["check", str(write(tmp_path, CASES["a mimic joint with offset"]))]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "the position of 'tip' was not measured" in said
