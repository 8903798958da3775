"""Studies in an Optuna storage: shown there, continued from there, shared through it.

:class:`OptunaMirror` writes a study into a storage while it runs, so that optuna-dashboard shows
it. :func:`load_study` reads a study of a storage, whoever made it. :class:`SharedStorage` lets
several processes evaluate the candidates of one study; :func:`work` is what those processes run.

A storage is named by the URL of its database, such as ``sqlite:///study.db`` or
``postgresql://user:password@host/database``. Everything here needs the extra ``storage``.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.studies.optuna_storage._load_study import LoadedStudy, load_study
    from trueup.studies.optuna_storage._work import work
    from trueup.studies.optuna_storage.mirror import OptunaMirror
    from trueup.studies.optuna_storage.shared import SharedStorage

_EXPORTS = {
    "LoadedStudy": "trueup.studies.optuna_storage._load_study",
    "OptunaMirror": "trueup.studies.optuna_storage.mirror",
    "SharedStorage": "trueup.studies.optuna_storage.shared",
    "load_study": "trueup.studies.optuna_storage._load_study",
    "work": "trueup.studies.optuna_storage._work",
}

__all__ = ["LoadedStudy", "OptunaMirror", "SharedStorage", "load_study", "work"]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
