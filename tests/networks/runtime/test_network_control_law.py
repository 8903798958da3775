"""Networks inside MuJoCo: equal to the numpy runtime in closed loop, in loops and in batches."""

import mujoco
import numpy as np
import pytest
from mujoco.batch import Batch
from random_networks import BASE, random_network
from registered_models import WEDGE, registered, wedge_loss
from servo_bases import distinct_base

from trueup.errors import LawError
from trueup.networks import NetworkRuntime, network_law

ARM = """<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <body><joint name="a" axis="0 1 0" damping="2" armature="1"/><geom size=".05" pos="0 0 -.3"/>
      <body pos="0 0 -.5"><joint name="b" axis="0 1 0" damping="2" armature="1"/>
        <geom size=".05" pos="0 0 -.3"/></body></body>
  </worldbody>
  <actuator><position joint="b" name="old" kp="5"/></actuator>
</mujoco>"""
RESTING = ("angle_error_rad", "current_ang_vel_rad_s", "target_ang_vel_rad_s", "inertia_kg_m2")


@pytest.fixture
def spec():
    return mujoco.MjSpec.from_string(ARM)


@pytest.fixture
def goals():
    return 0.02 * np.cumsum(np.random.default_rng(0).normal(size=(300, 2)), axis=0)


def networks(first="gru"):
    return {
        "a": random_network(first, layers=1, base=BASE, torque_limit=6.0),
        "b": random_network("mlp", features=RESTING, seed=2),
    }


def law_of(spec, first="gru"):
    return network_law(spec, networks(first), constants={"inertia_kg_m2": {"b": 0.4}})


class Expected:
    """The numpy runtime of both joints, at every fifth step."""

    def __init__(self, law):
        self.runtimes = [NetworkRuntime(network) for network in law.networks.values()]
        self.torque = np.zeros(2)

    def step(self, k, goal, position, velocity):
        """Torque of both joints in step k."""
        if k % 5 == 0:
            for i, runtime in enumerate(self.runtimes):
                known = {
                    "current_angle_rad": position[i],
                    "target_angle_rad": goal[i],
                    "current_ang_vel_rad_s": velocity[i],
                    "angle_error_rad": goal[i] - position[i],
                    "target_ang_vel_rad_s": 0.1,
                    "inertia_kg_m2": 0.4,
                }
                row = [known[name] for name in runtime.network.inputs]
                self.torque[i] = runtime.step(np.array([row]))[0]
        return self.torque


def controls(law, goals):
    return law.controls(
        goal={"a": goals[..., 0], "b": goals[..., 1]}, target_ang_vel_rad_s={"b": 0.1}
    )


def test_joints_may_have_servos_of_different_laws_and_friction_as_bases(spec, goals):
    with registered("m7", WEDGE, wedge_loss):
        bases = (distinct_base("current_pd"), distinct_base("voltage", "m7", **WEDGE))
        law = network_law(
            spec, {j: random_network("linear", base=b) for j, b in zip("ab", bases, strict=True)}
        )
        model = law.compile()
        data, expected = mujoco.MjData(model), Expected(law)
        with law.installed(data):
            for k, goal in enumerate(goals[:50]):
                data.ctrl[:] = law.controls(goal={"a": goal[0], "b": goal[1]})
                wanted = expected.step(k, goal, data.qpos.copy(), data.qvel.copy())
                mujoco.mj_step(model, data)
                np.testing.assert_allclose(law.state(data)["torque"], wanted, atol=1e-10)
        assert not law.failures(data)


@pytest.mark.parametrize("first", ["gru", "lstm", "linear"])
def test_a_loop_over_steps_is_the_runtime_in_closed_loop(spec, goals, first):
    law = law_of(spec, first)
    model = law.compile()
    data, expected = mujoco.MjData(model), Expected(law)
    motors = [model.actuator(law.channels["motor"][joint]).id for joint in "ab"]
    with law.installed(data):
        for k, goal in enumerate(goals[:150]):
            data.ctrl[:] = controls(law, goal)
            wanted = expected.step(k, goal, data.qpos.copy(), data.qvel.copy())
            mujoco.mj_step(model, data)
            np.testing.assert_allclose(data.actuator_force[motors], wanted, atol=1e-10)
            np.testing.assert_allclose(law.state(data)["torque"], wanted, atol=1e-10)
    assert not law.failures(data)
    assert np.abs(data.qpos).max() > 0.01


def test_a_batch_gives_each_simulation_its_own_memory(spec, goals):
    law = law_of(spec)
    model = law.compile()
    batch = Batch(model, 3)
    each = np.stack([goals, -goals, 0.5 * goals])
    sent = controls(law, each)
    with law.installed(batch):
        batch.rollout(len(goals), control=sent)
    assert not law.failures(batch)
    data = mujoco.MjData(model)
    with law.installed(data):
        for i in range(3):
            mujoco.mj_resetData(model, data)
            for control in sent[i]:
                data.ctrl[:] = control
                mujoco.mj_step(model, data)
            np.testing.assert_allclose(batch.bind("qpos")[i], data.qpos, atol=1e-12)


def test_the_default_network_fits_into_a_model_and_its_xml(spec, goals):
    network = random_network("gru", hidden=128)
    law = network_law(spec, {"a": network})
    model = law.compile()
    assert model.nnumericdata > 150_000
    # MuJoCo writes six digits: those of single precision
    again = mujoco.MjModel.from_xml_string(law.spec.to_xml())
    found = []
    for each in (model, again):
        data = mujoco.MjData(each)
        with law.installed(data):
            for goal in goals[:30]:
                data.ctrl[:] = law.controls(goal={"a": goal[0]})
                mujoco.mj_step(each, data)
        assert not law.failures(data)
        found.append(law.state(data)["torque"].copy())
    np.testing.assert_allclose(found[1], found[0], atol=1e-4)


def test_one_network_on_several_joints_lies_in_the_model_once(spec):
    network = random_network("gru", hidden=64)
    one, two = (network_law(spec, dict.fromkeys(j, network)).compile() for j in ("a", "ab"))
    assert two.nnumericdata - one.nnumericdata < 100


def test_a_network_steps_at_its_own_rate_and_no_other(spec):
    fast = {"a": random_network(rate=1000.0)}
    with pytest.raises(
        LawError, match=r"trained at 1000 Hz.* not a multiple of the physics step of 0\.002 s"
    ):
        network_law(spec, fast)
    with pytest.raises(LawError, match="'100 Hz', '200 Hz'"):
        network_law(spec, {"a": random_network(), "b": random_network(rate=200.0)})
    law = network_law(spec, {"a": random_network()})
    model = law.compile()
    model.opt.timestep = 0.003
    data = mujoco.MjData(model)
    with law.installed(data):
        mujoco.mj_step(model, data)
    assert "the time step was changed" in law.failures(data)[0]


def test_what_is_missing_is_named(spec):
    with pytest.raises(LawError, match="no joint 'c'; available: 'a', 'b'"):
        network_law(spec, {"c": random_network()})
    with pytest.raises(LawError, match="inertia"):
        network_law(spec, networks())
    with pytest.raises(LawError, match="Did you mean 'inertia_kg_m2'"):
        network_law(spec, networks(), constants={"inertia_kgm2": 0.1})
    with pytest.raises(LawError, match="at least one joint"):
        network_law(spec, {})
    law = law_of(spec)
    with pytest.raises(LawError, match="available: 'goal', 'target_ang_vel_rad_s'"):
        law.controls(torque={"a": 1.0})
    with pytest.raises(LawError, match="driven joints: 'a', 'b'"):
        law.controls(goal={"c": 1.0})
    spec.add_actuator(name="second", target="b", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    with pytest.raises(LawError, match="'old', 'second'"):
        law_of(spec)
