"""Trains a correction of a servo's torque by the motion of its joint.

Windows of all logs are simulated side by side; the loss is the error of angle and speed over
horizons that grow. Only command and angle are needed. The correction starts at zero, so that
training starts at the servo model, and it is kept only where it is better on validation logs and
not worse on the training logs, each rolled out as a whole.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import FitError, RecordingError
from trueup.networks.data.features import ANGLE, ANGLE_ERROR, POSITION_GAIN, VELOCITY
from trueup.networks.data.normalization import Normalization
from trueup.networks.model.network import RECURRENT, Network, last_layer
from trueup.networks.model.torch_network import State, TorchNetwork, initial_network
from trueup.networks.motion.driven_joint import DrivenJoint, MotionLogs

FEATURES = (ANGLE, ANGLE_ERROR, VELOCITY, POSITION_GAIN)
"""Inputs of a correction. A motor without torque has no angle error."""

BURN_IN = 0.2
"""Time that a window is preceded by, in which the network follows the recording [s]."""

ENOUGH = 0.01
"""Share by which a correction must better the validation error to be kept."""

_SPEED_WEIGHT = 0.05
_LEAST_ERROR = 1e-3


@dataclass(frozen=True)
class MotionSettings:
    """Settings of the training of a correction."""

    family: str = "gru"
    """``gru``, ``lstm`` or ``mlp``."""
    hidden: int = 16
    """Width of its hidden layers."""
    history: int = 10
    """Samples that an ``mlp`` sees."""
    seconds: float = 600.0
    """Time of the training [s]."""
    max_steps: int = 1500
    """Gradient steps at most."""
    horizons: tuple[float, ...] = (0.1, 0.3, 1.0)
    """Horizons of the error, one after the other [s]."""
    batch: int = 64
    """Windows side by side."""
    learning_rate: float = 5e-3
    """Highest learning rate."""
    regularization: float = 1e-3
    """Weight of the squared correction beside the squared error, each in its own scale."""
    learn_base: bool = False
    """Move the parameters of the servo along."""
    seed: int = 0
    """Seed of weights and windows."""

    def __post_init__(self):
        if self.family not in (*RECURRENT, "mlp"):
            raise FitError(f"family is {self.family!r}; there are gru, lstm and mlp")
        if not (self.seconds > 0 and self.max_steps >= 1 and self.horizons and self.batch >= 1):
            raise FitError("seconds, max_steps, horizons and batch must be positive")


@dataclass(frozen=True, eq=False)
class MotionTraining:
    """Result of a training through the simulator."""

    network: Network | None
    """Correction of the torque; None where the servo model suffices."""
    servo: ServoModel
    """Servo model beneath it, with parameters moved where they were learned."""
    validation: tuple[float, float]
    """Angle error of the validation logs [rad]: of the servo model, and of the best correction."""
    history: tuple[dict[str, float], ...]
    """Of each validation: steps done, horizon [s], loss, angle error of the validation logs and of
    the training logs as a whole [rad]."""
    steps: int
    seconds: float


def train_motion(
    model: ServoModel,
    training: Sequence[ServoLog],
    validation: Sequence[ServoLog],
    settings: MotionSettings | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> MotionTraining:
    """Train a correction of a servo's torque so that its simulated motion is the recorded one.

    Args:
        model: servo model that is corrected; its error is what has to be beaten.
        training: logs to learn from, evenly sampled at one rate.
        validation: logs that the correction is chosen by, rolled out as a whole.
        settings: of network and training.
        progress: called with words and the share that is done.

    Raises:
        RecordingError: logs cannot be stepped, or the shortest is shorter than a horizon.
        FitError: the servo model has a term that cannot be trained through.
    """
    settings = settings or MotionSettings()
    logs, held = MotionLogs.of(model, training), MotionLogs.of(model, validation)
    shortest = float(logs.lengths.min()) / logs.rate
    if max(settings.horizons) + BURN_IN >= shortest:
        raise RecordingError(
            f"the horizon of {max(settings.horizons):g} s with {BURN_IN:g} s before it is longer "
            f"than the shortest recording, {shortest:.3g} s: give shorter horizons"
        )
    began = time.perf_counter()
    former = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            return _train(model, logs, held, settings, progress or (lambda *_: None), began)
    finally:
        torch.set_num_threads(former)


def motion_errors(
    model: ServoModel, logs: Sequence[ServoLog], network: Network | None = None
) -> dict[str, float]:
    """RMS angle error of each log, rolled out as a whole from its first sample [rad]."""
    with torch.no_grad():
        stacked = MotionLogs.of(model, logs)
        module = None if network is None else TorchNetwork.from_network(network).double()
        positions = _whole(DrivenJoint(model), stacked, module)
        return dict(zip(stacked.names, _rms(positions, stacked), strict=True))


def _train(
    model: ServoModel,
    logs: MotionLogs,
    held: MotionLogs,
    settings: MotionSettings,
    progress: Callable[[str, float], None],
    began: float,
) -> MotionTraining:
    random = np.random.default_rng(settings.seed)
    joint = DrivenJoint(model, settings.learn_base)
    module = TorchNetwork(_start(logs, settings)).double()
    with torch.no_grad():
        base_error = float(np.mean(_rms(_whole(joint, held, None), held)))
        own = float(np.mean(_rms(_whole(joint, logs, None), logs)))
    scale = max(own, _LEAST_ERROR)
    speed_scale = max(float(logs.speed.std()), 1e-6)
    groups = [{"params": module.parameters(), "lr": settings.learning_rate}]
    if joint.names:
        groups.append({"params": [joint.steps], "lr": 0.2 * settings.learning_rate})
    rates = [group["lr"] for group in groups]
    optimizer = torch.optim.Adam(groups)
    best_error, best, servo = base_error, None, model
    history: list[dict[str, float]] = []
    done, every, loss_sum = 0, max(10, settings.max_steps // 40), 0.0
    while done < settings.max_steps:
        spent = (time.perf_counter() - began) / settings.seconds
        share = max(done / settings.max_steps, spent)
        if share >= 1.0:
            break
        stage = min(int(share * len(settings.horizons)), len(settings.horizons) - 1)
        horizon = settings.horizons[stage]
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * 0.5 * (1.0 + math.cos(math.pi * share)) * min(1.0, (done + 1) / 20)
        optimizer.zero_grad()
        loss = _window_loss(joint, module, logs, settings, horizon, random, scale, speed_scale)
        if not bool(torch.isfinite(loss)):
            raise FitError(
                f"training through the simulator diverged after {done} steps: lower the learning "
                "rate or the first horizon"
            )
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*module.parameters(), joint.steps], 1.0)
        optimizer.step()
        done, loss_sum = done + 1, loss_sum + float(loss.detach())
        if done % every == 0 or done == settings.max_steps:
            with torch.no_grad():
                error = float(np.mean(_rms(_whole(joint, held, module), held)))
                learned = float(np.mean(_rms(_whole(joint, logs, module), logs)))
            history.append(
                {
                    "steps": done,
                    "horizon": horizon,
                    "loss": loss_sum / every,
                    "error": error,
                    "training_error": learned,
                }
            )
            loss_sum = 0.0
            # what lets a learned motion drift over its whole length lets others drift too
            if error < best_error and learned <= own:
                best_error, best, servo = error, module.to_network(), joint.moved_model()
            words = f"step {done}, angle error {1e3 * error:.4g} mrad, base {1e3 * base_error:.4g}"
            progress(words, share)
    if best_error > (1.0 - ENOUGH) * base_error:
        best, servo = None, model
    return MotionTraining(
        best,
        servo,
        (base_error, best_error),
        tuple(history),
        done,
        time.perf_counter() - began,
    )


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


def _window_loss(
    joint: DrivenJoint,
    module: TorchNetwork,
    logs: MotionLogs,
    settings: MotionSettings,
    horizon: float,
    random: np.random.Generator,
    scale: float,
    speed_scale: float,
) -> Tensor:
    """Loss of random windows: error of angle and speed over the horizon, and the correction."""
    steps, warm = max(2, round(horizon * logs.rate)), round(BURN_IN * logs.rate)
    rows = torch.as_tensor(random.integers(len(logs.names), size=settings.batch))
    last = logs.lengths[rows.numpy()] - steps - 1
    starts = torch.as_tensor(random.integers(warm, np.maximum(last, warm + 1)))
    with torch.no_grad():
        before = starts[:, None] + torch.arange(-warm, 0)[None]
        every = rows[:, None].expand_as(before)
        inputs = _features(logs, logs.position[every, before], logs.speed[every, before], before,
                           every)  # fmt: skip
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


def _whole(joint: DrivenJoint, logs: MotionLogs, module: TorchNetwork | None) -> Tensor:
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


def _rms(positions: Tensor, logs: MotionLogs) -> list[float]:
    errors = (positions - logs.position).numpy()
    return [
        float(np.sqrt(np.mean(row[:count] ** 2)))
        for row, count in zip(errors, logs.lengths, strict=True)
    ]
