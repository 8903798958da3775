"""Servos as MJCF: exact where MJCF has the words, as near as stated where it has not."""

import dataclasses
import re

import mujoco
import numpy as np
import pytest
from servo_law_models import pendulum_log, small_servo

from trueup.actuators import BenchSimulator, ServoModel, export_servo, find_servo, mjcf_snippet
from trueup.actuators.exports.mjcf_servo import MjcfServo, motor_of
from trueup.actuators.exports.nearest_mjcf import mujoco_positions
from trueup.errors import FitError, RecordingError


def errors(model: ServoModel, form: str, log) -> dict[str, float]:
    found = export_servo(model, f"mjcf-{form}", logs=[log]).errors
    assert found is not None
    return dict(found)


@pytest.mark.parametrize(
    "terms", [{}, {"command_delay": 0.012}, {"max_velocity": 2.0}, {"current_limit": 0.3}]
)
def test_dcmotor_says_m1_exactly(terms):
    log = pendulum_log("xl330", 200.0)
    if "current_limit" in terms:
        # MJCF limits the current after the voltage, the firmware before: alike unless both act
        log = pendulum_log("xl330", 100.0)
    found = errors(small_servo("m1", tuple(terms), **terms), "dcmotor", log)
    # letting go is no command of MuJoCo's, and is not delayed
    assert found["while_driven" if "command_delay" in terms else "from_model"] < 5e-5


def test_position_says_m1_exactly_until_the_torque_goes_off():
    found = errors(small_servo("m1", q_offset=0.05), "position", pendulum_log("xl330", 200.0))
    assert found["while_driven"] < 5e-5 < found["from_model"]


@pytest.mark.parametrize(("name", "form"), [("erob80_50", "dcmotor"), ("unitree_go1", "position")])
def test_pd_laws_are_exact(name, form):
    servo = find_servo(name)
    model = ServoModel.create(servo, "m1").with_values(armature=0.02, friction_base=0.02)
    assert errors(model, form, pendulum_log(name, servo.kp))["while_driven"] < 5e-5


def test_lugre_friction_says_a_gaussian_stribeck_curve():
    friction = {"alpha": 2.0, "friction_stribeck": 0.04, "dtheta_stribeck": 1.0}
    model, log = small_servo("m2", **friction), pendulum_log("xl330", 200.0)
    servo = MjcfServo(
        "dcmotor",
        motor_of(model, "dcmotor", None, None, None),
        armature=model.values["armature"],
        stretch=1.0,
        friction=model.values["friction_base"],
        viscous=model.values["friction_viscous"],
        stribeck=0.04,
        stribeck_speed=1.0,
    )
    expected = BenchSimulator(model, [log]).simulate().position[0][0]
    driven = log.torque_enable
    distances = {
        stribeck: np.abs(
            mujoco_positions(dataclasses.replace(servo, stribeck=stribeck), model, [log], 0.0, 1e-3)
            - expected
        )[0][driven].mean()
        for stribeck in (0.04, 1e-6)
    }
    assert distances[0.04] < 1.5e-3
    assert distances[1e-6] > 3.0 * distances[0.04]


def test_fit_brings_other_friction_nearer_than_its_own_numbers():
    model, log = small_servo("m5"), pendulum_log("xl330", 200.0)
    exported = export_servo(model, "mjcf-dcmotor", logs=[log])
    text, found = exported.text, exported.errors
    assert found is not None
    own = MjcfServo(
        "dcmotor",
        motor_of(model, "dcmotor", None, None, None),
        armature=model.values["armature"],
        stretch=1.0,
        friction=model.values["friction_base"],
        viscous=model.values["friction_viscous"],
    )
    expected = BenchSimulator(model, [log]).simulate().position[0][0]
    plain = np.abs(mujoco_positions(own, model, [log], 0.0, 1e-3)[0] - expected).mean()
    assert found["from_model"] < 0.7 * plain
    stated = re.search(r"500 ms|: ([0-9.e-]+) mrad", " ".join(text.split()))
    assert stated is not None
    assert float(stated.group(1)) == pytest.approx(1e3 * found["from_model"], rel=1e-2)


@pytest.mark.parametrize("form", ["position", "dcmotor"])
def test_text_is_a_model_with_the_numbers_of_the_servo(form):
    model = small_servo("m4")
    text = mjcf_snippet(model, form, [pendulum_log("xl330", 200.0)], kp=100.0, vin=6.0)
    assert "Not in it: its friction, stribeck, load-dependent" in " ".join(text.split())
    assert max(map(len, text.splitlines())) < 160
    used = re.findall(r"^ {6}(<.*/>)$", text.split("-->")[0], re.M)
    joint, actuators = used[0].replace("JOINT", "knee"), "".join(used[1:]).replace("JOINT", "knee")
    whole = text.replace(
        "</mujoco>",
        f"<worldbody><body>{joint}<geom size='0.1'/></body></worldbody>"
        f"<actuator>{actuators}</actuator></mujoco>",
    )
    compiled = mujoco.MjModel.from_xml_string(whole)
    assert compiled.dof_armature[0] == pytest.approx(model.values["armature"])
    data = mujoco.MjData(compiled)
    data.ctrl[0] = 5.0
    mujoco.mj_forward(compiled, data)
    stall = model.values["kt"] * 6.0 / model.values["R"]
    assert data.actuator_force[0] == pytest.approx(stall, rel=1e-6)


def test_standard_trajectories_serve_without_logs():
    assert "the standard trajectories" in " ".join(mjcf_snippet(small_servo("m1")).split())


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: mjcf_snippet(small_servo(), "servo"), FitError, "no form 'servo'"),
        (lambda: mjcf_snippet(small_servo(), timestep=0.0), FitError, "time step"),
        (lambda: mjcf_snippet(small_servo(), logs=[]), RecordingError, "no log"),
        (
            lambda: mjcf_snippet(ServoModel.create("unitree_go1", "m1"), "dcmotor"),
            FitError,
            "no motor constants",
        ),
    ],
)
def test_wrong_wishes_are_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
