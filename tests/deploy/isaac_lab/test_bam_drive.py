"""The configuration of Isaac Lab's BAM drive: what it holds, its stated error, what it refuses."""

import re
from dataclasses import fields, replace

import numpy as np
import pytest
from bam_drive_stand_in import (
    BamActuatorCfg,
    BamMotorCfg,
    configuration,
    friction_budget,
    positions,
)

from trueup.actuators import ServoModel, bench_of
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.deploy import export_servo
from trueup.deploy.standard_logs import standard_logs
from trueup.errors import FitError

MOTOR = {"kt": 0.37, "R": 2.8, "armature": 0.0018, "friction_base": 0.008}
MOTOR |= {"friction_viscous": 0.005}
STRIBECK = {"friction_stribeck": 0.01, "dtheta_stribeck": 1.5, "alpha": 1.4}
LOADS = {"load_friction_motor": 0.2, "load_friction_external": 0.02}
LOADS |= {"load_friction_motor_stribeck": 0.05, "load_friction_external_stribeck": 0.08}
QUADRATIC = {"load_friction_motor_quad": 0.01, "load_friction_external_quad": 0.008}
MODELS = {
    "m1": {},
    "m2": STRIBECK,
    "m3": {"load_friction_base": 0.15},
    "m4": {**STRIBECK, "load_friction_base": 0.15, "load_friction_stribeck": 0.1},
    "m5": {**STRIBECK, **LOADS},
    "m6": {**STRIBECK, **LOADS, **QUADRATIC},
}


def model_of(name, terms=(), **values):
    """A servo with a friction model; the quadratic term is the drive's."""
    return ServoModel.create(
        "xl330", name, terms, quadratic="ungated", **MOTOR, **MODELS[name], **values
    )


def few_logs(model, logs=None):
    """Logs in which the motion of a model is what was measured; by default the start of one."""
    if logs is None:
        log = standard_logs(model)[1]
        series = ("times", "position", "speed", "goal_position", "torque_enable", "input_volts")
        parts = {name: getattr(log, name)[:300] for name in (*series, "temperature")}
        logs = [replace(log, **parts)]
    found = BenchSimulator(model, logs).simulate()
    return [
        replace(log, position=position[0], speed=speed[0])
        for log, position, speed in zip(logs, found.position, found.speed)
    ]


@pytest.mark.parametrize("name", MODELS)
def test_friction_of_every_model_is_held(name):
    model = model_of(name)
    cfg = configuration(export_servo(model, "isaac-lab-bam", timestep=0.005).text)
    generator = np.random.default_rng(3)
    for motor, load, speed in generator.normal(0.0, [0.8, 0.5, 1.0], (200, 3)):
        expected, viscous = model.frictions(motor, load, speed)
        found = friction_budget(cfg.motor, load, motor, speed)
        assert found == pytest.approx(float(expected), rel=1e-6)
        assert cfg.motor.friction_viscous == pytest.approx(viscous)


def test_motor_firmware_and_supply_are_held():
    terms = ("current_limit", "command_delay")
    model = model_of("m5", terms, current_limit=0.9, command_delay=0.0102)
    exported = export_servo(model, "isaac-lab-bam", kp=200, vin=6.0, timestep=0.0025)
    cfg = configuration(exported.text)
    assert (cfg.kp_fw, cfg.vin, cfg.armature) == (200, 6.0, pytest.approx(0.0018))
    assert (cfg.min_delay, cfg.max_delay) == (4, 4)
    assert cfg.motor.max_current == pytest.approx(0.9)
    # the duty cycle of the drive is that of the law
    torque = model.torque(0.05, 0.0, kp=200, vin=6.0)
    duty = 0.05 * cfg.kp_fw * cfg.motor.error_gain
    assert cfg.motor.kt * cfg.vin * duty / cfg.motor.resistance == pytest.approx(torque, rel=1e-6)
    # the drive's own default would limit a motor that is driven backwards
    assert cfg.actuator_effort_limit > model.torque(9.0, 0.0, kp=200, vin=6.0)
    # a fraction of a step of the delay is lost, and that is what is stated
    assert 0.0 < exported.errors["from_model"] < 5e-3


@pytest.mark.parametrize("timestep", [0.0025, 0.005])
def test_the_stated_error_is_that_of_the_stepped_drive(timestep):
    terms = ("current_limit", "command_delay")
    model = model_of("m6", terms, current_limit=0.9, command_delay=0.01)
    exported = export_servo(model, "isaac-lab-bam", timestep=timestep)
    assert "Its parameters are those of the full model." in exported.text.replace("\n# ", " ")
    cfg, logs = configuration(exported.text), few_logs(model, standard_logs(model))
    moved = [positions(cfg, log, 0.0, bench_of(log), timestep) for log in logs]
    error = np.mean([np.abs(a - log.position).mean() for a, log in zip(moved, logs)])
    assert 1e-4 < error == pytest.approx(exported.errors["from_model"], rel=0.1)


def test_what_the_drive_lacks_is_fitted_and_its_error_stated():
    model = model_of("m1", ("torque_saturation",), torque_saturation=0.5)
    logs = few_logs(model)
    exported = export_servo(model, "isaac-lab-bam", logs=logs)
    error = exported.errors["from_logs"]
    assert 1e-5 < error <= exported.errors["simplest_from_logs"]
    text = exported.text.replace("\n# ", " ")
    stated = re.search(r"from the recordings: ([0-9.]+) mrad.*angle is ([0-9.e+-]+) rad", text)
    assert float(stated[1]) / 1e3 == pytest.approx(error, rel=1e-3)
    cfg, offset = configuration(exported.text), float(stated[2])
    moved = positions(cfg, logs[0], offset, bench_of(logs[0]), 0.001)
    assert np.abs(moved - logs[0].position).mean() == pytest.approx(error, abs=5e-4)
    assert "Not included: torque saturation" in text


def test_a_gated_term_without_effect_keeps_the_values():
    model = replace(model_of("m6"), quadratic="gated")
    exported = export_servo(model, "isaac-lab-bam", logs=few_logs(model))
    cfg = configuration(exported.text)
    assert cfg.motor.load_friction_motor == pytest.approx(0.2)
    assert "Its parameters are those of the full model." in exported.text.replace("\n# ", " ")
    assert "quadratic friction acts only" in exported.text.replace("\n# ", " ")


def test_only_settings_of_the_drive_are_written():
    text = export_servo(model_of("m6"), "isaac-lab-bam", timestep=0.005).text
    known = {f.name for each in (BamMotorCfg, BamActuatorCfg) for f in fields(each)}
    assert set(re.findall(r"^    (\w+)=", text, re.M)) <= known
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("servo", ["erob80_50", "unitree_go1"])
def test_another_law_is_refused(servo):
    with pytest.raises(FitError, match=r"sets a duty cycle.*'isaac-lab-module'"):
        export_servo(ServoModel.create(servo, "m1"), "isaac-lab-bam")
