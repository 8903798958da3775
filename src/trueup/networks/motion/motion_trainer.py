"""Gradient steps of a training through the simulator, which can be stopped and taken up again."""

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.errors import FitError
from trueup.networks.data.features import ANGLE, ANGLE_ERROR, POSITION_GAIN, VELOCITY
from trueup.networks.data.normalization import Normalization
from trueup.networks.model.network import RECURRENT, Network, last_layer
from trueup.networks.model.torch_network import State, TorchNetwork, initial_network
from trueup.networks.motion.driven_joint import DrivenJoint, MotionLogs
from trueup.networks.motion.motion_settings import BURN_IN, MotionSettings
from trueup.networks.motion.motion_state import read_state, write_state
from trueup.networks.training.hooks import Interrupted, TrainingHooks

FEATURES = (ANGLE, ANGLE_ERROR, VELOCITY, POSITION_GAIN)
"""Inputs of a correction. A motor without torque has no angle error."""

SAVED_EVERY = 30.0
"""Time between checkpoints [s]."""

_SPEED_WEIGHT = 0.05
_LEAST_ERROR = 1e-3
_VALIDATIONS = 40
_BASE_RATE = 0.2


class MotionTrainer:
    """A training: weights, optimiser, random draws, the best correction so far.

    Args:
        model: servo model that is corrected.
        logs: to learn from.
        held: logs that the correction is chosen by.
        settings: of network and training.
    """

    def __init__(
        self, model: ServoModel, logs: MotionLogs, held: MotionLogs, settings: MotionSettings
    ):
        self.settings, self.logs, self.held = settings, logs, held
        self.random = np.random.default_rng(settings.seed)
        self.joint = DrivenJoint(model, settings.learn_base)
        self.module = TorchNetwork(_start(logs, settings)).double()
        self.base_error = self._whole_error(held, False)
        self.own_error = self._whole_error(logs, False)
        self._scales = (max(self.own_error, _LEAST_ERROR), max(float(logs.speed.std()), 1e-6))
        groups = [{"params": list(self.module.parameters()), "lr": settings.learning_rate}]
        if self.joint.names:
            rate = _BASE_RATE * settings.learning_rate
            groups.append({"params": [self.joint.steps], "lr": rate})
        self._rates = [group["lr"] for group in groups]
        self.optimizer = torch.optim.Adam(groups)
        self.best: Network | None = None
        self.best_error, self.servo = self.base_error, model
        self.history: list[dict[str, float]] = []
        self.done, self.seconds, self.loss_sum = 0, 0.0, 0.0

    @property
    def every(self) -> int:
        """Steps from one validation to the next."""
        return max(10, self.settings.max_steps // _VALIDATIONS)

    @property
    def share(self) -> float:
        """Share of the steps or of the time that is done."""
        settings = self.settings
        return max(self.done / settings.max_steps, self.seconds / settings.seconds)

    def run(self, hooks: TrainingHooks, file: Path | None = None) -> None:
        """Train to the end of the steps or the time.

        Args:
            hooks: what follows the training, and may stop it.
            file: checkpoint, written now and then and at a stop; what it holds is gone on with.

        Raises:
            Interrupted: a hook stopped the training; the checkpoint is written.
            FitError: training diverged.
            RunDirectoryError: the checkpoint is of another training, or damaged.
        """
        if file is not None and file.is_file():
            read_state(self, file)
        before, began = self.seconds, time.perf_counter()
        saved = began
        while self.share < 1.0:
            if hooks.stop() or hooks.stop_at_once():
                if file is not None:
                    write_state(self, file)
                raise Interrupted
            share = self.share
            self.step(share)
            self.seconds = before + time.perf_counter() - began
            if self.done % self.every == 0 or self.done == self.settings.max_steps:
                self._validate(share)
                words = f"step {self.done} of {self.settings.max_steps}, angle error "
                words += f"{1e3 * self.history[-1]['error']:.4g} mrad, without correction "
                hooks.progress(f"{words}{1e3 * self.base_error:.4g}", share)
                if file is not None and time.perf_counter() - saved > SAVED_EVERY:
                    write_state(self, file)
                    saved = time.perf_counter()
        if file is not None:
            write_state(self, file)

    def _horizon(self, share: float) -> float:
        """Horizon at a share of the training [s]."""
        horizons = self.settings.horizons
        return horizons[min(int(share * len(horizons)), len(horizons) - 1)]

    def step(self, share: float) -> None:
        """A gradient step, with horizon and learning rate of a share of the training."""
        for group, rate in zip(self.optimizer.param_groups, self._rates, strict=True):
            warm = min(1.0, (self.done + 1) / 20)
            group["lr"] = rate * 0.5 * (1.0 + math.cos(math.pi * share)) * warm
        self.optimizer.zero_grad()
        loss = self._window_loss(self._horizon(share))
        if not bool(torch.isfinite(loss)):
            raise FitError(
                f"training through the simulator diverged after {self.done} steps: lower the "
                "learning rate or the first horizon"
            )
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*self.module.parameters(), self.joint.steps], 1.0)
        self.optimizer.step()
        self.done, self.loss_sum = self.done + 1, self.loss_sum + float(loss.detach())

    def _validate(self, share: float) -> None:
        error, learned = self._whole_error(self.held), self._whole_error(self.logs)
        self.history.append(
            {
                "steps": self.done,
                "horizon": self._horizon(share),
                "loss": self.loss_sum / self.every,
                "error": error,
                "training_error": learned,
            }
        )
        self.loss_sum = 0.0
        # what lets a learned motion drift over its whole length lets others drift too
        if error < self.best_error and learned <= self.own_error:
            self.best_error, self.best = error, self.module.to_network()
            self.servo = self.joint.moved_model()

    def _whole_error(self, logs: MotionLogs, corrected: bool = True) -> float:
        """Mean over the logs of the RMS angle error of the whole log [rad]."""
        with torch.no_grad():
            positions = whole_motion(self.joint, logs, self.module if corrected else None)
        return float(np.mean(rms_errors(positions, logs)))

    def _window_loss(self, horizon: float) -> Tensor:
        """Loss of random windows: error of angle and speed over the horizon, and the correction."""
        joint, module, logs, settings = self.joint, self.module, self.logs, self.settings
        scale, speed_scale = self._scales
        steps, warm = max(2, round(horizon * logs.rate)), round(BURN_IN * logs.rate)
        rows = torch.as_tensor(self.random.integers(len(logs.names), size=settings.batch))
        last = logs.lengths[rows.numpy()] - steps - 1
        starts = torch.as_tensor(self.random.integers(warm, np.maximum(last, warm + 1)))
        with torch.no_grad():
            before = starts[:, None] + torch.arange(-warm, 0)[None]
            every = rows[:, None].expand_as(before)
            moved = logs.position[every, before], logs.speed[every, before]
            inputs = _features(logs, *moved, before, every)
            _, state = module.unlimited(inputs)
        position, speed = logs.position[rows, starts], logs.speed[rows, starts]
        angle_error, speed_error, size = 0.0, 0.0, 0.0
        for step in range(steps):
            at = starts + step
            correction, state = _correction(module, logs, position, speed, at, rows, state)
            position, speed = joint(position, speed, **_inputs(logs, rows, at, correction))
            angle_error = angle_error + (position - logs.position[rows, at + 1]).square().mean()
            speed_error = speed_error + (speed - logs.speed[rows, at + 1]).square().mean()
            size = size + correction.square().mean()
        torque = module.output_deviation
        total = angle_error / scale**2 + _SPEED_WEIGHT * speed_error / speed_scale**2
        return (total + settings.regularization * size / torque**2) / steps  # type: ignore[return-value]


def _start(logs: MotionLogs, settings: MotionSettings) -> Network:
    """The correction before training: zero torque."""
    inputs = [
        _features(logs, logs.position[:, t], logs.speed[:, t], t).numpy()
        for t in range(int(logs.lengths.min()))
    ]
    stacked = np.concatenate(inputs)
    # the weight of the load is the torque that everything else is set beside
    torque = 0.2 * max(float(logs.gravity.abs().max()), 1e-3)
    stats = Normalization.of(FEATURES, [stacked], [np.zeros(len(stacked))])
    template: dict[str, Any] = {
        "family": settings.family,
        "normalization": replace(stats, output_deviation=torque),
        "rate": logs.rate,
        "history": 1 if settings.family in RECURRENT else settings.history,
        "activation": "tanh",
        "feature_lowest": stacked.min(axis=0),
        "feature_highest": stacked.max(axis=0),
    }
    layers = 1 if settings.family in RECURRENT else 2
    network = initial_network(template, settings.hidden, layers, settings.seed)
    last = last_layer(network)
    zero = {f"{last}.{part}": np.zeros_like(network.weights[f"{last}.{part}"])
            for part in ("weight", "bias")}  # fmt: skip
    return replace(network, weights={**network.weights, **zero})


def _features(logs: MotionLogs, position: Tensor, speed: Tensor, at: Any, rows: Any = None) -> Any:
    """Inputs of the correction, shape (B, features)."""
    pick = slice(None) if rows is None else rows
    error = logs.on[pick, at, 0] * (logs.goal[pick, at, 0] - position)
    return torch.stack([position, error, speed, logs.kp[pick].expand_as(position)], dim=-1)


def _correction(
    module: TorchNetwork,
    logs: MotionLogs,
    position: Tensor,
    speed: Tensor,
    at: Any,
    rows: Any,
    state: State | None,
) -> tuple[Tensor, State]:
    inputs = _features(logs, position, speed, at, rows)[:, None]
    torque, state = module.unlimited(inputs, state)
    return torque[:, 0], state


def _inputs(logs: MotionLogs, rows: Any, at: Any, correction: Tensor) -> dict[str, Any]:
    """Inputs of the joint over a sample."""
    constant = {
        name: getattr(logs, name)[rows]
        for name in ("gain", "rate_gain", "voltage", "inertia", "gravity")
    }
    moving = {name: getattr(logs, name)[rows, at] for name in ("on", "volts", "warmth")}
    target = {"target": logs.goal[rows, at], "correction": correction, "rate": logs.rate}
    return {**constant, **moving, **target}


def whole_motion(joint: DrivenJoint, logs: MotionLogs, module: TorchNetwork | None) -> Tensor:
    """Positions of whole logs from their first samples, shape (logs, samples)."""
    rows = torch.arange(len(logs.names))
    position, speed = logs.position[:, 0], logs.speed[:, 0]
    found, state = [position], None
    correction = torch.zeros_like(position)
    for step in range(int(logs.lengths.max()) - 1):
        if module is not None:
            correction, state = _correction(module, logs, position, speed, step, rows, state)
        position, speed = joint(position, speed, **_inputs(logs, rows, step, correction))
        found.append(position)
    return torch.stack(found, dim=1)


def rms_errors(positions: Tensor, logs: MotionLogs) -> list[float]:
    """RMS angle error of each log [rad]."""
    errors = (positions - logs.position).numpy()
    return [
        float(np.sqrt(np.mean(row[:count] ** 2)))
        for row, count in zip(errors, logs.lengths, strict=True)
    ]
