"""Runs: from inputs to a report; start, stop, resume, report, compare.

A run has a directory and is described by a :class:`Spec`. :func:`resume`, :func:`report`,
:func:`state` and :func:`compare` support run directories of any kind, started in Python or on the
command line; :func:`publish` writes an identification or a servo fit as an entry for others.
:func:`study` runs a search over a problem of the user; :func:`run_search` is the loop with
checkpoints, evaluators and trackers that runs a search over a problem and writes into a
:class:`RunDirectory`. :class:`Store` reads the history, ``atomic`` writes files atomically,
``provenance`` records inputs and versions of a result.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.runs import evaluators, optuna_storage, trackers
    from trueup.runs._compare import compare
    from trueup.runs._motions import motions
    from trueup.runs._publish import publish
    from trueup.runs._report import report
    from trueup.runs._start import plan, resume, start
    from trueup.runs._state import state
    from trueup.runs.execution import Execution
    from trueup.runs.interruption import RunInterrupted
    from trueup.runs.kinds import KINDS, read_spec
    from trueup.runs.loop._run_search import run_search
    from trueup.runs.loop._warm_start import warm_start
    from trueup.runs.loop.budget import Budget
    from trueup.runs.loop.progress import Progress
    from trueup.runs.outcome import Outcome
    from trueup.runs.run_state import RunState
    from trueup.runs.session import Run, Session
    from trueup.runs.spec import Spec
    from trueup.runs.store import atomic, provenance
    from trueup.runs.store.database import Store
    from trueup.runs.store.event_log import EventLog
    from trueup.runs.store.input_check import InputCheck, check_inputs
    from trueup.runs.store.published_entry import PublishedEntry, read_entry
    from trueup.runs.store.run_directory import RunDirectory
    from trueup.runs.store.solution_file import read_solution
    from trueup.runs.studies._study import study
    from trueup.runs.studies.settings import StudySettings
    from trueup.runs.studies.spec import StudySpec
    from trueup.runs.study_page.record import read_study
    from trueup.runs.study_page.report import study_report
    from trueup.runs.trackers.tracker import Study, Tracker

_EXPORTS = {
    "Budget": "trueup.runs.loop.budget",
    "EventLog": "trueup.runs.store.event_log",
    "Execution": "trueup.runs.execution",
    "InputCheck": "trueup.runs.store.input_check",
    "KINDS": "trueup.runs.kinds",
    "Outcome": "trueup.runs.outcome",
    "Progress": "trueup.runs.loop.progress",
    "PublishedEntry": "trueup.runs.store.published_entry",
    "Run": "trueup.runs.session",
    "RunDirectory": "trueup.runs.store.run_directory",
    "RunInterrupted": "trueup.runs.interruption",
    "RunState": "trueup.runs.run_state",
    "Session": "trueup.runs.session",
    "Spec": "trueup.runs.spec",
    "Store": "trueup.runs.store.database",
    "Study": "trueup.runs.trackers.tracker",
    "StudySettings": "trueup.runs.studies.settings",
    "StudySpec": "trueup.runs.studies.spec",
    "Tracker": "trueup.runs.trackers.tracker",
    "atomic": "trueup.runs.store.atomic",
    "check_inputs": "trueup.runs.store.input_check",
    "compare": "trueup.runs._compare",
    "evaluators": "trueup.runs.evaluators",
    "motions": "trueup.runs._motions",
    "optuna_storage": "trueup.runs.optuna_storage",
    "plan": "trueup.runs._start",
    "provenance": "trueup.runs.store.provenance",
    "publish": "trueup.runs._publish",
    "read_entry": "trueup.runs.store.published_entry",
    "read_spec": "trueup.runs.kinds",
    "read_solution": "trueup.runs.store.solution_file",
    "read_study": "trueup.runs.study_page.record",
    "report": "trueup.runs._report",
    "resume": "trueup.runs._start",
    "run_search": "trueup.runs.loop._run_search",
    "start": "trueup.runs._start",
    "state": "trueup.runs._state",
    "study": "trueup.runs.studies._study",
    "study_report": "trueup.runs.study_page.report",
    "trackers": "trueup.runs.trackers",
    "warm_start": "trueup.runs.loop._warm_start",
}

__all__ = [
    "KINDS",
    "Budget",
    "EventLog",
    "Execution",
    "InputCheck",
    "Outcome",
    "Progress",
    "PublishedEntry",
    "Run",
    "RunDirectory",
    "RunInterrupted",
    "RunState",
    "Session",
    "Spec",
    "Store",
    "Study",
    "StudySettings",
    "StudySpec",
    "Tracker",
    "atomic",
    "check_inputs",
    "compare",
    "evaluators",
    "motions",
    "optuna_storage",
    "plan",
    "provenance",
    "publish",
    "read_entry",
    "read_solution",
    "read_spec",
    "read_study",
    "report",
    "resume",
    "run_search",
    "start",
    "state",
    "study",
    "study_report",
    "trackers",
    "warm_start",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
