"""Servos as MJCF: exact where MJCF has the words, as near as stated where it has not."""

import dataclasses
import re

import mujoco
import numpy as np
import pytest
from servo_law_models import pendulum_log, small_servo

from trueup.actuators import BenchSimulator, Pendulum, ServoModel, bench_of, find_servo
from trueup.deploy import export_servo, mjcf_snippet, set_mjcf_gains
from trueup.deploy.mujoco.mjcf_servo import MjcfServo, motor_of, servo_of
from trueup.deploy.mujoco.nearest_mjcf import mujoco_positions
from trueup.deploy.standard_logs import logs_at_fit_conditions
from trueup.errors import FitError, RecordingError, SimulationError


def errors(model: ServoModel, form: str, log) -> dict[str, float]:
    found = export_servo(model, f"mjcf-{form}", logs=[recorded(model, log)]).errors
    assert found is not None
    return dict(found)


def recorded(model: ServoModel, log):
    """A log in which the motion of a model is what was measured."""
    return dataclasses.replace(log, position=motion_of(model, log))


def motion_of(model: ServoModel, log) -> np.ndarray:
    return BenchSimulator(model, [log]).simulate().position[0][0]


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
    model, log = small_servo("m1", q_offset=0.05), pendulum_log("xl330", 200.0)
    servo = servo_of(model, "position")
    found = mujoco_positions(servo, model, [log], 0.05, 1e-3)[0]
    difference = np.abs(found - motion_of(model, log))
    assert difference[log.torque_enable].mean() < 5e-5 < difference.mean()


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
        motor_of(model, "dcmotor"),
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


def saturating(**values) -> ServoModel:
    """M1 with a torque constant that saturates."""
    return small_servo("m1", ("torque_saturation",), torque_saturation=0.8, **values)


def test_motors_in_parallel_say_a_torque_constant_that_saturates():
    model, log = saturating(), pendulum_log("xl330", 200.0)
    found = {
        form: mujoco_positions(servo_of(model, form), model, [log], 0.0, 1e-3)[0]
        for form in ("dcmotor", "parallel")
    }
    driven = log.torque_enable
    distances = {
        form: np.abs(position - motion_of(model, log))[driven].mean()
        for form, position in found.items()
    }
    assert distances["parallel"] < min(4e-3, 0.1 * distances["dcmotor"])


def test_motors_in_parallel_add_up_to_the_torque_of_the_law():
    model = saturating()
    log = recorded(model, pendulum_log("xl330", 200.0))
    exported = export_servo(model, "mjcf-parallel", logs=[log])
    text, compiled = exported.text, model_with(exported.text, "knee")
    assert compiled.nu > 2
    servo = servo_of(model, "parallel")
    gains = [(200.0, servo.gains()), (100.0, {k: 0.5 * v for k, v in servo.gains().items()})]
    own = compiled.actuator_gainprm[:, [4, 6]].copy()
    stated = exported.gains(model.servo.kp)
    assert own.sum(axis=0) == pytest.approx([stated["kp"], stated["kd"]], rel=1e-6)
    data = mujoco.MjData(compiled)
    for _, each in gains:
        set_mjcf_gains(compiled, "knee", each)
        found = compiled.actuator_gainprm[:, [4, 6]].sum(axis=0)
        assert found == pytest.approx([each["kp"], each["kd"]])
        # each keeps its share
        np.testing.assert_allclose(
            compiled.actuator_gainprm[:, 4] / each["kp"], own[:, 0] / stated["kp"], rtol=1e-6
        )
    # a small error gets the whole gain, a great one less than the torque of one motor
    for error in (0.001, 5.0):
        data.ctrl[:] = error
        mujoco.mj_forward(compiled, data)
        one = min(each["kp"] * error, servo.greatest_torque)
        share = data.actuator_force.sum() / one
        assert share == pytest.approx(1.0, abs=0.2) if error < 0.1 else share < 0.75
    assert "Every motor takes the goal as its control" in " ".join(text.split())
    assert "torque saturation" not in text


def test_a_motor_that_does_not_saturate_needs_no_second_one():
    assert model_with(mjcf_snippet(small_servo("m1"), "parallel"), "knee").nu == 1


def test_fit_brings_other_friction_nearer_than_its_own_numbers():
    model, log = small_servo("m5"), pendulum_log("xl330", 200.0)
    exported = export_servo(model, "mjcf-dcmotor", logs=[recorded(model, log)])
    text, found = exported.text, exported.errors
    assert found is not None
    own = MjcfServo(
        "dcmotor",
        motor_of(model, "dcmotor"),
        armature=model.values["armature"],
        stretch=1.0,
        friction=model.values["friction_base"],
        viscous=model.values["friction_viscous"],
    )
    expected = BenchSimulator(model, [log]).simulate().position[0][0]
    plain = np.abs(mujoco_positions(own, model, [log], 0.0, 1e-3)[0] - expected).mean()
    assert found["from_model"] < 0.7 * plain
    stated = re.search(r"mean over 1 logs, [a-z ]+: ([0-9.e-]+) mrad", " ".join(text.split()))
    assert stated is not None
    assert float(stated.group(1)) == pytest.approx(1e3 * found["from_model"], rel=1e-2)


@pytest.mark.parametrize("form", ["position", "dcmotor"])
def test_text_is_a_model_with_the_numbers_of_the_servo(form):
    model = small_servo("m4")
    log = recorded(model, pendulum_log("xl330", 200.0, 0.5))
    exported = export_servo(model, f"mjcf-{form}", logs=[log], kp=100.0, vin=6.0)
    text = exported.text
    assert "Not included: its friction, stribeck, load-dependent" in " ".join(text.split())
    assert max(map(len, text.splitlines())) < 160
    compiled = model_with(text, "knee")
    assert compiled.dof_armature[0] == pytest.approx(number(text, "armature"))
    data = mujoco.MjData(compiled)
    data.ctrl[0] = 5.0
    mujoco.mj_forward(compiled, data)
    if form == "position":
        stall = number(text, "forcerange", 1)
    else:
        stall = number(text, "motorconst") * 6.0 / number(text, "resistance")
    assert data.actuator_force[0] == pytest.approx(stall, rel=1e-6)


@pytest.mark.parametrize("form", ["position", "dcmotor"])
@pytest.mark.parametrize("name", ["xl330", "erob80_50", "xl330i"])
def test_gains_follow_the_firmware_gain(name, form):
    """The helper and the comment say what an export at another gain says."""
    model = ServoModel.create(name, "m1").with_values(armature=0.02)
    if name == "xl330i":
        model = model.with_values(friction_base=0.0)
    kp = 0.5 * model.servo.kp
    log = recorded(model, pendulum_log(name, kp, 0.5))  # the rule is that of any numbers
    exported = export_servo(model, f"mjcf-{form}", logs=[log])
    other = export_servo(model, f"mjcf-{form}", logs=[log], kp=kp)
    assert exported.gains is not None
    changed, expected = model_with(exported.text, "knee"), model_with(other.text, "knee")
    set_mjcf_gains(changed, "knee", exported.gains(kp))
    for field in ("actuator_gainprm", "actuator_biasprm"):
        ours, theirs = (getattr(each, field)[0] for each in (changed, expected))
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-12)
    words = " ".join(exported.text.split())
    rule = re.search(r"At another firmware gain K, .*?kp is ([0-9.e+-]+) (K|sqrt\(K\))", words)
    assert rule is not None
    stated = float(rule[1]) * (kp if rule[2] == "K" else np.sqrt(kp))
    assert stated == pytest.approx(exported.gains(kp)["kp"], rel=1e-5)


def test_gains_of_an_absent_actuator_are_refused():
    compiled = model_with(mjcf_snippet(small_servo("m1"), "position"), "knee")
    with pytest.raises(SimulationError, match="no actuator 'elbow'"):
        set_mjcf_gains(compiled, "elbow", {"kp": 1.0, "kd": 0.0})


def test_gains_of_an_actuator_of_another_type_are_refused():
    compiled = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><joint name='knee'/><geom size='0.1'/></body></worldbody>"
        "<actuator><pid name='knee' joint='knee' kp='2' ki='3' input='pos'/></actuator></mujoco>"
    )
    with pytest.raises(SimulationError, match="of type 'pid'"):
        set_mjcf_gains(compiled, "knee", {"kp": 1.0, "kd": 0.0})
    assert compiled.actuator_gainprm[0, 0] == 3.0


def test_the_numbers_are_fitted_to_the_recordings_and_m1_is_never_nearer():
    """Recordings of another servo than the model's: its own numbers are far off there."""
    truth = small_servo("m4", kt=0.5, R=4.0)
    logs = [
        dataclasses.replace(recorded(truth, pendulum_log("xl330", kp, 1.0)), kp=kp)
        for kp in (100.0, 400.0)
    ]
    for form in ("mjcf-dcmotor", "mjcf-position", "isaac-lab"):
        shares: list[float] = []
        found = export_servo(small_servo("m4"), form, logs=logs, report=shares.append).errors
        assert found is not None
        assert found["from_logs"] < 0.9 * found["model_from_logs"]
        assert found["from_logs"] <= found["simplest_from_logs"] + 1e-12
        assert shares[-1] == 1.0 and shares == sorted(shares)


def test_recordings_of_a_servo_that_never_moves_are_met():
    log = pendulum_log("xl330", 200.0, 0.5)
    still = dataclasses.replace(log, position=np.zeros(len(log)), speed=np.zeros(len(log)))
    found = export_servo(small_servo("m2"), "mjcf-position", logs=[still]).errors
    assert found is not None
    assert found["from_logs"] < 0.02


def test_without_logs_the_conditions_of_the_fit_count():
    stated = {"kp": 150.0, "vin": 6.0, "damping": None, "inertia": 0.004, "gravity_torque": 0.3}
    wrong = {"kp": "many"}
    model = dataclasses.replace(small_servo("m1"), provenance={"conditions": [stated, wrong]})
    logs, words = logs_at_fit_conditions(model)
    assert {(log.kp, log.vin) for log in logs} == {(150.0, 6.0)}
    assert bench_of(logs[0]) == Pendulum(0.004, 0.3)
    assert "at kp 150" in words
    text = " ".join(mjcf_snippet(model).split())
    assert "the standard trajectories at kp 150" in text
    assert {log.kp for log in logs_at_fit_conditions(model, kp=300.0)[0]} == {150.0, 300.0}
    # the voltage of the fit is that of the export
    assert "at kp 400, 6 V." in text
    assert "at kp 400, 5 V." in " ".join(mjcf_snippet(model, vin=5.0).split())


def number(text: str, name: str, place: int = 0) -> float:
    """A number of the first attribute of a name."""
    found = re.search(f' {name}="([^"]*)"', text)
    assert found is not None
    return float(found[1].split()[place])


def model_with(text: str, name: str) -> mujoco.MjModel:
    """A model with the joint and actuators that the comment of an export tells to use."""
    used = re.findall(r"^ {6}(<.*/>)$", text.split("-->")[0], re.M)
    joint, actuators = used[0].replace("JOINT", name), "".join(used[1:]).replace("JOINT", name)
    return mujoco.MjModel.from_xml_string(
        text.replace(
            "</mujoco>",
            f"<worldbody><body>{joint}<geom size='0.1'/></body></worldbody>"
            f"<actuator>{actuators}</actuator></mujoco>",
        )
    )


def test_standard_trajectories_serve_without_logs():
    assert "the standard trajectories" in " ".join(mjcf_snippet(small_servo("m1")).split())


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: mjcf_snippet(small_servo(), "servo"), FitError, "unknown MJCF form 'servo'"),
        (lambda: mjcf_snippet(small_servo(), timestep=0.0), FitError, "time step"),
        (lambda: mjcf_snippet(small_servo(), logs=[]), RecordingError, "no log"),
        (
            lambda: mjcf_snippet(ServoModel.create("unitree_go1", "m1"), "dcmotor"),
            FitError,
            "no motor constants",
        ),
        (
            lambda: mjcf_snippet(ServoModel.create("unitree_go1", "m1"), "parallel"),
            FitError,
            "no motor constants",
        ),
    ],
)
def test_wrong_wishes_are_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
