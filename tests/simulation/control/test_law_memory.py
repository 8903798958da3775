"""Offsets, layouts and what is loaded when."""

import dataclasses
import subprocess
import sys

import mujoco
import numpy as np
import pytest
from control_law_models import pendulum_spec, pid

from trueup.errors import LawError
from trueup.simulation.control import _offsets, control_law, installed, prepare_spec
from trueup.simulation.control._groups import named_group


def test_offsets_of_this_mujoco_hold():
    found = _offsets.offsets()
    _offsets.check_offsets(found)
    assert found.data["qpos"].extents == ("nq",)
    assert found.data["efc_force"].dtype == "", "the arena moves and cannot be read"
    assert found.model["opt.timestep"].dtype == "float64"


@pytest.mark.parametrize(
    ("struct", "name"),
    [("data", "qvel"), ("data", "time"), ("model", "nuserdata"), ("model", "opt.integrator")],
)
def test_a_wrong_offset_is_noticed(struct, name):
    found = _offsets.offsets()
    fields = dict(getattr(found, struct))
    fields[name] = dataclasses.replace(fields[name], offset=fields[name].offset + 8)
    with pytest.raises(LawError, match=f"memory layout of mujoco .* differs .*wrong: '{name}'"):
        _offsets.check_offsets(dataclasses.replace(found, **{struct: fields}))


def test_every_kind_of_argument_reads_its_field():
    @control_law(state={"seen": 12}, writes=["xfrc_applied", "ctrl"])
    def law(xquat, dof_damping, actuator_gainprm, jnt_type, targets, state, ctrl_out,
            xfrc_applied_out):  # fmt: skip
        body = targets.body[0]
        for i in range(4):
            state.seen[i] = xquat[body, i]
        state.seen[4] = dof_damping[0]
        state.seen[5] = actuator_gainprm[targets.actuator[0], 0]
        state.seen[6] = actuator_gainprm.shape[1]
        state.seen[7] = jnt_type[0]
        state.seen[8] = len(targets.joint)
        state.seen[9] = body
        ctrl_out[0] = 0.25
        for i in range(6):
            xfrc_applied_out[0, i] = 1.0 + i

    aimed = law.on(actuators=["motor"], bodies=["link"])
    model = prepare_spec(pendulum_spec(), aimed).compile()
    data = mujoco.MjData(model)
    data.qpos[0] = 0.7
    aimed.start(data)
    with installed(aimed, data):
        mujoco.mj_forward(model, data)
    expected = [*data.xquat[1], 0.05, 1.0, model.actuator_gainprm.shape[1]]
    expected += [int(mujoco.mjtJoint.mjJNT_HINGE), 0, 1, 0, 0]
    np.testing.assert_array_equal(aimed.state(data)["seen"], expected)
    np.testing.assert_array_equal(data.xfrc_applied, [[0] * 6, [1, 2, 3, 4, 5, 6]])
    assert data.ctrl[0] == 0.25
    assert aimed.outputs(data)["xfrc_applied"].shape == (1, 6)


def test_layout_places_gains_and_state_apart(pid_law, pid_model):
    layout = pid_law.layout(pid_model)
    assert layout.size == pid_model.nuserdata
    taken = np.zeros(layout.size, int)
    for part in layout.parts.values():
        taken[part.offset : part.offset + part.size] += 1
    assert taken[: -sum(taken)].max() == 0 and taken.max() == 1
    rows = np.arange(3.0 * layout.size).reshape(3, -1)
    kd = layout.part("gains", "kd")
    np.testing.assert_array_equal(layout.view(rows, "gains", "kd")[:, 0], rows[:, kd.offset])
    with pytest.raises(LawError, match=r"no state 'run'.*Did you mean 'runs'"):
        layout.part("state", "run")


def test_hundreds_of_state_values_in_two_dimensions():
    @control_law(
        gains={"weights": (8, "joint")}, state={"memory": (100, 4)}, writes=["qfrc_applied"]
    )
    def law(position, gains, state, qfrc_applied_out):
        for i in range(100):
            for j in range(4):
                state.memory[i, j] += i + 0.01 * j
        qfrc_applied_out[0] = gains.weights[7, 0] * position[0]

    aimed = law.on(joints=["hinge"])
    model = prepare_spec(pendulum_spec(), aimed).compile()
    data = mujoco.MjData(model)
    weights = np.arange(8.0)[:, None]
    data.qpos[0] = 0.5
    aimed.start(data, {"weights": weights})
    with installed(aimed, data):
        mujoco.mj_step(model, data)
    expected = np.arange(100)[:, None] + 0.01 * np.arange(4)
    np.testing.assert_allclose(aimed.state(data)["memory"], expected)
    assert data.qfrc_applied[0] == 3.5


def test_law_is_still_a_python_function():
    out = np.zeros(1)
    gains = named_group("Gains", ["kp", "kd"])(np.array([2.0]), np.array([0.0]))
    state = named_group("State", ["runs", "error_sum"])(np.zeros(1), np.zeros(1))
    assert pid(np.array([0.5]), np.zeros(1), np.array([1.0]), gains, state, out) == 0
    assert out[0] == pytest.approx(1.0 + 0.5e-3)
    assert "pid" in repr(pid)


def test_package_is_light():
    script = (
        "import sys, trueup.simulation.control as c\n"
        "from trueup.simulation.control import control_law\n"
        "control_law(writes=['ctrl'])(lambda ctrl_out: None)\n"
        "print([m for m in ('mujoco', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
