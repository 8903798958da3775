"""Removal of a run that failed before its first evaluation."""

import contextlib
import shutil
from collections.abc import Iterator

from trueup.runs.store.database import Store
from trueup.runs.store.run_directory import RunDirectory


@contextlib.contextmanager
def removed_on_early_error(directory: RunDirectory) -> Iterator[None]:
    """Remove the folder of a new run if an error ends it before it has saved an evaluation.

    So an error in the first evaluation does not leave a folder that blocks the next attempt. Ctrl-C
    is not an error: the folder is kept, and can be resumed.
    """
    try:
        yield
    except Exception:
        if not has_evaluations(directory):
            shutil.rmtree(directory.path, ignore_errors=True)
        raise


def has_evaluations(directory: RunDirectory) -> bool:
    """Whether a run has saved an evaluation."""
    if not directory.study.is_file() or Store.is_blank(directory.study):
        return False
    with Store.open(directory.study) as store:
        return store.evaluations > 0
