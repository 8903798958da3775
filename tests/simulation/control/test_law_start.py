"""Laws begin as holding the first command at the first pose implies, each simulation at its own."""

import mujoco
import numpy as np
import pytest
from control_law_models import pendulum_spec
from mujoco.batch import Batch

from trueup.simulation.control import (
    control_law,
    delay_line,
    delayed,
    installed,
    pd_law,
    prepare_spec,
)

POSES = np.array([-2.0, -0.6, 0.0, 0.8, 1.9])
KP = 30.0
PID = {"kp": KP, "ki": 12.0, "kd": 0.7}


@control_law(
    gains={"kp": "joint", "ki": "joint", "kd": "joint"},
    state={"filtered": "joint", "integral": "joint", "goals": delay_line(8), "firsts": 1},
    writes=["ctrl"],
)
def held_pid(position, velocity, command, period, first, gains, state, qfrc_bias, ctrl_out):
    state.firsts[0] += first
    for i in range(len(position)):
        goal = delayed(state.goals[i], command[i], 5.5)
        if first == 1.0:
            state.filtered[i] = goal
            missing = qfrc_bias[i] - gains.kp[i] * (goal - position[i])
            state.integral[i] = missing / gains.ki[i]
        state.filtered[i] += 20.0 * period * (goal - state.filtered[i])
        error = state.filtered[i] - position[i]
        torque = gains.kp[i] * error + gains.ki[i] * state.integral[i]
        ctrl_out[i] = torque - gains.kd[i] * velocity[i]
        state.integral[i] += period * error


def weights(model: mujoco.MjModel, poses: np.ndarray) -> np.ndarray:
    """Torque that holds the pendulum at poses [N m]."""
    data, found = mujoco.MjData(model), []
    for pose in poses:
        data.qpos[0] = pose
        mujoco.mj_forward(model, data)
        found.append(data.qfrc_bias[0])
    return np.array(found)


def rest(law, gains, goals_of, period: int = 1, steps: int = 200):
    """Greatest distance from the poses, of simulations side by side, and their batch."""
    aimed = law.on(joints=["hinge"], actuators=["motor"], period_steps=period)
    model = prepare_spec(pendulum_spec(), aimed).compile()
    batch = Batch(model, len(POSES))
    batch.bind("qpos")[:, 0] = POSES
    aimed.start(batch, gains)
    controls = np.repeat(goals_of(model)[:, None, None], steps, axis=1)
    with installed(aimed, batch):
        moved = batch.rollout(steps, controls, record=["qpos"])["qpos"][:, :, 0]
    assert not aimed.failures(batch)
    return np.abs(moved - POSES[:, None]).max(), aimed, batch


@pytest.mark.parametrize("delay", [0.0, 0.004, 0.0133])
@pytest.mark.parametrize("period", [1, 5])
def test_a_delayed_command_was_held_before_the_first_step(delay, period):
    gains = {"kp": KP, "kd": 0.7, "friction": 0.0, "friction_velocity": 1.0, "delay": delay}
    distance, *_ = rest(pd_law(16), gains, lambda model: POSES + weights(model, POSES) / KP, period)
    assert distance < 1e-9


@pytest.mark.parametrize("period", [1, 7])
def test_filters_and_integrals_begin_as_the_law_sets_them_in_its_first_run(period):
    distance, aimed, batch = rest(held_pid, PID, lambda model: POSES, period)
    assert distance < 1e-9
    np.testing.assert_array_equal(aimed.state(batch)["firsts"], 1.0)


def test_a_law_that_starts_by_itself_after_a_reset_knows_its_first_run():
    aimed = held_pid.on(joints=["hinge"], actuators=["motor"])
    model = prepare_spec(pendulum_spec(), aimed, PID).compile()
    data = mujoco.MjData(model)
    with installed(aimed, data):
        for pose in (0.8, -1.4):
            mujoco.mj_resetData(model, data)
            data.qpos[0] = data.ctrl[0] = pose
            mujoco.mj_forward(model, data)
            for _ in range(100):
                data.ctrl[0] = pose
                mujoco.mj_step(model, data)
                assert abs(data.qpos[0] - pose) < 1e-9
            assert aimed.state(data)["firsts"] == 1.0


def test_the_first_run_comes_again_where_time_runs_backwards():
    aimed = held_pid.on(joints=["hinge"], actuators=["motor"])
    model = prepare_spec(pendulum_spec(), aimed).compile()
    data = mujoco.MjData(model)
    aimed.start(data, PID)
    with installed(aimed, data):
        for pose in (0.8, -1.1):
            data.time, data.qpos[0], data.qvel[0] = 0.0, pose, 0.0
            for _ in range(20):
                data.ctrl[0] = pose
                mujoco.mj_step(model, data)
    assert data.qpos[0] == pytest.approx(-1.1, abs=1e-9)


def test_a_state_that_is_given_is_kept():
    aimed = held_pid.on(joints=["hinge"], actuators=["motor"])
    model = prepare_spec(pendulum_spec(), aimed).compile()
    data = mujoco.MjData(model)
    data.qpos[0] = data.ctrl[0] = 0.8
    aimed.start(data, PID, state={"filtered": 0.3, "integral": 0.1})
    with installed(aimed, data):
        mujoco.mj_step(model, data)
    state = aimed.state(data)
    assert state["firsts"] == 0.0
    period = model.opt.timestep
    filtered = 0.3 + 20.0 * period * 0.5
    assert state["filtered"][0] == pytest.approx(filtered)
    assert state["integral"][0] == pytest.approx(0.1 + period * (filtered - 0.8))
