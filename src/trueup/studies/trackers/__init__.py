"""Who is told of a study while it runs: Weights & Biases, TensorBoard, an Optuna storage."""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.studies.trackers.tracker import Study, Tracker, Trackers

_EXPORTS = {
    "Study": "trueup.studies.trackers.tracker",
    "Tracker": "trueup.studies.trackers.tracker",
    "Trackers": "trueup.studies.trackers.tracker",
}

__all__ = ["Study", "Tracker", "Trackers"]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
