"""Training of networks: many-to-many on lanes of recordings, with the hidden state carried."""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.networks.training._run_training import (
        TrainingInterrupted,
        TrainingResult,
        run_training,
    )
    from trueup.networks.training._train_network import TrainedNetwork, train_network
    from trueup.networks.training.configuration import (
        TrainingConfiguration,
        load_configuration,
    )
    from trueup.networks.training.settings import ModelSettings, TrainSettings

_EXPORTS = {
    "ModelSettings": "trueup.networks.training.settings",
    "TrainSettings": "trueup.networks.training.settings",
    "TrainedNetwork": "trueup.networks.training._train_network",
    "TrainingConfiguration": "trueup.networks.training.configuration",
    "TrainingInterrupted": "trueup.networks.training._run_training",
    "TrainingResult": "trueup.networks.training._run_training",
    "load_configuration": "trueup.networks.training.configuration",
    "run_training": "trueup.networks.training._run_training",
    "train_network": "trueup.networks.training._train_network",
}

__all__ = [
    "ModelSettings",
    "TrainSettings",
    "TrainedNetwork",
    "TrainingConfiguration",
    "TrainingInterrupted",
    "TrainingResult",
    "load_configuration",
    "run_training",
    "train_network",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
