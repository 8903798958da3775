"""Start, resume and dry run of any kind of run."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from trueup._seeds import check_seed
from trueup.errors import RunDirectoryError, listing
from trueup.runs.execution import Execution
from trueup.runs.kinds import (
    function_of,
    kind_of,
    noun_of,
    read_execution,
    read_spec,
)
from trueup.runs.loop.budget import Budget
from trueup.runs.outcome import Outcome
from trueup.runs.session import Session, check_inputs_stay
from trueup.runs.spec import Spec
from trueup.runs.store.database import Store
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.trackers.tracker import Tracker

Target = str | os.PathLike[str] | RunDirectory
"""A run directory, or its path."""

S = TypeVar("S", bound=Spec)


def start(
    run: Callable[[S, Session], Outcome],
    spec: S,
    directory: Target,
    *,
    resume: bool = False,
    overwrite: bool = False,
    execution: Execution | None = None,
    trackers: Sequence[Tracker] = (),
    verbose: bool = True,
) -> Outcome:
    """Execute a run in its directory, from its inputs to its report.

    Args:
      run: function that executes a run of the kind, such as
        :func:`trueup.sysid.fit.run.run_identification`.
      spec: description of the run.
      directory: run directory, possibly just created by :meth:`trueup.runs.RunDirectory.create`.
      resume: continue the run of the directory; a run that was killed before it had written its
        description is restarted.
      overwrite: replace the run of the directory.
      execution: where candidates are evaluated; on resume completed by that of the run.
      trackers: trackers in addition to those of the execution.
      verbose: show progress on the error stream.

    Returns:
      The outcome; the run directory contains every file.

    Raises:
      TrueupError: invalid inputs or settings, before anything is written.
      RunDirectoryError: the directory contains another run, or the run to resume is of another
        spec.
      RunInterrupted: Ctrl-C; the message contains the command to resume.
      UnfinishedRunError: the search is finished and saved, but a later step failed.
    """
    if resume and overwrite:
        raise RunDirectoryError(
            "--resume continues a run and --overwrite replaces it: give one of them"
        )
    _check_seed(spec)
    execution = execution or Execution()
    target = _path_of(directory)
    if resume and not _is_blank(target):
        opened = directory if isinstance(directory, RunDirectory) else RunDirectory.open(target)
        if kind_of(opened) != spec.kind:
            raise RunDirectoryError(
                f"{opened.path} is {noun_of(kind_of(opened))}, expected {spec.noun}: choose "
                "another run "
                "directory"
            )
        opened.check_free()
        former = read_spec(opened)
        assert isinstance(former, type(spec))
        _check_same(opened, former, spec)
        if spec.limits_of_call:
            limits = _counted_from_here(opened, spec.limits)
            spec = spec.model_copy(update={"limits": limits})
        execution = execution.with_former(read_execution(opened))
        session = Session(opened.path, opened, True, False, execution, trackers, verbose)
        return run(former.resumed_by(spec), session)
    made = directory if isinstance(directory, RunDirectory) and _is_blank(target) else None
    if made is None and not (overwrite or resume):
        _refuse_to_replace(target)
    if not resume:
        RunDirectory(target).check_free()
    check_inputs_stay(spec.paths(), target)
    session = Session(target, made, False, overwrite or resume, execution, trackers, verbose)
    return run(spec, session)


def resume(
    directory: Target,
    *,
    limits: Budget | None = None,
    folder: str | os.PathLike[str] | None = None,
    execution: Execution | None = None,
    trackers: Sequence[Tracker] = (),
    verbose: bool = True,
) -> Outcome:
    """Continue a run of any kind from its last checkpoint.

    The history is that of an uninterrupted run. If the search had finished, only the following
    steps are repeated.

    Args:
      directory: run directory.
      limits: limits of the search; omitted ones are those of the run. The time limit counts from
        this call, evaluations and generations from the start of the run.
      folder: location of the inputs, if they were moved.
      execution: where candidates are evaluated; omitted values are those of the run.
      trackers: trackers in addition to those of the execution.
      verbose: show progress on the error stream.

    Returns:
      The outcome.

    Raises:
      RunDirectoryError: not a run, a run of an unknown kind or another version, its inputs are
        missing or have changed, or its search does not support a limit.
      RunInterrupted: Ctrl-C; the message contains the command to resume.
      UnfinishedRunError: the search is finished and saved, but a later step failed.
    """
    opened = directory if isinstance(directory, RunDirectory) else RunDirectory.open(directory)
    opened.check_free()
    spec = read_spec(opened, None if folder is None else Path(folder))
    spec.check_whole(opened.path)
    spec = spec.with_limits(_counted_from_here(opened, limits or Budget()))
    execution = (execution or Execution()).with_former(read_execution(opened))
    session = Session(opened.path, opened, True, False, execution, trackers, verbose)
    return function_of(spec.kind, "run")(spec, session)


def plan(
    planned: Callable[[S, Execution], dict[str, Any]],
    spec: S,
    directory: Target,
    *,
    overwrite: bool = False,
    execution: Execution | None = None,
) -> dict[str, Any]:
    """Plan of a run and its estimated duration; nothing is written.

    Args:
      planned: function that plans a run of the kind.
      spec: description of the run.
      directory: run directory that it would use.
      overwrite: whether an existing run would be replaced.
      execution: where candidates would be evaluated.

    Raises:
      TrueupError: invalid inputs or settings.
    """
    _check_seed(spec)
    target = _path_of(directory)
    if not overwrite:
        _refuse_to_replace(target)
    return {"directory": str(target), **planned(spec, execution or Execution())}


def _counted_from_here(directory: RunDirectory, limits: Budget) -> Budget:
    """Limits with a time limit [s] of this call, converted to limits of the whole search."""
    if limits.max_seconds is None or not directory.study.is_file():
        return limits
    with Store.open(directory.study) as store:
        return replace(limits, max_seconds=limits.max_seconds + store.seconds())


# --- checks ----------------------------------------------------------------------------------


def _check_seed(spec: Spec) -> None:
    """Raise FitError for an invalid seed, before anything is read."""
    if spec.seed is not None:
        check_seed(spec.seed)


def _path_of(directory: Target) -> Path:
    return directory.path if isinstance(directory, RunDirectory) else Path(directory).expanduser()


def _is_blank(target: Path) -> bool:
    """Whether a directory was created for a run that has not written its description."""
    files = ("experiment.yaml", "study.sqlite")
    return (target / "run.json").is_file() and not any((target / name).exists() for name in files)


def _refuse_to_replace(target: Path) -> None:
    if (target / "run.json").is_file():
        RunDirectory.create(target)  # raises early


def _check_same(directory: RunDirectory, former: Spec, now: Spec) -> None:
    """Raise an error if a run to resume was started with other settings."""
    before, after = former.identity(), now.identity()
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    if changed:
        raise RunDirectoryError(
            f"{directory.path} was started with a different {listing(changed)}: resume it with its "
            f"original options by  trueup study resume {directory.path}"
        )
