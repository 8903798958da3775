"""Gradient steps of a training through the simulator, with checkpoints."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trueup.errors import FitError
from trueup.networks.motion.base import NONE
from trueup.networks.motion.checkpoint import read_state, write_state
from trueup.networks.motion.rollout import correction_step, whole_motion
from trueup.networks.motion.settings import BURN_IN, TORQUE, MotionSettings
from trueup.networks.motion.starting_correction import starting_correction
from trueup.networks.training.hooks import Interrupted, TrainingHooks

SAVED_EVERY = 30.0
"""Time between checkpoints [s]."""

TORQUE_WINDOW = 0.5
"""Duration of the torque loss in a window [s]."""

_SPEED_WEIGHT = 0.05
_LEAST_ERROR = 1e-3
_VALIDATIONS = 40
_BASE_RATE = 0.2


class MotionTrainer:
    """State of a training: weights, optimiser, random generator, best correction.

    Args:
        base: base model.
        logs: training logs: :class:`MotionLogs` of one joint, or :class:`ModelLogs` of the joints
            of a MuJoCo model.
        held: validation logs.
        settings: settings of network and training.
        start: function of logs, joint, settings and whether there is no base; returns the initial
            correction.
    """

    def __init__(
        self,
        base: Any,
        logs: Any,
        held: Any,
        settings: MotionSettings,
        start: Callable[..., Any] = starting_correction,
    ):
        self.settings, self.logs, self.held = settings, logs, held
        self.random = np.random.default_rng(settings.seed)
        self.joint = logs.driven(base, settings.learn_base, settings.identify_gains)
        alone = self.joint.base.kind == NONE
        # weight decay keeps a correction small where its base is sufficient, but not a whole torque
        self.weight = 0.0 if alone else settings.regularization
        self.module = start(logs, self.joint, settings, alone)
        self.base_error = float(self._whole_errors(held, False).mean())
        own = self._whole_errors(logs, False)
        self.own_error = float(own.mean())
        self._scales = (
            torch.as_tensor(np.maximum(own.mean(axis=1, keepdims=True), _LEAST_ERROR)),
            torch.as_tensor(np.maximum(logs.speed_deviations[:, None], 1e-6)),
        )
        groups = [{"params": list(self.module.parameters()), "lr": settings.learning_rate}]
        self.moved = self.joint.moved
        if self.moved:
            groups.append({"params": self.moved, "lr": _BASE_RATE * settings.learning_rate})
        self._rates = [group["lr"] for group in groups]
        self.optimizer = torch.optim.Adam(groups)
        self.best: Any = None
        self.best_error, self.base = self.base_error, self.joint.base
        self.history: list[dict[str, float]] = []
        self.done, self.seconds, self.loss_sum = 0, 0.0, 0.0

    @property
    def every(self) -> int:
        """Steps between validations."""
        return max(10, self.settings.max_steps // _VALIDATIONS)

    @property
    def share(self) -> float:
        """Completed fraction of the steps or of the time, [0, 1]."""
        settings = self.settings
        return max(self.done / settings.max_steps, self.seconds / settings.seconds)

    def run(self, hooks: TrainingHooks, file: Path | None = None) -> None:
        """Train until the limit of steps or of time.

        Args:
            hooks: callbacks of the training, which may stop it.
            file: checkpoint, written periodically and at a stop; an existing one is resumed.

        Raises:
            Interrupted: a hook stopped the training; the checkpoint is written.
            FitError: training diverged.
            RunDirectoryError: the checkpoint is damaged, or belongs to another training.
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
        """Horizon [s] at a fraction of the training."""
        horizons = self.settings.horizons
        return horizons[min(int(share * len(horizons)), len(horizons) - 1)]

    def step(self, share: float) -> None:
        """One gradient step, with horizon and learning rate at a fraction of the training."""
        for group, rate in zip(self.optimizer.param_groups, self._rates, strict=True):
            warm = min(1.0, (self.done + 1) / 20)
            group["lr"] = rate * 0.5 * (1.0 + math.cos(math.pi * share)) * warm
        self.optimizer.zero_grad()
        torque = self.settings.target == TORQUE
        loss = self._torque_loss() if torque else self._window_loss(self._horizon(share))
        if not bool(torch.isfinite(loss)):
            raise FitError(
                f"training through the simulator diverged after {self.done} steps: lower the "
                "learning rate or the first horizon"
            )
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*self.module.parameters(), *self.moved], 1.0)
        self.optimizer.step()
        self.done, self.loss_sum = self.done + 1, self.loss_sum + float(loss.detach())

    def _validate(self, share: float) -> None:
        error, learned = (float(self._whole_errors(part).mean()) for part in (self.held, self.logs))
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
        # drift over full training logs indicates drift on other motions
        if error < self.best_error and learned <= self.own_error:
            self.best_error, self.best = error, self.module.to_network()
            self.base = self.joint.trained_base()

    def _whole_errors(self, logs: Any, corrected: bool = True) -> np.ndarray:
        """RMS angle error of each log in full, (joints, logs) [rad]."""
        with torch.no_grad():
            positions, _ = whole_motion(logs.whole(self.joint), self.module if corrected else None)
        return logs.errors(positions)

    def _windows(self, warm: int, steps: int) -> Any:
        """Random windows of the logs: ``warm`` samples of burn-in, then ``steps`` samples."""
        logs, batch = self.logs, self.settings.batch
        rows = torch.as_tensor(self.random.integers(len(logs.names), size=batch))
        last = logs.lengths[rows.numpy()] - steps - 1
        starts = torch.as_tensor(self.random.integers(warm, np.maximum(last, warm + 1)))
        return logs.windows(self.joint, rows, starts - warm, warm + steps)

    def _torque_loss(self) -> Tensor:
        """Loss of random windows: error of the torque on the load over the recorded motion."""
        logs, module = self.logs, self.module
        steps, warm = (max(2, round(each * logs.rate)) for each in (TORQUE_WINDOW, BURN_IN))
        windows = self._windows(warm, steps)
        moved = [windows.features(*each) for each in zip(
            range(warm + steps), windows.position, windows.speed, strict=False)]  # fmt: skip
        correction, _ = module.unlimited(torch.stack(moved, dim=1))
        scale, total = module.output_deviation, torch.zeros(())
        for step in range(warm, warm + steps):
            position, speed = windows.position[step], windows.speed[step]
            _, after = windows.after(step, position, speed, correction[:, step])
            found = windows.load_torque(step, position, speed, after)
            total = total + (found - windows.torque[step]).square().mean() / scale**2
            total = total + self.weight * correction[:, step].square().mean() / scale**2
        return total / steps

    def _window_loss(self, horizon: float) -> Tensor:
        """Loss of random windows: errors of angle and speed, plus a penalty on the torque."""
        module, rate = self.module, self.logs.rate
        scale, speed_scale = self._scales
        steps, warm = max(2, round(horizon * rate)), round(BURN_IN * rate)
        windows, state = self._windows(warm, steps), None
        position, speed = windows.position[0], windows.speed[0]
        with torch.no_grad():
            # errors of the recorded initial state decay before the loss counts
            for step in range(warm):
                correction, state = correction_step(module, windows, step, position, speed, state)
                position, speed = windows.after(step, position, speed, correction)

        def squared(values: Tensor, unit: Any) -> Tensor:
            """Mean square, scaled for each joint."""
            return (values.reshape(len(scale), -1) / unit).square().mean()

        total = torch.zeros((), dtype=torch.float64)
        for step in range(warm, warm + steps):
            correction, state = correction_step(module, windows, step, position, speed, state)
            position, speed = windows.after(step, position, speed, correction)
            total = total + squared(position - windows.position[step + 1], scale)
            error = squared(speed - windows.speed[step + 1], speed_scale)
            total = total + _SPEED_WEIGHT * error
            total = total + self.weight * squared(correction, module.output_deviation)
        return total / steps
