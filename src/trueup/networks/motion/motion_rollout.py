"""Motion of a joint along its logs, sample after sample, with a correction of its torque."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trueup.networks.data.features import ANGLE, ANGLE_ERROR, VELOCITY
from trueup.networks.model.torch_network import State, TorchNetwork
from trueup.networks.motion.driven_joint import DrivenJoint
from trueup.networks.motion.motion_logs import MotionLogs

FEATURES = (ANGLE, ANGLE_ERROR, VELOCITY)
"""Inputs of a correction, before the conditions of the log. A motor without torque has no angle
error."""


SMOOTHING = 0.03
"""Time that recorded motion is averaged over before it is differentiated [s]."""


def correction_features(
    logs: MotionLogs, position: Tensor, speed: Tensor, at: Any, rows: Any = None
) -> Tensor:
    """Inputs of the correction, shape (..., features).

    Args:
        logs: logs.
        position, speed: of the joint.
        at: samples.
        rows: logs of the samples; None: each log once.
    """
    pick = slice(None) if rows is None else rows
    error = logs.on[pick, at, 0] * (logs.goal[pick, at, 0] - position)
    conditions = [each.expand_as(position) for each in logs.conditions[pick].unbind(-1)]
    return torch.stack([position, error, speed, *conditions], dim=-1)


def correction_step(
    module: TorchNetwork,
    logs: MotionLogs,
    position: Tensor,
    speed: Tensor,
    at: Any,
    rows: Any,
    state: State | None,
) -> tuple[Tensor, State]:
    """Torque of the correction at a sample, shape (B,) [N m], and its state after it."""
    inputs = correction_features(logs, position, speed, at, rows)[:, None]
    torque, state = module.unlimited(inputs, state)
    return torque[:, 0], state


def joint_inputs(
    joint: DrivenJoint, logs: MotionLogs, rows: Any, at: Any, correction: Tensor
) -> dict[str, Any]:
    """Inputs of the joint over a sample."""
    constant = {
        name: getattr(logs, name)[rows] for name in ("rate_gain", "voltage", "inertia", "gravity")
    }
    constant["gain"] = logs.gain[rows]
    if joint.stated_gains:
        constant["gain"] = constant["gain"] * joint.gain_factors(logs.kp[rows])
    moving = {name: getattr(logs, name)[rows, at] for name in ("on", "volts", "warmth")}
    target = {"target": logs.goal[rows, at], "correction": correction, "rate": logs.rate}
    return {**constant, **moving, **target}


def whole_motion(
    joint: DrivenJoint, logs: MotionLogs, module: TorchNetwork | None
) -> tuple[Tensor, Tensor]:
    """Positions and speeds of whole logs from their first samples, each (logs, samples)."""
    rows = torch.arange(len(logs.names))
    position, speed = logs.position[:, 0], logs.speed[:, 0]
    positions, speeds, state = [position], [speed], None
    correction = torch.zeros_like(position)
    for step in range(int(logs.lengths.max()) - 1):
        if module is not None:
            correction, state = correction_step(module, logs, position, speed, step, rows, state)
        inputs = joint_inputs(joint, logs, rows, step, correction)
        position, speed = joint(position, speed, **inputs)
        positions.append(position)
        speeds.append(speed)
    return torch.stack(positions, dim=1), torch.stack(speeds, dim=1)


def rms_errors(positions: Tensor, logs: MotionLogs) -> list[float]:
    """RMS angle error of each log [rad]."""
    errors = (positions - logs.position).numpy()
    return [
        float(np.sqrt(np.mean(row[:count] ** 2)))
        for row, count in zip(errors, logs.lengths, strict=True)
    ]


def torque_errors(positions: Tensor, speeds: Tensor, logs: MotionLogs) -> list[float] | None:
    """RMS error of the torque on the load along the simulated motion of each log [N m].

    The torque is what the load takes, inertia times acceleration and its weight, so that it counts
    friction, armature and correction alike. None where no torque is recorded.
    """
    if logs.torque is None:
        return None
    acceleration = (speeds[:, 1:] - speeds[:, :-1]) * logs.rate
    torque = logs.inertia[:, None] * acceleration
    torque = torque + logs.gravity[:, None] * torch.sin(positions[:, :-1])
    errors = (torque - logs.torque[:, :-1]).numpy()
    return [
        float(np.sqrt(np.mean(row[: count - 1] ** 2)))
        for row, count in zip(errors, logs.lengths, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class TorqueBalance:
    """Torque that the load of each sample takes, and what may explain it, each of shape (n,)."""

    rows: np.ndarray
    """Log of the sample."""
    on: np.ndarray
    angle: np.ndarray
    error: np.ndarray
    """Command less angle, 0 without torque [rad]."""
    speed: np.ndarray
    acceleration: np.ndarray
    """Derivative of the smoothed speed [rad/s2]."""
    torque: np.ndarray
    """Inertia times acceleration, and the weight [N m]."""


def torque_balance(logs: MotionLogs) -> TorqueBalance:
    """Torque on the load by the recorded motion, smoothed over `SMOOTHING`."""
    width = max(3, round(SMOOTHING * logs.rate)) | 1
    found: list[list[np.ndarray]] = []
    for row, count in enumerate(logs.lengths):
        angle, speed = (_smoothed(values[row, :count].numpy(), width)
                        for values in (logs.position, logs.speed))  # fmt: skip
        acceleration = np.gradient(speed) * logs.rate
        on = logs.on[row, :count, 0].numpy()
        error = on * (logs.goal[row, :count, 0].numpy() - angle)
        torque = float(logs.inertia[row]) * acceleration
        torque = torque + float(logs.gravity[row]) * np.sin(angle)
        found.append([np.full(count, row), on, angle, error, speed, acceleration, torque])
    return TorqueBalance(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _smoothed(values: np.ndarray, width: int) -> np.ndarray:
    """Moving mean over an odd number of samples, the ends held."""
    padded = np.pad(values, width // 2, mode="edge")
    return np.convolve(padded, np.full(width, 1.0 / width), mode="valid")
