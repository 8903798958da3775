"""Runs: from inputs to a report; start, stop, resume, report, compare.

A run has a directory and is described by a :class:`Spec`. :func:`resume`, :func:`report`,
:func:`state` and :func:`compare` support run directories of any kind, started in Python or on the
command line. :func:`study` runs a search over a problem of the user; :func:`run_search` is the loop
with checkpoints, evaluators and trackers that runs a search over a problem and writes into a
:class:`RunDirectory`. :class:`Store` reads the history, ``atomic`` writes files atomically,
``provenance`` records inputs and versions of a result.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.runs import evaluators, optuna_storage, trackers
    from trueup.runs._compare import compare
    from trueup.runs._report import report
    from trueup.runs._start import plan, resume, start
    from trueup.runs._state import state
    from trueup.runs.evaluators.evaluator import Evaluator
    from trueup.runs.evaluators.local import LocalEvaluator
    from trueup.runs.execution import Execution
    from trueup.runs.interruption import RunInterrupted
    from trueup.runs.kinds import KINDS, read_spec
    from trueup.runs.loop._run_search import ResumableSearch, run_search
    from trueup.runs.loop._warm_start import WarmStart, warm_start
    from trueup.runs.loop.budget import Budget
    from trueup.runs.loop.early_errors import removed_on_early_error
    from trueup.runs.loop.generation import Generation
    from trueup.runs.loop.progress import Progress
    from trueup.runs.outcome import Outcome
    from trueup.runs.run_state import RunState
    from trueup.runs.session import Run, Session
    from trueup.runs.spec import Spec
    from trueup.runs.store import atomic, provenance
    from trueup.runs.store.database import Store
    from trueup.runs.store.event_log import EventLog
    from trueup.runs.store.history import History
    from trueup.runs.store.input_check import InputCheck, check_inputs
    from trueup.runs.store.run_directory import RunDirectory
    from trueup.runs.store.solution_file import read_solution
    from trueup.runs.studies._study import study
    from trueup.runs.studies.run import StudyResult
    from trueup.runs.studies.settings import StudySettings
    from trueup.runs.studies.spec import StudySpec
    from trueup.runs.study_page.record import StudyRecord, read_study
    from trueup.runs.study_page.report import study_report, study_sections
    from trueup.runs.trackers.tensorboard_tracker import TensorBoardTracker
    from trueup.runs.trackers.tracker import Study, Tracker, Trackers
    from trueup.runs.trackers.wandb_tracker import WandbTracker

_EXPORTS = {
    "Budget": "trueup.runs.loop.budget",
    "Evaluator": "trueup.runs.evaluators.evaluator",
    "EventLog": "trueup.runs.store.event_log",
    "Execution": "trueup.runs.execution",
    "Generation": "trueup.runs.loop.generation",
    "History": "trueup.runs.store.history",
    "InputCheck": "trueup.runs.store.input_check",
    "KINDS": "trueup.runs.kinds",
    "LocalEvaluator": "trueup.runs.evaluators.local",
    "Outcome": "trueup.runs.outcome",
    "Progress": "trueup.runs.loop.progress",
    "ResumableSearch": "trueup.runs.loop._run_search",
    "Run": "trueup.runs.session",
    "RunDirectory": "trueup.runs.store.run_directory",
    "RunInterrupted": "trueup.runs.interruption",
    "RunState": "trueup.runs.run_state",
    "Session": "trueup.runs.session",
    "Spec": "trueup.runs.spec",
    "Store": "trueup.runs.store.database",
    "Study": "trueup.runs.trackers.tracker",
    "StudyRecord": "trueup.runs.study_page.record",
    "StudyResult": "trueup.runs.studies.run",
    "StudySettings": "trueup.runs.studies.settings",
    "StudySpec": "trueup.runs.studies.spec",
    "TensorBoardTracker": "trueup.runs.trackers.tensorboard_tracker",
    "Tracker": "trueup.runs.trackers.tracker",
    "Trackers": "trueup.runs.trackers.tracker",
    "WandbTracker": "trueup.runs.trackers.wandb_tracker",
    "WarmStart": "trueup.runs.loop._warm_start",
    "atomic": "trueup.runs.store.atomic",
    "check_inputs": "trueup.runs.store.input_check",
    "compare": "trueup.runs._compare",
    "evaluators": "trueup.runs.evaluators",
    "optuna_storage": "trueup.runs.optuna_storage",
    "plan": "trueup.runs._start",
    "provenance": "trueup.runs.store.provenance",
    "read_spec": "trueup.runs.kinds",
    "read_solution": "trueup.runs.store.solution_file",
    "read_study": "trueup.runs.study_page.record",
    "removed_on_early_error": "trueup.runs.loop.early_errors",
    "report": "trueup.runs._report",
    "resume": "trueup.runs._start",
    "run_search": "trueup.runs.loop._run_search",
    "start": "trueup.runs._start",
    "state": "trueup.runs._state",
    "study": "trueup.runs.studies._study",
    "study_report": "trueup.runs.study_page.report",
    "study_sections": "trueup.runs.study_page.report",
    "trackers": "trueup.runs.trackers",
    "warm_start": "trueup.runs.loop._warm_start",
}

__all__ = [
    "KINDS",
    "Budget",
    "Evaluator",
    "EventLog",
    "Execution",
    "Generation",
    "History",
    "InputCheck",
    "LocalEvaluator",
    "Outcome",
    "Progress",
    "ResumableSearch",
    "Run",
    "RunDirectory",
    "RunInterrupted",
    "RunState",
    "Session",
    "Spec",
    "Store",
    "Study",
    "StudyRecord",
    "StudyResult",
    "StudySettings",
    "StudySpec",
    "TensorBoardTracker",
    "Tracker",
    "Trackers",
    "WandbTracker",
    "WarmStart",
    "atomic",
    "check_inputs",
    "compare",
    "evaluators",
    "optuna_storage",
    "plan",
    "provenance",
    "read_solution",
    "read_spec",
    "read_study",
    "removed_on_early_error",
    "report",
    "resume",
    "run_search",
    "start",
    "state",
    "study",
    "study_report",
    "study_sections",
    "trackers",
    "warm_start",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
