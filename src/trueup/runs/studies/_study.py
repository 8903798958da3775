"""Python function of a study, from its problem to its report."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from trueup.fitting import Problem
from trueup.runs._start import start as start_run
from trueup.runs.execution import Execution
from trueup.runs.loop.budget import Budget
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.studies.run import StudyResult, run_study
from trueup.runs.studies.settings import StudySettings
from trueup.runs.studies.spec import StudySpec
from trueup.runs.trackers.tracker import Tracker


def study(
    problem: str | Callable[..., Any] | Problem,
    directory: str | os.PathLike[str] | RunDirectory | None = None,
    *,
    settings: StudySettings | None = None,
    limits: Budget | None = None,
    execution: Execution | None = None,
    dimension: int | None = None,
    start: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    trackers: Sequence[Tracker] = (),
    verbose: bool = True,
) -> StudyResult:
    """Search a problem, and write a run directory.

    It is equivalent to ``trueup study run``, and each can resume runs of the other.
    :func:`trueup.runs.run_search` is its inner loop, for a custom search object.

    Args:
      problem: ``"file.py:function"``, a function at the top of a Python file that returns a
        :class:`trueup.fitting.Problem`, the name of a test problem, or a problem object. A run of
        a problem object can be resumed from Python only.
      directory: run directory; None: ``runs/NAME``.
      settings: settings of the search.
      limits: limits of the search.
      execution: where candidates are evaluated.
      dimension: number of parameters of a test problem.
      start: earlier result to start from: a parameter file, a run directory or a plain vector.
      resume: continue the run of the directory, with its settings.
      overwrite: replace the run of the directory.
      trackers: trackers in addition to those of the execution.
      verbose: show progress on the error stream.

    Returns:
      The result; its summary contains the verdict.

    Raises:
      TrueupError: invalid inputs or settings, before anything is written.
      RunInterrupted: Ctrl-C; the message contains the command to resume.
    """
    spec = StudySpec.of(problem, settings, limits, dimension=dimension, start=start)
    target = Path("runs") / spec.name if directory is None else directory
    name = target.path.name if isinstance(target, RunDirectory) else Path(target).name
    return start_run(
        run_study,
        spec.model_copy(update={"name": name}),
        target,
        resume=resume,
        overwrite=overwrite,
        execution=execution,
        trackers=trackers,
        verbose=verbose,
    ).result
