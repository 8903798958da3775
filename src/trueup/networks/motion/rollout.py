"""Simulated motion of a joint with the commands of its logs and a torque correction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from trueup.networks.motion.logs import MotionLogs

HORIZONS = (0.1, 0.3, 1.0)
"""Times after the last recorded state at which angle errors are scored [s]."""

_SHARE = 0.2  # last part of a horizon whose samples measure the error at its end

SMOOTHING = 0.03
"""Width of the moving average applied to recorded motion before differentiation [s]."""


class Windows(Protocol):
    """A batch of windows of recordings; a row is one joint of one window."""

    @property
    def position(self) -> Tensor:
        """Recorded angle, (samples, B) [rad]."""
        ...

    @property
    def speed(self) -> Tensor:
        """Recorded speed, (samples, B) [rad/s]."""
        ...

    def features(self, step: int, position: Tensor, speed: Tensor) -> Tensor:
        """Inputs of the correction at a sample, (B, features)."""
        ...

    def after(
        self, step: int, position: Tensor, speed: Tensor, correction: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Position and speed at the next sample, with an additional torque (B,) [N m]."""
        ...


def correction_step(
    module: Any,
    windows: Windows,
    step: int,
    position: Tensor,
    speed: Tensor,
    state: Any,
) -> tuple[Tensor, Any]:
    """Torque of the correction at a sample, shape (B,) [N m], and its next state."""
    inputs = windows.features(step, position, speed)[:, None]
    torque, state = module.unlimited(inputs, state)
    return torque[:, 0], state


def whole_motion(windows: Windows, module: Any, every: int | None = None) -> tuple[Tensor, Tensor]:
    """Simulated positions and speeds of windows from their first samples, each (B, samples).

    Args:
        windows: the recordings.
        module: the correction; None: the base alone.
        every: samples after which the motion is set to the recorded one; the memory of the
            correction is kept. None: never.
    """
    position, speed, state = windows.position[0], windows.speed[0], None
    positions, speeds = [position], [speed]
    correction = torch.zeros_like(position)
    for step in range(len(windows.position) - 1):
        if module is not None:
            correction, state = correction_step(module, windows, step, position, speed, state)
        position, speed = windows.after(step, position, speed, correction)
        positions.append(position)
        speeds.append(speed)
        if every and (step + 1) % every == 0:
            position, speed = windows.position[step + 1], windows.speed[step + 1]
    return torch.stack(positions, dim=1), torch.stack(speeds, dim=1)


def horizon_errors(
    windows: Windows, module: Any, lengths: Sequence[int], rate: float
) -> list[dict[float, float]]:
    """RMS angle error of each window [rad] by the time after the last recorded state [s].

    Windows shorter than a time have no error there.

    Args:
        windows: whole recordings.
        module: the correction; None: the base alone.
        lengths: samples of each window.
        rate: sample rate [Hz].
    """
    out: list[dict[float, float]] = [{} for _ in lengths]
    samples = np.arange(len(windows.position))
    for horizon in HORIZONS:
        every = max(1, round(horizon * rate))
        if every >= max(lengths):
            continue
        positions, _ = whole_motion(windows, module, every)
        squares = (positions - windows.position.T).numpy() ** 2
        at_end = (samples - 1) % every >= round((1 - _SHARE) * every) - 1
        at_end[0] = False
        for row, (found, count) in enumerate(zip(out, lengths, strict=True)):
            chosen = np.flatnonzero(at_end[:count])
            if count > every:
                found[horizon] = float(np.sqrt(np.mean(squares[row, chosen])))
    return out


def torque_errors(positions: Tensor, speeds: Tensor, logs: MotionLogs) -> list[float] | None:
    """RMS error of the torque on the load over the simulated motion of each log [N m].

    The torque on the load is inertia times acceleration plus gravity, so that it includes friction,
    armature and correction. None where no torque is recorded.
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
    """Torque on the load at each sample, and its regressors, each of shape (n,)."""

    rows: np.ndarray
    """Index of the log of the sample."""
    on: np.ndarray
    angle: np.ndarray
    error: np.ndarray
    """Command minus angle, 0 with the torque disabled [rad]."""
    speed: np.ndarray
    acceleration: np.ndarray
    """Derivative of the smoothed speed [rad/s2]."""
    torque: np.ndarray
    """Inertia times acceleration plus gravity [N m]."""


def torque_balance(logs: MotionLogs) -> TorqueBalance:
    """Torque on the load from the recorded motion, smoothed over `SMOOTHING`."""
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
    """Moving mean over an odd number of samples, with the end values repeated."""
    padded = np.pad(values, width // 2, mode="edge")
    return np.convolve(padded, np.full(width, 1.0 / width), mode="valid")
