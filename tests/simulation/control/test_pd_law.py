"""The PD law with friction compensation and delay against MuJoCo's own and a plain one."""

import math

import mujoco
import numpy as np
import pytest
from control_law_models import PENDULUM, commands, make_batch, pendulum_spec

from trueup.simulation.control import delayed, installed, pd_law, prepare_spec

GAINS = {"kp": 6.0, "kd": 0.3, "friction": 0.0, "friction_velocity": 0.05, "delay": 0.0}


@pytest.fixture(scope="module")
def law():
    return pd_law(20).on(joints=["hinge"], actuators=["motor"])


def simulate(law, gains, steps=400, integrator="Euler"):
    model = prepare_spec(pendulum_spec(integrator), law).compile()
    batch = make_batch(model, 2)
    batch.bind("qpos")[:] = 0.3
    law.start(batch, GAINS | gains)
    with installed(law, batch):
        recorded = batch.rollout(steps, commands(2, steps), record=["qpos", "actuator_force"])
    return recorded, law.failures(batch)


def test_equals_a_position_actuator(law):
    text = PENDULUM.format(integrator="Euler", frictionloss=0.0)
    servo = mujoco.MjModel.from_xml_string(
        text.replace('<motor name="motor"', '<position name="motor" kp="6" kv="0.3"')
    )
    data = mujoco.MjData(servo)
    data.qpos[0] = 0.3
    positions, forces = [], []
    for command in commands(1, 400)[0]:
        data.ctrl[:] = command
        mujoco.mj_step(servo, data)
        positions.append(data.qpos[0])
        forces.append(data.actuator_force[0])
    recorded, failures = simulate(law, {})
    assert failures == {}
    np.testing.assert_allclose(recorded["qpos"][0, :, 0], positions, rtol=0, atol=1e-11)
    np.testing.assert_allclose(recorded["actuator_force"][0, :, 0], forces, rtol=0, atol=1e-9)


def in_python(gains, steps=400):
    model = pendulum_spec().compile()
    data = mujoco.MjData(model)
    data.qpos[0] = 0.3
    given = commands(1, steps)[0, :, 0]
    positions = []
    for step in range(steps):
        lag = gains["delay"] / model.opt.timestep
        target = np.interp(step - lag, np.arange(steps), given)
        position, velocity = data.qpos[0], data.qvel[0]
        torque = gains["kp"] * (target - position) - gains["kd"] * velocity
        torque += gains["friction"] * math.tanh(velocity / gains["friction_velocity"])
        data.ctrl[0] = torque
        mujoco.mj_step(model, data)
        positions.append(data.qpos[0])
    return positions


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.0133, 0.04])
def test_equals_the_same_law_in_python(law, delay):
    gains = GAINS | {"friction": 0.08, "delay": delay}
    recorded, failures = simulate(law, gains)
    assert failures == {}
    expected = in_python(gains)
    np.testing.assert_allclose(recorded["qpos"][0, :, 0], expected, rtol=0, atol=1e-10)


def test_position_depends_smoothly_on_the_delay(law):
    lag = np.array([0.0120, 0.0120 + 1e-5])
    recorded, _ = simulate(law, {"delay": lag})
    change = np.abs(np.diff(recorded["qpos"][:, :, 0], axis=0)).max()
    assert 1e-8 < change < 1e-4


@pytest.mark.parametrize("delay", [-0.001, 0.0421])
def test_impossible_delay_is_a_failure(law, delay):
    _, failures = simulate(law, {"delay": [delay, 0.0]}, steps=5)
    assert list(failures) == [0]
    assert "longer than 20 runs" in failures[0]


def test_same_law_for_the_same_length():
    assert pd_law(20) is pd_law(20)
    assert pd_law(20) is not pd_law(21)


def test_delay_line_returns_what_was_pushed():
    line = np.zeros(7)
    pushed = [3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, 6.0]
    for delay in (0, 1, 4):
        line[:] = 0.0
        for step, value in enumerate(pushed):
            assert delayed(line, value, float(delay)) == pushed[max(step - delay, 0)]
    line[:] = 0.0
    delayed(line, 0.0, 0.0)
    assert delayed(line, 1.0, 0.25) == 0.75
    assert math.isnan(delayed(line, 1.0, 4.5))
    assert math.isnan(delayed(line, 1.0, -0.1))
    assert math.isnan(delayed(line, 1.0, math.nan))
