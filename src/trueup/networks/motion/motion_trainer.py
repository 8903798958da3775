"""Gradient steps of a training through the simulator, which can be stopped and taken up again."""

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trueup.errors import FitError
from trueup.networks.data.features import ANGLE, ANGLE_ERROR, VELOCITY
from trueup.networks.data.normalization import Normalization
from trueup.networks.model.network import RECURRENT, SKIP, Network, last_layer
from trueup.networks.model.torch_network import TorchNetwork, initial_network
from trueup.networks.motion.driven_joint import DrivenJoint
from trueup.networks.motion.motion_base import NONE, Joint, MotionBase
from trueup.networks.motion.motion_logs import MotionLogs
from trueup.networks.motion.motion_rollout import (
    Stretch,
    correction_step,
    rms_errors,
    torque_balance,
    whole_motion,
)
from trueup.networks.motion.motion_settings import BURN_IN, TORQUE, MotionSettings
from trueup.networks.motion.motion_state import read_state, write_state
from trueup.networks.training.hooks import Interrupted, TrainingHooks

SAVED_EVERY = 30.0
"""Time between checkpoints [s]."""

TORQUE_WINDOW = 0.5
"""Time whose torque a window counts [s]."""

_SPEED_WEIGHT = 0.05
_LEAST_ERROR = 1e-3
_VALIDATIONS = 40
_BASE_RATE = 0.2


class MotionTrainer:
    """A training: weights, optimiser, random draws, the best correction so far.

    Args:
        base: model that is corrected.
        logs: to learn from.
        held: logs that the correction is chosen by.
        settings: of network and training.
    """

    def __init__(
        self,
        base: Joint | MotionBase,
        logs: MotionLogs,
        held: MotionLogs,
        settings: MotionSettings,
    ):
        self.settings, self.logs, self.held = settings, logs, held
        self.random = np.random.default_rng(settings.seed)
        gains = tuple(sorted(set(logs.kp.tolist()))) if settings.identify_gains else ()
        self.joint = DrivenJoint(base, settings.learn_base, gains)
        alone = self.joint.base.kind == NONE
        # a correction is held small where its base suffices; the whole torque is not
        self.weight = 0.0 if alone else settings.regularization
        self.module = TorchNetwork(_start(logs, settings, alone)).double()
        self.base_error = self._whole_error(held, False)
        self.own_error = self._whole_error(logs, False)
        self._scales = (max(self.own_error, _LEAST_ERROR), max(float(logs.speed.std()), 1e-6))
        groups = [{"params": list(self.module.parameters()), "lr": settings.learning_rate}]
        self.moved = [self.joint.steps] if self.joint.names else []
        self.moved += [self.joint.gain_steps] if gains else []
        if self.moved:
            groups.append({"params": self.moved, "lr": _BASE_RATE * settings.learning_rate})
        self._rates = [group["lr"] for group in groups]
        self.optimizer = torch.optim.Adam(groups)
        self.best: Network | None = None
        self.best_error, self.base = self.base_error, self.joint.base
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
            self.base = self.joint.moved_base()

    def _whole_error(self, logs: MotionLogs, corrected: bool = True) -> float:
        """Mean over the logs of the RMS angle error of the whole log [rad]."""
        with torch.no_grad():
            positions, _ = whole_motion(self.joint, logs, self.module if corrected else None)
        return float(np.mean(rms_errors(positions, logs)))

    def _windows(self, warm: int, steps: int) -> Stretch:
        """Random windows of the logs, ``steps`` samples after ``warm`` ones before them."""
        logs, batch = self.logs, self.settings.batch
        rows = torch.as_tensor(self.random.integers(len(logs.names), size=batch))
        last = logs.lengths[rows.numpy()] - steps - 1
        starts = torch.as_tensor(self.random.integers(warm, np.maximum(last, warm + 1)))
        return Stretch.of(logs, rows, starts - warm, warm + steps)

    def _torque_loss(self) -> Tensor:
        """Loss of random windows: error of the torque on the load along the recorded motion."""
        logs, module = self.logs, self.module
        steps, warm = (max(2, round(each * logs.rate)) for each in (TORQUE_WINDOW, BURN_IN))
        stretch = self._windows(warm, steps)
        moved = [stretch.features(*each) for each in zip(
            range(warm + steps), stretch.position, stretch.speed, strict=False)]  # fmt: skip
        correction, _ = module.unlimited(torch.stack(moved, dim=1))
        scale, total = module.output_deviation, torch.zeros(())
        for step in range(warm, warm + steps):
            position, speed = stretch.position[step], stretch.speed[step]
            _, after = stretch.after(self.joint, step, position, speed, correction[:, step])
            found = stretch.load_torque(step, position, speed, after)
            total = total + (found - stretch.torque[step]).square().mean() / scale**2
            total = total + self.weight * correction[:, step].square().mean() / scale**2
        return total / steps

    def _window_loss(self, horizon: float) -> Tensor:
        """Loss of random windows: error of angle and speed over the horizon, and the correction."""
        joint, module, logs = self.joint, self.module, self.logs
        scale, speed_scale = self._scales
        steps, warm = max(2, round(horizon * logs.rate)), round(BURN_IN * logs.rate)
        stretch, state = self._windows(warm, steps), None
        position, speed = stretch.position[0], stretch.speed[0]
        with torch.no_grad():
            # errors of the recorded state at the start fade before they count
            for step in range(warm):
                correction, state = correction_step(module, stretch, step, position, speed, state)
                position, speed = stretch.after(joint, step, position, speed, correction)
        angle_error, speed_error, size = 0.0, 0.0, 0.0
        for step in range(warm, warm + steps):
            correction, state = correction_step(module, stretch, step, position, speed, state)
            position, speed = stretch.after(joint, step, position, speed, correction)
            angle_error = angle_error + (position - stretch.position[step + 1]).square().mean()
            speed_error = speed_error + (speed - stretch.speed[step + 1]).square().mean()
            size = size + correction.square().mean()
        torque = module.output_deviation
        total = angle_error / scale**2 + _SPEED_WEIGHT * speed_error / speed_scale**2
        return (total + self.weight * size / torque**2) / steps  # type: ignore[return-value]


def _start(logs: MotionLogs, settings: MotionSettings, alone: bool) -> Network:
    """The correction before training: zero torque, or the linear one where it stands alone."""
    whole = Stretch.whole(logs)
    inputs = [
        whole.features(t, whole.position[t], whole.speed[t]).numpy()
        for t in range(int(logs.lengths.min()))
    ]
    stacked = np.concatenate(inputs)
    # the weight of the load is the torque that everything else is set beside
    torque = 0.2 * max(float(logs.gravity.abs().max()), 1e-3)
    stats = Normalization.of(logs.inputs, [stacked], [np.zeros(len(stacked))])
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
    weight, bias = (network.weights[f"{last}.{part}"] for part in ("weight", "bias"))
    changed = {f"{last}.weight": np.zeros_like(weight), f"{last}.bias": np.zeros_like(bias)}
    if alone:
        slopes, level = _linear_torque(logs, network)
        changed[f"{last}.bias"] = np.full_like(bias, level)
        skip = np.zeros((1, network.history * len(network.features)), weight.dtype)
        skip[0, : len(slopes)] = slopes
        changed[SKIP] = skip
    return replace(network, weights={**network.weights, **changed})


def _linear_torque(logs: MotionLogs, network: Network) -> tuple[np.ndarray, float]:
    """Slopes by the normalised features, and level, of the torque that the load takes.

    Both in deviations of the network's output, by least squares over the logs.
    """
    balance, stats = torque_balance(logs), network.normalization
    known = {ANGLE: balance.angle, ANGLE_ERROR: balance.error, VELOCITY: balance.speed}
    known |= {name: each.numpy()[balance.rows] for name, each in logs.conditions.items()}
    columns = np.stack([known[name] for name in logs.inputs], axis=1)
    normalised = (columns - stats.input_mean) / stats.input_deviation
    ones = np.ones(len(normalised))
    found = np.linalg.lstsq(np.column_stack([normalised, ones]), balance.torque, rcond=None)[0]
    found /= stats.output_deviation
    return found[:-1], float(found[-1])
