"""The motion that simulators' actuators are driven with, and the torque they should give."""

import sys
from typing import Any

import numpy as np
import torch

from trueup.networks import NetworkRuntime

MOTOR: dict[str, Any] = {"effort_limit": 500.0, "saturation_effort": 800.0, "velocity_limit": 200.0}
"""Limits wide enough not to matter."""

SHAPE = (60, 3, 2)
"""Steps, environments, joints."""


def motion(seed: int = 0) -> tuple[np.ndarray, ...]:
    """Target angle, angle and velocity, each (steps, environments, joints), single precision."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(3, *SHAPE)).astype(np.float32)
    return tuple(values)


def expected(
    network: Any, target: np.ndarray, angle: np.ndarray, velocity: np.ndarray
) -> np.ndarray:
    """Torque of the numpy runtime, (steps, environments, joints)."""
    known = {
        "current_angle_rad": angle,
        "target_angle_rad": target,
        "current_ang_vel_rad_s": velocity,
        "angle_error_rad": target.astype(float) - angle,
    }
    steps, *shape = target.shape
    runtime = NetworkRuntime(network, int(np.prod(shape)))
    inputs = np.stack([known[name].reshape(steps, -1) for name in network.inputs], axis=2)
    return np.array([runtime.step(row) for row in inputs]).reshape(target.shape)


def isaac_lab_torques(
    actions: type, cfg: Any, moved: tuple[np.ndarray, ...], reset: bool = True
) -> np.ndarray:
    """Torques of an actuator of Isaac Lab, (steps, environments, joints)."""
    _, envs, joints = moved[0].shape
    names = [f"joint_{i}" for i in range(joints)]
    actuator = cfg.class_type(cfg, names, slice(None), envs, "cpu")
    if reset:
        actuator.reset(list(range(envs)))
    found = []
    for target, angle, velocity in zip(*(torch.tensor(m) for m in moved), strict=True):
        command = actions(target, torch.zeros_like(target), torch.zeros_like(target))
        found.append(actuator.compute(command, angle, velocity).joint_efforts.clone())
    return torch.stack(found).double().numpy()


def usage_config(usage: str, **settings: Any) -> Any:
    """The configuration that an export's text makes, with settings changed."""
    names: dict[str, Any] = {}
    path, known = [*sys.path], set(sys.modules)
    exec(compile(usage, "usage", "exec"), names)
    # the module of another export is another one
    sys.path[:] = path
    for name in {*sys.modules} - known:
        if name.startswith("combined_"):
            del sys.modules[name]
    cfg = names["ACTUATOR_CFG"]
    for name, value in settings.items():
        setattr(cfg, name, value)
    return cfg
