"""The snippet for Isaac Lab: the numbers of the law, its stated error, code that runs."""

import re
import sys
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.deploy import export_servo
from trueup.deploy.isaac_lab.nearest import (
    equivalent_simulator,
    isaac_lab_snippet,
    nearest_actuators,
)
from trueup.deploy.servo import ExportRequest
from trueup.deploy.standard_logs import standard_logs
from trueup.errors import FitError

XL330 = {"kt": 0.37, "R": 2.8, "armature": 0.0018, "friction_base": 0.01}
XL330 |= {"friction_viscous": 0.004}
M6 = {"load_friction_motor": 0.25, "friction_stribeck": 0.01, "dtheta_stribeck": 2.0}
EROB = {"kt": 4.5, "R": 1.0, "armature": 0.35, "friction_base": 4.0, "friction_viscous": 1.0}
CONFIGS = ("DCMotorCfg", "IdealPDActuatorCfg", "DelayedPDActuatorCfg", "ImplicitActuatorCfg")


def few_logs(model, count=2):
    """Standard trajectories on a pendulum that suits the servo, and the model's motion in them."""
    return recorded(model, standard_logs(model)[1 : 1 + count])


def recorded(model, logs):
    """Logs in which the motion of a model is what was measured."""
    found = BenchSimulator(model, logs).simulate()
    return [
        replace(log, position=position[0], speed=speed[0])
        for log, position, speed in zip(logs, found.position, found.speed)
    ]


def nearest(model, logs):
    """Nearest configurations to logs, the best first."""
    return nearest_actuators(ExportRequest(model, logs=logs, timestep=0.005)).actuators


def run(snippet):
    """The configuration that the code of a snippet makes: its class and its settings."""
    package, module = ModuleType("isaaclab"), ModuleType("isaaclab.actuators")
    for name in CONFIGS:
        setattr(module, name, lambda name=name, **settings: (name, settings))
    saved = {name: sys.modules.get(name) for name in ("isaaclab", "isaaclab.actuators")}
    sys.modules.update({"isaaclab": package, "isaaclab.actuators": module})
    names: dict = {}
    try:
        exec(compile(snippet, "snippet", "exec"), names)
    finally:
        for name, old in saved.items():
            sys.modules.pop(name)
            if old is not None:
                sys.modules[name] = old
    (found,) = (value for name, value in names.items() if name.endswith("_CFG"))
    return found


def test_a_voltage_servo_is_a_dc_motor_exactly():
    model = ServoModel.create("xl330", "m1", **XL330)
    best = nearest(model, few_logs(model))[0]
    assert best.config == "DCMotorCfg"
    assert best.error < 1e-12
    config, settings = run(isaac_lab_snippet(model, few_logs(model), vin=6.0, kp=200))
    gain = 200 * model.servo.error_gain
    assert config == "DCMotorCfg"
    assert settings["stiffness"] == pytest.approx(gain * 6.0 * 0.37 / 2.8, rel=1e-5)
    assert settings["damping"] == pytest.approx(0.37**2 / 2.8, rel=1e-5)
    assert settings["saturation_effort"] == pytest.approx(6.0 * 0.37 / 2.8, rel=1e-5)
    assert settings["velocity_limit"] == pytest.approx(6.0 / 0.37, rel=1e-5)
    assert settings["friction"] == settings["dynamic_friction"] == pytest.approx(0.01)
    assert settings["viscous_friction"] == pytest.approx(0.004)
    assert settings["armature"] == pytest.approx(0.0018)


@pytest.mark.parametrize(
    ("servo", "values", "terms"),
    [
        ("xl330", {**XL330, "current_limit": 0.9}, ("current_limit",)),
        ("erob80_50", EROB, ()),
        ("unitree_go1", {"friction_base": 0.3, "friction_viscous": 0.02}, ()),
        ("unitree_go1", {"friction_base": 0.3, "command_delay": 0.01}, ("command_delay",)),
    ],
    ids=["current limit", "current PD", "torque PD", "torque PD, delayed"],
)
def test_laws_that_isaac_lab_has_are_exact(servo, values, terms):
    model = ServoModel.create(servo, "m1", terms, **values)
    assert nearest(model, few_logs(model))[0].error < 1e-9


def test_the_stated_error_is_the_difference_between_the_motions():
    model = ServoModel.create("xl330", "m6", **XL330, **M6)
    logs = few_logs(model)
    # logs of two gains and voltages: the configuration follows them
    logs = recorded(model, [logs[0], replace(logs[1], kp=200.0, vin=6.0)])
    exported = export_servo(model, "isaac-lab", logs=logs)
    assert exported.errors is not None
    error, said = exported.errors["from_logs"], exported.text.replace("\n# ", " ")
    stated = re.search(
        r"from the recordings: ([0-9.]+) mrad.* The load angle is ([0-9.e+-]+) rad", said
    )
    assert stated is not None
    assert float(stated[1]) / 1e3 == pytest.approx(error, rel=1e-3)
    # a motor of M1 with the stated numbers, by the voltage law
    _, best = run(exported.text)
    kt = 7.5 / best["velocity_limit"]
    motor = {"kt": kt, "R": kt * 7.5 / best["saturation_effort"], "armature": best["armature"]}
    assert best["damping"] == pytest.approx(kt**2 / motor["R"], rel=1e-4)
    ratio = best["stiffness"] / (400 * model.servo.error_gain * best["saturation_effort"])
    servo = replace(model.servo, error_gain=model.servo.error_gain * ratio)
    friction = {
        "friction_base": best["friction"],
        "friction_viscous": best["viscous_friction"],
        "q_offset": float(stated[2]),
    }
    plain = ServoModel.create(servo, "m1", **motor, **friction)
    moved = BenchSimulator(plain, logs).simulate().position
    found = np.mean([np.abs(log.position - b).mean() for log, b in zip(logs, moved)])
    assert found == pytest.approx(error, rel=1e-3)
    assert "Not included: its friction" in exported.text


def test_friction_and_stiffness_are_nearer_than_those_of_the_file():
    model = ServoModel.create("xl330", "m6", **XL330, **M6)
    logs = few_logs(model)
    best = nearest(model, logs)[0]
    naive = BenchSimulator(ServoModel.create("xl330", "m1", **XL330), logs).simulate().position
    truth = BenchSimulator(model, logs).simulate().position
    error = np.mean([np.abs(a - b).mean() for a, b in zip(naive, truth)])
    assert best.error < 0.6 * error


@pytest.mark.parametrize("servo", ["xl330", "xl330i", "sts3215", "erob80_100", "unitree_go1"])
def test_code_of_every_law_runs(servo):
    model = ServoModel.create(servo, "m1")
    config, settings = run(isaac_lab_snippet(model, few_logs(model, 1)))
    assert config in CONFIGS
    assert all(np.isfinite(v) and v >= 0 for k, v in settings.items() if k != "joint_names_expr")


def test_delays_count_physics_steps():
    values = {"friction_base": 0.3, "command_delay": 0.01}
    model = ServoModel.create("unitree_go1", "m1", ("command_delay",), **values)
    config, settings = run(isaac_lab_snippet(model, few_logs(model, 1), timestep=0.0025))
    assert (config, settings["min_delay"], settings["max_delay"]) == ("DelayedPDActuatorCfg", 4, 4)


def test_what_is_left_out_is_said():
    terms = ("command_delay", "backlash", "winding_braking")
    model = ServoModel.create("sts3215", "m1", terms)
    snippet = isaac_lab_snippet(model, few_logs(model, 1))
    for part in ("speed limit, 5.216 rad/s", "backlash", "winding braking"):
        assert part in snippet
    assert max(map(len, snippet.splitlines())) <= 100


def test_a_time_step_is_positive():
    model = ServoModel.create("xl330", "m1")
    with pytest.raises(FitError, match="positive"):
        isaac_lab_snippet(model, timestep=0.0)


def test_the_simulated_stand_in_has_the_torque_of_isaac_labs_dc_motor():
    model = ServoModel.create("mx64", "m1", kt=1.6, R=4.0)
    logs = few_logs(model, 1)
    best = nearest(model, logs)[0]
    stand_in = equivalent_simulator(best, model, logs).model
    error, speed = np.meshgrid(np.linspace(-1, 1, 21), np.linspace(-20, 20, 21))
    line = best.saturation_effort * np.array([1.0, -1.0])[:, None, None]
    slope = best.saturation_effort * speed / best.velocity_limit
    high = np.minimum(line[0] - slope, best.effort_limit)
    low = np.maximum(line[1] - slope, -best.effort_limit)
    wanted = best.stiffness * error - best.damping * speed
    expected = np.clip(wanted, low, high)
    inside = np.abs(speed) < best.velocity_limit
    torque = stand_in.torque(error, speed, kp=1.0)
    np.testing.assert_allclose(torque[inside], expected[inside], rtol=1e-12, atol=1e-12)
