"""A network driving a joint in compiled code, against the same motion step by step in Python."""

from dataclasses import replace

import numpy as np
import pytest
from random_networks import random_network

from trueup.networks import ActuatorSeries, AnalyticBase, JointModel, NetworkRuntime, roll_out

ANGLE, TARGET, ERROR = "current_angle_rad", "target_angle_rad", "angle_error_rad"
VELOCITY = "current_ang_vel_rad_s"
JOINT = JointModel(7.1, 0.9, 0.31, 1.1, 0.23, 0.53, -0.37)
"""Every term, all different."""
SUBSTEPS = 10


def recording(samples: int = 120) -> ActuatorSeries:
    """A joint along two sines, with features that no simulation changes."""
    times = np.arange(samples) / 100.0
    channels = {
        ANGLE: 0.4 * np.sin(4.0 * times) + 0.05,
        VELOCITY: 1.6 * np.cos(4.0 * times),
        TARGET: 0.7 * np.sin(5.0 * times + 0.3),
        "target_ang_vel_rad_s": 3.5 * np.cos(5.0 * times + 0.3),
        "voltage_v": 12.0 + 0.3 * np.sin(9.0 * times),
    }
    return ActuatorSeries("motion", "a", 100.0, channels, np.sin(3.0 * times))


def by_steps(network, series, joint, every):
    """Angle, velocity and torque, sample by sample."""
    runtime, step = NetworkRuntime(network), 1.0 / (series.rate * SUBSTEPS)
    inputs, target = series.features(network.inputs), series.channels[TARGET]
    found = np.empty((3, len(series)))
    angle = velocity = 0.0
    for k, row in enumerate(inputs):
        if k % every == 0:
            angle, velocity = series.channels[ANGLE][k], series.channels[VELOCITY][k]
        seen = {ANGLE: angle, VELOCITY: velocity, ERROR: target[k] - angle}
        row = [seen.get(name, value) for name, value in zip(network.inputs, row, strict=True)]
        torque = runtime.step(np.array([row]))[0]
        found[:, k] = angle, velocity, torque
        for _ in range(SUBSTEPS):
            free = torque - joint.viscous * velocity
            free -= joint.gravity * np.sin(angle - joint.gravity_angle)
            free -= joint.spring * (angle - joint.spring_angle)
            stopping = free + velocity * joint.inertia / step
            friction = np.clip(stopping, -joint.coulomb, joint.coulomb)
            velocity += step * (free - friction) / joint.inertia
            angle += step * velocity
    return found


@pytest.mark.parametrize("horizon", [None, 0.15])
@pytest.mark.parametrize(
    ("family", "features", "base"),
    [
        ("gru", (ANGLE, TARGET, VELOCITY), None),
        ("lstm", (VELOCITY, "voltage_v", ERROR), AnalyticBase(2.1, 0.3, target_velocity=True)),
        ("mlp", (ERROR, VELOCITY), None),
        ("linear", (TARGET, "voltage_v"), None),
    ],
)
def test_the_motion_is_that_of_the_network_stepped_in_a_loop(family, features, base, horizon):
    network, series = random_network(family, features, base=base), recording()
    motion = roll_out(network, series, JOINT, horizon)
    every = len(series) if horizon is None else 15
    angle, velocity, torque = by_steps(network, series, JOINT, every)
    assert not motion.diverged
    np.testing.assert_allclose(motion.angle, angle, atol=1e-10)
    np.testing.assert_allclose(motion.velocity, velocity, atol=1e-9)
    np.testing.assert_allclose(motion.torque, torque, atol=1e-9)


@pytest.mark.parametrize("push", [-140.0, 140.0])
def test_a_joint_that_runs_away_is_held_at_its_last_sample_within_bounds(push):
    network, series = random_network("linear", (TARGET, VELOCITY), history=1), recording()
    weights = {"layers.0.weight": np.zeros((1, 2)), "layers.0.bias": np.array([push])}
    network = replace(network, weights=weights)
    motion = roll_out(network, series, JOINT)
    angle, _, torque = by_steps(network, series, JOINT, len(series))
    angles = np.concatenate([series.channels[ANGLE], series.channels[TARGET]])
    margin = 5.0 * np.ptp(angles)
    inside = (angle >= angles.min() - margin) & (angle <= angles.max() + margin)
    reached = int(np.argmin(inside))  # the first sample beyond
    assert 10 < reached < len(series) - 10
    assert motion.diverged
    np.testing.assert_allclose(motion.angle[:reached], angle[:reached], atol=1e-9)
    assert (motion.angle[reached:] == motion.angle[reached - 1]).all()
    assert (motion.velocity[reached:] == motion.velocity[reached - 1]).all()
    np.testing.assert_allclose(motion.torque, torque, atol=1e-9)
