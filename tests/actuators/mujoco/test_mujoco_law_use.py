"""Servos in MuJoCo: how a model is prepared, where the law runs, what is refused."""

import mujoco
import mujoco.rollout
import numpy as np
import pytest
from mujoco.batch import Batch
from servo_law_models import chain_spec, pendulum_spec, small_servo

from trueup.actuators import save_model
from trueup.actuators.mujoco.law import servo_law
from trueup.errors import LawError, ModelError
from trueup.simulation.models.file import write_model

STEPS = 150


def controls(servos):
    """Goals of a chain, with a delay and a release."""
    times = np.arange(STEPS) * 1e-3
    goals = {joint: 0.8 * np.sin((9 + i) * times) for i, joint in enumerate(servos.joints)}
    return servos.controls(goal=goals, torque_off={servos.joints[0]: times > 0.1})


@pytest.fixture(scope="module")
def servos():
    model = small_servo("m6", ("command_delay", "max_velocity"), command_delay=0.0042)
    models = {"a": model, "b": small_servo("m4"), "c": small_servo("m1")}
    return servo_law(chain_spec(), models, kp={"a": 100.0}, vin=7.0)


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicitfast"])
def test_threads_batch_and_plain_loop_agree_bit_for_bit(integrator):
    delayed = small_servo("m6", ("command_delay",), command_delay=0.0042)
    servos = servo_law(
        chain_spec(floor=-0.05, integrator=integrator), dict.fromkeys("abc", delayed)
    )
    model, wanted = servos.compile(), controls(servos)
    kp = {"b": np.linspace(50.0, 400.0, 5)}
    found = []
    for threads in (1, 2):
        batch = Batch(model, 5, nthread=threads)
        servos.start(batch, kp=kp)
        with servos.installed(batch):
            every = np.broadcast_to(wanted, (5, *wanted.shape))
            found.append(batch.rollout(STEPS, every, record=["qpos", "userdata"]))
        assert servos.failures(batch) == {}
    np.testing.assert_array_equal(found[0]["qpos"], found[1]["qpos"])
    np.testing.assert_array_equal(found[0]["userdata"], found[1]["userdata"])
    assert len(np.unique(found[0]["qpos"][:, -1, 1])) == 5
    for number, forwards in ((0, 0), (4, 2)):
        data = mujoco.MjData(model)
        servos.start(data, kp={"b": kp["b"][number]})
        with servos.installed(data):
            for step in range(STEPS):
                data.ctrl[:] = wanted[step]
                for _ in range(forwards):
                    mujoco.mj_forward(model, data)
                    data.ctrl[:] = wanted[step]
                mujoco.mj_step(model, data)
        np.testing.assert_array_equal(data.qpos, found[0]["qpos"][number, -1])


def ends_of_two_runs(servos, model) -> list[np.ndarray]:
    """Positions at the end of two runs, each after a reset."""
    data = mujoco.MjData(model)
    ends = []
    with servos.installed(data):
        for _ in range(2):
            mujoco.mj_resetData(model, data)
            for control in controls(servos):
                data.ctrl[:] = control
                mujoco.mj_step(model, data)
            ends.append(data.qpos.copy())
    assert servos.failures(data) == {}
    return ends


def test_starts_by_itself_after_a_reset(servos):
    ends = ends_of_two_runs(servos, servos.compile())
    np.testing.assert_array_equal(ends[0], ends[1])


def test_starts_by_itself_from_a_saved_model(servos, tmp_path):
    write_model(servos.spec, tmp_path / "servos.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "servos.xml"))
    ends = [ends_of_two_runs(servos, one)[0] for one in (servos.compile(), model)]
    np.testing.assert_allclose(*ends, rtol=1e-12)


@pytest.mark.skipif(
    mujoco.__version__.startswith("4."),
    reason="to_xml of MuJoCo 4 writes 0 for numbers 1e11 times smaller than the largest of a list",
)
def test_starts_by_itself_from_the_xml_of_mujoco(servos):
    model = mujoco.MjModel.from_xml_string(servos.spec.to_xml())
    ends = [ends_of_two_runs(servos, one)[0] for one in (servos.compile(), model)]
    np.testing.assert_allclose(*ends, rtol=1e-6)


def test_every_simulation_has_its_own_servos_and_armatures(servos):
    models = [small_servo("m4", armature=a, kt=k) for a, k in ((0.0018, 0.37), (0.004, 0.3))]
    batch = Batch(servos.compile(), 2)
    servos.start(batch, {"b": models}, vin={"c": [6.0, 8.0]})
    wanted = controls(servos)
    with servos.installed(batch):
        together = batch.rollout(STEPS, np.stack([wanted, wanted]), record=["qpos"])["qpos"]
    for number, (model, volts) in enumerate(zip(models, (6.0, 8.0), strict=True)):
        own = {**servos.models, "b": model}
        alone = servo_law(chain_spec(), own, kp={"a": 100.0}, vin={"a": 7.0, "b": 7.0, "c": volts})
        single = Batch(alone.compile(), 1)
        with alone.installed(single):
            found = single.rollout(STEPS, wanted[None], record=["qpos"])["qpos"][0]
        np.testing.assert_allclose(together[number], found, rtol=0, atol=1e-12)
    data = mujoco.MjData(servos.compile())
    with pytest.raises(LawError, match="armatures"):
        servos.start(data, {"b": models[1]})


def test_actuators_become_goals_and_keep_their_place(tmp_path):
    spec = chain_spec()
    for name, joint in (("other", "c"), ("elbow", "b")):
        actuator = spec.add_actuator(
            name=name, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT, forcerange=[-1, 1]
        )
        actuator.set_to_position(kp=3.0, kv=0.1, timeconst=0.05)
        actuator.ctrlrange, actuator.ctrllimited = [-2.0, 2.0], mujoco.mjtLimited.mjLIMITED_TRUE
    spec.add_key(name="home", ctrl=[0.1, 0.2], act=[0.3, 0.4], qpos=[0.0, 0.1, 0.2])
    before = spec.compile()
    path = save_model(small_servo("m1", armature=0.003), tmp_path / "servo.json")
    servos = servo_law(spec, {"b": path, "a": small_servo("m2")})
    model = servos.compile()
    assert [model.actuator(i).name for i in range(model.nu)] == [
        "other", "elbow", "a_goal", "b_motor", "a_motor", "b_torque_off", "a_torque_off",
    ]  # fmt: skip
    assert servos.channels["goal"] == {"b": "elbow", "a": "a_goal"}
    np.testing.assert_array_equal(model.actuator("elbow").ctrlrange, [-2.0, 2.0])
    assert (before.na, model.na) == (2, 1)
    np.testing.assert_allclose(model.key("home").ctrl, [0.1, 0.2, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(model.key("home").act, [0.3])
    assert model.dof_armature[[0, 1, 2]].tolist() == [0.0018, 0.003, 0.0]
    data = mujoco.MjData(model)
    data.ctrl[1] = 0.5
    with servos.installed(data):
        for _ in range(500):
            mujoco.mj_step(model, data)
    assert data.qpos[1] == pytest.approx(0.5, abs=0.2)
    assert data.actuator("elbow").force[0] == 0.0
    assert spec.compile().nu == 2, "the spec that was given stays as it was"


def test_runs_in_mujoco_rollout(servos):
    model = servos.compile()
    state = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    wanted = np.broadcast_to(controls(servos), (3, STEPS, model.nu))
    with servos.installed(model):
        datas = [mujoco.MjData(model)]
        states, _ = mujoco.rollout.rollout(model, datas, np.zeros((3, state)), wanted)
    assert (states == states[:1]).all()


def test_a_model_with_too_little_userdata_is_refused(servos):
    spec = servos.spec.copy()
    spec.nuserdata = 20
    model = spec.compile()
    data = mujoco.MjData(model)
    with pytest.raises(LawError, match="nuserdata 20"):
        servos.start(data)
    with pytest.raises(LawError, match="nuserdata 20"), servos.installed(model):
        pass


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: servo_law(chain_spec(), {}), LawError, "one joint"),
        (
            lambda: servo_law(chain_spec(), {"aa": small_servo()}),
            LawError,
            "no joint 'aa'; available: 'a', 'b', 'c'",
        ),
        (lambda: servo_law("none.xml", {"a": small_servo()}), ModelError, "none.xml"),
        (
            lambda: servo_law(chain_spec(), {"a": small_servo()}, kp={"b": 3.0}),
            LawError,
            "'b'",
        ),
        (
            lambda: servo_law(
                chain_spec(), {"a": small_servo("m1", ("command_delay",))}, max_delay=0.001
            ),
            LawError,
            "max_delay",
        ),
    ],
)
def test_what_cannot_be_prepared_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_joints_with_several_actuators_are_refused():
    spec = pendulum_spec()
    for name in ("one", "two"):
        spec.add_actuator(name=name, target="hinge", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    with pytest.raises(LawError, match="'one', 'two'"):
        servo_law(spec, {"hinge": small_servo()})


def test_wrong_starts_and_commands_are_refused(servos):
    batch = Batch(servos.compile(), 3)
    with pytest.raises(LawError, match="2 servos for 3"):
        servos.start(batch, {"a": [small_servo()] * 2})
    with pytest.raises(LawError, match=r"0\.02 s"):
        late = small_servo("m1", ("command_delay",), command_delay=0.02)
        servos.start(batch, {"a": late})
    with pytest.raises(LawError, match="measured_voltage"):
        servos.start(batch, {"a": small_servo("m1", ("measured_voltage",))})
    with pytest.raises(LawError, match="unknown channel 'goals'"):
        servos.controls(goals={"a": 1.0})
    with pytest.raises(LawError, match="joint 'd'"):
        servos.controls(goal={"d": 1.0})
