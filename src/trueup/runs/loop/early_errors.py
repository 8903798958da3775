"""Removal of a run that failed before its first evaluation."""

import contextlib
import shutil
from collections.abc import Iterator

from trueup.runs.store.database import Store
from trueup.runs.store.run_directory import RunDirectory


@contextlib.contextmanager
def removed_on_early_error(directory: RunDirectory) -> Iterator[None]:
    """Remove the folder where an error ends a new run before it has saved an evaluation.

    A problem that turns out to be wrong as it is first evaluated then leaves nothing behind that
    stands in the way of the next try. Ctrl-C is no error: the folder stays, and can be resumed.
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
