"""Motion of a joint along its logs, sample after sample, with a correction of its torque."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trueup.networks.data.features import ANGLE, ANGLE_ERROR, VELOCITY
from trueup.networks.model.torch_network import State, TorchNetwork
from trueup.networks.motion.driven_joint import DrivenJoint
from trueup.networks.motion.joint_step import SampleInputs
from trueup.networks.motion.motion_logs import MotionLogs

SMOOTHING = 0.03
"""Time that recorded motion is averaged over before it is differentiated [s]."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """Stretches of logs side by side, from one sample to another; (samples, B) each."""

    position: Tensor
    """Recorded angle [rad]."""
    speed: Tensor
    command: Tensor
    """Commanded angle at each sample [rad]."""
    enabled: Tensor
    told: tuple[str, ...]
    """Inputs of the correction."""
    conditions: dict[str, Tensor]
    """Conditions of the logs by name, (B,) each."""
    kp: Tensor
    """Firmware gain, (B,)."""
    gain: Tensor
    """Gain of the error, (B,)."""
    inputs: tuple[SampleInputs, ...]
    """Commands and conditions of each step."""
    h: float
    """Time step of the joint [s]."""
    rate: float
    torque: Tensor | None
    """Measured torque on the load [N m]."""

    @classmethod
    def of(cls, logs: MotionLogs, rows: Tensor, starts: Tensor, steps: int) -> "Stretch":
        """Stretches of ``steps`` samples, and the one after, from starts (B,) in logs (B,)."""
        last = logs.position.shape[1] - 1
        at = (starts[:, None] + torch.arange(steps + 1)[None]).clamp(max=last).T.contiguous()
        log = rows[None].expand_as(at)
        goal, on = logs.goal[log, at], logs.on[log, at]
        moving = [logs.volts[log, at].numpy(), logs.warmth[log, at].numpy()]
        held = {n: getattr(logs, n)[rows].numpy()
                for n in ("rate_gain", "voltage", "inertia", "gravity")}  # fmt: skip
        pairs = zip(goal.numpy(), on.numpy(), *moving, strict=True)
        return cls(
            position=logs.position[log, at],
            speed=logs.speed[log, at],
            command=goal[..., 0],
            enabled=on[..., 0],
            told=logs.inputs,
            conditions={n: each[rows] for n, each in logs.conditions.items()},
            kp=logs.kp[rows],
            gain=logs.gain[rows],
            inputs=tuple(
                SampleInputs(target=t, on=o, volts=v, warmth=w, **held) for t, o, v, w in pairs
            ),
            h=1.0 / (logs.rate * logs.substeps),
            rate=logs.rate,
            torque=None if logs.torque is None else logs.torque[log, at],
        )

    @classmethod
    def whole(cls, logs: MotionLogs) -> "Stretch":
        """Whole logs, each padded to the longest."""
        rows = torch.arange(len(logs.names))
        return cls.of(logs, rows, torch.zeros_like(rows), int(logs.lengths.max()) - 1)

    def features(self, step: int, position: Tensor, speed: Tensor) -> Tensor:
        """Inputs of the correction at a sample, (B, features)."""
        found = {**self.conditions, ANGLE: position, VELOCITY: speed}
        if ANGLE_ERROR in self.told:
            found[ANGLE_ERROR] = self.enabled[step] * (self.command[step] - position)
        return torch.stack([found[name] for name in self.told], dim=-1)

    def load_torque(self, step: int, position: Tensor, speed: Tensor, after: Tensor) -> Tensor:
        """Torque that the load takes over a sample [N m]: inertia times acceleration, weight."""
        held = self.inputs[step]
        taken = torch.from_numpy(held.inertia) * (after - speed) * self.rate
        return taken + torch.from_numpy(held.gravity) * torch.sin(position)

    def after(
        self,
        joint: DrivenJoint,
        step: int,
        position: Tensor,
        speed: Tensor,
        correction: Tensor,
        gain: Tensor | None = None,
        numbers: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Position and speed one sample on; ``gain`` and ``numbers`` (numbers, B) in place of what
        the joint has."""
        if gain is None:
            gain = self.gain * joint.gain_factors(self.kp) if joint.stated_gains else self.gain
        given = {"correction": correction, "gain": gain, "h": self.h, "numbers": numbers}
        return joint(position, speed, self.inputs[step], **given)


def correction_step(
    module: TorchNetwork,
    stretch: Stretch,
    step: int,
    position: Tensor,
    speed: Tensor,
    state: State | None,
) -> tuple[Tensor, State]:
    """Torque of the correction at a sample, shape (B,) [N m], and its state after it."""
    inputs = stretch.features(step, position, speed)[:, None]
    torque, state = module.unlimited(inputs, state)
    return torque[:, 0], state


def whole_motion(
    joint: DrivenJoint, logs: MotionLogs, module: TorchNetwork | None
) -> tuple[Tensor, Tensor]:
    """Positions and speeds of whole logs from their first samples, each (logs, samples)."""
    stretch, state = Stretch.whole(logs), None
    position, speed = stretch.position[0], stretch.speed[0]
    positions, speeds = [position], [speed]
    correction = torch.zeros_like(position)
    for step in range(len(stretch.inputs) - 1):
        if module is not None:
            correction, state = correction_step(module, stretch, step, position, speed, state)
        position, speed = stretch.after(joint, step, position, speed, correction)
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
