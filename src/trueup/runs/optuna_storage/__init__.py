"""Studies of Optuna: a run exported as one, and the trials of one as the start of a search.

:func:`export_study` writes the evaluations of a run directory into an Optuna storage, so that
optuna-dashboard shows them. :func:`load_study` reads a study of a storage, made by any program.
Both use the public interface of Optuna only.

A storage is named by the URL of its database, such as ``sqlite:///study.db`` or
``postgresql://user:password@host/database``, or by a file: one that ends in ``.log`` is a journal
of Optuna, any other is SQLite. Everything here needs the extra ``storage``.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.runs.optuna_storage._export_study import ExportedStudy, export_study
    from trueup.runs.optuna_storage._load_study import LoadedStudy, load_study

_EXPORTS = {
    "ExportedStudy": "trueup.runs.optuna_storage._export_study",
    "LoadedStudy": "trueup.runs.optuna_storage._load_study",
    "export_study": "trueup.runs.optuna_storage._export_study",
    "load_study": "trueup.runs.optuna_storage._load_study",
}

__all__ = ["ExportedStudy", "LoadedStudy", "export_study", "load_study"]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
