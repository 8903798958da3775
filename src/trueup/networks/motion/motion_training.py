"""Trains a correction of a servo's torque by the motion of its joint.

Windows of all logs are simulated side by side; the loss is the error of angle and speed over
horizons that grow. Only command and angle are needed. The correction starts at zero, so that
training starts at the servo model, and it is kept only where it is better on validation logs and
not worse on the training logs, each rolled out as a whole.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import RecordingError
from trueup.networks.model.network import Network
from trueup.networks.model.torch_network import TorchNetwork
from trueup.networks.motion.driven_joint import DrivenJoint, MotionLogs
from trueup.networks.motion.motion_settings import BURN_IN, MotionSettings
from trueup.networks.motion.motion_trainer import MotionTrainer, whole_motion
from trueup.networks.training.hooks import TrainingHooks

ENOUGH = 0.01
"""Share by which a correction must better the validation error to be kept."""


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
    *,
    hooks: TrainingHooks | None = None,
    checkpoint: Path | None = None,
) -> MotionTraining:
    """Train a correction of a servo's torque so that its simulated motion is the recorded one.

    Args:
        model: servo model that is corrected; its error is what has to be beaten.
        training: logs to learn from, evenly sampled at one rate.
        validation: logs that the correction is chosen by, rolled out as a whole.
        settings: of network and training.
        progress: called with words and the share that is done.
        hooks: in its place: what follows the training, and may stop it.
        checkpoint: file that a stopped training goes on from.

    Raises:
        RecordingError: logs cannot be stepped, or the shortest is shorter than a horizon.
        FitError: the servo model has a term that cannot be trained through.
        Interrupted: a hook stopped the training.
    """
    settings = settings or MotionSettings()
    hooks = hooks or TrainingHooks(**({} if progress is None else {"progress": progress}))
    logs, held = checked_logs(model, training, validation, settings)
    former = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            trainer = MotionTrainer(model, logs, held, settings)
            trainer.run(hooks, checkpoint)
    finally:
        torch.set_num_threads(former)
    best, servo = trainer.best, trainer.servo
    if trainer.best_error > (1.0 - ENOUGH) * trainer.base_error:
        best, servo = None, model
    return MotionTraining(
        best,
        servo,
        (trainer.base_error, trainer.best_error),
        tuple(trainer.history),
        trainer.done,
        trainer.seconds,
    )


def checked_logs(
    model: ServoModel,
    training: Sequence[ServoLog],
    validation: Sequence[ServoLog],
    settings: MotionSettings,
) -> tuple[MotionLogs, MotionLogs]:
    """Logs of training and validation as the simulator takes them.

    Raises:
        RecordingError: logs cannot be stepped, or the shortest is shorter than a horizon.
    """
    logs, held = MotionLogs.of(model, training), MotionLogs.of(model, validation)
    shortest = float(logs.lengths.min()) / logs.rate
    if max(settings.horizons) + BURN_IN >= shortest:
        raise RecordingError(
            f"the horizon of {max(settings.horizons):g} s with {BURN_IN:g} s before it is longer "
            f"than the shortest recording, {shortest:.3g} s: give shorter horizons"
        )
    return logs, held


def motion_errors(
    model: ServoModel, logs: Sequence[ServoLog], network: Network | None = None
) -> dict[str, float]:
    """RMS angle error of each log, rolled out as a whole from its first sample [rad]."""
    return {
        log.name: float(np.sqrt(np.mean((angle - log.position) ** 2)))
        for log, angle in zip(logs, motions(model, logs, network), strict=True)
    }


def motions(
    model: ServoModel, logs: Sequence[ServoLog], network: Network | None = None
) -> list[np.ndarray]:
    """Simulated angle of each log from its first sample, shape (n,) [rad]."""
    with torch.no_grad():
        stacked = MotionLogs.of(model, logs)
        module = None if network is None else TorchNetwork.from_network(network).double()
        positions = whole_motion(DrivenJoint(model), stacked, module).numpy()
    return [row[: len(log)] for row, log in zip(positions, logs, strict=True)]
