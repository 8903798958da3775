"""Motion of a pendulum with an identified servo in mjlab, compared with the bench.

Also compares the signatures of mjlab's classes with those of the stand-in of the tests. Run in the
environment that ``run.py`` makes.
"""

import argparse
import inspect
import json
import sys
import tempfile
from pathlib import Path

import mjlab.actuator
import numpy as np
import torch
from mjlab.managers import event_manager
from mjlab.utils import buffers
from mjlab_pendulum import MjlabPendulum, written_module

from trueup.actuators import BenchSimulator, ServoLog, ServoModel

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "deploy"))
import mjlab_stand_in

MODULE = written_module(ServoModel.create("mx64", "m1"))
"""Written from another servo than those of the cases, whose parameter files it reads."""
METHODS = ("__init__", "initialize", "_init_delay_buffer", "apply_delay", "reset", "update")
CASES = {
    "voltage, M1": (
        ("xl330", "m1"), (0.4, 0.1),
        {"kt": 0.387, "R": 4.02, "armature": 0.0018, "friction_base": 0.0128,
         "friction_viscous": 0.0037},
    ),
    "voltage, M6": (
        ("xl330", "m6"), (0.4, 0.1),
        {"kt": 0.366, "R": 2.81, "armature": 0.0018, "friction_base": 0.0048,
         "friction_viscous": 0.0054, "friction_stribeck": 0.0047, "load_friction_motor": 0.267,
         "load_friction_external": 0.0, "load_friction_motor_stribeck": 0.0,
         "load_friction_external_stribeck": 0.081, "load_friction_motor_quad": 0.01,
         "load_friction_external_quad": 0.0049, "dtheta_stribeck": 2.89, "alpha": 8.68},
    ),
    "slewed target": (
        ("sts3215", "m1"), (1.0, 0.15),
        {"kt": 1.21, "R": 2.68, "armature": 0.0284, "friction_base": 0.052,
         "friction_viscous": 0.059},
    ),
    "current PD, M3": (
        ("erob80_50", "m3"), (5.0, 0.5),
        {"kt": 4.5, "R": 1.0, "armature": 0.35, "friction_base": 3.0, "friction_viscous": 1.0,
         "load_friction_base": 0.05},
    ),
}  # fmt: skip


def check_signatures() -> None:
    """The stand-in of the tests takes what mjlab takes."""
    pairs = [
        (getattr(mjlab_stand_in.Actuator, name), getattr(mjlab.actuator.Actuator, name))
        for name in METHODS
    ]
    pairs += [
        (getattr(mjlab_stand_in.DelayBuffer, name), getattr(buffers.DelayBuffer, name))
        for name in ("__init__", "append", "reset", "compute")
    ]
    pairs.append((mjlab_stand_in.ActuatorCfg, mjlab.actuator.ActuatorCfg))
    pairs.append((mjlab_stand_in.ActuatorCmd, mjlab.actuator.ActuatorCmd))
    for ours, theirs in pairs:
        found, wanted = (list(inspect.signature(f).parameters) for f in (ours, theirs))
        if ours.__name__ == "append":  # by position
            found, wanted = len(found), len(wanted)
        if found != wanted:
            raise SystemExit(f"{theirs.__qualname__} takes {wanted}, the stand-in {found}")
    own = inspect.signature(event_manager.requires_model_fields).parameters
    if list(own) != list(inspect.signature(mjlab_stand_in.requires_model_fields).parameters):
        raise SystemExit(f"requires_model_fields takes {list(own)}")
    print(f"signatures: {len(pairs) + 1} agree with mjlab")


def log_of(model: ServoModel, load: tuple[float, float], dt: float, duration: float) -> ServoLog:
    """Commands for a pendulum: faster and faster, a step, then torque off."""
    times = np.arange(0.0, duration, dt)
    share = times / duration
    goals = np.where(share < 0.5, np.sin((3.0 * share) ** 2 * 2.0), 0.9)
    servo = model.servo
    return ServoLog(
        name="designed", source="", sha256="", motor=servo.name, trajectory="designed",
        mass=load[0], arm_mass=0.0, length=load[1], kp=servo.kp, vin=servo.vin, damping=None, dt=dt,
        times=times, position=np.full(len(times), 0.2), speed=np.zeros(len(times)),
        goal_position=goals, torque_enable=share < 0.75, load=None, input_volts=None,
        temperature=None,
    )  # fmt: skip


def write(model: ServoModel, folder: str) -> Path:
    """The parameter file of a model."""
    path = Path(folder) / "servo.json"
    content = {"model": model.friction.name, "actuator": model.servo.name, **model.values}
    path.write_text(json.dumps(content))
    return path


def check_motion(title: str, dt: float, duration: float, bar: float, folder: str) -> None:
    """Motion in mjlab against the bench at the same step [rad]."""
    (servo, friction), load, values = CASES[title]
    model = ServoModel.create(servo, friction, **values)
    log = log_of(model, load, dt, duration)
    bench = BenchSimulator(model, [log], max_step=dt).simulate().position[0][0]
    converged = BenchSimulator(model, [log], max_step=1e-5).simulate().position[0][0]
    scene = MjlabPendulum(MODULE, write(model, folder), *load, dt, num_envs=2)
    motion = scene.follow(log.goal_position, log.torque_enable, 0.2, 0.0)
    difference = 1e3 * np.abs(motion - bench[:, None])
    step = 1e3 * np.abs(bench - converged).mean()
    print(
        f"{title:16} dt {dt:g} s: {difference.mean():.3f} mrad mean, {difference.max():.2f} max "
        f"against the bench at that step (whose own step is worth {step:.2f} mrad)",
        flush=True,
    )
    if not difference.mean() < 1e3 * bar:
        raise SystemExit(f"{title}: mjlab moves otherwise than the bench")


def check_environments(folder: str) -> None:
    """Drawn values, a reset of some environments, and shared fields, in the real mjlab."""
    (servo, friction), load, values = CASES["voltage, M6"]
    path = write(ServoModel.create(servo, friction, **values), folder)
    torch.manual_seed(0)
    ranges = {"vin_range": (6.0, 8.4), "kp_scale_range": (0.8, 1.2), "delay_max_lag": 2}
    scene = MjlabPendulum(
        MODULE, path, *load, 0.005, num_envs=4, drop_resistance_range=(0, 0.5), **ranges
    )
    scene.start(0.2, 0.0)
    for _ in range(30):
        scene.step(1.0)
    if len(scene.servo.data.joint_pos[:, 0].unique()) != 4:
        raise SystemExit("environments with drawn values move alike")
    before = scene.actuator.kp_scale.clone()
    scene.scene.reset(torch.tensor([1, 2]))
    changed = (scene.actuator.kp_scale != before)[:, 0].tolist()
    if changed != [False, True, True, False]:
        raise SystemExit(f"a reset of environments 1 and 2 drew anew for {changed}")
    shared = MjlabPendulum(MODULE, path, *load, 0.005, num_envs=2, expand=False)
    shared.start(0.0, 0.0)
    try:
        shared.step(0.1)
    except MODULE.SimulationError:
        print("environments: drawn apart, reset by index, shared fields refused")
    else:
        raise SystemExit("shared model fields were not refused")
    if MODULE.prepare_servo_fields.model_fields != MODULE.SERVO_MODEL_FIELDS:
        raise SystemExit("mjlab's event manager would not see the fields")


def main() -> None:
    """Run all checks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="motions to run, by name; all by default")
    parser.add_argument("--dt", type=float, default=0.005, help="time step [s]")
    parser.add_argument("--duration", type=float, default=2.0, help="length of a motion [s]")
    parser.add_argument("--bar", type=float, default=1e-3, help="greatest mean difference [rad]")
    arguments = parser.parse_args()
    check_signatures()
    with tempfile.TemporaryDirectory() as folder:
        for title in arguments.cases or CASES:
            check_motion(title, arguments.dt, arguments.duration, arguments.bar, folder)
        check_environments(folder)


if __name__ == "__main__":
    main()
