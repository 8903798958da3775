"""Servos that hold a load away from zero where a simulation begins: no form of them is kicked."""

import dataclasses

import mujoco
import numpy as np
import pytest
from distinct_servos import LAWS, distinct_model
from exported_modules import module_of
from mujoco.batch import Batch
from scipy.optimize import brentq

from trueup.actuators import BenchSimulator, ServoLog, ServoModel, bench_of, servo_law
from trueup.actuators.bench.loads import TabulatedBench
from trueup.actuators.equations import servo_equations as equations
from trueup.actuators.equations.servo_laws import law_parameters

MEMORY = ("max_velocity", "command_delay")
SLOW = {"max_velocity": 0.4, "command_delay": 0.013, "q_offset": 0.0}
"""A target that would take a while to a goal that holds a load."""
MASS, LENGTH = 0.05, 0.1
INERTIA, WEIGHT = MASS * LENGTH**2, MASS * 9.80665 * LENGTH
POSES = (1.3, -0.9, 2.4, -np.pi / 2)
"""Angles of a pendulum [rad]: it weighs at all of them."""

PENDULUM = f"""<mujoco>
  <option timestep="0.001" gravity="0 0 -9.80665"/>
  <worldbody><body>
    <joint name="hinge" axis="0 -1 0"/>
    <inertial pos="0 0 -{LENGTH}" mass="{MASS}" diaginertia="1e-9 1e-9 1e-9"/>
  </body></worldbody>
</mujoco>"""


def frictionless(law: str, terms: tuple[str, ...] = (), **values: float) -> ServoModel:
    """A servo that rests by its motor alone."""
    terms = (*MEMORY, *terms)
    return distinct_model(law, "m1", terms, friction_base=0.0, **{**SLOW, **values})


def holding_goal(model: ServoModel, pose: float) -> float:
    """Goal with which the servo at rest balances the pendulum [rad]."""

    def net(error: float) -> float:
        return float(model.torque(error, 0.0)) - WEIGHT * np.sin(pose)

    return pose + brentq(net, -1.0, 1.0, xtol=1e-15)


def held_log(model: ServoModel, pose: float, dt: float = 0.005, seconds: float = 0.5, **changes):
    """A log of the pendulum at rest, held by the first goal, which stays."""
    times = np.arange(0.0, seconds, dt)
    zeros = np.zeros(len(times))
    log = ServoLog(
        name=f"held at {pose:g}", source="", sha256="", motor=model.servo.name, trajectory="held",
        mass=0.0, arm_mass=0.0, length=0.0, kp=model.servo.kp, vin=None, damping=None, dt=dt,
        times=times, position=zeros + pose, speed=zeros,
        goal_position=zeros + holding_goal(model, pose), torque_enable=zeros == 0.0, load=None,
        input_volts=None, temperature=None,
        header={"total_inertia": INERTIA, "total_g_bias": WEIGHT},
    )  # fmt: skip
    return dataclasses.replace(log, **changes)


@pytest.mark.parametrize("law", LAWS)
def test_the_error_that_holds_a_load_is_the_inverse_of_the_law(law):
    terms = {"voltage": ("supply_resistance", "torque_saturation")}.get(law, ())
    model = distinct_model(law, "m1", terms)
    p = law_parameters(model.servo, model.values)
    loads = np.array([-0.2, -0.01, 0.0, 0.03, 0.25])
    error = equations.holding_error(law, loads, p)
    np.testing.assert_allclose(model.torque(error, 0.0), -loads, atol=1e-12)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("dt", [0.001, 0.0035, 0.02])
def test_each_log_of_the_bench_begins_at_rest_at_its_own_pose(law, dt):
    model = frictionless(law)
    logs = [held_log(model, pose, dt) for pose in POSES]
    motion = BenchSimulator(model, logs).simulate()
    for pose, position in zip(POSES, motion.position, strict=True):
        assert np.abs(position[0] - pose).max() < 1e-9


@pytest.mark.parametrize("law", LAWS)
def test_servos_in_mujoco_begin_at_rest_each_at_its_own_pose(law):
    model = frictionless(law)
    servos = servo_law(mujoco.MjSpec.from_string(PENDULUM), {"hinge": model})
    goals = [holding_goal(model, pose) for pose in POSES]
    controls = np.repeat(np.array(goals)[:, None], 300, axis=1)
    batch = Batch(servos.compile(), len(POSES))
    batch.bind("qpos")[:, 0] = POSES
    with servos.installed(batch):
        found = batch.rollout(300, servos.controls(goal={"hinge": controls}), record=["qpos"])
    assert not servos.failures(batch)
    assert np.abs(found["qpos"][:, :, 0] - np.array(POSES)[:, None]).max() < 1e-7


@pytest.mark.parametrize("law", LAWS)
def test_the_module_begins_at_rest_in_each_environment(law):
    model = frictionless(law)
    bench = module_of(model, "numpy-module").Servo(0.002, load_inertia=INERTIA)
    position, speed = np.array(POSES), np.zeros(len(POSES))
    goals = np.array([holding_goal(model, pose) for pose in POSES])
    for _ in range(2):
        for _ in range(100):
            load = -WEIGHT * np.sin(position)
            torque = bench.torque(goals, position, speed, load)
            speed = speed + 0.002 * (torque + load) / (INERTIA + model.values["armature"])
            position = position + 0.002 * speed
            assert np.abs(position - POSES).max() < 1e-9
        # environments that are reset to another state begin anew
        position, speed = np.array(POSES), np.zeros(len(POSES))
        bench.torque(goals + 0.3, position, speed, load)
        bench.reset()


def test_a_load_that_is_not_known_is_what_the_motor_balances_at_first():
    model = distinct_model("voltage", "m6", ())
    servo = module_of(model, "numpy-module").Servo(0.002, load_inertia=INERTIA)
    position, speed = np.array(POSES), np.zeros(len(POSES))
    goals = np.array([holding_goal(model, pose) for pose in POSES])
    torque = servo.torque(goals, position, speed)
    np.testing.assert_allclose(torque, WEIGHT * np.sin(POSES), rtol=1e-9)


@pytest.mark.parametrize("friction", ["m1", "m3", "m4", "m5", "m6"])
def test_a_joint_that_friction_holds_stays_until_its_goal_moves(friction):
    """It rests within its friction, on either side of where the motor alone would hold it."""
    model = distinct_model("voltage", friction, MEMORY, **SLOW)
    band = 0.5 * model.values["friction_base"] / (WEIGHT / (holding_goal(model, 1.3) - 1.3))
    for shift in (-band, 0.0, band):
        log = held_log(model, 1.3)
        log = dataclasses.replace(log, goal_position=log.goal_position + shift)
        position = BenchSimulator(model, [log]).simulate().position[0][0]
        assert np.abs(position - 1.3).max() == 0.0


@pytest.mark.parametrize("law", LAWS)
def test_a_goal_that_is_new_at_the_start_is_approached_at_the_limited_speed(law):
    model = frictionless(law, friction_viscous=0.03)
    log = held_log(model, 1.3)
    for step in (0.5, -0.5):
        moved = dataclasses.replace(log, goal_position=log.goal_position + step)
        position = BenchSimulator(model, [moved]).simulate().position[0][0]
        assert np.abs(position[:2] - 1.3).max() < 2e-3
        travel = np.sign(step) * (position[-1] - 1.3)
        assert 0.02 < travel < 1.5 * 0.4 * 0.5


def test_a_servo_without_torque_starts_from_its_joint():
    model = frictionless("voltage")
    log = held_log(model, 0.0, seconds=0.2)
    log = dataclasses.replace(
        log, goal_position=log.goal_position + 0.7, torque_enable=log.times > 0.1
    )
    position = BenchSimulator(model, [log]).simulate().position[0][0]
    assert np.abs(position[log.times < 0.1]).max() < 1e-12
    assert 0.0 < position[-1] < 0.4 * 0.1 + 0.01


def test_a_moving_start_takes_the_speed_of_the_first_sample():
    model = frictionless("current_pd")
    log = held_log(model, 1.3, dt=0.001, seconds=0.02)
    log = dataclasses.replace(log, speed=log.speed + 1.7)
    motion = BenchSimulator(model, [log]).simulate()
    assert motion.speed[0][0, 0] == 1.7
    assert (motion.position[0][0, 1] - 1.3) / 0.001 == pytest.approx(1.7, rel=0.2)


def test_derivatives_follow_the_target_of_a_held_start():
    model = frictionless("voltage", ("supply_resistance", "torque_saturation"))
    log = held_log(model, 1.3, dt=0.002, seconds=0.2)
    # the goal is farther than what holds the load, so the first target depends on the servo
    log = dataclasses.replace(log, goal_position=log.goal_position + 0.3)
    simulator = BenchSimulator(model, [log])
    x = model.vector()
    _, found = simulator.sensitivities(x, position_only=True)
    for name in ("kt", "R", "error_gain_ratio", "supply_resistance", "torque_saturation"):
        column = simulator.names.index(name)
        moved = []
        for sign in (1.0, -1.0):
            candidate = x.copy()
            candidate[column] *= 1.0 + 1e-6 * sign
            moved.append(simulator.simulate(candidate).position[0][0])
        expected = (moved[0] - moved[1]) / (2e-6 * x[column])
        np.testing.assert_allclose(
            found[0, 0, :, column], expected, atol=2e-5 * np.abs(expected).max()
        )


@pytest.mark.parametrize("pull", [0.2, -0.2])
def test_a_tabulated_load_hangs_on_its_side_of_the_gap(pull):
    """The gap does not open at the start, wherever zero of the joint is."""
    model = distinct_model("voltage", "m1", ("backlash",), backlash=0.06, q_offset=0.0)
    log = held_log(model, 0.5, torque_enable=np.ones(100, bool))
    error = brentq(lambda e: float(model.torque(e, 0.0)) + pull, -1.0, 1.0)
    log = dataclasses.replace(log, goal_position=log.position + error)
    bench = TabulatedBench(-1.0, 0.1, np.full(21, INERTIA), np.full(21, pull))
    position = BenchSimulator(model, [log], benches=[bench]).simulate().position[0][0]
    assert np.abs(position - 0.5).max() < 1e-12


def test_the_load_of_a_log_is_that_of_the_tests():
    bench = bench_of(held_log(frictionless("voltage"), 1.3))
    assert bench.numbers() == pytest.approx((INERTIA, WEIGHT))
