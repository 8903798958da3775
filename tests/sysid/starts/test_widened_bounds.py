"""Bounds that nobody chose are moved when a fit reaches them; others are limits."""

import mujoco
import numpy as np
import pytest

from trueup import sysid
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.model_loading import load_spec
from trueup.sysid.experiment.settings import ModelPart

MODEL = """<mujoco><option timestep="0.004" integrator="implicitfast"/><worldbody><body>
<joint name="j" axis="0 1 0" armature="{armature}" damping="{damping}"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.5"/></body></worldbody>
<actuator><position name="m" joint="j" kp="10" kv="0.2"/></actuator></mujoco>"""
EXPERIMENT = """
name: j
model: {{file: j.xml}}
recordings: [{{file: log.csv, signals: {{j_qpos: q}}, controls: {{m: u}}}}]
parameters:
  armature: {{target: joint/j/armature, start: 0.01, bounds: [0, 0.02]{widen}}}
  damping: {{target: joint/j/damping, start: 0.1, bounds: [0, 2]{widen}}}
output: {{report: false}}
"""


def identified(folder, widen, armature=0.05, damping=0.3):
    model = mujoco.MjModel.from_xml_string(MODEL.format(armature=armature, damping=damping))
    (folder / "j.xml").write_text(MODEL.format(armature=0.01, damping=0.1))
    data, rng, rows = mujoco.MjData(model), np.random.default_rng(0), []
    for step in range(1500):
        now = step * 0.004
        command = 0.5 * np.sin(3.0 * now) + 0.3 * np.sin(7.0 * now)
        rows.append([now, data.qpos[0] + 1e-4 * rng.normal(), command])
        data.ctrl[0] = command
        mujoco.mj_step(model, data)
    np.savetxt(folder / "log.csv", rows, delimiter=",", header="t,q,u", comments="")
    experiment = parse_experiment(EXPERIMENT.format(widen=", widen: true" if widen else ""))
    return sysid.identify(experiment, folder, output=folder / "run", verbose=False)


def test_a_guessed_bound_is_moved_and_said(tmp_path):
    found = identified(tmp_path, widen=True)
    assert found.solution.x[0] == pytest.approx(0.05, rel=0.01)
    assert found.summary["verdict"]["grade"] == "use"
    assert any("proposed bounds of 'armature'" in note for note in found.summary["notes"])


def test_a_chosen_bound_is_a_limit(tmp_path):
    found = identified(tmp_path, widen=False)
    assert found.solution.x[0] == 0.02
    assert found.summary["verdict"]["grade"] == "do not use"


def test_zero_is_not_moved(tmp_path):
    found = identified(tmp_path, widen=True, armature=0.05, damping=0.0)
    assert found.solution.x[1] >= 0.0
    assert found.summary["verdict"]["grade"] == "use"


def test_a_damping_ratio_keeps_its_gain(tmp_path):
    """The compiler would make another gain of it for each armature."""
    text = MODEL.replace('kv="0.2"', 'dampratio="0.5"')
    (tmp_path / "j.xml").write_text(text.format(armature=0.01, damping=0.1))
    gain = mujoco.MjModel.from_xml_path(str(tmp_path / "j.xml")).actuator_biasprm[0, 2]
    spec = load_spec(ModelPart(file="j.xml"), tmp_path)
    spec.joint("j").armature = 0.1
    assert spec.compile().actuator_biasprm[0, 2] == pytest.approx(gain)
