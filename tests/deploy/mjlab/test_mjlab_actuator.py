"""Servos in mjlab: motion against the bench, randomisation, delay, battery, errors."""

import json

import numpy as np
import pytest
from exported_modules import module_of
from registered_models import WEDGE, registered, wedge_loss

from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog

torch = pytest.importorskip("torch")

import mjlab_stand_in as stand_in  # noqa: E402

DT = 0.005
LOAD = (0.4, 0.1)
ARM = {"shoulder": LOAD}


@pytest.fixture
def mjlab(monkeypatch):
    """The written module of another servo on top of the stand-in."""
    stand_in.install(monkeypatch)
    return module_of(ServoModel.create("mx64", "m1"), "mjlab")


@pytest.fixture
def write_model(tmp_path):
    """Writes a parameter file of a servo: ``write_model("xl330", "m6", kt=0.4)``."""

    def write(servo="xl330", friction="m1", terms=(), **values):
        name = servo if isinstance(servo, str) else servo.name
        common = {"kt": 0.37, "R": 2.8, "armature": 0.0018, "friction_base": 0.01}
        own = ServoModel.create(servo, friction, terms).names
        chosen = {
            k: v for k, v in {**common, "friction_viscous": 0.005, **values}.items() if k in own
        }
        model = ServoModel.create(servo, friction, terms, **chosen)
        content = {"model": friction, "actuator": name, **model.values}
        path = tmp_path / f"{name}_{friction}_{'_'.join(terms)}.json"
        path.write_text(json.dumps(content))
        return model, path

    return write


def pendulums(mjlab, path, num_envs=2, expand=True, loads=ARM, **settings):
    cfg = mjlab.BamActuatorCfg(target_names_expr=(".*",), json_path=str(path), **settings)
    return stand_in.Pendulums([(cfg, list(loads))], loads, DT, num_envs, expand)


def bench_motion(model, goals, enable, start, load=LOAD):
    """Positions of the bench simulator at the same time step."""
    count = len(goals)
    servo = model.servo
    log = ServoLog(
        name="designed", source="", sha256="", motor=servo.name, trajectory="designed",
        mass=load[0], arm_mass=0.0, length=load[1], kp=servo.kp,
        vin=None if np.isnan(servo.vin) else servo.vin, damping=servo.damping, dt=DT,
        times=np.arange(count) * DT, position=np.full(count, start), speed=np.zeros(count),
        goal_position=goals, torque_enable=enable, load=None, input_volts=None, temperature=None,
    )  # fmt: skip
    return BenchSimulator(model, [log], max_step=DT).simulate().position[0][0]


def follow(scene, goals, enable, start):
    """Positions of all environments and joints, (T, environments, joints)."""
    scene.start(start)
    motion = []
    for goal, on in zip(goals.tolist(), enable.tolist(), strict=True):
        motion.append(scene.positions.numpy())
        scene.actuators[0].torque_enable[:] = on
        scene.step(goal)
    return np.array(motion)


GO1 = {"armature": 0.01, "friction_base": 0.05, "friction_viscous": 0.02}
EROB = {"kt": 2.0, "R": 0.5, "armature": 0.05, "friction_base": 0.4, "friction_viscous": 0.5}
STRIBECK = {
    "friction_stribeck": 0.02,
    "load_friction_motor": 0.2,
    "load_friction_external": 0.05,
    "dtheta_stribeck": 0.5,
}


@pytest.mark.parametrize(
    ("servo", "friction", "terms", "values", "load", "tolerance"),
    [
        ("xl330", "m1", (), {}, LOAD, 1e-4),
        ("xl330", "m6", (), STRIBECK, LOAD, 1e-3),
        # the root of this law is steepest at the goal, where float32 shows
        ("xl330i", "m1", (), {}, LOAD, 1e-3),
        ("sts3215", "m2", (), {"kt": 1.2, "dtheta_stribeck": 0.5}, (1.0, 0.15), 3e-4),
        ("erob80_50", "m3", (), EROB, (3.0, 0.4), 1e-3),
        ("unitree_go1", "m1", (), GO1, (1.0, 0.3), 1e-4),
        ("xl330", "m1", ("winding_braking",), {"winding_braking": 0.7}, LOAD, 1e-4),
        ("xl330", "m1", ("max_velocity",), {"max_velocity": 2.0}, LOAD, 1e-4),
        ("xl330", "m1", ("supply_resistance",), {"supply_resistance": 2.0}, LOAD, 1e-4),
        ("xl330", "m1", ("current_limit",), {"current_limit": 0.9}, LOAD, 3e-4),
        ("xl330", "m1", ("command_delay",), {"command_delay": 0.013}, LOAD, 1e-4),
    ],
    ids=lambda v: v if isinstance(v, str) else None,
)
def test_moves_as_on_the_bench(mjlab, write_model, servo, friction, terms, values, load, tolerance):
    model, path = write_model(servo, friction, terms, **values)
    times = np.arange(600) * DT
    goals = np.where(times < 1.5, np.sin(3 * times**2), 0.8)
    enable = times < 2.2
    if "command_delay" in terms:
        enable[:] = True  # mjlab's delay is of targets; torque-enable is set at once
    scene = pendulums(mjlab, path, loads={"shoulder": load})
    motion = follow(scene, goals, enable, 0.2)[:, :, 0]
    expected = bench_motion(model, goals, enable, 0.2, load)
    assert np.ptp(expected) > 0.5
    assert np.abs(motion - expected[:, None]).mean() < tolerance


def test_a_registered_friction_model_moves_as_on_the_bench(mjlab, write_model):
    with registered("m7", WEDGE, wedge_loss):
        model, path = write_model("xl330", "m7", **WEDGE)
        mjlab = module_of(model, "mjlab")
        times = np.arange(600) * DT
        goals, enable = np.where(times < 1.5, np.sin(3 * times**2), 0.8), times < 2.2
        motion = follow(pendulums(mjlab, path), goals, enable, 0.2)[:, :, 0]
        expected = bench_motion(model, goals, enable, 0.2)
        other = bench_motion(model.with_values(friction_wedge=0.0), goals, enable, 0.2)
    assert np.abs(motion - expected[:, None]).mean() < 1e-3
    assert np.abs(other - expected).mean() > 0.02, "the new term does nothing"


def test_friction_holds_what_is_within_its_budget(mjlab, write_model):
    _, path = write_model("xl330", "m1", friction_base=0.2)
    scene = pendulums(mjlab, path)
    held = 0.4  # gravity pulls with 0.153 N m
    motion = follow(scene, np.zeros(400), np.zeros(400, bool), held)
    assert np.abs(motion - held).max() < 2e-4


def test_the_actuator_force_is_the_torque_of_the_motor(mjlab, write_model):
    model, path = write_model("xl330", "m1")
    scene = pendulums(mjlab, path)
    scene.start(0.0)
    for _ in range(5):
        position, speed = scene.positions, scene.speeds
        scene.step(0.3)
    expected = model.torque(0.3 - position.numpy(), speed.numpy())
    assert abs(speed[0, 0]) > 0.1
    np.testing.assert_allclose(scene.actuators[0].torque, expected, atol=1e-6)
    np.testing.assert_allclose(scene.datas[0].actuator_force, expected[0], atol=1e-6)


def test_load_friction_reads_the_external_torque_without_own_friction(mjlab, write_model):
    _, path = write_model("xl330", "m3", load_friction_base=0.3)
    loads = {"shoulder": (0.4, 0.1), "elbow": (0.3, 0.08)}
    scene = pendulums(mjlab, path, loads=loads)
    scene.start(0.3)
    for _ in range(20):
        angles = scene.positions[0].double().numpy()
        scene.step(0.3)
    external = scene.actuators[0]._external()[0].numpy()
    gravity = [-m * 9.80665 * length * np.sin(q) for (m, length), q in zip(loads.values(), angles)]
    np.testing.assert_allclose(external, gravity, atol=1e-5)


def test_environments_are_drawn_apart_and_again_at_a_reset(mjlab, write_model):
    _, path = write_model("xl330", "m1")
    torch.manual_seed(3)
    settings = {
        "kp_scale_range": (0.8, 1.2),
        "friction_scale_range": (0.5, 2.0),
        "vin_range": (6, 8),
    }
    scene = pendulums(mjlab, path, num_envs=4, **settings)
    actuator = scene.actuators[0]
    scene.start(0.0)
    drawn = (actuator.kp_scale, actuator.friction_scale, actuator._battery.open_voltage)
    before = [values.clone() for values in drawn]
    for values, (low, high) in zip(before, settings.values(), strict=True):
        assert len(values.unique()) == 4
        assert low <= values.min() and values.max() <= high
    for _ in range(100):
        scene.step(0.5)
    assert len(scene.positions.unique()) == 4
    np.testing.assert_allclose(
        scene.model.dof_frictionloss[:, 0], 0.01 * actuator.friction_scale[:, 0], rtol=1e-5
    )
    actuator.reset(torch.tensor([1, 3]))
    for values, old in zip(drawn, before, strict=True):
        assert (values[[0, 2]] == old[[0, 2]]).all()
        assert (values[[1, 3]] != old[[1, 3]]).all()


def test_a_derivative_gain_is_scaled(mjlab, write_model):
    _, path = write_model("unitree_go1", "m1", **GO1)
    scene = pendulums(mjlab, path, kd=0.5, kd_scale_range=(2.0, 2.0))
    scene.start(0.0)
    scene.step(0.01)
    assert scene.model.actuator_biasprm[0, 0, 2] == pytest.approx(-1.0)


def test_a_reset_takes_the_target_to_what_holds_the_joint(mjlab, write_model):
    model, path = write_model("sts3215", "m1", max_velocity=1.0)
    scene = pendulums(mjlab, path, num_envs=3)
    scene.start(0.0)
    for _ in range(40):
        scene.step(1.0)
    actuator = scene.actuators[0]
    target = actuator._target.clone()
    np.testing.assert_allclose(target, 40 * DT, rtol=1e-5)
    actuator.reset(torch.tensor([1]))
    at, load = float(scene.positions[1, 0]), float(actuator._external()[1, 0])
    scene.step(1.0)
    np.testing.assert_allclose(actuator._target[[0, 2]], target[[0, 2]] + DT, rtol=1e-5)
    held = float(actuator._target[1, 0]) - DT
    assert held - at > 0.01
    assert float(model.torque(held - at, 0.0)) == pytest.approx(-load, rel=1e-5)


def test_joints_share_the_voltage_drop_of_their_battery(mjlab, write_model):
    _, path = write_model("xl330", "m1")
    loads = {"shoulder": LOAD, "elbow": LOAD, "wrist": LOAD}
    settings = {"drop_resistance_range": (1.5, 1.5), "vin_min": 4.0}
    cfgs = [
        (mjlab.BamActuatorCfg(target_names_expr=j, json_path=str(path), **settings), list(j))
        for j in (("shoulder", "elbow"), ("wrist",))
    ]
    scene = stand_in.Pendulums(cfgs, loads, DT)
    scene.start(0.0)
    scene.step(1.0)
    first, second = scene.actuators
    amps = sum((a.duty * a.torque / 0.37).sum(dim=1) for a in (first, second))
    voltage = first._battery.voltage()[:, 0].clone()
    assert second._battery is first._battery
    np.testing.assert_allclose(voltage, (7.5 - 1.5 * amps).clamp(min=4.0), rtol=1e-6)
    assert (voltage < 7.0).all()
    scene.actuators[0].reset(torch.tensor([0]))
    assert first._battery.voltage()[0, 0] == 7.5
    assert first._battery.voltage()[1, 0] < 7.0


def test_the_winding_temperature_raises_its_resistance(mjlab, write_model):
    _, path = write_model("xl330", "m1", ("resistance_temperature",), resistance_temperature=0.004)
    cold, hot = (pendulums(mjlab, path, winding_temperature=t) for t in (25.0, 75.0))
    for scene in (cold, hot):
        scene.start(0.0)
        scene.step(0.3)
    ratio = cold.actuators[0].torque / hot.actuators[0].torque
    np.testing.assert_allclose(ratio, 1.2, rtol=1e-5)


def test_the_configured_delay_adds_to_that_of_the_servo(mjlab, write_model):
    _, path = write_model("xl330", "m1", ("command_delay",), command_delay=2 * DT)
    scene = pendulums(mjlab, path, delay_min_lag=1, delay_max_lag=1)
    scene.start(0.0)
    torques = []
    for k in range(6):
        scene.step(0.0 if k == 0 else 0.5)
        torques.append(float(scene.actuators[0].torque[0, 0]))
    assert torques[:4] == pytest.approx([0.0] * 4)
    assert torques[4] > 0.1


def test_shared_model_fields_are_refused(mjlab, write_model):
    _, path = write_model()
    scene = pendulums(mjlab, path, expand=False)
    scene.start(0.0)
    with pytest.raises(mjlab.SimulationError, match="prepare_servo_fields"):
        scene.step(0.1)
    assert mjlab.prepare_servo_fields.model_fields == mjlab.SERVO_MODEL_FIELDS


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"frictionloss": 0.1}, "friction_scale_range"),
        ({"viscous_damping": 0.1}, "parameter file"),
        ({"transmission_type": "tendon"}, "drive joints"),
        ({"kp_scale_range": (1.2, 0.8)}, "lower and an upper"),
        ({"vin": -1.0}, "negative"),
    ],
)
def test_settings_are_checked(mjlab, write_model, settings, message):
    _, path = write_model()
    with pytest.raises(mjlab.ParameterError, match=message):
        pendulums(mjlab, path, **settings)


@pytest.mark.parametrize(
    ("servo", "terms", "settings", "message"),
    [
        ("xl330", ("backlash",), {}, "second body"),
        ("xl330", (), {"kd_scale_range": (0.9, 1.1)}, "no derivative gain"),
        ("unitree_go1", (), {"vin_range": (20.0, 24.0)}, "no voltage"),
    ],
)
def test_what_the_servo_cannot_do_is_said(mjlab, write_model, servo, terms, settings, message):
    _, path = write_model(servo, "m1", terms)
    with pytest.raises(mjlab.ParameterError, match=message):
        pendulums(mjlab, path, **settings)


def test_a_missing_parameter_file_is_named(mjlab, tmp_path):
    with pytest.raises(mjlab.ParameterError, match=r"nothing\.json"):
        pendulums(mjlab, tmp_path / "nothing.json")
