"""Torques of the exported snippet in Isaac Lab's classes, compared with the simulated stand-in.

Run in the environment that ``run.py`` makes.
"""

import isaac_lab_import
import numpy as np

from trueup.actuators import ServoModel
from trueup.deploy.isaac_lab.nearest import (
    equivalent_simulator,
    isaac_lab_snippet,
    nearest_actuators,
)
from trueup.deploy.servo import ExportRequest
from trueup.deploy.standard_logs import standard_logs

XL330 = {"kt": 0.37, "R": 2.8, "armature": 0.0018, "friction_base": 0.01}
CASES = {
    "voltage": ("xl330", "m1", (), XL330),
    "voltage, M6": ("xl330", "m6", (), {**XL330, "load_friction_motor": 0.2}),
    "voltage, limited current": ("xl330", "m1", ("current_limit",), {"current_limit": 0.9}),
    "current PD": ("erob80_50", "m1", (), {"kt": 4.5, "R": 1.0, "armature": 0.35}),
    "torque PD": ("unitree_go1", "m1", (), {"friction_base": 0.3}),
    "torque PD, delayed": ("unitree_go1", "m1", ("command_delay",), {"command_delay": 0.01}),
}


def torques(cfg, error: np.ndarray, speed: np.ndarray, steps: int) -> np.ndarray:
    """Torques of the real actuator at the joint's position 0, after steps of a constant goal."""
    import torch
    from isaaclab.utils.types import ArticulationActions

    shape = error.shape
    actuator = cfg.class_type(
        cfg, [f"joint_{i}" for i in range(shape[1])], slice(None), shape[0], "cpu"
    )
    actuator.reset(list(range(shape[0])))
    velocity, zeros = torch.tensor(speed).float(), torch.zeros(shape)
    for _ in range(steps):
        command = ArticulationActions(torch.tensor(error).float(), zeros.clone(), zeros.clone())
        answer = actuator.compute(command, zeros, velocity)
    for name in ("armature", "friction", "dynamic_friction", "viscous_friction"):
        assert torch.all(getattr(actuator, name) == getattr(cfg, name)), name
    return (
        actuator.applied_effort.double().numpy()
        if answer.joint_efforts is None
        else (answer.joint_efforts.double().numpy())
    )


def main() -> None:
    """Print the greatest torque difference of each case."""
    isaac_lab_import.prepare()
    import isaaclab.actuators  # noqa: F401

    worst = 0.0
    for title, (servo, friction, terms, values) in CASES.items():
        model = ServoModel.create(servo, friction, terms, **values)
        logs = standard_logs(model)[1:3]
        names: dict = {}
        snippet = isaac_lab_snippet(model)
        exec(compile(snippet, "snippet", "exec"), names)
        (cfg,) = (value for name, value in names.items() if name.endswith("_CFG"))
        best = nearest_actuators(ExportRequest(model, timestep=0.005)).actuators[0]
        stand_in = equivalent_simulator(best, model, logs).model
        reach = min(best.velocity_limit, 20.0)
        error, speed = np.meshgrid(np.linspace(-1, 1, 21), np.linspace(-reach, reach, 20))
        expected = stand_in.torque(error, speed, kp=1.0)
        found = torques(cfg, error, speed, 6)
        difference = np.abs(found - expected).max() / np.abs(expected).max()
        worst = max(worst, difference)
        print(f"{title:26} {type(cfg).__name__:22} relative torque difference {difference:.1e}")
    if not worst < 1e-5:
        raise SystemExit("Isaac Lab's torques differ from those that were simulated")


if __name__ == "__main__":
    main()
