"""Trackers: records of a run beside its run directory (Weights & Biases, TensorBoard).

A :class:`Tracker` follows a study. A :class:`ScalarTracker` records scalars by step, and so follows
the training of a network too. :data:`TRACKERS` lists those that a user can name.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.studies.trackers.registry import TRACKERS, TrackerKind, make_trackers
    from trueup.studies.trackers.scalar_tracker import ScalarTracker, TrackedRun
    from trueup.studies.trackers.tensorboard_tracker import TensorBoardTracker
    from trueup.studies.trackers.tracker import Study, Tracker, Trackers
    from trueup.studies.trackers.wandb_tracker import WandbTracker

_EXPORTS = {
    "ScalarTracker": "trueup.studies.trackers.scalar_tracker",
    "Study": "trueup.studies.trackers.tracker",
    "TRACKERS": "trueup.studies.trackers.registry",
    "TensorBoardTracker": "trueup.studies.trackers.tensorboard_tracker",
    "TrackedRun": "trueup.studies.trackers.scalar_tracker",
    "Tracker": "trueup.studies.trackers.tracker",
    "TrackerKind": "trueup.studies.trackers.registry",
    "Trackers": "trueup.studies.trackers.tracker",
    "WandbTracker": "trueup.studies.trackers.wandb_tracker",
    "make_trackers": "trueup.studies.trackers.registry",
}

__all__ = [
    "TRACKERS",
    "ScalarTracker",
    "Study",
    "TensorBoardTracker",
    "TrackedRun",
    "Tracker",
    "TrackerKind",
    "Trackers",
    "WandbTracker",
    "make_trackers",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
