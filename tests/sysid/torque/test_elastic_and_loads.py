"""Torques beyond a rigid arm: other zeros, elastic joints, springs, drives of unknown gain."""

from pathlib import Path

import mujoco
import numpy as np
import pytest
from mujoco.rollout import rollout

from trueup import sysid
from trueup.errors import ColumnError, RecordingError
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.torque.link_regressor import link_regressor, parameters_of

ARM = """<mujoco><option timestep="0.002"/><worldbody>
<body name="upper"><joint name="shoulder" axis="0 1 0" {shoulder}/>
 <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".04" mass="2"/>
 <body name="fore" pos="0 0 -.4"><joint name="elbow" axis="0 1 0" {elbow}/>
  <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03" mass="1"/>{load}</body></body>
</worldbody><actuator><motor name="shoulder" joint="shoulder"/><motor name="elbow" joint="elbow"/>
</actuator></mujoco>"""
LOAD = '<body name="load" pos="0 0 -.3"><geom size=".03" mass=".8"/></body>'

MEASURED = """
    signals: {shoulder_qpos: q1, elbow_qpos: q2, shoulder_qvel: v1, elbow_qvel: v2}
    controls: {shoulder: t1, elbow: t2}
"""


def arm_xml(shoulder: str = "", elbow: str = "", load: str = "") -> str:
    """The arm, with attributes of its joints and a load on its tip."""
    return ARM.format(shoulder=shoulder, elbow=elbow, load=load)


def record(xml: str, file: Path, gains=(1.0, 1.0), noise: float = 0.02, seed: int = 0) -> None:
    """Sines that an arm follows exactly, and what its drives say: torque over gain, with noise."""
    model = mujoco.MjModel.from_xml_string(xml)
    times = 0.01 * np.arange(1500)
    rate = 2 * np.pi * np.array([0.23, 0.41, 0.57])
    phase = np.outer(times, rate)
    size = np.array([[0.5, 0.3, 0.2], [0.4, 0.5, 0.3]])
    shift = np.array([[0.0, 1.0, 2.0], [0.5, 2.0, 4.0]]) + 0.3 * seed
    q, v, a = np.zeros((3, len(times), 2))
    for j in range(2):
        q[:, j] = np.sin(phase + shift[j]) @ size[j]
        v[:, j] = np.cos(phase + shift[j]) @ (size[j] * rate)
        a[:, j] = -np.sin(phase + shift[j]) @ (size[j] * rate**2)
    tau = np.einsum("tjk,k->tj", link_regressor(model, q, v, a), parameters_of(model))
    tau += 0.3 * v + model.jnt_stiffness[:2] * (q - model.qpos_spring)
    current = tau / gains + np.random.default_rng(seed).normal(scale=noise, size=tau.shape)
    table = np.column_stack([times, q, v, current])
    np.savetxt(file, table, delimiter=",", header="t,q1,q2,v1,v2,t1,t2", comments="")


def identify(text: str, folder: Path):
    text += "search: {method: inverse-dynamics}\noutput: {report: false}\n"
    return sysid.identify(parse_experiment(text), folder, output=folder / "run", verbose=False)


def values_of(found) -> dict[str, float]:
    return dict(zip(found.problem.space.names, found.solution.x, strict=True))


def test_zeros_of_joints_are_found_from_torques(tmp_path):
    """Joints whose encoders are set wrong: gravity says where down is."""
    record(arm_xml('ref="6"', 'ref="-4"'), tmp_path / "arm.csv")
    (tmp_path / "arm.xml").write_text(arm_xml())
    text = f"""
name: arm
model: {{file: arm.xml}}
recordings:
  - file: arm.csv{MEASURED}
parameters:
  zero: {{target: joint/*/ref, each: true, start: 0, bounds: [-0.3, 0.3]}}
  damping: {{target: joint/*/damping, each: true, start: 0.1, bounds: [0, 2]}}
"""
    found = identify(text, tmp_path)
    values = values_of(found)
    assert values["zero_shoulder"] == pytest.approx(np.radians(6), abs=0.003)
    assert values["zero_elbow"] == pytest.approx(np.radians(-4), abs=0.003)
    assert values["damping_elbow"] == pytest.approx(0.3, abs=0.01)


def test_a_regressor_with_other_zeros_is_that_of_the_model_with_them():
    turned, plain = (
        mujoco.MjModel.from_xml_string(arm_xml(*refs)) for refs in (('ref="6"', 'ref="-4"'), ())
    )
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 10, 2))
    np.testing.assert_allclose(
        link_regressor(plain, q, v, a, turned.qpos0), link_regressor(turned, q, v, a), atol=1e-12
    )


def test_a_spring_is_part_of_the_linear_fit(tmp_path):
    spring = 'stiffness="4" springref="20"'
    record(arm_xml(spring), tmp_path / "arm.csv")
    (tmp_path / "arm.xml").write_text(arm_xml(spring))
    text = f"""
name: arm
model: {{file: arm.xml}}
recordings:
  - file: arm.csv{MEASURED}
parameters:
  damping: {{target: joint/*/damping, each: true, start: 0.1, bounds: [0, 2]}}
"""
    torque = identify(text, tmp_path).summary["torque"]
    base = {p["words"]: p for p in torque["base_parameters"]}
    found = base["shoulder stiffness"]
    assert abs(found["value"] - 4) < 2 * found["half_width"] < 1.0
    for row in torque["errors"]:
        assert row["plain_least_squares"] == pytest.approx(0.02, rel=0.15)


ELASTIC = """<mujoco><option timestep="0.0005" integrator="implicitfast"/><worldbody>
<body name="rotor"><joint name="motor" axis="0 1 0" armature=".2" damping=".5"/>
 <geom size=".05" mass="1"/>
 <body name="link"><joint name="spring" axis="0 1 0" stiffness="{stiffness}" damping="{damping}"/>
  <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".03" mass="2"/></body></body>
</worldbody><actuator><motor name="motor" joint="motor"/></actuator></mujoco>"""


def write_elastic(folder: Path) -> None:
    """Angles of a motor (before a gear of 10) and of its link, and the torque of the motor."""
    model = mujoco.MjModel.from_xml_string(ELASTIC.format(stiffness=150, damping=1.2))
    times = 0.0005 * np.arange(24_001)
    torque = 6 * np.sin(2 * np.pi * 0.5 * times) + 8 * np.sin(
        2 * np.pi * (0.5 + 0.25 * times) * times
    )
    start = np.zeros(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    state, _ = rollout(model, mujoco.MjData(model), start, torque[:-1, None])
    rows = np.vstack([start, state[0]])[::10]
    q = rows[:, 1:3]
    rng = np.random.default_rng(0)
    motor = 10 * (q[:, 0] + rng.normal(scale=1e-6, size=len(q)))
    link = q.sum(axis=1) + rng.normal(scale=1e-6, size=len(q))
    table = np.column_stack([times[::10], motor, link, torque[::10]])
    np.savetxt(folder / "log.csv", table, delimiter=",", header="t,motor,link,tau", comments="")
    (folder / "elastic.xml").write_text(ELASTIC.format(stiffness=60, damping=0.1))


ELASTIC_EXPERIMENT = """
name: elastic
model: {file: elastic.xml}
recordings:
  - file: log.csv
    signals:
      motor_qpos: {column: motor, scale: 0.1}
      spring_qpos: {column: link, minus: motor, minus_scale: 0.1}
    controls: {motor: tau}
parameters:
  stiffness: {target: joint/spring/stiffness, start: 60, bounds: [1, 1000]}
  damping: {target: joint/spring/damping, start: 0.1, bounds: [0, 20]}
  armature: {target: joint/motor/armature, start: 0.05, bounds: [0, 1]}
"""


def test_an_elastic_joint_between_two_encoders(tmp_path):
    write_elastic(tmp_path)
    values = values_of(identify(ELASTIC_EXPERIMENT, tmp_path))
    assert values["stiffness"] == pytest.approx(150, rel=0.02)
    assert values["damping"] == pytest.approx(1.2, rel=0.1)
    assert values["armature"] == pytest.approx(0.2, rel=0.02)


def load_pair(folder: Path, load: bool) -> str:
    """Currents of drives with 2 and 3 N m/A; with and without a known mass on the tip."""
    record(arm_xml(), folder / "plain.csv", (2.0, 3.0))
    (folder / "arm.xml").write_text(arm_xml())
    text = "name: arm\nmodel: {file: arm.xml}\n"
    if load:
        record(arm_xml(load=LOAD), folder / "load.csv", (2.0, 3.0), seed=1)
        (folder / "loaded.xml").write_text(arm_xml(load=LOAD))
        text += "variants: {loaded: {file: loaded.xml}}\n"
    text += "recordings:\n  - file: plain.csv" + MEASURED
    if load:
        text += "  - file: load.csv\n    model: loaded" + MEASURED
    return (
        text
        + """
parameters:
  gain: {target: actuator/*/gainprm/0, each: true, start: 1, bounds: [0.2, 10]}
  damping: {target: joint/*/damping, each: true, start: 0.1, bounds: [0, 2]}
  upper: {inertia: upper, inertia_type: pseudo}
  fore: {inertia: fore, inertia_type: pseudo}
"""
    )


def test_a_known_load_makes_torque_constants_known(tmp_path):
    found = identify(load_pair(tmp_path, True), tmp_path)
    values = values_of(found)
    assert values["gain_shoulder"] == pytest.approx(2, rel=0.03)
    assert values["gain_elbow"] == pytest.approx(3, rel=0.03)
    assert {"gain_shoulder", "gain_elbow"} <= set(found.assessment.identifiability.determined)
    # errors are those of the recorded currents, whose unit the linear fit has too
    for row in found.summary["torque"]["errors"]:
        assert row["identified"] < 1.05 * row["plain_least_squares"]
    low, high = found.solution.intervals[found.problem.space.names.index("gain_elbow")]
    assert low < 3 < high and high - low < 0.5


def test_without_a_load_torque_constants_are_ratios_only(tmp_path):
    found = identify(load_pair(tmp_path, False), tmp_path)
    assert not {"gain_shoulder", "gain_elbow"} & set(found.assessment.identifiability.determined)
    assert "gain" in " ".join(found.assessment.identifiability.sentences)


def test_links_that_cad_knows_make_torque_constants_known(tmp_path):
    text = load_pair(tmp_path, False)
    text = text.replace("inertia_type: pseudo", "inertia_type: pseudo, prior: {sd: 0.02}")
    found = identify(text, tmp_path)
    values, names = values_of(found), found.problem.space.names
    for name, true in (("gain_shoulder", 2.0), ("gain_elbow", 3.0)):
        assert values[name] == pytest.approx(true, rel=0.05)
        low, high = found.solution.intervals[names.index(name)]
        assert low < true < high and high - low < 0.2 * true


def test_a_difference_of_columns_needs_one_clock(tmp_path):
    write_elastic(tmp_path)
    text = ELASTIC_EXPERIMENT.replace("minus: motor", "minus: absent")
    with pytest.raises(ColumnError, match=r"minus.*absent"):
        identify(text, tmp_path)


def test_a_difference_is_taken_before_offset_and_scale():
    from trueup import signals

    stream = signals.Stream("", np.arange(3.0), {"a": np.array([1.0, 2, 4]), "b": np.ones(3)}, {})
    other = signals.Stream("x", np.arange(4.0), {"c": np.ones(4)}, {})
    recording = signals.Recording("r", (stream, other), {})
    mapping = {"column": "a", "minus": "b", "minus_scale": 0.5, "offset": 1.0, "scale": 2.0}
    chosen = signals.select(recording, {"s": mapping})
    np.testing.assert_allclose(chosen.column("s")[1], [-1, 1, 5])
    with pytest.raises(RecordingError, match="different clocks"):
        signals.select(recording, {"s": {"column": "a", "minus": "c"}})
