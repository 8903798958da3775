"""Who is told of a study while it runs: Weights & Biases, TensorBoard, an Optuna storage."""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.studies.trackers.tensorboard_tracker import TensorBoardTracker
    from trueup.studies.trackers.tracker import Study, Tracker, Trackers
    from trueup.studies.trackers.wandb_tracker import WandbTracker

_EXPORTS = {
    "Study": "trueup.studies.trackers.tracker",
    "TensorBoardTracker": "trueup.studies.trackers.tensorboard_tracker",
    "Tracker": "trueup.studies.trackers.tracker",
    "Trackers": "trueup.studies.trackers.tracker",
    "WandbTracker": "trueup.studies.trackers.wandb_tracker",
}

__all__ = ["Study", "TensorBoardTracker", "Tracker", "Trackers", "WandbTracker"]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
