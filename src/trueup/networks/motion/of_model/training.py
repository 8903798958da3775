"""Training of corrections of the joints of a MuJoCo model by their motion."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trueup.errors import ExperimentError, RecordingError, did_you_mean, listing
from trueup.networks.motion.joint_networks import JointNetworks, NetworkSet, starting_networks
from trueup.networks.motion.of_model.joints import ModelBase
from trueup.networks.motion.of_model.logs import ModelLogs, sample_steps
from trueup.networks.motion.overlap import motion_overlap
from trueup.networks.motion.result import MotionParts, MotionResult, evaluated
from trueup.networks.motion.rollout import horizon_errors, whole_motion
from trueup.networks.motion.settings import BURN_IN, TORQUE, MotionSettings
from trueup.networks.motion.trainer import MotionTrainer
from trueup.networks.motion.training import Motion, MotionTraining, reached_by
from trueup.networks.training.hooks import TrainingHooks
from trueup.simulation.engine.warning_capture import captured_warnings
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.experiment.preparation import Prepared


@dataclass(frozen=True, eq=False)
class JointRecord:
    """Recorded motion of one joint."""

    name: str
    """Names of recording and joint."""
    motor: str
    """Joint."""
    times: np.ndarray
    """Times of the samples, from 0 [s]."""
    position: np.ndarray
    """Angle [rad]."""


@dataclass(frozen=True, eq=False)
class ModelParts:
    """Recordings of a model for training, validation and test; None where there are none."""

    base: ModelBase
    training: ModelLogs
    validation: ModelLogs
    test: ModelLogs | None

    @property
    def records(self) -> MotionParts:
        """The joints of each part."""
        found = [() if each is None else _records(each)
                 for each in (self.training, self.validation, self.test)]  # fmt: skip
        return MotionParts(*found)


def model_parts(
    prepared: Prepared, settings: MotionSettings, validation: Sequence[str] = ()
) -> ModelParts:
    """Recordings of an experiment for a training; its held-out recordings are the test.

    Args:
        prepared: the experiment, read and checked.
        settings: settings of network and training.
        validation: validation recordings; empty: the one whose motion has the largest overlap with
            the others.

    Raises:
        TrueupError: model or recordings are unusable, or there are too few.
    """
    if settings.target == TORQUE or settings.identify_gains:
        raise ExperimentError(
            "joints of a model are trained on their motion, with the gains of the experiment file: "
            "remove target=torque and identify_gains"
        )
    groups = prepared.training
    if len(groups) != 1 or len(prepared.held_out) > 1:
        raise ExperimentError(
            "the recordings have several variants of the model; training supports one model only"
        )
    names = groups[0].sequence_name
    if unknown := [name for name in validation if name not in names]:
        raise ExperimentError(
            f"no training recording named {unknown[0]!r}; available: {listing(names)}."
            f"{did_you_mean(unknown[0], names)}"
        )
    if len(names) < 2 or len(set(validation)) >= len(names):
        raise ExperimentError(
            f"{len(names)} recordings remain for training and validation, {listing(names)}; "
            "at least two are required in addition to those held out"
        )
    model = groups[0].gt_model
    base = ModelBase(model, prepared.experiment.model.file)
    substeps = sample_steps(model, [*groups, *prepared.held_out])

    def logs(sequences: Sequence[ModelSequences]) -> ModelLogs:
        return ModelLogs.of(base, sequences, prepared.settings, settings, substeps)

    if not validation:
        validation = (_largest_overlap(logs(groups)),)
    parts = ModelParts(
        base,
        logs([groups[0][[name for name in names if name not in validation]]]),
        logs([groups[0][list(validation)]]),
        logs(prepared.held_out) if prepared.held_out else None,
    )
    longest = max(settings.horizons) + BURN_IN
    if longest >= parts.training.shortest:
        raise RecordingError(
            f"the horizon of {max(settings.horizons):g} s plus {BURN_IN:g} s of burn-in is longer "
            f"than the shortest recording, {parts.training.shortest:.3g} s: use shorter horizons"
        )
    return parts


def model_trainer(parts: ModelParts, settings: MotionSettings) -> MotionTrainer:
    """Trainer of a network for each joint."""
    return MotionTrainer(parts.base, parts.training, parts.validation, settings, starting_networks)


def train_model(
    parts: ModelParts,
    settings: MotionSettings,
    hooks: TrainingHooks | None = None,
    checkpoint: Path | None = None,
) -> MotionTraining:
    """Train corrections of the torques of a model's joints; see ``train_motion``."""
    former = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]), captured_warnings():
            torch.manual_seed(settings.seed)
            trainer = model_trainer(parts, settings)
            trainer.run(hooks or TrainingHooks(), checkpoint)
    finally:
        torch.set_num_threads(former)
    return reached_by(trainer, parts.base)


def scored_model(
    done: MotionTraining, parts: ModelParts, directory: Path | None = None
) -> MotionResult:
    """A training scored on held-out recordings; without corrections where they do not help."""
    logs = parts.test or parts.validation
    base = joint_motions(logs, None)
    own = base if done.network is None else joint_motions(logs, done.network)
    return evaluated(done, parts.records, base, own, directory)


def joint_motions(logs: ModelLogs, networks: NetworkSet | None) -> dict[str, Motion]:
    """Simulated motion of each joint with the commands of recordings, from their first samples."""
    module = None if networks is None else JointNetworks(networks.networks).double()
    joints = logs.driven(logs.base, False, False)
    with torch.no_grad(), captured_warnings():
        windows = logs.whole(joints)
        positions, _ = whole_motion(windows, module)
        lengths = [int(count) for count in logs.lengths] * len(logs.joints)
        ahead = horizon_errors(windows, module, lengths, logs.rate)
    errors = logs.errors(positions)
    rows = positions.reshape(*errors.shape, -1).numpy()
    return {
        f"{recording} {joint}": Motion(
            rows[j, r, : logs.lengths[r]],
            float(errors[j, r]),
            None,
            ahead[j * len(logs.names) + r],
        )
        for r, recording in enumerate(logs.names)
        for j, joint in enumerate(logs.joints)
    }


def _records(logs: ModelLogs) -> tuple[Any, ...]:
    return tuple(
        JointRecord(
            f"{recording} {joint}", joint, np.arange(count) / logs.rate,
            logs.position[r, :count, j].numpy(),
        )
        for r, (recording, count) in enumerate(zip(logs.names, logs.lengths, strict=True))
        for j, joint in enumerate(logs.joints)
    )  # fmt: skip


def _largest_overlap(logs: ModelLogs) -> str:
    """Recording with the largest motion overlap with the others, mean over the joints."""
    sums = dict.fromkeys(logs.names, 0.0)
    for j in range(len(logs.joints)):
        moved = {
            name: [(logs.position[r, :count, j].numpy(), logs.speed[r, :count, j].numpy())]
            for r, (name, count) in enumerate(zip(logs.names, logs.lengths, strict=True))
        }
        for name, share in motion_overlap(moved).items():
            sums[name] += share
    return max(sorted(sums), key=lambda name: sums[name])
