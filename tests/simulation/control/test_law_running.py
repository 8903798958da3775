"""A law gives the same numbers wherever and however it runs."""

import mujoco
import mujoco.rollout
import numpy as np
import pytest
from control_law_models import (
    HEADER_SIZE,
    commands,
    friction,
    from_acceleration,
    make_batch,
    pendulum_spec,
    pid,
)

from trueup.simulation.control import control_law, installed, prepare_spec

GAINS = {"kp": np.linspace(1.0, 9.0, 6), "kd": 0.2}


def rollout(model, law, nthread, gains=GAINS, **options):
    batch = make_batch(model, 6, nthread=nthread, **options)
    law.start(batch, gains)
    with installed(law, batch):
        recorded = batch.rollout(200, commands(6, 200), record=["qpos", "userdata"])
    assert law.failures(batch) == {}
    return recorded, batch


def plain_loop(model, law, sim, gains):
    data = mujoco.MjData(model)
    data.qpos[0] = np.linspace(-0.5, 0.5, 6)[sim]
    law.start(data, gains)
    positions = []
    with installed(law, data):
        for command in commands(1, 200)[0]:
            data.ctrl[:] = command
            mujoco.mj_step(model, data)
            positions.append(data.qpos[0])
    return np.array(positions), data


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
def test_threads_batch_and_plain_loop_agree_bit_for_bit(pid_law, integrator):
    model = prepare_spec(pendulum_spec(integrator), pid_law).compile()
    one, _ = rollout(model, pid_law, 1)
    two, _ = rollout(model, pid_law, 2)
    np.testing.assert_array_equal(one["qpos"], two["qpos"])
    np.testing.assert_array_equal(one["userdata"], two["userdata"])
    for sim in (0, 5):
        positions, data = plain_loop(model, pid_law, sim, {"kp": GAINS["kp"][sim], "kd": 0.2})
        np.testing.assert_array_equal(positions, one["qpos"][sim, :, 0])
        np.testing.assert_array_equal(data.userdata, one["userdata"][sim, -1])


def test_gains_differ_between_simulations(pid_law, pid_model):
    batch = make_batch(pid_model, 6)
    batch.bind("qpos")[:] = 0.3
    pid_law.start(batch, GAINS)
    np.testing.assert_array_equal(pid_law.gains(batch)["kp"][:, 0], GAINS["kp"])
    with installed(pid_law, batch):
        batch.rollout(50, np.zeros((6, 50, 1)))
    assert len(np.unique(batch.bind("qpos")[:, 0])) == 6


def test_matches_the_same_law_in_python(pid_law, pid_model):
    data = mujoco.MjData(pid_model)
    runs, error_sum = 0, 0.0
    for command in commands(1, 200)[0, :, 0]:
        error = command - data.qpos[0]
        runs, error_sum = runs + 1, error_sum + error
        data.ctrl[0] = 4.0 * error - 0.2 * data.qvel[0] + 1e-3 * error_sum
        mujoco.mj_step(pid_model, data)
    other = mujoco.MjData(pid_model)
    pid_law.start(other, {"kp": 4.0, "kd": 0.2})
    with installed(pid_law):
        for command in commands(1, 200)[0]:
            other.ctrl[:] = command
            mujoco.mj_step(pid_model, other)
    np.testing.assert_allclose(other.qpos, data.qpos, rtol=0, atol=1e-12)
    assert pid_law.state(other)["runs"][0] == runs


@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_state_advances_once_a_step(pid_law, integrator):
    model = prepare_spec(pendulum_spec(integrator), pid_law).compile()
    data = mujoco.MjData(model)
    pid_law.start(data, {"kp": 4.0, "kd": 0.2})
    runs = pid_law.state(data)["runs"]
    with installed(pid_law):
        for step in range(1, 8):
            mujoco.mj_step(model, data)
            assert runs[0] == step
            if step % 2:
                # runs the law for the new time, and the step after it does not
                mujoco.mj_forward(model, data)
                mujoco.mj_forward(model, data)
                assert runs[0] == step + 1
                mujoco.mj_step(model, data)
                assert runs[0] == step + 1
                pid_law.state(data)["runs"][0] = step


@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_forward_between_steps_changes_nothing(pid_law, integrator):
    model = prepare_spec(pendulum_spec(integrator), pid_law).compile()
    found = []
    for forwards in (0, 2):
        data = mujoco.MjData(model)
        data.qpos[0] = 0.3
        pid_law.start(data, {"kp": 4.0, "kd": 0.2})
        with installed(pid_law):
            for command in commands(1, 60)[0]:
                data.ctrl[:] = command
                for _ in range(forwards):
                    mujoco.mj_forward(model, data)
                    data.ctrl[:] = command
                mujoco.mj_step(model, data)
        found.append((data.qpos[0], pid_law.state(data)["runs"][0]))
    assert found[0] == found[1]
    assert found[0][1] == 60


def test_outputs_are_held_between_runs_of_a_period():
    law = pid.on(joints=["hinge"], actuators=["motor"], period_steps=4)
    model = prepare_spec(pendulum_spec(), law).compile()
    data = mujoco.MjData(model)
    law.start(data, {"kp": 4.0, "kd": 0.2})
    written = []
    with installed(law, data):
        for command in commands(1, 40)[0]:
            data.ctrl[:] = command
            mujoco.mj_step(model, data)
            written.append(data.ctrl[0])
    written = np.reshape(written, (10, 4))
    assert (written == written[:, :1]).all()
    assert len(np.unique(written[:, 0])) == 10
    assert law.state(data)["runs"][0] == 10


def test_period_and_time_are_arguments():
    @control_law(state={"seen": 3}, writes=["qfrc_applied"])
    def law(time, timestep, period, state, qfrc_applied_out):
        state.seen[0], state.seen[1], state.seen[2] = time, timestep, period
        qfrc_applied_out[0] = 0.0

    aimed = law.on(joints=["hinge"], period_steps=5)
    model = prepare_spec(pendulum_spec(), aimed).compile()
    data = mujoco.MjData(model)
    aimed.start(data)
    with installed(aimed):
        for _ in range(7):
            mujoco.mj_step(model, data)
    np.testing.assert_allclose(aimed.state(data)["seen"], [0.01, 0.002, 0.01], rtol=1e-12)


def test_second_evaluation_of_a_batch_repeats_the_first(pid_law, pid_model):
    batch = make_batch(pid_model, 6)
    ends = []
    for _ in range(2):
        batch.reset(stage=mujoco.mjtStage.mjSTAGE_NONE)
        batch.bind("qpos")[:, 0] = 0.3
        pid_law.start(batch, GAINS)
        with installed(pid_law, batch):
            batch.rollout(100, commands(6, 100))
        ends.append(batch.bind("qpos").copy())
    np.testing.assert_array_equal(*ends)


def test_start_of_some_simulations_leaves_the_others(pid_law, pid_model):
    batch = make_batch(pid_model, 6)
    pid_law.start(batch, GAINS)
    pid_law.start(batch, {"kp": 70.0, "kd": [1.0, 2.0]}, ids=[1, 4])
    gains = pid_law.gains(batch)
    expected = np.where(np.isin(np.arange(6), [1, 4]), 70.0, GAINS["kp"])
    np.testing.assert_array_equal(gains["kp"][:, 0], expected)
    np.testing.assert_array_equal(gains["kd"][:, 0], [0.2, 1.0, 0.2, 0.2, 2.0, 0.2])


def test_runs_in_mujoco_rollout(pid_law, pid_model):
    size = mujoco.mj_stateSize(pid_model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    initial = np.zeros((4, size))
    datas = [mujoco.MjData(pid_model) for _ in range(2)]
    for data in datas:
        pid_law.start(data, {"kp": 4.0, "kd": 0.2})
    with installed(pid_law):
        states, _ = mujoco.rollout.rollout(pid_model, datas, initial, commands(4, 50))
    # each data serves two rollouts: time runs backwards between them, and the state starts anew
    assert (states == states[:1]).all()
    assert np.abs(states[0, -1, 1]) > 1e-3


def test_time_backwards_with_a_given_start_is_a_failure(pid_law, pid_model):
    data = mujoco.MjData(pid_model)
    pid_law.start(data, {"kp": 4.0, "kd": 0.2}, state={"error_sum": 5.0})
    with installed(pid_law):
        mujoco.mj_step(pid_model, data)
        data.time = -1.0
        mujoco.mj_step(pid_model, data)
    assert "backwards" in pid_law.failures(data)[0]


def test_default_gains_start_a_simulation_after_a_reset(pid_law, tmp_path):
    prepared = prepare_spec(pendulum_spec(), pid_law, gains={"kp": 4.0, "kd": 0.25})
    models = [prepared.compile(), mujoco.MjModel.from_xml_string(prepared.to_xml())]
    ends = []
    for model in models:
        data = mujoco.MjData(model)
        with installed(pid_law, data):
            for _ in range(2):
                mujoco.mj_resetData(model, data)
                data.qpos[0] = 0.4
                for _ in range(30):
                    data.ctrl[0] = 0.0
                    mujoco.mj_step(model, data)
                ends.append(data.qpos[0])
        assert pid_law.failures(data) == {}
        assert pid_law.gains(data)["kd"][0] == 0.25
    np.testing.assert_allclose(ends, ends[0], rtol=1e-12)
    started = mujoco.MjData(models[0])
    started.qpos[0] = 0.4
    pid_law.start(started, {"kp": 5.0})
    assert pid_law.gains(started)["kp"][0] == 5.0
    assert pid_law.gains(started)["kd"][0] == 0.25


def test_derived_law_sees_its_own_simulation():
    law = from_acceleration.on(joints=["hinge"], sensors=["acceleration"])
    model = prepare_spec(pendulum_spec(), law).compile()
    gains = {"gain": np.linspace(0.01, 0.05, 6)}
    one, batch = rollout(model, law, 1, gains, persistent=True)
    two, _ = rollout(model, law, 2, gains, persistent=True)
    np.testing.assert_array_equal(one["qpos"], two["qpos"])
    positions, data = plain_loop(model, law, 5, {"gain": 0.05})
    np.testing.assert_array_equal(positions, one["qpos"][5, :, 0])
    np.testing.assert_array_equal(law.state(data)["seen"], law.state(batch)["seen"][5])


def test_first_run_of_a_derived_law_sees_the_initial_state():
    law = from_acceleration.on(joints=["hinge"], sensors=["acceleration"])
    model = prepare_spec(pendulum_spec(), law).compile()
    batch = make_batch(model, 6, persistent=True, nthread=2)
    for _ in range(2):
        batch.reset(stage=mujoco.mjtStage.mjSTAGE_NONE)
        batch.bind("qpos")[:, 0] = np.linspace(-0.5, 0.5, 6)
        law.start(batch, {"gain": 0.0})
        expected = batch.bind("sensordata")[:, 1:4].copy()
        with installed(law, batch):
            batch.step()
        seen = law.state(batch)["seen"]
        np.testing.assert_array_equal(seen, expected)
        assert len(np.unique(seen[:, 0])) == 6
        with installed(law, batch):
            batch.step(nstep=20)


def test_start_does_not_run_a_derived_law():
    law = from_acceleration.on(joints=["hinge"], sensors=["acceleration"])
    model = prepare_spec(pendulum_spec(), law).compile()
    ends = []
    for inside in (False, True):
        data = mujoco.MjData(model)
        data.qpos[0] = 0.5
        if inside:
            with installed(law):
                law.start(data, {"gain": 0.05})
                assert not law.state(data)["seen"].any()
        else:
            law.start(data, {"gain": 0.05})
        with installed(law, data):
            for _ in range(20):
                mujoco.mj_step(model, data)
        ends.append(data.qpos[0])
    assert ends[0] == ends[1]


def test_fields_of_the_position_stage_are_current_without_a_persistent_batch():
    @control_law(state={"seen": 3}, writes=["qfrc_applied"])
    def law(site_xpos, state, qfrc_applied_out):
        for i in range(3):
            state.seen[i] = site_xpos[0, i]
        qfrc_applied_out[0] = site_xpos[0, 0]

    aimed = law.on(joints=["hinge"])
    model = prepare_spec(pendulum_spec(), aimed).compile()
    one, batch = rollout(model, aimed, 2, {})
    positions, data = plain_loop(model, aimed, 2, {})
    np.testing.assert_array_equal(positions, one["qpos"][2, :, 0])
    np.testing.assert_array_equal(aimed.state(data)["seen"], aimed.state(batch)["seen"][2])


def test_law_writes_a_model_field_of_each_simulation():
    law = friction.on(joints=["hinge"])
    model = prepare_spec(pendulum_spec(frictionloss=0.1), law).compile()
    ends = []
    for nthread in (1, 2):
        batch = make_batch(model, 6, nthread=nthread)
        batch.expand("dof_frictionloss")
        for _ in range(2):
            batch.reset(stage=mujoco.mjtStage.mjSTAGE_NONE)
            batch.bind("qpos")[:, 0] = 0.5
            law.start(batch, {"friction": np.linspace(0.0, 0.25, 6)})
            with installed(law, batch):
                batch.rollout(100, record=["qpos"])
            ends.append(batch.bind("qpos")[:, 0].copy())
    for end in ends[1:]:
        np.testing.assert_array_equal(end, ends[0])
    assert (np.diff(ends[0]) > 0).all(), "more friction, less far from the start"
    assert model.dof_frictionloss[0] == 0.1
    data = mujoco.MjData(model)
    data.qpos[0] = 0.5
    law.start(data, {"friction": 0.25})
    with installed(law, data):
        for _ in range(100):
            mujoco.mj_step(model, data)
    assert data.qpos[0] == ends[0][5]


def test_unprepared_model_is_left_alone(pid_law):
    model = pendulum_spec().compile()
    spec = pendulum_spec()
    spec.nuserdata = 4 * HEADER_SIZE
    with_userdata = spec.compile()
    for each in (model, with_userdata):
        alone, beside = mujoco.MjData(each), mujoco.MjData(each)
        beside.userdata[:] = 7.0
        for data in (alone, beside):
            data.ctrl[0] = 0.3
        for _ in range(20):
            mujoco.mj_step(each, alone)
        with installed(pid_law):
            for _ in range(20):
                mujoco.mj_step(each, beside)
        np.testing.assert_array_equal(alone.qpos, beside.qpos)
        assert (beside.userdata == 7.0).all()
