"""The state of a run."""

import os

from trueup.runs.kinds import function_of, kind_of
from trueup.runs.run_state import RunState, study_state
from trueup.runs.store.run_directory import RunDirectory


def state(directory: str | os.PathLike[str] | RunDirectory) -> RunState:
    """Progress and status of a run of any kind.

    Args:
      directory: run directory; the run may be in progress.

    Raises:
      RunDirectoryError: the folder is not a run, or a file in it is damaged.
    """
    opened = directory if isinstance(directory, RunDirectory) else RunDirectory.open(directory)
    if not opened.experiment.is_file():
        return study_state(opened, "unknown")
    kind = kind_of(opened)
    return function_of(kind, "state")(opened, kind)
