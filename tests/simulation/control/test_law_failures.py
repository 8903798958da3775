"""What goes wrong is marked, and touches nothing else."""

import mujoco
import numpy as np
import pytest
from control_law_models import HEADER_SIZE, commands, make_batch, pendulum_spec, pid

from trueup.errors import LawError
from trueup.simulation.control import control_law, installed, prepare_spec

GAINS = {"kp": 4.0, "kd": 0.2}


def test_failure_names_simulation_time_and_reason(pid_law, pid_model):
    batch = make_batch(pid_model, 4)
    batch.bind("qpos")[2] = 3.1
    pid_law.start(batch, GAINS)
    with installed(pid_law, batch):
        recorded = batch.rollout(50, commands(4, 50))["qpos"]
    failures = pid_law.failures(batch)
    assert list(failures) == [2]
    assert failures[2] == "at 0 s: the joint is beyond 3 rad"
    warned = batch.warning[:, mujoco.mjtWarning.mjWARN_BADCTRL]
    assert warned[2].max() > 0 and not warned[[0, 1, 3]].any()
    assert (recorded[2] == recorded[2, 0]).all(), "the rollout ends there"
    pid_law.start(batch, GAINS)
    assert pid_law.failures(batch) == {}


def test_neighbours_of_a_failed_simulation_are_untouched(pid_law, pid_model):
    ends = []
    for position in (0.0, 3.1):
        batch = make_batch(pid_model, 4, nthread=1)
        batch.bind("qpos")[1] = position
        pid_law.start(batch, GAINS)
        with installed(pid_law, batch):
            batch.rollout(50, commands(4, 50))
        ends.append(batch.bind("qpos")[[0, 2, 3]].copy())
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [(0, "raised an exception"), (1, "outside of an array"), (2, "not finite"), (3, "code 9")],
)
def test_each_kind_of_failure_is_marked(kind, reason):
    @control_law(gains=["kind"], writes=["ctrl"])
    def law(position, gains, ctrl_out):
        ctrl_out[0] = 0.0
        if gains.kind[0] == 0.0:
            raise ValueError("no")
        if gains.kind[0] == 1.0:
            ctrl_out[0] = position[len(position) + 100]
        if gains.kind[0] == 2.0:
            ctrl_out[0] = np.nan
        if gains.kind[0] == 3.0:
            return 9
        return 0

    aimed = law.on(joints=["hinge"], actuators=["motor"])
    model = prepare_spec(pendulum_spec(), aimed).compile()
    batch = make_batch(model, 3)
    aimed.start(batch, {"kind": [-1.0, kind, -1.0]})
    with installed(aimed, batch):
        batch.rollout(3, commands(3, 3))
    failures = aimed.failures(batch)
    assert list(failures) == [1]
    assert reason in failures[1]


def test_law_that_was_not_started_is_marked(pid_law, pid_model):
    data = mujoco.MjData(pid_model)
    with installed(pid_law, pid_model):
        mujoco.mj_step(pid_model, data)
        assert "start()" in pid_law.failures(data)[0]
        pid_law.start(data, GAINS)
        mujoco.mj_step(pid_model, data)
        assert pid_law.failures(data) == {}
        mujoco.mj_resetData(pid_model, data)
        mujoco.mj_step(pid_model, data)
        assert "start()" in pid_law.failures(data)[0]
    assert pid_law.state(data)["runs"][0] == 0


def test_wrong_magic_is_marked_and_the_law_does_not_run(pid_law, pid_model):
    data = mujoco.MjData(pid_model)
    pid_law.start(data, GAINS)
    data.userdata[0] += 1.0
    with installed(pid_law, pid_model):
        mujoco.mj_step(pid_model, data)
    assert 0 in pid_law.failures(data)
    assert pid_law.state(data)["runs"][0] == 0
    assert data.ctrl[0] == 0


@pytest.mark.parametrize("nuserdata", [0, 1, HEADER_SIZE - 1, HEADER_SIZE, HEADER_SIZE + 2])
def test_too_small_userdata_is_refused_and_never_written_beyond(pid_law, nuserdata):
    spec = prepare_spec(pendulum_spec(), pid_law)
    spec.nuserdata = nuserdata
    model = spec.compile()
    data = mujoco.MjData(model)
    with pytest.raises(LawError, match=f"nuserdata {nuserdata}; control law 'pid' needs"):
        pid_law.start(data, GAINS)
    with pytest.raises(LawError, match="nuserdata"), installed(pid_law, model):
        pass
    with pytest.raises(LawError, match="nuserdata"):
        pid_law.start(make_batch(model, 2), GAINS)
    others = {name: getattr(data, name).copy() for name in ("qpos", "qvel", "ctrl", "sensordata")}
    with installed(pid_law):
        mujoco.mj_forward(model, data)
    # without writing to userdata beyond its end, the failure still shows
    assert data.warning[mujoco.mjtWarning.mjWARN_BADCTRL].number > 0
    assert "smaller than the law needs" in pid_law.failures(data)[0]
    for name in ("qpos", "qvel", "ctrl"):
        np.testing.assert_array_equal(getattr(data, name), others[name])
    assert not data.userdata[: min(2, nuserdata)].any()


def test_another_law_on_a_prepared_model_is_marked(pid_law, pid_model):
    @control_law(gains=["gain"], writes=["ctrl"])
    def other(gains, ctrl_out):
        ctrl_out[0] = gains.gain[0]

    aimed = other.on(actuators=["motor"])
    data = mujoco.MjData(pid_model)
    pid_law.start(data, GAINS)
    with pytest.raises(LawError, match="another law"), installed(aimed, pid_model):
        pass
    with installed(aimed):
        mujoco.mj_step(pid_model, data)
    assert "another law" in pid_law.failures(data)[0]
    assert data.ctrl[0] == 0


def test_former_callback_comes_back_after_an_error(pid_law, pid_model):
    calls = []

    def former(model, data):
        calls.append(data.time)

    mujoco.set_mjcb_control(former)
    try:
        with pytest.raises(RuntimeError, match="in the middle"), installed(pid_law, pid_model):
            assert mujoco.get_mjcb_control() is not former
            raise RuntimeError("in the middle")
        assert mujoco.get_mjcb_control() is former
        mujoco.mj_step(pid_model, mujoco.MjData(pid_model))
        assert calls == [0.0]
    finally:
        mujoco.set_mjcb_control(None)


def test_one_law_at_a_time(pid_law):
    with installed(pid_law):
        before = mujoco.get_mjcb_control()
        with pytest.raises(LawError, match="'pid' is already installed"), installed(pid_law):
            pass
        assert mujoco.get_mjcb_control() is before
    with installed(pid_law):
        pass


def test_refused_model_leaves_nothing_installed(pid_law):
    model = pendulum_spec().compile()
    with pytest.raises(LawError, match="not prepared"), installed(pid_law, model):
        pass
    with pytest.raises(LawError, match="has no targets"), installed(pid, model):
        pass
    with installed(pid_law):
        assert mujoco.get_mjcb_control() is not None


def test_time_that_runs_backwards_clears_the_state_of_a_law_without_gains():
    @control_law(state=["count"], writes=["ctrl"])
    def counting(state, ctrl_out):
        state.count[0] += 1.0
        ctrl_out[0] = 0.0

    law = counting.on(actuators=["motor"])
    model = prepare_spec(pendulum_spec(), law).compile()
    data = mujoco.MjData(model)
    law.start(data)
    with installed(law, data):
        for _ in range(5):
            mujoco.mj_step(model, data)
        data.time = 0.0
        mujoco.mj_step(model, data)
    assert law.failures(data) == {}
    assert law.state(data)["count"][0] == 1.0
