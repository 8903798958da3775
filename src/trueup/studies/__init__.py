"""Studies: a search that is saved as it runs, and can always be resumed.

:func:`run` drives a search over a problem and writes into a :class:`RunDirectory`. :class:`Store`
reads the history back. ``atomic`` writes files that are never half, ``provenance`` collects where a
result comes from.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trueup.studies import atomic, provenance
    from trueup.studies._run import Generation, ResumableSearch, run
    from trueup.studies.budget import Budget
    from trueup.studies.event_log import EventLog
    from trueup.studies.history import History
    from trueup.studies.progress import Progress
    from trueup.studies.run_directory import RunDirectory
    from trueup.studies.store import Store

_HOME = {
    "Budget": "budget",
    "EventLog": "event_log",
    "Generation": "_run",
    "History": "history",
    "Progress": "progress",
    "ResumableSearch": "_run",
    "RunDirectory": "run_directory",
    "Store": "store",
    "run": "_run",
}

__all__ = [
    "Budget",
    "EventLog",
    "Generation",
    "History",
    "Progress",
    "ResumableSearch",
    "RunDirectory",
    "Store",
    "atomic",
    "provenance",
    "run",
]


def __getattr__(name: str) -> Any:
    if name in ("atomic", "provenance"):
        return importlib.import_module(f"trueup.studies.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(f"trueup.studies.{_HOME[name]}"), name)
    raise AttributeError(f"module 'trueup.studies' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
