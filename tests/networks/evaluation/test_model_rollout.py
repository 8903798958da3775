"""A network driving a joint of a MuJoCo model, beside the recorded motion."""

from dataclasses import replace

import numpy as np
import pytest
from random_networks import random_network

from trueup.errors import ColumnError, ExperimentError, LawError, SignalError
from trueup.networks import (
    ActuatorSeries,
    AnalyticBase,
    DataSettings,
    JointModel,
    Network,
    Normalization,
    TorqueTerms,
    roll_out,
    roll_out_in_model,
)
from trueup.networks.evaluation.closed_loop import joint_of, plausible_angles

PENDULUM = """<mujoco>
  <option timestep="0.001"/>
  <worldbody>
    <body><joint name="elbow" axis="0 1 0" armature="0.04"/>
      <inertial pos="0 0 -.5" mass="1" diaginertia=".01 .01 .01"/></body>
    <body pos="1 0 0"><joint name="rail" type="slide" axis="1 0 0"/>
      <inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01"/></body>
  </worldbody>
</mujoco>"""
LIKE_IT = JointModel(inertia=0.04 + 0.01 + 0.25, gravity=9.81 * 0.5)
FEATURES = ("current_angle_rad", "angle_error_rad", "current_ang_vel_rad_s", "voltage_v")


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "pendulum.xml"
    path.write_text(PENDULUM)
    return path


def recording(name: str = "a", count: int = 150, seed: int = 0, **more) -> ActuatorSeries:
    random = np.random.default_rng(seed)
    times = np.arange(count) / 100.0
    channels = {
        "current_angle_rad": 0.3 * np.sin(4.0 * times) + 0.1,
        "target_angle_rad": 0.4 * np.sin(4.0 * times + 0.3),
        "current_ang_vel_rad_s": 1.2 * np.cos(4.0 * times),
        "voltage_v": 12.0 + random.normal(size=count),
    }
    return ActuatorSeries(name, "g", 100.0, {**channels, **more}, random.normal(size=count))


def test_the_model_moves_as_the_joint_that_it_holds(model, monkeypatch):
    # semi-implicit Euler of the same step on both sides; blocks smaller than the recordings
    monkeypatch.setattr("trueup.networks.evaluation.model_rollout._BLOCK", 64)
    network = random_network("gru", features=FEATURES, layers=1)
    series = [recording("a"), recording("b", count=100, seed=1)]
    found = roll_out_in_model(network, series, model, "elbow")
    for each, motion in zip(series, found, strict=True):
        expected = roll_out(network, each, LIKE_IT)
        assert np.ptp(expected.angle) > 0.2
        np.testing.assert_allclose(motion.angle, expected.angle, atol=1e-9)
        np.testing.assert_allclose(motion.velocity, expected.velocity, atol=1e-8)
        np.testing.assert_allclose(motion.torque, expected.torque, atol=1e-8)
        assert (motion.name, motion.diverged) == (each.name, False)
        assert motion.scores.rmse == pytest.approx(expected.scores.rmse)


def test_a_joint_far_beyond_the_recorded_range_has_run_away(model):
    """An unstable law leaves a range of 0.8 rad by five times as much, long before it overflows."""
    features = FEATURES[:3]
    weights = {"layers.0.weight": np.zeros((1, 3)), "layers.0.bias": np.full(1, 1e-3)}
    scale = Normalization(features, np.zeros(3), np.ones(3), 0.0, 1.0)
    network = Network("linear", scale, weights, 100.0, AnalyticBase(kp=-20.0))
    each = recording(count=300)
    target = each.channels["target_angle_rad"]
    lowest, highest = plausible_angles(each)
    assert (lowest, highest) == pytest.approx((target.min() - 4.0, target.max() + 4.0), abs=1e-3)
    alone = roll_out(network, each, LIKE_IT)
    (in_model,) = roll_out_in_model(network, [each], model, "elbow")
    for motion in (alone, in_model):
        assert motion.diverged
        assert lowest <= motion.angle.min() and motion.angle.max() <= highest
        assert motion.angle[-1] == motion.angle[-2]
    np.testing.assert_allclose(in_model.angle, alone.angle, atol=1e-6)


def test_a_joint_that_stays_near_what_was_recorded_has_not_run_away():
    still = recording()
    for name in ("current_angle_rad", "target_angle_rad"):
        still.channels[name][:] = 30.0
    assert plausible_angles(still) == pytest.approx((29.5, 30.5))


def test_each_load_is_told_to_the_network(model):
    features = (*FEATURES[:3], "inertia_kg_m2")
    network = random_network("mlp", features=features)
    loads = [recording(str(k), inertia_kg_m2=np.full(150, load)) for k, load in enumerate((0.1, 2))]
    light, heavy = roll_out_in_model(network, loads, model, "elbow")
    alone = roll_out_in_model(network, loads[1:], model, "elbow")[0]
    np.testing.assert_array_equal(heavy.angle, alone.angle)
    assert np.abs(heavy.angle - light.angle).max() > 1e-3


def test_what_cannot_be_driven_is_said(model):
    network = random_network("gru", features=FEATURES, layers=1)
    with pytest.raises(LawError, match=r"no joint 'elbo'.*Did you mean 'elbow'"):
        roll_out_in_model(network, [recording()], model, "elbo")
    with pytest.raises(LawError, match="hinge"):
        roll_out_in_model(network, [recording()], model, "rail")
    with pytest.raises(SignalError, match="100 Hz"):
        roll_out_in_model(replace(network, rate=200.0), [recording()], model, "elbow")
    lacking = recording()
    del lacking.channels["voltage_v"]
    with pytest.raises(ColumnError, match="voltage_v"):
        roll_out_in_model(network, [lacking], model, "elbow")


def test_settings_describe_the_joint_where_the_torque_comes_from_its_inertia():
    each = recording(inertia_kg_m2=np.full(150, 0.3))
    terms = TorqueTerms(coulomb=0.1, viscous=0.2, gravity=4.905)
    joint = joint_of(each, DataSettings("data", torque_terms=terms))
    assert joint == JointModel(0.3, coulomb=0.1, viscous=0.2, gravity=4.905)
    assert joint_of(recording(), DataSettings("data")) is None
    measured = DataSettings("data", target_name="Motor_Torque")
    assert joint_of(each, measured) is None


def test_the_model_of_a_run_is_found_from_anywhere(model, monkeypatch):
    pytest.importorskip("hydra")
    from trueup.networks.training.configuration import check_configuration, load_configuration

    monkeypatch.chdir(model.parent)
    words = [f"rollout.model_file={model.name}", "rollout.joint=elbow"]
    configuration = load_configuration(words)
    monkeypatch.chdir("/")
    again = check_configuration(configuration.values)
    assert again.rollout.model_file == str(model)
    with pytest.raises(ExperimentError, match=r"rollout\.model_file: no such file none\.xml"):
        load_configuration(["rollout.model_file=none.xml", "rollout.joint=elbow"])
    with pytest.raises(ExperimentError, match="must be set together"):
        load_configuration(["rollout.joint=elbow"])
