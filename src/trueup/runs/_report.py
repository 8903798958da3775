"""Report of a run, from its directory."""

import os
from typing import TYPE_CHECKING

from trueup._marks import marked
from trueup.runs.kinds import function_of, kind_of
from trueup.runs.store.damage import read_as_written
from trueup.runs.store.input_check import check_inputs
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import read_solution

if TYPE_CHECKING:
    from trueup.reports import Page


def report(
    directory: str | os.PathLike[str] | RunDirectory,
    *,
    anyway: bool = False,
    folder: str | os.PathLike[str] | None = None,
) -> "Page":
    """Build the report of a run of any kind; the run may be in progress.

    Args:
      directory: run directory.
      anyway: accept a run with changed inputs; the page reports them.
      folder: location of the inputs, if they were moved.

    Returns:
      The page; nothing is written.

    Raises:
      RunDirectoryError: not a run, or an input has changed, or a file is missing or damaged.
    """
    opened = directory if isinstance(directory, RunDirectory) else RunDirectory.open(directory)
    page_of = function_of(kind_of(opened), "report")
    check = check_inputs(opened, anyway=anyway, folder=folder)
    searched = opened.solution.is_file() and opened.study.is_file()
    if searched and "the assessment" in read_solution(opened).get("failed", {}):
        from trueup.runs.study_page.record import read_study
        from trueup.runs.study_page.report import study_report

        with marked(check.mark):
            return study_report(read_study(opened))  # a search without a capability
    with read_as_written(opened.path), marked(check.mark):
        page = page_of(opened)
    if check.missing:
        from trueup.reports import Note

        names = ", ".join(check.missing)
        page.add(Note(f"Inputs not found, so not compared with the run: {names}."))
    return page
