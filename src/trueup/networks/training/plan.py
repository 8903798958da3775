"""Dry run of a training: its size and largest duration."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.networks.training import run_files
from trueup.networks.training.configuration import TrainingConfiguration
from trueup.networks.training.cross_validation import folds_of
from trueup.networks.training.lanes import Lanes
from trueup.networks.training.network_choice import (
    TRIAL_SHARE,
    USED_SHARE,
    candidates,
    choice_share,
)
from trueup.networks.training.network_training import template_network, train_network
from trueup.networks.training.run_recordings import RunRecordings
from trueup.networks.training.schedule import lane_count, scheduled, steps_an_epoch


@dataclass(frozen=True)
class TrainingPlan:
    """Plan of a training."""

    recordings: int
    groups: tuple[str, ...]
    rate: float
    """Sample rate [Hz]."""
    splits: dict[str, dict[str, int]]
    """Number of samples of each part, by split."""
    family: str
    parameters: int
    """Number of weights of a network."""
    networks: int
    """Number of networks to train: splits times members."""
    candidates: tuple[str, ...]
    """Candidate networks; the single one where there is no choice."""
    steps_an_epoch: int
    """Gradient steps per epoch."""
    steps: int
    """Largest number of gradient steps of one network; of the selected one, where several are
    tried."""
    epochs: int
    """Largest number of epochs of each network."""
    step_seconds: float
    """Time per gradient step of the first candidate [s]."""
    seconds: float
    """Time for all networks [s]: the limit of the settings, or an estimate from one epoch; early
    stopping shortens it."""

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON values."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def plan_training(configuration: TrainingConfiguration, recordings: RunRecordings) -> TrainingPlan:
    """Time one epoch of a training; nothing is written.

    Args:
        configuration: configuration of the training.
        recordings: recordings of the training, read and split.

    Raises:
        TrueupError: errors that the training itself would raise at its start.
    """
    from trueup.networks.model.torch_network import parameter_count

    series, splits = recordings.series, recordings.splits
    model, train = configuration.model, configuration.train
    samples = sum(len(each) for each in splits[0].training)
    tried = [(model.family, model)]
    if model.is_chosen:
        tried = candidates(model, splits[0].training[0].rate, samples)
    model = tried[0][1]
    network = template_network(
        splits[0].training, configuration.data.features, model, configuration.seed
    )
    settings = replace(train, max_epochs=1, max_steps=None)
    lengths = [len(each) for each in splits[0].training]
    chunk = run_files.sequence_length(configuration, network.rate)
    lanes = Lanes(lengths, configuration.data.batch_size or lane_count(lengths, chunk), chunk)
    per_epoch = steps_an_epoch(lanes)

    def one_epoch() -> float:
        started = time.perf_counter()
        train_network(
            splits[0].training,
            splits[0].validation,
            features=configuration.data.features,
            model=model,
            train=settings,
            batch_size=configuration.data.batch_size,
            sequence_length=run_files.sequence_length(configuration, network.rate),
            seed=configuration.seed,
        )
        return time.perf_counter() - started

    first, second = one_epoch(), one_epoch()  # the first loads libraries
    pace = min(first, second)
    count = len(splits) * model.ensemble_members
    folds = folds_of(splits[0]) if configuration.model.is_chosen else []
    share = 1.0 - choice_share(folds) if configuration.model.is_chosen else 1.0
    allowed = train.seconds
    if configuration.debug:
        epochs = 1
    elif allowed is None:
        epochs = scheduled(model, train, lanes)[1].max_epochs or 1
    else:
        epochs = max(1, int(USED_SHARE * share * allowed / count / pace))
        epochs = min(epochs, train.max_epochs or epochs)
    short = (len(tried) > 1) * len(tried) + len(folds)
    seconds = allowed or pace * epochs * count * (1 + TRIAL_SHARE * short)
    sizes = {
        split.name: {
            part: int(np.sum([len(each) for each in getattr(split, part)]))
            for part in ("training", "validation", "test")
        }
        for split in splits
    }
    return TrainingPlan(
        recordings=len(series),
        groups=tuple(dict.fromkeys(each.group for each in series)),
        rate=network.rate,
        splits=sizes,
        family=configuration.model.model_type.name,
        parameters=parameter_count(network),
        networks=count,
        candidates=tuple(name for name, _ in tried),
        steps_an_epoch=per_epoch,
        steps=per_epoch * epochs,
        epochs=epochs,
        step_seconds=pace / per_epoch,
        seconds=seconds,
    )
