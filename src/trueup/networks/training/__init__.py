"""Many-to-many training of networks on lanes of recordings, with a persistent hidden state."""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.networks.training.configuration import (
        TrainingConfiguration,
        load_configuration,
    )
    from trueup.networks.training.hooks import TrainingHooks
    from trueup.networks.training.network_training import TrainedNetwork, train_network
    from trueup.networks.training.run import TrainingResult
    from trueup.networks.training.run_recordings import read_recordings
    from trueup.networks.training.settings import ModelSettings, TrainSettings
    from trueup.networks.training.spec import TrainingInterrupted, TrainingSpec
    from trueup.networks.training.train import resumed_configuration, run_training

_EXPORTS = {
    "ModelSettings": "trueup.networks.training.settings",
    "TrainSettings": "trueup.networks.training.settings",
    "TrainedNetwork": "trueup.networks.training.network_training",
    "TrainingConfiguration": "trueup.networks.training.configuration",
    "TrainingHooks": "trueup.networks.training.hooks",
    "TrainingInterrupted": "trueup.networks.training.spec",
    "TrainingResult": "trueup.networks.training.run",
    "TrainingSpec": "trueup.networks.training.spec",
    "read_recordings": "trueup.networks.training.run_recordings",
    "resumed_configuration": "trueup.networks.training.train",
    "load_configuration": "trueup.networks.training.configuration",
    "run_training": "trueup.networks.training.train",
    "train_network": "trueup.networks.training.network_training",
}

__all__ = [
    "ModelSettings",
    "TrainSettings",
    "TrainedNetwork",
    "TrainingConfiguration",
    "TrainingHooks",
    "TrainingInterrupted",
    "TrainingResult",
    "TrainingSpec",
    "load_configuration",
    "read_recordings",
    "resumed_configuration",
    "run_training",
    "train_network",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
