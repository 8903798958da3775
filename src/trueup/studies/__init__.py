"""Studies: a search that is saved as it runs, and can always be resumed.

:func:`run` drives a search over a problem and writes into a :class:`RunDirectory`. :class:`Store`
reads the history back. ``atomic`` writes files that are never half, ``provenance`` collects where a
result comes from.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.studies import atomic, evaluators, optuna_storage, provenance, trackers
    from trueup.studies._run import ResumableSearch, run
    from trueup.studies._warm_start import WarmStart, warm_start
    from trueup.studies.budget import Budget
    from trueup.studies.early_errors import removed_on_early_error
    from trueup.studies.evaluators import Evaluator, LocalEvaluator
    from trueup.studies.event_log import EventLog
    from trueup.studies.generation import Generation
    from trueup.studies.history import History
    from trueup.studies.progress import Progress
    from trueup.studies.run_directory import RunDirectory
    from trueup.studies.store import Store
    from trueup.studies.trackers import (
        Study,
        TensorBoardTracker,
        Tracker,
        Trackers,
        WandbTracker,
    )

_EXPORTS = {
    "Budget": "trueup.studies.budget",
    "Evaluator": "trueup.studies.evaluators.evaluator",
    "EventLog": "trueup.studies.event_log",
    "Generation": "trueup.studies.generation",
    "History": "trueup.studies.history",
    "LocalEvaluator": "trueup.studies.evaluators.local",
    "Progress": "trueup.studies.progress",
    "ResumableSearch": "trueup.studies._run",
    "RunDirectory": "trueup.studies.run_directory",
    "Store": "trueup.studies.store",
    "Study": "trueup.studies.trackers.tracker",
    "TensorBoardTracker": "trueup.studies.trackers.tensorboard_tracker",
    "Tracker": "trueup.studies.trackers.tracker",
    "Trackers": "trueup.studies.trackers.tracker",
    "WandbTracker": "trueup.studies.trackers.wandb_tracker",
    "WarmStart": "trueup.studies._warm_start",
    "atomic": "trueup.studies.atomic",
    "evaluators": "trueup.studies.evaluators",
    "optuna_storage": "trueup.studies.optuna_storage",
    "provenance": "trueup.studies.provenance",
    "removed_on_early_error": "trueup.studies.early_errors",
    "run": "trueup.studies._run",
    "trackers": "trueup.studies.trackers",
    "warm_start": "trueup.studies._warm_start",
}

__all__ = [
    "Budget",
    "Evaluator",
    "EventLog",
    "Generation",
    "History",
    "LocalEvaluator",
    "Progress",
    "ResumableSearch",
    "RunDirectory",
    "Store",
    "Study",
    "TensorBoardTracker",
    "Tracker",
    "Trackers",
    "WandbTracker",
    "WarmStart",
    "atomic",
    "evaluators",
    "optuna_storage",
    "provenance",
    "removed_on_early_error",
    "run",
    "trackers",
    "warm_start",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
