"""Modules with a whole servo model: motion and torque of the bench, without trueup."""

import ast
import dataclasses
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import warp_stand_in
from distinct_servos import LAWS, distinct_model
from exported_modules import (
    DT,
    LOAD,
    MEMORYLESS,
    MODELS,
    bench_torque,
    model_of,
    module_of,
    relative,
    states,
    swing,
)
from registered_models import WEDGE, registered, wedge_loss

from trueup.actuators import BenchSimulator, ServoModel, find_servo
from trueup.deploy import export_servo
from trueup.errors import FitError

MODULES = ("numpy", "isaac-lab-module", "mjlab", "newton")


def moved_by_module(model: ServoModel, log) -> np.ndarray:
    """Positions of the numpy module's own bench under gravity."""
    servo = module_of(model, "numpy")
    start = (log.position[:1], log.speed[:1])
    bench = servo.Bench(DT, LOAD["total_inertia"], *start)
    found = []
    for k in range(len(log)):
        found.append(bench.position[0])
        angle = bench.position + model.values["q_offset"]
        bench.step(
            log.goal_position[k], -LOAD["total_g_bias"] * np.sin(angle),
            float(log.torque_enable[k]), log.input_volts[k], log.temperature[k],
        )  # fmt: skip
    return np.array(found)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    "memory",
    [(), ("command_delay",), ("max_velocity",), ("backlash",), ("command_delay", "backlash")],
)
def test_the_numpy_module_moves_as_the_bench(law, memory):
    model = distinct_model(law, "m6", (*MEMORYLESS[law], *memory))
    log = swing(model)
    expected = BenchSimulator(model, [log], max_step=DT).simulate().position[0][0]
    found = moved_by_module(model, log)
    assert np.ptp(expected) > 0.3
    assert np.abs(found - expected).max() < 1e-8


@pytest.mark.parametrize("title", MODELS)
def test_one_step_has_the_torque_of_the_bench(title):
    model = model_of(title)
    found = states()
    expected, external = bench_torque(model, found, 6.4, 41.0)
    servo = module_of(model, "numpy").Servo(DT, load_inertia=LOAD["total_inertia"])
    torque = servo.torque(**found, external=external, volts=6.4, temperature=41.0)
    assert relative(torque, expected) < 1e-6


@pytest.mark.parametrize("title", MODELS)
@pytest.mark.parametrize(("kind", "bar"), [("float64", 1e-6), ("float32", 1e-4)])
def test_torch_has_it_too(title, kind, bar, monkeypatch):
    torch = pytest.importorskip("torch")
    import simulator_stand_ins

    simulator_stand_ins.install_isaac_lab(monkeypatch)
    model = model_of(title)
    states_now = states()
    expected, external = bench_torque(model, states_now, 6.4, 41.0)
    given = {
        name: torch.tensor(values, dtype=getattr(torch, kind))
        for name, values in {**states_now, "external": external}.items()
    }
    module = module_of(model, "isaac-lab-module")
    servo = module.Servo(DT, load_inertia=LOAD["total_inertia"])
    torque = servo.torque(**given, volts=6.4, temperature=41.0)
    assert torque.dtype == getattr(torch, kind)
    assert relative(torque.double().numpy(), expected) < bar


def test_the_torque_of_the_load_is_observed():
    """Without a known external torque, that of the last step follows from the change of speed."""
    model = distinct_model("voltage", "m6", MEMORYLESS["voltage"])
    module = module_of(model, "numpy")
    known, blind = (module.Servo(DT, load_inertia=0.006) for _ in range(2))
    position, speed = np.array([0.3, -0.2]), np.array([0.5, 0.0])
    inertia, external = 0.006 + model.values["armature"], np.array([0.21, -0.13])
    for step in range(4):
        given = {"goal": position + 0.4, "position": position, "speed": speed}
        torque = known.torque(**given, external=external)
        guess = blind.torque(**given) if step else None
        blind.torque(**given, external=external)
        if guess is not None:
            np.testing.assert_allclose(guess, torque, rtol=1e-9)
            blind._torque = torque
        speed = speed + DT * (torque + external) / inertia
        position = position + DT * speed


def test_environments_are_reset_alone():
    terms = ("command_delay", "max_velocity")
    module = module_of(distinct_model("voltage", "m1", terms), "numpy")
    servo, fresh = (module.Servo(DT, load_inertia=0.01) for _ in range(2))
    position, zeros = np.array([[0.1], [0.2]]), np.zeros((2, 1))
    for goal in (0.0, 1.0, -1.0, 0.5):
        servo.torque(goal, position, zeros, zeros)
    servo.reset([1])
    both = servo.torque(0.8, position, zeros, zeros)
    new = fresh.torque(0.8, position, zeros, zeros)
    assert both[1] == new[1] and both[0] != new[0]


def test_gain_and_voltage_of_a_module():
    model = distinct_model("voltage", "m1")
    module = module_of(model, "numpy", kp=7.0, vin=5.0)
    assert (module.KP, module.VIN) == (7.0, 5.0)
    one, zero = np.ones(1), np.zeros(1)
    servo = module.Servo(DT, load_inertia=0.01)
    servo.torque(0.1 * one, zero, zero, zero)
    assert servo.motor_torque[0] == pytest.approx(model.torque(0.1, 0.0, kp=7.0, vin=5.0))


def test_a_friction_model_of_ones_own_is_written_out():
    with registered("m7", WEDGE, wedge_loss) as friction:
        model = distinct_model("voltage", friction.name, **WEDGE)
        module = module_of(model, "numpy")
        loss = module.friction_loss(np.array([0.7]), np.array([0.3]), np.array([-0.2]))
        assert loss[0] == pytest.approx(model.frictions(0.3, -0.2, 0.7)[0])


@pytest.mark.parametrize("form", MODULES[1:])
def test_backlash_is_refused_by_name(form):
    model = distinct_model("voltage", "m1", ("backlash",))
    with pytest.raises(FitError, match="backlash requires a second body"):
        export_servo(model, form)


def test_the_numpy_module_imports_numpy_alone(tmp_path):
    path = tmp_path / "servo.py"
    model = distinct_model("voltage", "m6", MEMORYLESS["voltage"])
    path.write_text(export_servo(model, "numpy").text)
    code = (
        "import sys, servo, numpy as np\n"
        "t = servo.Servo(0.002, load_inertia=0.01).torque(0.3, np.zeros(3), np.zeros(3))\n"
        "assert t.shape == (3,)\n"
        "bad = [m for m in sys.modules if m.split('.')[0] in ('trueup', 'scipy', 'torch')]\n"
        "assert not bad, bad\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


def isaac_lab_efforts(module, joint_pos, joint_vel, goal, external, envs, **settings):
    """Efforts of a module's actuator in one step, through Isaac Lab's interface."""
    import torch

    cfg = module.ServoActuatorCfg(
        joint_names_expr=[".*"], physics_dt=DT, load_inertia=LOAD["total_inertia"], **settings
    )
    joints = joint_pos.numel() // envs
    names = [f"joint_{number}" for number in range(joints)]
    actuator = cfg.class_type(cfg, names, slice(None), envs, "cpu")
    actuator.reset(list(range(envs)))
    actuator.external_torque = external.reshape(envs, joints)
    zeros = torch.zeros(envs, joints)
    action = SimpleNamespace(
        joint_positions=goal.reshape(envs, joints), joint_velocities=zeros, joint_efforts=zeros
    )
    answer = actuator.compute(
        action, joint_pos.reshape(envs, joints), joint_vel.reshape(envs, joints)
    )
    assert answer.joint_positions is None
    return answer.joint_efforts, actuator


@pytest.mark.parametrize("title", MODELS)
def test_the_actuator_of_isaac_lab_gives_the_torque(title, monkeypatch):
    torch = pytest.importorskip("torch")
    import simulator_stand_ins

    simulator_stand_ins.install_isaac_lab(monkeypatch)
    model = model_of(title)
    found = states()
    expected, external = bench_torque(model, found, nominal(model), 25.0)
    module = module_of(model, "isaac-lab-module")
    given = {n: torch.tensor(v).float() for n, v in {**found, "external": external}.items()}
    efforts, actuator = isaac_lab_efforts(
        module, given["position"], given["speed"], given["goal"], given["external"], 4
    )
    assert relative(efforts.reshape(-1).numpy(), expected) < 1e-4
    assert actuator.cfg.armature == model.values["armature"]
    limited, _ = isaac_lab_efforts(
        module, given["position"], given["speed"], given["goal"], given["external"], 4,
        effort_limit=0.05,
    )  # fmt: skip
    assert float(limited.abs().max()) == pytest.approx(0.05)


def newton_joints(position, speed, goal):
    """State and control of Newton with joints."""
    from warp_stand_in import Array

    q, v, target = map(Array, (position, speed, goal))
    return SimpleNamespace(joint_q=q, joint_qd=v), SimpleNamespace(
        joint_target_q=target, joint_target_qd=None, joint_f=Array(np.zeros(len(target)))
    )


def newton_actuator(model, monkeypatch, joints, **settings):
    """The stand-in of Newton's actuator with the drive of a module, and the drive."""
    import simulator_stand_ins
    from warp_stand_in import Array

    simulator_stand_ins.install_newton(monkeypatch)
    drive = module_of(model, "newton").DriveServo(load_inertia=LOAD["total_inertia"], **settings)
    return simulator_stand_ins.Actuator(Array(np.arange(joints), dtype=np.uint32), drive), drive


@pytest.mark.parametrize("title", MODELS)
def test_the_drive_of_newton_gives_the_torque(title, monkeypatch):
    torch = pytest.importorskip("torch")
    model = model_of(title)
    found = states()
    expected, external = bench_torque(model, found, nominal(model), 25.0)
    actuator, drive = newton_actuator(model, monkeypatch, len(external))
    drive.external_torque = torch.tensor(external)
    state, control = newton_joints(found["position"], found["speed"], found["goal"])
    now, after = actuator.state(), actuator.state()
    actuator.step(state, control, now, after, DT)
    assert relative(control.joint_f.numpy(), expected) < 1e-4
    # the memory moves on from state to state, and a mask resets some of it
    mask = np.zeros(len(external), bool)
    mask[3] = True
    after.drive_state.reset(warp_stand_in.Array(mask, dtype=np.bool_))
    assert after.drive_state.count.numpy().sum() == len(external) - 1
    now.drive_state.assign(after.drive_state)
    assert now.drive_state.count.numpy()[3] == 0
    assert now.drive_state.count is not after.drive_state.count
    after.drive_state.reset()
    assert not after.drive_state.count.numpy().any() and now.drive_state.count.numpy().any()
    # a released joint has friction alone
    drive.torque_enable = 0.0
    control.joint_f.zero_()
    actuator.step(state, control, after, now, DT)
    assert relative(control.joint_f.numpy(), expected) > 0.1
    with pytest.raises(ValueError, match="no arguments"):
        drive.resolve_arguments({"load_inertia": 0.01, "kq": 1.0})
    found = drive.resolve_arguments({"load_inertia": 0.01, "kp": 3.0})
    assert (found["load_inertia"], found["kp"], found["vin"]) == (0.01, 3.0, nominal(model))


def test_memory_of_newtons_drive_moves_as_the_bench(monkeypatch):
    """Delay and speed limit live in the state that Newton hands on."""
    pytest.importorskip("torch")
    model = distinct_model("voltage", "m6", ("command_delay", "max_velocity"))
    log = swing(model, 1.0)
    expected = BenchSimulator(model, [log], max_step=DT).simulate().position[0][0]
    actuator, drive = newton_actuator(model, monkeypatch, 1)
    drive.external_torque = warp_stand_in.Array(np.zeros(1))
    inertia = LOAD["total_inertia"] + model.values["armature"]
    q, v = float(log.position[0]), float(log.speed[0])
    now, after, found = actuator.state(), actuator.state(), []
    for goal, on in zip(log.goal_position, log.torque_enable):
        found.append(q)
        external = -LOAD["total_g_bias"] * np.sin(q + model.values["q_offset"])
        drive.external_torque.fill_(external)
        drive.torque_enable = float(on)
        state, control = newton_joints([q], [v], [goal])
        actuator.step(state, control, now, after, DT)
        now, after = after, now
        v += DT * (float(control.joint_f.numpy()[0]) + external) / inertia
        q += DT * v
    assert np.abs(np.array(found) - expected).max() < 1e-3


@pytest.mark.parametrize("terms", [(), ("command_delay", "max_velocity")])
def test_a_graph_captures_the_drive_of_newton(terms, monkeypatch):
    """Nothing allocates, reads back or branches: a replay of the launches is the step."""
    pytest.importorskip("torch")
    model = distinct_model("voltage", "m6", terms)
    actuator, drive = newton_actuator(model, monkeypatch, 3, kp=np.array([300.0, 200.0, 100.0]))
    assert drive.is_graphable()
    found = {name: values[60:63] for name, values in states().items()}
    state, control = newton_joints(found["position"], found["speed"], found["goal"])
    pair = actuator.state(), actuator.state()
    with warp_stand_in.captured() as graph:
        for now, after in (pair, pair[::-1]):
            control.joint_f.zero_()
            actuator.step(state, control, now, after, DT)
    assert not pair[0].drive_state.count.numpy().any()
    plain = actuator.state(), actuator.state()
    for replay in range(4):
        control.joint_target_q.fill_(0.2 * replay)
        drive.torque_enable = float(replay != 2)
        for launched in graph:
            launched()
        efforts = control.joint_f.numpy().copy()
        for now, after in (plain, plain[::-1]):
            control.joint_f.zero_()
            actuator.step(state, control, now, after, DT)
        assert np.abs(efforts).max() > 1e-3
        np.testing.assert_array_equal(control.joint_f.numpy(), efforts)
    assert pair[0].drive_state.count.numpy().tolist() == [8, 8, 8]


def test_a_step_too_short_for_the_memory_of_commands_is_refused(monkeypatch):
    pytest.importorskip("torch")
    model = distinct_model("voltage", "m1", ("command_delay",))
    actuator, _ = newton_actuator(model, monkeypatch, 1)
    given = (*newton_joints([0.0], [0.0], [0.1]), actuator.state(), actuator.state())
    for step, words in ((1e-5, "memory of past commands"), (0.0, "must be positive")):
        with pytest.raises(ValueError, match=words):
            actuator.step(*given, step)
    actuator.step(*given, 3e-4)


def nominal(model: ServoModel) -> float:
    """Bus voltage of a servo [V]."""
    return 1.0 if model.servo.law == "torque_pd" else model.servo.vin


@pytest.mark.parametrize("step", [0.0, -0.002, np.nan, np.inf, None])
def test_a_time_step_is_positive(step):
    module = module_of(distinct_model("voltage", "m1"), "numpy")
    with pytest.raises(ValueError, match="time step must be positive"):
        module.Servo(step, load_inertia=0.01)


NO_INERTIA = [None, -0.01, np.nan, np.inf, "0.01 kg", np.array([0.01, -0.01])]


@pytest.mark.parametrize("inertia", NO_INERTIA, ids=repr)
def test_no_module_guesses_the_inertia_of_the_load(inertia, monkeypatch):
    """Without it friction is wrong by a tenth of the torque, and nothing would say so."""
    pytest.importorskip("torch")
    import simulator_stand_ins

    simulator_stand_ins.install_isaac_lab(monkeypatch)
    simulator_stand_ins.install_newton(monkeypatch)
    model = model_of("voltage, m6")
    given = {} if inertia is None else {"load_inertia": inertia}

    def isaac_lab(module):
        cfg = module.ServoActuatorCfg(joint_names_expr=[".*"], physics_dt=DT, **given)
        return cfg.class_type(cfg, ["hip"], slice(None), 2, "cpu")

    start = (np.zeros(1), np.zeros(1))
    made = (
        ("numpy", lambda module: module.Servo(DT, **given)),
        ("numpy", lambda module: module.Bench(DT, inertia, *start)),
        ("isaac-lab-module", isaac_lab),
        ("isaac-lab-module", lambda module: module.Servo(DT, **given)),
        ("newton", lambda module: module.DriveServo(**given)),
        ("newton", lambda module: module.DriveServo.resolve_arguments(given)),
    )
    for form, make in made:
        module = module_of(model, form)
        with pytest.raises(ValueError, match="must be the inertia that the joint moves"):
            make(module)


def test_a_gain_is_not_taken_for_an_inertia():
    # the second argument once was the gain
    module = module_of(distinct_model("voltage", "m1"), "numpy")
    with pytest.raises(TypeError, match="positional"):
        module.Servo(DT, 16.0)


def test_a_bare_motor_and_several_joints_have_an_inertia():
    model = model_of("voltage, m6")
    module = module_of(model, "numpy")
    found = {name: values[:2] for name, values in states().items()}
    alone = [module.Servo(DT, load_inertia=each).torque(**found)[k] for k, each in
             enumerate((0.0, 0.02))]  # fmt: skip
    both = module.Servo(DT, load_inertia=np.array([0.0, 0.02])).torque(**found)
    np.testing.assert_array_equal(both, alone)


def test_joints_of_isaac_lab_have_their_own_inertia(monkeypatch):
    torch = pytest.importorskip("torch")
    import simulator_stand_ins

    simulator_stand_ins.install_isaac_lab(monkeypatch)
    module = module_of(model_of("voltage, m6"), "isaac-lab-module")

    def actuator(inertia, names):
        cfg = module.ServoActuatorCfg(joint_names_expr=[".*"], physics_dt=DT, load_inertia=inertia)
        return cfg.class_type(cfg, names, slice(None), 3, "cpu")

    legs = actuator({".*_hip": 0.02, "left_knee|right_knee": 0.004}, ["left_hip", "left_knee"])
    torch.testing.assert_close(legs.servo.load_inertia, torch.tensor([0.02, 0.004]))
    for wrong in ({".*_hip": 0.02}, {".*": 0.02, ".*_knee": 0.1}, {".*": 0.02, "elbow": 0.1}):
        with pytest.raises(ValueError, match="one value per joint"):
            actuator(wrong, ["left_hip", "left_knee"])
    for wrong in ("0,02", "0.02", None, True, [0.1, 0.2], -0.1, np.nan, np.inf):
        with pytest.raises(ValueError) as refused:
            actuator({".*_hip": 0.02, ".*_knee": wrong}, ["left_hip", "left_knee"])
        assert f"load_inertia of the joint 'left_knee' is {wrong!r}" in str(refused.value)
    for right in (np.float32(0.5), torch.tensor(0.5), 1, np.int64(1)):
        actuator({".*": right}, ["left_hip"])


def test_the_physics_step_of_isaac_lab_is_not_guessed(monkeypatch):
    pytest.importorskip("torch")
    import simulator_stand_ins

    simulator_stand_ins.install_isaac_lab(monkeypatch)
    module = module_of(model_of("voltage, m6"), "isaac-lab-module")
    cfg = module.ServoActuatorCfg(joint_names_expr=[".*"], load_inertia=0.01)
    with pytest.raises(ValueError, match="time step must be positive"):
        cfg.class_type(cfg, ["hip"], slice(None), 2, "cpu")


@pytest.mark.parametrize("form", ["numpy", "mujoco", "mjlab"])
def test_the_name_of_a_servo_is_no_code(form, tmp_path):
    name = 'a"""\nraise SystemExit("run")\n"""'
    servo = dataclasses.replace(find_servo("xl330"), name=name)
    text = export_servo(ServoModel.create(servo, "m1"), form, path=tmp_path / "a.json").text
    tree = ast.parse(text)
    assert "SystemExit" not in {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
