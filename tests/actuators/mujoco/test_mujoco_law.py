"""Servos in MuJoCo move as on the bench, alone, in chains, on the ground, wherever they run."""

import dataclasses

import mujoco
import numpy as np
import pytest
from distinct_servos import LAWS, TERMS, VALUES, distinct_model
from mujoco.batch import Batch
from servo_law_models import (
    QUADRUPED,
    chain_spec,
    in_mujoco,
    pendulum_log,
    pendulum_spec,
    small_servo,
)

from trueup.actuators import (
    BenchSimulator,
    ServoLog,
    ServoModel,
    bench_from_mujoco,
    find_servo,
    read_logs,
)
from trueup.actuators.logs._process import process
from trueup.actuators.mujoco._servo_law_kernel import next_speeds
from trueup.actuators.mujoco.law import servo_law


def difference(model: ServoModel, log: ServoLog, integrator: str = "Euler") -> float:
    """Greatest distance from the bench [rad]."""
    offset = model.values["q_offset"]
    servos = servo_law(
        pendulum_spec(integrator), {"hinge": model}, kp=log.kp, offsets={"hinge": offset}
    )
    bench = BenchSimulator(model, [log]).simulate().position[0][0]
    assert np.ptp(bench) > 0.3
    return float(np.abs(in_mujoco(servos, log, offset) - bench).max())


@pytest.mark.parametrize("friction", ["m1", "m2", "m3", "m4", "m5", "m6"])
def test_one_joint_moves_exactly_as_on_the_bench(friction):
    model = small_servo(friction)
    own = {name: VALUES[name] for name in model.friction.parameter_names}
    assert difference(model.with_values(**own), pendulum_log("xl330", 200.0)) < 1e-10


@pytest.mark.parametrize(
    "term",
    [
        {"command_delay": 0.0123},
        {"max_velocity": 2.0},
        {"max_velocity": 2.0, "command_delay": 0.004},
        {"winding_braking": 0.7},
        {"measured_voltage": 0.8},
        {"resistance_temperature": 0.004},
        {"supply_resistance": 1.5},
        {"torque_saturation": 0.8},
        {"current_limit": 0.25},
    ],
    ids=lambda term: "+".join(term),
)
def test_extended_terms_act_as_on_the_bench(term):
    log = pendulum_log("xl330", 300.0)
    model = small_servo("m4", tuple(term), **term)
    assert difference(model, log) < 1e-10
    bare = BenchSimulator(small_servo("m4"), [log]).simulate().position[0][0]
    with_term = BenchSimulator(model, [log]).simulate().position[0][0]
    assert np.abs(bare - with_term).max() > 1e-3, "the test would not notice the term"


def test_backlash_acts_as_on_the_bench():
    model = small_servo("m4", ("backlash",), backlash=0.03)
    log = pendulum_log("xl330", 300.0)
    bench = BenchSimulator(model, [log]).simulate().position[0][0]
    bare = BenchSimulator(small_servo("m4"), [log]).simulate().position[0][0]
    servos = servo_law(pendulum_spec(), {"hinge": model}, kp=log.kp)
    found = np.abs(in_mujoco(servos, log) - bench)
    assert np.abs(bare - bench).mean() > 4e-3, "the test would not notice the gap"
    assert found.mean() < 5e-4


def test_a_gap_opens_in_a_chain_as_with_the_other_joints_locked():
    """With its neighbours held by friction alone, a joint of a chain is a bench of its own."""
    held = small_servo("m1", friction_base=50.0)
    gap = small_servo("m4", ("backlash",), backlash=0.03)
    servos = servo_law(chain_spec(), {"a": held, "b": gap, "c": held}, kp=300.0)
    times = np.arange(0.0, 1.5, 1e-3)
    goal = 0.5 + 0.8 * np.sin(12.0 * times)
    batch = Batch(servos.compile(), 1)
    with servos.installed(batch):
        found = batch.rollout(len(times), servos.controls(goal={"b": goal})[None], record=["qpos"])
    assert np.abs(found["qpos"][0][:, [0, 2]]).max() < 1e-12
    bench = bench_from_mujoco(chain_spec(), "b")
    log = pendulum_log("xl330", 300.0, seconds=1.5)
    log = dataclasses.replace(
        log, times=times, dt=1e-3, goal_position=goal, torque_enable=np.ones(len(times), bool),
        position=0.0 * times, speed=0.0 * times, input_volts=None, temperature=None,
    )  # fmt: skip
    expected = BenchSimulator(gap, [log], benches=[bench]).simulate().position[0][0]
    distance = np.abs(found["qpos"][0][:-1, 1] - expected[1:])
    assert np.ptp(expected) > 0.8
    assert distance.mean() < 2e-3


@pytest.mark.parametrize("name", ["xl330i", "sts3215", "erob80_50", "unitree_go1"])
def test_every_law_acts_as_on_the_bench(name):
    servo = find_servo(name)
    model = ServoModel.create(servo, "m5").with_values(armature=0.01, friction_base=0.02)
    assert difference(model, pendulum_log(name, servo.kp)) < 1e-10


@pytest.mark.parametrize("law", LAWS)
def test_every_law_and_term_acts_as_on_the_bench(law):
    model = distinct_model(law, "m6", TERMS[law])
    assert difference(model, pendulum_log(model.servo.name, 300.0)) < 1e-10


def test_runge_kutta_comes_near_the_bench():
    assert difference(small_servo("m4"), pendulum_log("xl330", 200.0), "RK4") < 4e-3


def test_recorded_logs_move_as_on_the_bench(recorded_data, tmp_path):
    process(recorded_data / "xl330_bench", tmp_path, 0.005)
    log = read_logs(tmp_path)[4]
    model = small_servo("m6", q_offset=0.03)
    spec = pendulum_spec()
    (body,) = spec.worldbody.bodies
    body.mass, body.ipos, body.inertia = 0.5, [0.0, 0.0, -log.length], [1e-3] * 3
    bench = {"total_inertia": 0.5 * log.length**2 + 1e-3}
    bench["total_g_bias"] = 0.5 * 9.80665 * log.length
    log = ServoLog(**{**vars(log), "header": bench})
    servos = servo_law(spec, {"hinge": model}, kp=log.kp, vin=log.vin, offsets={"hinge": 0.03})
    expected = BenchSimulator(model, [log]).simulate().position[0][0]
    assert np.abs(in_mujoco(servos, log, 0.03) - expected).mean() < 1e-9


def chain_positions(timestep: float, integrator: str = "Euler") -> np.ndarray:
    """Positions of the chain every 10 ms, all joints driven."""
    servos = servo_law(
        chain_spec(timestep, integrator=integrator), dict.fromkeys("abc", small_servo())
    )
    times = np.arange(0.0, 1.0, timestep)
    goals = {joint: 0.6 * np.sin((2 + i) * times) for i, joint in enumerate("abc")}
    batch = Batch(servos.compile(), 1)
    with servos.installed(batch):
        found = batch.rollout(len(times), servos.controls(goal=goals)[None], record=["qpos"])
    every = round(0.01 / timestep)
    return found["qpos"][0, every - 1 :: every]


def test_joints_that_move_each_other_converge_with_the_step():
    exact = chain_positions(1e-4)
    errors = [np.abs(chain_positions(step) - exact).max() for step in (2e-3, 1e-3, 5e-4)]
    assert errors[1] < 3e-3
    assert errors[0] > 1.6 * errors[1] > 2.5 * errors[2]
    assert np.abs(chain_positions(1e-3, "RK4") - exact).max() < 3e-3


def pendulums(count: int) -> np.ndarray:
    """Positions of pendulums side by side ``(steps, count)``, each with a goal of its own."""
    bodies = "".join(
        f'<body pos="0 {i} 0"><joint name="j{i}" axis="0 1 0"/>'
        f'<geom type="capsule" fromto="0 0 0 0 0 -.15" size=".01" mass="{0.1 + 0.05 * i}"/></body>'
        for i in range(count)
    )
    spec = mujoco.MjSpec.from_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    names = [f"j{i}" for i in range(count)]
    servos = servo_law(spec, dict.fromkeys(names, small_servo()))
    times = 0.002 * np.arange(300)
    goals = {name: 0.6 * np.sin((2 + i) * times) for i, name in enumerate(names)}
    batch = Batch(servos.compile(), 1)
    with servos.installed(batch):
        found = batch.rollout(len(times), servos.controls(goal=goals)[None], record=["qpos"])
    return found["qpos"][0]


def test_joints_that_share_no_body_do_not_move_each_other():
    np.testing.assert_allclose(pendulums(3)[:, :2], pendulums(2), rtol=0, atol=1e-12)
    np.testing.assert_allclose(pendulums(2)[:, :1], pendulums(1), rtol=0, atol=1e-12)


def test_friction_of_many_joints_solves_its_conditions():
    rng = np.random.default_rng(3)
    for n in (2, 3, 7, 20):
        for _ in range(20):
            root = rng.normal(size=(n, n))
            H = root @ root.T + 10.0 ** rng.uniform(-4, 0) * np.eye(n)
            right, loss = rng.normal(size=n), rng.exponential(0.5, n) * rng.integers(0, 2, n)
            speed = rng.normal(size=n) * rng.integers(0, 2, n)
            assert next_speeds.py_func(  # compiling it alone takes longer than all cases
                H, right, loss, speed, np.empty(n), np.empty(n, np.int64), np.empty((n, n))
            )
            friction = right - H @ speed
            moving = speed != 0.0
            np.testing.assert_allclose(
                friction[moving], (loss * np.sign(speed))[moving], atol=1e-8, rtol=0
            )
            assert (np.abs(friction[~moving]) <= loss[~moving] + 1e-9).all()


def test_joints_stick_exactly_with_the_torque_off():
    model = small_servo("m1", friction_base=0.3)
    servos = servo_law(chain_spec(), dict.fromkeys("abc", model))
    data = mujoco.MjData(servos.compile())
    data.qvel[:] = 2.0
    data.ctrl[:] = servos.controls(torque_off=dict.fromkeys("abc", 1.0))
    with servos.installed(data):
        for _ in range(300):
            mujoco.mj_step(data.model, data)
        rest = data.qpos.copy()
        for _ in range(1000):
            mujoco.mj_step(data.model, data)
    assert np.abs(data.qvel).max() < 1e-12
    np.testing.assert_allclose(data.qpos, rest, atol=1e-12, rtol=0)


def test_limbs_that_rest_on_the_ground_do_not_creep():
    servos = servo_law(chain_spec(floor=-0.05), dict.fromkeys("abc", small_servo()))
    data = mujoco.MjData(servos.compile())
    data.ctrl[:] = servos.controls(torque_off=dict.fromkeys("abc", 1.0))
    with servos.installed(data):
        for _ in range(3000):
            mujoco.mj_step(data.model, data)
    assert data.ncon > 0
    assert np.abs(data.qvel).max() < 1e-6


def test_load_is_what_would_hold_the_joints():
    spec = mujoco.MjSpec.from_string(QUADRUPED)
    joints = [f"{part}{i}" for i in range(4) for part in ("hip", "knee")]
    servos = servo_law(spec, dict.fromkeys(joints, small_servo()), kp=200.0)
    data = mujoco.MjData(servos.compile())
    data.ctrl[:] = servos.controls(
        goal={joint: 0.4 if joint.startswith("hip") else -0.8 for joint in joints}
    )
    with servos.installed(data):
        mujoco.mj_step(data.model, data)
        assert np.abs(servos.state(data)["torque_load"]).max() < 1e-9, "falling weighs nothing"
        for _ in range(1500):
            mujoco.mj_step(data.model, data)
        assert np.abs(data.qvel).max() < 1e-4
        state = servos.state(data)
        load, motor, friction = (state[f"torque_{n}"] for n in ("load", "motor", "friction"))
        assert np.abs(load).max() > 0.01, "standing does"
        np.testing.assert_allclose(load + motor + friction, 0.0, atol=1e-5)
        # motor and friction are what MuJoCo's actuators and applied forces say
        motors = [data.model.actuator(servos.channels["motor"][j]).id for j in joints]
        np.testing.assert_array_equal(data.actuator_force[motors], motor)
        dofs = [data.model.joint(j).dofadr[0] for j in joints]
        np.testing.assert_array_equal(data.qfrc_applied[dofs], friction)


def test_a_free_joint_beside_the_servos_moves_on():
    """A servo on a cart, a free pendulum on it: the inertia that the servo feels is not M_ii."""
    text = """<mujoco><option timestep="{h}"/><worldbody><body>
      <joint name="base" axis="0 1 0"/><geom size="0.02" pos="0.1 0 0" mass="0.1"/>
      <body pos="0.1 0 0"><joint name="free" axis="0 1 0" armature="1e-4"/>
      <geom size="0.02" pos="0 0 -0.1" mass="0.2"/></body></body></worldbody></mujoco>"""
    ends = []
    for timestep in (1e-3, 1e-4):
        servos = servo_law(
            mujoco.MjSpec.from_string(text.format(h=timestep)), {"base": small_servo()}
        )
        times = np.arange(0.0, 1.0, timestep)
        batch = Batch(servos.compile(), 1)
        with servos.installed(batch):
            control = servos.controls(goal={"base": np.sin(4.0 * times)})
            found = batch.rollout(len(times), control[None], record=["qpos"])
        ends.append(found["qpos"][0, round(0.01 / timestep) - 1 :: round(0.01 / timestep)])
    assert np.ptp(ends[1], axis=0).min() > 0.3
    assert np.abs(ends[0] - ends[1]).max() < 5e-3
