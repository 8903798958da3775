"""Where combinations are open, the run holds an experiment with fewer unknowns."""

import numpy as np
import pytest
import yaml

from trueup.sysid import identify
from trueup.sysid.experiment.file import load_experiment, parse_experiment

MODEL = """<mujoco><option timestep="0.002" gravity="0 0 0"/><worldbody><body name="cart">
<joint name="slide" type="slide" axis="1 0 0" damping="1" armature="0.5"/>
<geom type="box" size=".1 .1 .1" mass="1"/></body></worldbody>
<actuator><motor name="push" joint="slide"/></actuator></mujoco>"""

EXPERIMENT = """
name: cart
model: {file: cart.xml}
recordings:
  - {file: log.csv, signals: {slide_qpos: q, slide_qvel: v}, controls: {push: u}}
parameters:
  joint: {target: joint/sl*/armature, each: true, start: 0.6, bounds: [0.1, 2]}
  mass: {target: body/cart/mass, start: 1.2, bounds: [0.1, 5]}
  damping: {target: joint/slide/damping, start: 2, bounds: [0, 5]}
output: {report: false}
"""


@pytest.fixture
def recorded(tmp_path):
    t = 0.002 * np.arange(800)
    u = np.sin(9 * t) + 0.5 * np.sin(23 * t + 1)
    q, v = np.zeros_like(t), np.zeros_like(t)
    for k in range(len(t) - 1):  # implicit damping, as MuJoCo's Euler has it
        v[k + 1] = (v[k] * 1.5 + 0.002 * u[k]) / (1.5 + 0.002 * 1.0)
        q[k + 1] = q[k] + 0.002 * v[k + 1]
    noise = 1e-4 * np.random.default_rng(0).normal(size=(2, len(t)))
    table = np.column_stack([t, q + noise[0], v + noise[1], u])
    np.savetxt(tmp_path / "log.csv", table, delimiter=",", header="t,q,v,u", comments="")
    (tmp_path / "cart.xml").write_text(MODEL)
    return tmp_path


def test_armature_and_mass_of_a_slide_become_one_unknown(recorded):
    whole = identify(parse_experiment(EXPERIMENT), recorded, output=recorded / "run", verbose=False)
    file = recorded / "run" / "reduced.yaml"
    said = [i["sentence"] for i in whole.summary["insights"]]
    assert any(s.startswith("2 of the 3 parameters fit as well with") for s in said)
    written = yaml.safe_load(file.read_text())["parameters"]
    assert set(written) == {"joint_slide", "mass", "damping"}
    assert sum(part.get("frozen", False) for part in written.values()) == 1
    again = identify(load_experiment(file), file.parent, output=recorded / "less", verbose=False)
    assert again.solution.cost == pytest.approx(whole.solution.cost, rel=1e-4)
    assert len(again.solution.x) == 2
    assert not again.assessment.identifiability.directions
    assert not (recorded / "less" / "reduced.yaml").exists()
