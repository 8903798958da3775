"""Pieces of work, from their inputs to their report: start, stop, resume, report, compare.

Every capability describes its work as a :class:`Job`; what is done with a run directory stands here
once. :func:`resume`, :func:`report`, :func:`state` and :func:`compare` take run directories of any
kind, whether they were begun in Python or on the command line. :func:`study` runs a search over a
problem of your own.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.runs._compare import compare
    from trueup.runs._report import report
    from trueup.runs._start import plan, resume, start
    from trueup.runs._state import state
    from trueup.runs._study import study
    from trueup.runs.execution import Execution
    from trueup.runs.input_check import InputCheck, check_inputs
    from trueup.runs.interruption import RunInterrupted
    from trueup.runs.job import Job, Outcome, Run, SearchJob
    from trueup.runs.kinds import KINDS, read_job
    from trueup.runs.run_state import RunState
    from trueup.runs.solution_file import read_solution
    from trueup.runs.study_job import StudyJob, StudyResult
    from trueup.runs.study_settings import StudySettings

_EXPORTS = {
    "Execution": "trueup.runs.execution",
    "InputCheck": "trueup.runs.input_check",
    "Job": "trueup.runs.job",
    "KINDS": "trueup.runs.kinds",
    "Outcome": "trueup.runs.job",
    "Run": "trueup.runs.job",
    "RunInterrupted": "trueup.runs.interruption",
    "RunState": "trueup.runs.run_state",
    "SearchJob": "trueup.runs.job",
    "StudyJob": "trueup.runs.study_job",
    "StudyResult": "trueup.runs.study_job",
    "StudySettings": "trueup.runs.study_settings",
    "check_inputs": "trueup.runs.input_check",
    "compare": "trueup.runs._compare",
    "plan": "trueup.runs._start",
    "read_job": "trueup.runs.kinds",
    "read_solution": "trueup.runs.solution_file",
    "report": "trueup.runs._report",
    "resume": "trueup.runs._start",
    "start": "trueup.runs._start",
    "state": "trueup.runs._state",
    "study": "trueup.runs._study",
}

__all__ = [
    "KINDS",
    "Execution",
    "InputCheck",
    "Job",
    "Outcome",
    "Run",
    "RunInterrupted",
    "RunState",
    "SearchJob",
    "StudyJob",
    "StudyResult",
    "StudySettings",
    "check_inputs",
    "compare",
    "plan",
    "read_job",
    "read_solution",
    "report",
    "resume",
    "start",
    "state",
    "study",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
