"""Trackers: records of a run in addition to its run directory (Weights & Biases, TensorBoard).

A :class:`Tracker` records a study. A :class:`ScalarTracker` records scalars by step, and so also
supports the training of a network. :data:`TRACKERS` lists the available ones.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.runs.trackers.registry import TRACKERS, TrackerKind, make_trackers
    from trueup.runs.trackers.scalar_tracker import ScalarTracker, TrackedRun
    from trueup.runs.trackers.tracker import Study, Tracker, Trackers
    from trueup.runs.trackers.wandb_tracker import WandbTracker

_EXPORTS = {
    "ScalarTracker": "trueup.runs.trackers.scalar_tracker",
    "Study": "trueup.runs.trackers.tracker",
    "TRACKERS": "trueup.runs.trackers.registry",
    "TrackerKind": "trueup.runs.trackers.registry",
    "TrackedRun": "trueup.runs.trackers.scalar_tracker",
    "Tracker": "trueup.runs.trackers.tracker",
    "Trackers": "trueup.runs.trackers.tracker",
    "WandbTracker": "trueup.runs.trackers.wandb_tracker",
    "make_trackers": "trueup.runs.trackers.registry",
}

__all__ = [
    "TRACKERS",
    "ScalarTracker",
    "Study",
    "TrackedRun",
    "Tracker",
    "TrackerKind",
    "Trackers",
    "WandbTracker",
    "make_trackers",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
