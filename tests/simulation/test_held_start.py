"""What a simulation begins with where its initial state is open: its first command, held."""

import mujoco
import numpy as np
import pytest

from trueup.parameters import Parameter, ParameterDict
from trueup.signals import TimeSeries
from trueup.simulation import ModelSequences, SystemTrajectory, create_initial_state, sysid_rollout
from trueup.simulation.engine.batch import BatchEngine
from trueup.simulation.engine.held_start import held_states
from trueup.simulation.engine.initial_state import FULL_PHYSICS
from trueup.simulation.engine.segment import Segment
from trueup.simulation.targets.variants import ModelVariants

ARM = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.002" integrator="%(integrator)s"/>
  <worldbody>
    <body name="upper">
      <joint name="j" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass="1" contype="0"/>
      <body name="ball" pos=".3 0 0">
        <joint name="b" type="ball" damping="0.05"/>
        <geom type="capsule" fromto="0 0 0 .2 0 0" size=".02" mass=".3" contype="0"/>
      </body>
    </body>
    <body name="target" mocap="true" pos="1 2 3"/>
  </worldbody>
  <actuator>%(actuator)s</actuator>
  <sensor>%(sensor)s</sensor>
</mujoco>
"""
HOLDING = {
    "intvelocity": '<intvelocity name="m" joint="j" kp="30" kv="1"/>',
    "affine integrator": '<general name="m" joint="j" gear="2" dyntype="integrator" '
    'gaintype="affine" gainprm="2 .5" biastype="affine" biasprm=".1 .2 -.3"/>',
    "pid": '<pid name="m" joint="j" gear="2" kp="30" ki="12" kv=".5" imax="2" slewmax="3" '
    'input="pos"/>',
    "pid of two inputs": '<pid name="m" joint="j" kp="30" ki="12" kv=".5"/>',
    "pid in its force limits": '<pid name="m" joint="j" kp="90" ki="12" input="pos" '
    'forcerange="-8 8"/>',
    "dcmotor": '<dcmotor name="m" joint="j" motorconst=".5" resistance="1" input="pos" '
    'controller="2 3 .1 5 7 90"/>',
    "dcmotor with a current": '<dcmotor name="m" joint="j" motorconst=".5" resistance="1" '
    'inductance=".01 0" input="pos" controller="2 3 .1 5 7 90" cogging=".1 3 .2"/>',
    "dcmotor with a bristle": '<dcmotor name="m" joint="j" motorconst=".5" resistance="1" '
    'input="pos" controller="2 0 .1 0 0 90" lugre="1000 1 3 8 .1"/>',
    "dcmotor with bristle and current": '<dcmotor name="m" joint="j" motorconst=".5" '
    'resistance="1" inductance=".01 0" lugre="1000 1 3 8 .1"/>',
    "warm dcmotor": '<dcmotor name="m" joint="j" motorconst=".5" resistance="1" '
    'inductance=".01 0" input="pos" controller="2 3 .1 0 0 90" thermal="1 2 3 .004 25 30"/>',
    "ball": '<general name="m" joint="b" gaintype="so3" biastype="so3" gainprm="5" '
    'biasprm="0 -5 -.1" dyntype="integrator"/>',
}
ARRIVED = {
    "filter": '<position name="m" joint="j" kp="80" timeconst=".1"/>',
    "exact filter": '<general name="m" joint="j" dyntype="filterexact" dynprm=".1" '
    'ctrllimited="true" ctrlrange="-.2 .2"/>',
    "limited filter": '<general name="m" joint="j" dyntype="filter" dynprm=".1" '
    'actlimited="true" actrange="-.1 .1"/>',
    "muscle": '<muscle name="m" joint="j" force="50" lengthrange="-1 1"/>',
    "cylinder": '<cylinder name="m" joint="j" timeconst=".2" area="3"/>',
}
COMMAND = 0.35


def _model(actuator="", sensor="", integrator="implicitfast") -> mujoco.MjModel:
    texts = {"actuator": actuator, "sensor": sensor, "integrator": integrator}
    return mujoco.MjModel.from_xml_string(ARM % texts)


def _pose(model: mujoco.MjModel) -> np.ndarray:
    quaternion = np.array([0.9, 0.1, 0.3, 0.2])
    return np.array([0.4, *(quaternion / np.linalg.norm(quaternion))])


def _begun(model: mujoco.MjModel) -> mujoco.MjData:
    """The model at its first sample, with forces computed."""
    command = np.full(model.nu, 0.0)
    command[0] = COMMAND
    state = create_initial_state(model, _pose(model), held=True)
    (filled,) = held_states([model], state[None], command[None])
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, filled, FULL_PHYSICS)
    data.ctrl[:] = command
    mujoco.mj_forward(model, data)
    return data


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicitfast"])
@pytest.mark.parametrize("kind", HOLDING)
def test_what_integrates_holds_the_weight(kind, integrator):
    model = _model(HOLDING[kind], integrator=integrator)
    data = _begun(model)
    held = slice(1, 4) if kind == "ball" else slice(0, 1)
    np.testing.assert_allclose(data.qfrc_smooth[held], 0.0, atol=2e-3 if kind == "ball" else 1e-9)
    if "current" in kind or "warm" in kind:
        assert abs(data.act_dot[-1]) < 1e-9
    if "slewmax" in HOLDING[kind]:
        assert data.act[0] == COMMAND


@pytest.mark.parametrize("kind", ARRIVED)
def test_filters_and_muscles_have_arrived_at_the_command_within_its_limits(kind):
    data = _begun(_model(ARRIVED[kind]))
    limits = {"exact filter": 0.2, "limited filter": 0.1}
    assert data.act[0] == limits.get(kind, COMMAND)
    if kind != "limited filter":
        assert data.act_dot[0] == 0.0


def test_every_dynamics_of_mujoco_is_known():
    known = {"NONE", "INTEGRATOR", "FILTER", "FILTEREXACT", "MUSCLE", "DCMOTOR", "PID", "USER"}
    assert {name.removeprefix("mjDYN_") for name in mujoco.mjtDyn.__members__} == known


def test_integrals_stay_within_their_limits_and_are_zero_without_a_gain():
    limited = _begun(_model('<pid name="m" joint="j" kp="1" ki="2" imax="0.3" input="pos"/>'))
    assert limited.act[0] == -0.3
    spent = _begun(_model('<intvelocity name="m" joint="j" kp="30" actrange="-.1 .3"/>'))
    assert spent.act[0] == pytest.approx(0.4 - 3.9 / 30, abs=0.05)
    edge = _begun(_model('<intvelocity name="m" joint="j" kp="30" actrange="-.1 .2"/>'))
    assert edge.act[0] == 0.2
    weak = _begun(_model('<pid name="m" joint="j" kp="1" ki="9" input="pos" forcerange="-1 1"/>'))
    assert weak.actuator_force[0] == pytest.approx(-1.0)
    idle = _model('<general name="m" joint="j" dyntype="integrator" gainprm="0"/>')
    assert _begun(idle).act[0] == 0.0
    user = _model('<general name="m" joint="j" dyntype="user" actdim="2"/>')
    assert np.all(_begun(user).act == 0.0)


@pytest.mark.parametrize("interp", ["zoh", "linear", "cubic"])
@pytest.mark.parametrize("delay", [0.002, 0.0107, 0.03])
def test_buffers_of_delayed_commands_hold_the_first_command(interp, delay):
    servo = '<position name="m" joint="j" kp="80" delay="%g" nsample="16" interp="%s"/>'
    data = _begun(_model(servo % (delay, interp)))
    assert data.actuator_force[0] == pytest.approx(80 * (COMMAND - 0.4))


def test_buffers_of_delayed_sensors_hold_their_first_value():
    sensors = (
        '<jointpos name="a" joint="j" delay=".01" nsample="8" interp="linear"/>'
        '<framequat name="b" objtype="body" objname="ball" delay=".007" nsample="6"/>'
        '<framepos name="c" objtype="body" objname="ball" delay=".01" nsample="6" interval=".004"/>'
    )
    plain = "".join(f"{part.split(' delay')[0]}/>" for part in sensors.split("/>")[:-1])
    late, now = (_begun(_model(HOLDING["pid"], s)) for s in (sensors, plain))
    np.testing.assert_allclose(late.sensordata, now.sensordata, atol=1e-12)


def test_each_candidate_holds_its_own_weight_with_its_own_gain():
    text = ARM % {"actuator": HOLDING["pid"], "sensor": "", "integrator": "implicitfast"}
    spec = mujoco.MjSpec.from_string(text)
    parameters = ParameterDict(
        {
            "gain": Parameter("gain", 12.0, 1, 60, target="actuator/m/gainprm/0"),
            "mass": Parameter("mass", 1.0, 0.1, 3, target="body/upper/mass"),
            "angle": Parameter("angle", 0.4, -1, 1, target="state/j/qpos"),
        }
    )
    variants = ModelVariants(spec, parameters)
    model = variants.model
    controls = np.full((50, model.nu), COMMAND)
    state = create_initial_state(model, _pose(model), held=True)
    segment = Segment(0.0, state, controls, "run")
    engine = BatchEngine(model, [segment], ("qpos", "act"), n_threads=1)
    X = np.array([[12.0, 1.0, 0.4], [40.0, 2.5, 0.4], [20.0, 0.3, 0.1]])
    models, writes = variants.batch(X, {})
    (block,) = engine.run(len(X), writes, models)
    compiled = [variants.model_at(x) for x in X]
    (again,) = engine.run(len(X), [w for w in writes if "state" in w[0].field], compiled)
    # in the first step the integral follows the error
    integral = block.records["act"][:, 0, 0, 1] - 0.002 * (COMMAND - 2 * X[:, 2])
    for one, x, value in zip(compiled, X, integral, strict=True):
        data = mujoco.MjData(one)
        data.qpos[:] = [x[2], *_pose(one)[1:]]
        data.act[:], data.ctrl[:] = [COMMAND, value], COMMAND
        mujoco.mj_forward(one, data)
        assert abs(data.qfrc_smooth[0]) < 1e-9
    np.testing.assert_allclose(again.records["act"], block.records["act"], atol=1e-12)


def test_what_is_given_wins():
    model = _model(HOLDING["pid"])
    given = create_initial_state(model, _pose(model), act=[0.1, 0.2], held=True)
    (filled,) = held_states([model], given[None], np.full((1, model.nu), COMMAND))
    assert np.array_equal(filled, given)
    open_ = create_initial_state(model, _pose(model), held=True)
    parameters = ParameterDict({"i": Parameter("i", 0.7, -1, 1, target="state/m/act/1@run")})
    text = ARM % {"actuator": HOLDING["pid"], "sensor": "", "integrator": "Euler"}
    variants = ModelVariants(mujoco.MjSpec.from_string(text), parameters)
    segment = Segment(0.0, open_, np.full((3, model.nu), COMMAND), "run")
    engine = BatchEngine(variants.model, [segment], ("act",), n_threads=1)
    (block,) = engine.run(1, variants.batch(np.array([[0.7]]), {})[1])
    assert block.records["act"][0, 0, 0, 0] == pytest.approx(COMMAND)
    assert block.records["act"][0, 0, 0, 1] == pytest.approx(0.7, abs=0.002)


def test_the_rest_of_a_state_is_the_models_default():
    model = _model(ARRIVED["filter"])
    state = create_initial_state(model, _pose(model), held=True)
    segment = Segment(5.0, state, np.full((2, 1), COMMAND), "run", clock=1.5)
    record = ("mocap_pos", "mocap_quat", "act")
    engine = BatchEngine(model, [segment], record, n_threads=1)
    (block,) = engine.run(1)
    np.testing.assert_array_equal(block.records["mocap_pos"][0, 0, 0], [1, 2, 3])
    assert block.records["act"][0, 0, 0] == pytest.approx(COMMAND)


def test_rollouts_of_the_toolbox_take_a_state_as_it_is_and_fill_what_is_open():
    delayed = '<position name="m" joint="j" kp="80" delay=".02" nsample="16"/>'
    model = _model(delayed, '<jointpos name="q" joint="j"/>')
    times = 0.002 * np.arange(6)
    control = TimeSeries(times, np.full((6, 1), COMMAND))

    def force(held: bool) -> float:
        state = create_initial_state(model, _pose(model), held=held)
        (result,) = sysid_rollout(model, mujoco.MjData(model), control, state)
        assert result.state is not None and np.isfinite(result.state.data).all()
        return float(result.state.data[0, 1 + model.nq])

    assert force(True) > 5 * force(False)  # an empty buffer pulls the arm to zero
    state = create_initial_state(model, _pose(model), held=True)
    measured = TimeSeries(times, np.zeros((6, 1)))
    spec = mujoco.MjSpec.from_string(
        ARM % {"actuator": delayed, "sensor": '<jointpos name="q" joint="j"/>',
               "integrator": "Euler"}
    )  # fmt: skip
    ModelSequences("arm", spec, "run", state, control, measured)
    for place, value in ((1, np.nan), (-1, np.inf)):
        wrong = state.copy()
        wrong[place] = value
        with pytest.raises(Exception, match="initial state contains values that are not finite"):
            ModelSequences("arm", spec, "run", wrong, control, measured)


def test_chunks_of_a_trajectory_go_on_with_the_commands_before():
    delayed = '<position name="m" joint="j" kp="80" kv="3" delay=".011" nsample="16"/>'
    model = _model(delayed, '<jointpos name="q" joint="j"/>')
    times = 0.002 * np.arange(60)
    control = TimeSeries(times, (0.4 + 0.5 * np.sin(90 * times))[:, None])
    state = create_initial_state(model, _pose(model), held=True)
    (whole,) = sysid_rollout(model, mujoco.MjData(model), control, state)
    assert whole.state is not None
    names = ["j_qpos", "b_qpos", "j_qvel", "b_qvel"]
    truth = np.vstack([whole.initial_state[1:][None], whole.state.data[:, 1:]])
    measured = TimeSeries.from_names(times, truth[:, : model.nq + model.nv], model, names)
    recorded = SystemTrajectory(model, control, measured, state)
    second = recorded.split(30)[1]
    (again,) = sysid_rollout(model, mujoco.MjData(model), second.control, second.initial_state)
    assert again.state is not None
    np.testing.assert_allclose(again.state.data[:, 1:3], truth[31:60, :2], atol=1e-9)
