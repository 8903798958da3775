"""Motions of a run, from its directory."""

import os
from typing import Any

from trueup.errors import RunDirectoryError, listing
from trueup.runs.kinds import KINDS, function_of, kind_of, noun_of
from trueup.runs.store.damage import read_as_written
from trueup.runs.store.input_check import check_inputs
from trueup.runs.store.run_directory import RunDirectory


def motions(
    directory: str | os.PathLike[str] | RunDirectory,
    *,
    anyway: bool = False,
) -> list[Any]:
    """Motions of the recordings and models of a finished run, frame by frame.

    Args:
      directory: run directory of an identification, an explanation or a design.
      anyway: accept a run with changed inputs.

    Raises:
      RunDirectoryError: not a run of such a kind, not finished or damaged, or an input has changed.
      TrueupError: an input cannot be read.
    """
    opened = directory if isinstance(directory, RunDirectory) else RunDirectory.open(directory)
    kind = kind_of(opened)
    if not KINDS[kind].motions:
        known = [name for name, one in KINDS.items() if one.motions]
        raise RunDirectoryError(
            f"{opened.path} is {noun_of(kind)}, which has no motion to show; runs that have one: "
            f"{listing(known)}. Its report shows what there is:  trueup report {opened.path}"
        )
    check_inputs(opened, anyway=anyway)
    with read_as_written(opened.path):
        return function_of(kind, "motions")(opened)
