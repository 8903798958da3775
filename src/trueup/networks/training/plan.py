"""What a training would do, and how long it would take at most, found out without doing it."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.networks.training import run_files
from trueup.networks.training.configuration import TrainingConfiguration
from trueup.networks.training.network_training import template_network, train_network
from trueup.networks.training.run_recordings import RunRecordings


@dataclass(frozen=True)
class TrainingPlan:
    """A training before it is started."""

    recordings: int
    groups: tuple[str, ...]
    rate: float
    """Samples a second [Hz]."""
    splits: dict[str, dict[str, int]]
    """Samples of each part, by split."""
    family: str
    parameters: int
    """Weights of one network."""
    networks: int
    """Networks to train: splits times members."""
    epochs: int
    """At most, each."""
    seconds: float
    """Time of all epochs of all networks at the pace of one epoch now [s]; early stopping
    shortens it."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def plan_training(configuration: TrainingConfiguration, recordings: RunRecordings) -> TrainingPlan:
    """Time one epoch of a training; nothing is written.

    Args:
        configuration: configuration of the training.
        recordings: its recordings, read and split.

    Raises:
        TrueupError: what the training itself would raise at its start.
    """
    from trueup.networks.model.torch_network import parameter_count

    series, splits = recordings.series, recordings.splits
    model, train = configuration.model, configuration.train
    network = template_network(
        splits[0].training, configuration.data.features, model, configuration.seed
    )
    settings = replace(train, max_epochs=1)

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

    epochs = 1 if configuration.debug else train.max_epochs
    first, second = one_epoch(), one_epoch()  # the first loads libraries
    sizes = {
        split.name: {
            part: int(np.sum([len(each) for each in getattr(split, part)]))
            for part in ("training", "validation", "test")
        }
        for split in splits
    }
    count = len(splits) * model.ensemble_members
    return TrainingPlan(
        recordings=len(series),
        groups=tuple(dict.fromkeys(each.group for each in series)),
        rate=network.rate,
        splits=sizes,
        family=network.family,
        parameters=parameter_count(network),
        networks=count,
        epochs=epochs,
        seconds=min(first, second) * epochs * count,
    )
