"""Studies in an Optuna storage: mirrored there while they run, and read from there as a start.

:class:`OptunaMirror` writes a study into a storage while it runs, so that optuna-dashboard shows
it. :func:`load_study` reads a study of a storage, made by any program.

A storage is named by the URL of its database, such as ``sqlite:///study.db`` or
``postgresql://user:password@host/database``. Everything here needs the extra ``storage``.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.runs.optuna_storage._load_study import LoadedStudy, load_study
    from trueup.runs.optuna_storage.mirror import OptunaMirror

_EXPORTS = {
    "LoadedStudy": "trueup.runs.optuna_storage._load_study",
    "OptunaMirror": "trueup.runs.optuna_storage.mirror",
    "load_study": "trueup.runs.optuna_storage._load_study",
}

__all__ = ["LoadedStudy", "OptunaMirror", "load_study"]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
