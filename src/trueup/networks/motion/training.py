"""Training of a torque correction of a joint on its motion.

Windows of all logs are simulated in a batch; the loss is the error of angle and speed over
growing horizons. Only command and angle are required. The correction is zero initially, so that
training starts at the base, and it is kept only where it is better on validation logs and not
worse on the training logs, each simulated in full.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import FitError, RecordingError
from trueup.networks.model.network import Network
from trueup.networks.model.torch_network import TorchNetwork
from trueup.networks.motion.base import Joint, MotionBase
from trueup.networks.motion.base_fit import fit_base
from trueup.networks.motion.driven_joint import DrivenJoint
from trueup.networks.motion.logs import (
    TORQUE_COLUMN,
    MotionLogs,
    correction_inputs,
)
from trueup.networks.motion.rollout import (
    horizon_errors,
    torque_errors,
    whole_motion,
)
from trueup.networks.motion.settings import BURN_IN, TORQUE, MotionSettings
from trueup.networks.motion.trainer import MotionTrainer
from trueup.networks.training.hooks import TrainingHooks

ENOUGH = 0.01
"""Smallest relative reduction of the validation error for a correction to be kept."""


@dataclass(frozen=True, eq=False)
class MotionTraining:
    """Result of a training through the simulator."""

    network: Any
    """Torque correction: a network, or for a model a set of networks; None where the base is
    sufficient."""
    base: Any
    """Base model, with trained parameters where they were learned."""
    start: Any
    """Base before training, the baseline."""
    validation: tuple[float, float]
    """Angle error on the validation logs [rad]: of the base, and of the best correction."""
    history: tuple[dict[str, float], ...]
    """Validations, one row each: steps, horizon [s], loss, angle errors of validation and training
    logs in full [rad]."""
    steps: int
    seconds: float

    @property
    def servo(self) -> ServoModel:
        """The servo model of the base.

        Raises:
            FitError: the base is none.
        """
        if not isinstance(self.base.joint, ServoModel):
            raise FitError(f"the base is a {self.base.words}, not a servo model")
        return self.base.joint


@dataclass(frozen=True, eq=False)
class Motion:
    """Simulated motion of a log from its first sample."""

    position: np.ndarray
    """Angle, shape (n,) [rad]."""
    angle_error: float
    """RMS error of the angle [rad]."""
    torque_error: float | None
    """RMS error of the torque on the load [N m]; None where none is recorded."""
    horizons: Mapping[float, float] = field(default_factory=dict)
    """RMS error of the angle [rad] by the time after the last recorded state [s]; the whole
    recording is simulated in windows of that length."""


def train_motion(
    base: Joint | MotionBase | str,
    training: Sequence[ServoLog],
    validation: Sequence[ServoLog],
    settings: MotionSettings | None = None,
    progress: Callable[[str, float], None] | None = None,
    *,
    hooks: TrainingHooks | None = None,
    checkpoint: Path | None = None,
) -> MotionTraining:
    """Train a torque correction of a joint so that its simulated motion matches the recorded one.

    Args:
      base: the base model, also the baseline: a servo model; a PD joint, or ``pd`` for one that is
        identified from the training logs first; ``none``, where the correction is the whole torque.
      training: training logs, all at one constant rate.
      validation: logs for the choice of the correction, simulated in full.
      settings: settings of network and training.
      progress: called with a text and the completed fraction.
      hooks: callbacks instead of ``progress``, which may stop the training.
      checkpoint: file from which a stopped training resumes.

    Raises:
      RecordingError: logs cannot be simulated, or the shortest is shorter than a horizon.
      FitError: the servo model has a term without a gradient.
      Interrupted: a hook stopped the training.
    """
    settings = settings or MotionSettings()
    hooks = hooks or (TrainingHooks() if progress is None else TrainingHooks(progress=progress))
    logs, held = checked_logs(base, training, validation, settings)
    former = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            start = fit_base(MotionBase.of(base), logs, settings.identify_gains)
            trainer = MotionTrainer(start, logs, held, settings)
            trainer.run(hooks, checkpoint)
    finally:
        torch.set_num_threads(former)
    return reached_by(trainer, start)


def reached_by(trainer: MotionTrainer, start: Any) -> MotionTraining:
    """Result of a training; without a correction where its improvement is too small."""
    best, reached = trainer.best, trainer.base
    if trainer.best_error > (1.0 - ENOUGH) * trainer.base_error:
        best, reached = None, start
    return MotionTraining(
        best,
        reached,
        start,
        (trainer.base_error, trainer.best_error),
        tuple(trainer.history),
        trainer.done,
        trainer.seconds,
    )


def checked_logs(
    base: Joint | MotionBase | str,
    training: Sequence[ServoLog],
    validation: Sequence[ServoLog],
    settings: MotionSettings,
) -> tuple[MotionLogs, MotionLogs]:
    """Training and validation logs as batches for the simulator.

    Raises:
        RecordingError: logs cannot be simulated, the shortest is shorter than a horizon, or torque
            is the target and not recorded.
    """
    given, inputs = MotionBase.of(base), correction_inputs(base, training, settings.inputs)
    logs, held = (MotionLogs.of(given, part, inputs) for part in (training, validation))
    if settings.target == TORQUE and logs.torque is None:
        raise RecordingError(
            f"training on the torque requires the field {TORQUE_COLUMN!r} [N m] in every log; "
            "otherwise train on the motion"
        )
    if max(settings.horizons) + BURN_IN >= logs.shortest:
        raise RecordingError(
            f"the horizon of {max(settings.horizons):g} s plus {BURN_IN:g} s of burn-in is longer "
            f"than the shortest recording, {logs.shortest:.3g} s: use shorter horizons"
        )
    return logs, held


def motion_errors(
    base: Joint | MotionBase, logs: Sequence[ServoLog], network: Network | None = None
) -> dict[str, float]:
    """RMS angle error of each log, simulated in full from its first sample [rad]."""
    return {
        log.name: motion.angle_error
        for log, motion in zip(logs, motions(base, logs, network), strict=True)
    }


def motions(
    base: Joint | MotionBase, logs: Sequence[ServoLog], network: Network | None = None
) -> list[Motion]:
    """Simulated motion of each log from its first sample."""
    inputs = () if network is None else network.features
    with torch.no_grad():
        stacked = MotionLogs.of(base, logs, inputs)
        module = None if network is None else TorchNetwork.from_network(network).double()
        windows = stacked.whole(DrivenJoint(base))
        positions, speeds = whole_motion(windows, module)
        ahead = horizon_errors(windows, module, stacked.lengths.tolist(), stacked.rate)
    angles = stacked.errors(positions)[0].tolist()
    torques = torque_errors(positions, speeds, stacked) or [None] * len(angles)
    return [
        Motion(row[: len(log)].numpy(), angle, torque, horizons)
        for row, log, angle, torque, horizons in zip(
            positions, logs, angles, torques, ahead, strict=True
        )
    ]
