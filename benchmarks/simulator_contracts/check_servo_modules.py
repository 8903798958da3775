"""Exported modules with the whole servo model, in the real classes of Isaac Lab, mjlab and Newton.

One-step torques through Isaac Lab's and Newton's actuators against the bench's, motion in mjlab of
a module's own servo against that of its parameter file, and the signatures that the stand-ins of
the tests have.
Run in the environment that ``run.py`` makes.
"""

import inspect
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "actuators"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "deploy"))
import isaac_lab_import
import newton.actuators
import numpy as np
import simulator_stand_ins
import torch
import warp
from exported_modules import DT, LOAD, MODELS, bench_torque, model_of, module_of, relative, states

BAR = 1e-4
"""Greatest relative torque difference in single precision."""


def given(found: dict[str, np.ndarray], external: np.ndarray) -> dict[str, np.ndarray]:
    """States and external torques in single precision."""
    return {n: v.astype(np.float32) for n, v in {**found, "external": external}.items()}


def isaac_lab_torques(module, row: dict[str, np.ndarray], envs: int = 4) -> np.ndarray:
    """Efforts of the module's actuator under the real base class."""
    from isaaclab.utils.types import ArticulationActions

    values = {n: torch.tensor(v).reshape(envs, -1) for n, v in row.items()}
    joints = values["goal"].shape[1]
    cfg = module.ServoActuatorCfg(
        joint_names_expr=[".*"], physics_dt=DT, load_inertia=LOAD["total_inertia"]
    )
    names = [f"joint_{number}" for number in range(joints)]
    actuator = cfg.class_type(cfg, names, slice(None), envs, "cpu")
    actuator.reset(list(range(envs)))
    actuator.external_torque = values["external"]
    zeros = torch.zeros(envs, joints)
    action = ArticulationActions(values["goal"], zeros, zeros.clone())
    answer = actuator.compute(action, values["position"], values["speed"])
    assert torch.all(actuator.armature == module.ARMATURE)
    return answer.joint_efforts.reshape(-1).double().numpy()


def newton_torques(module, row: dict[str, np.ndarray]) -> np.ndarray:
    """Efforts of ``newton.actuators.Actuator`` with the module's drive, twice from one memory."""
    joints = len(row["goal"])
    drive = module.DriveServo(load_inertia=LOAD["total_inertia"])
    drive.external_torque = torch.tensor(row["external"])
    indices = warp.array(np.arange(joints), dtype=warp.uint32, device="cpu")
    actuator = newton.actuators.Actuator(indices, drive=drive)
    now, after = actuator.state(), actuator.state()
    state = SimpleNamespace(
        joint_q=warp.array(row["position"], dtype=float, device="cpu"),
        joint_qd=warp.array(row["speed"], dtype=float, device="cpu"),
    )
    control = SimpleNamespace(
        joint_target_q=warp.array(row["goal"], dtype=float, device="cpu"),
        joint_target_qd=warp.zeros(joints, dtype=float, device="cpu"),
        joint_act=None,
        joint_f=warp.zeros(joints, dtype=float, device="cpu"),
    )
    actuator.step(state, control, now, after, dt=DT)
    torque = control.joint_f.numpy().astype(float)
    control.joint_f.zero_()
    actuator.step(state, control, after, now, dt=DT)
    now.assign(after)
    now.reset(warp.array(np.arange(joints) == 1, dtype=warp.bool, device="cpu"))
    check_capture(actuator, state, control)
    return torque


def check_capture(actuator, state, control) -> None:
    """Replays of a captured graph of two steps are these steps."""
    assert actuator.is_graphable()
    pairs = [(actuator.state(), actuator.state()) for _ in range(2)]

    def two_steps(pair) -> None:
        for now, after in (pair, pair[::-1]):
            control.joint_f.zero_()
            actuator.step(state, control, now, after, dt=DT)

    with warp.ScopedCapture(device="cpu") as capture:
        two_steps(pairs[0])
    for goal in (0.3, -0.2, 0.1):
        control.joint_target_q.fill_(goal)
        warp.capture_launch(capture.graph)
        efforts = control.joint_f.numpy().copy()
        two_steps(pairs[1])
        if not np.array_equal(efforts, control.joint_f.numpy()):
            raise SystemExit("a captured graph gives other efforts than the steps")


def mjlab_difference(folder: Path) -> float:
    """Greatest angle between mjlab's motion of a module's own servo and of its file [rad]."""
    from mjlab_pendulum import MjlabPendulum, written_module

    from trueup.actuators import ServoModel, save_model

    model = ServoModel.create("xl330", "m6", ("torque_saturation", "command_delay"))
    model = model.with_values(torque_saturation=0.4, command_delay=0.007)
    path = save_model(model, folder / "servo.json")
    own, other = written_module(model), written_module(ServoModel.create("sts3215", "m2"), "other")
    goals, on = np.sin(0.08 * np.arange(300)), np.arange(300) < 250
    found = [
        MjlabPendulum(module, file, 0.4, 0.1, 0.005).follow(goals, on, 0.2, 0.0)
        for module, file in ((own, None), (other, path))
    ]
    assert np.ptp(found[0]) > 0.5
    return float(np.abs(found[0] - found[1]).max())


def check_missing_inertia() -> None:
    """Without the inertia of the load, none of the real classes is made."""
    module = module_of(model_of("voltage, m6"), "isaac-lab-module")
    cfg = module.ServoActuatorCfg(joint_names_expr=[".*"], physics_dt=DT)
    drive = module_of(model_of("voltage, m6"), "newton").DriveServo
    for make in (
        lambda: cfg.class_type(cfg, ["hip"], slice(None), 2, "cpu"),
        drive,
        lambda: drive.resolve_arguments({}),
    ):
        try:
            make()
        except ValueError as error:
            if "load_inertia" in str(error):
                continue
        raise SystemExit("an actuator was made without load_inertia")
    joints = {".*_hip": 0.02, ".*_knee": 0.004}
    cfg = module.ServoActuatorCfg(joint_names_expr=[".*"], physics_dt=DT, load_inertia=joints)
    actuator = cfg.class_type(cfg, ["a_hip", "a_knee"], slice(None), 2, "cpu")
    assert actuator.servo.load_inertia.tolist() == torch.tensor([0.02, 0.004]).tolist()
    print("load_inertia: required, and taken by names of joints")


def check_signatures() -> None:
    """The stand-ins take what the real classes take."""
    import isaaclab.actuators

    pairs = (
        (simulator_stand_ins.DriveBase.finalize, newton.actuators.DriveBase.finalize),
        (
            simulator_stand_ins.IdealPDActuator._clip_effort,
            isaaclab.actuators.IdealPDActuator._clip_effort,
        ),
    )
    for ours, theirs in pairs:
        found, wanted = (list(inspect.signature(f).parameters) for f in (ours, theirs))
        if found != wanted:
            raise SystemExit(f"{theirs.__qualname__} takes {wanted}, the stand-in {found}")
    fields = simulator_stand_ins.IdealPDActuatorCfg.__dataclass_fields__
    for name in fields:
        if name not in isaaclab.actuators.IdealPDActuatorCfg.__dataclass_fields__:
            raise SystemExit(f"Isaac Lab's configuration has no {name}")
    print(f"signatures: {len(pairs)} and {len(fields)} settings agree")


def main() -> None:
    """Print the differences of each case."""
    warp.config.quiet = True
    isaac_lab_import.prepare()
    import isaaclab.actuators  # noqa: F401

    check_signatures()
    check_missing_inertia()
    worst = 0.0
    for title in MODELS:
        model = model_of(title)
        found = states()
        volts = 1.0 if model.servo.law == "torque_pd" else model.servo.vin
        expected, external = bench_torque(model, found, volts, 25.0)
        row = given(found, external)
        lab = relative(isaac_lab_torques(module_of(model, "isaac-lab-module"), row), expected)
        newt = relative(newton_torques(module_of(model, "newton"), row), expected)
        worst = max(worst, lab, newt)
        print(f"{title:18} Isaac Lab {lab:.1e}, Newton {newt:.1e}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        angle = mjlab_difference(Path(folder))
    print(f"mjlab: a servo of the module and of its file differ by {angle:.1e} rad")
    if not (worst < BAR and angle < 1e-6):
        raise SystemExit("an exported module gives another torque than the bench")


if __name__ == "__main__":
    main()
