"""Many-to-many training of networks on lanes of recordings, with a persistent hidden state."""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.networks.training.configuration import load_configuration
    from trueup.networks.training.hooks import TrainingHooks
    from trueup.networks.training.network_training import TrainedNetwork, train_network
    from trueup.networks.training.run import TrainingResult
    from trueup.networks.training.run_recordings import read_recordings
    from trueup.networks.training.settings import ModelSettings, TrainSettings
    from trueup.networks.training.spec import TrainingInterrupted

_EXPORTS = {
    "ModelSettings": "trueup.networks.training.settings",
    "TrainSettings": "trueup.networks.training.settings",
    "TrainedNetwork": "trueup.networks.training.network_training",
    "TrainingHooks": "trueup.networks.training.hooks",
    "TrainingInterrupted": "trueup.networks.training.spec",
    "TrainingResult": "trueup.networks.training.run",
    "read_recordings": "trueup.networks.training.run_recordings",
    "load_configuration": "trueup.networks.training.configuration",
    "train_network": "trueup.networks.training.network_training",
}

__all__ = [
    "ModelSettings",
    "TrainSettings",
    "TrainedNetwork",
    "TrainingHooks",
    "TrainingInterrupted",
    "TrainingResult",
    "load_configuration",
    "read_recordings",
    "train_network",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
