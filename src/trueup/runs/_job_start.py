"""Starts, resumes and plans a piece of work."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trueup._marks import KEY, marked
from trueup._seeds import check_seed
from trueup.errors import RunDirectoryError, listing
from trueup.runs._job_finish import finish
from trueup.runs.execution import Execution
from trueup.runs.interruption import RunInterrupted
from trueup.runs.job import Job, JobRun
from trueup.runs.kinds import is_job, kind_of, read_job, read_spec
from trueup.runs.loop.budget import Budget
from trueup.runs.outcome import Outcome
from trueup.runs.store import provenance
from trueup.runs.store.database import Store
from trueup.runs.store.input_check import same_inputs
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.trackers.tracker import Tracker

Target = str | os.PathLike[str] | RunDirectory
"""A run directory, or its path."""


def start_job(
    job: Job,
    directory: Target,
    *,
    resume: bool = False,
    overwrite: bool = False,
    execution: Execution | None = None,
    trackers: Sequence[Tracker] = (),
    verbose: bool = True,
) -> Outcome:
    """Do a piece of work in a run directory, from its inputs to its report.

    Args:
      job: the work.
      directory: run directory. One that :meth:`trueup.runs.RunDirectory.create` has just made is
        used as it is.
      resume: continue the run that the directory holds; a run that was killed before it had written
        what it is starts anew.
      overwrite: replace the run that the directory holds.
      execution: where candidates are evaluated; on resume completed by that of the run.
      trackers: trackers beside those of the execution.
      verbose: show progress on the error stream.

    Returns:
      The outcome; the run directory holds every file.

    Raises:
      TrueupError: whatever is wrong, before anything is written.
      RunDirectoryError: the directory holds another run, or the run to resume differs from the job.
      RunInterrupted: Ctrl-C; the message says how to continue.
      UnfinishedRunError: the search is done and saved, and something after it failed.
    """
    if resume and overwrite:
        raise RunDirectoryError(
            "--resume continues a run, --overwrite replaces it: give one of them"
        )
    _check_seed(job)
    execution = execution or Execution()
    target = _path_of(directory)
    if resume and not _is_blank(target):
        opened = directory if isinstance(directory, RunDirectory) else RunDirectory.open(target)
        if not is_job(kind_of(opened)):
            raise RunDirectoryError(
                f"{opened.path} is {read_spec(opened).noun}, not {job.noun}: choose another run "
                "directory"
            )
        former = read_job(opened)
        _check_same(opened, former, job)
        execution = execution.with_former(former.execution.record())
        if job.limits_of_call:
            job.limits = _counted_from_here(opened, job.limits)
        return _go(job.continuing(former), opened, execution, trackers, verbose)
    made = directory if isinstance(directory, RunDirectory) and _is_blank(target) else None
    if made is None and not (overwrite or resume):
        _refuse_to_replace(target)
    if not resume:
        RunDirectory(target).check_free()
    job.execution = execution
    _check_inputs_stay(job, target)
    inputs = _prepare(job)
    # what is wrong with the options is said before a folder is made
    job.check_execution()
    made = made or RunDirectory.create(target, overwrite=overwrite or resume)
    return _work(job, made, inputs, trackers, verbose, resume=False)


def resume_job(
    directory: Target,
    *,
    limits: Budget | None = None,
    folder: str | os.PathLike[str] | None = None,
    execution: Execution | None = None,
    trackers: Sequence[Tracker] = (),
    verbose: bool = True,
) -> Outcome:
    """Continue a run of any kind from its last checkpoint.

    The history is that of a run without the stop. Where the search was done already, only what
    follows it is done again.

    Args:
      directory: run directory.
      limits: limits of the search; those that are left out stay as they were. The time counts from
        here, evaluations and generations from the begin of the run.
      folder: where the inputs are, if they have moved away from the run.
      execution: where candidates are evaluated; what it leaves out stays as it was.
      trackers: trackers beside those of the execution.
      verbose: show progress on the error stream.

    Returns:
      The outcome.

    Raises:
      RunDirectoryError: this is no run, it is of an unknown kind or a newer version, its inputs
        are gone or have changed, or its search does not know a limit.
      RunInterrupted: Ctrl-C; the message says how to continue.
      UnfinishedRunError: the search is done and saved, and something after it failed.
    """
    opened = directory if isinstance(directory, RunDirectory) else RunDirectory.open(directory)
    job = read_job(opened, None if folder is None else Path(folder))
    job = job.limited(_counted_from_here(opened, limits or Budget()))
    execution = (execution or Execution()).with_former(job.execution.record())
    return _go(job, opened, execution, trackers, verbose)


def plan_job(
    job: Job,
    directory: Target,
    *,
    overwrite: bool = False,
    execution: Execution | None = None,
) -> dict[str, Any]:
    """What a piece of work would do and how long it takes; nothing is written.

    Args:
      job: the work.
      directory: run directory that it would be done in.
      overwrite: whether a run that the directory holds would be replaced.
      execution: where candidates would be evaluated.

    Raises:
      TrueupError: whatever is wrong.
    """
    _check_seed(job)
    job.execution = execution or Execution()
    target = _path_of(directory)
    if not overwrite:
        _refuse_to_replace(target)
    job.prepare()
    return {"directory": str(target), **job.plan()}


def _go(
    job: Job,
    directory: RunDirectory,
    execution: Execution,
    trackers: Sequence[Tracker],
    verbose: bool,
) -> Outcome:
    """Continue a run."""
    directory.check_free()
    job.execution = execution
    inputs = _same_inputs(directory, _prepare(job))
    return _work(job, directory, inputs, trackers, verbose, resume=True)


def _counted_from_here(directory: RunDirectory, limits: Budget) -> Budget:
    """Limits whose time [s] is that of this sitting, as limits of the whole search."""
    if limits.max_seconds is None or not directory.study.is_file():
        return limits
    with Store.open(directory.study) as store:
        return replace(limits, max_seconds=limits.max_seconds + store.seconds())


def _prepare(job: Job) -> list[dict[str, Any]]:
    """Read and check everything; the hash of each input."""
    job.prepare()
    return provenance.hashed(job.inputs(), job.folder)


def _work(
    job: Job,
    directory: RunDirectory,
    inputs: list[dict[str, Any]],
    trackers: Sequence[Tracker],
    verbose: bool,
    *,
    resume: bool,
) -> Outcome:
    """Search, and write everything that a run directory holds."""
    origin = provenance.collect(
        job.seed,
        inputs,
        job.origin(directory.path),
        relative_to=job.folder,
        **({} if job.packages is None else {"packages": job.packages}),
    )
    origin |= job.further_origin()
    run = JobRun(job, directory, resume, inputs, origin, trackers, verbose)
    former = provenance.read(directory.provenance).get(KEY) if resume else None
    with _removed_on_early_error(run), directory.lock(), marked(former), marked(job.mark):
        if not resume:
            run.describe()
        try:
            solution = job.solve(run)
        except RunInterrupted:
            raise
        except KeyboardInterrupt:
            raise _interrupted(run) from None
        if run.is_interrupted(solution):
            raise _interrupted(run, solution)
        run.describe()
        run.solved = True
        try:
            return finish(run, solution)
        except KeyboardInterrupt:
            raise job.interruption(
                "stopped after the search, which is saved, and before its results were written. "
                f"Write them with  trueup study resume {directory.path}",
                directory.path,
                solution,
            ) from None


def _interrupted(run: JobRun, solution: Any = None) -> RunInterrupted:
    path, kind = run.directory.path, run.job.interruption
    if not run.job.can_resume:
        return kind(
            f"interrupted, and nothing of the fit is saved: its method cannot go on where it "
            f"stopped. {path} holds the experiment only; start anew with the same command and "
            "--overwrite",
            path,
        )
    # one way to continue, the one that needs no experiment
    if hasattr(solution, "message"):
        message = solution.message.partition("; the run in ")[0]
    else:
        message = run.job.stopped(run.directory)
    return kind(f"{message}. Continue with  trueup study resume {path}", path, solution)


@contextlib.contextmanager
def _removed_on_early_error(run: JobRun) -> Iterator[None]:
    """Remove the folder where an error ends a new run before it has computed anything.

    A problem that turns out to be wrong as it is first evaluated then leaves nothing behind that
    stands in the way of the next try. Ctrl-C is no error: the folder stays, and can be resumed.
    """
    try:
        yield
    except Exception:
        if not (run.resume or run.solved or run.job.has_progress(run.directory)):
            shutil.rmtree(run.directory.path, ignore_errors=True)
        raise


# --- checks ----------------------------------------------------------------------------------


def _check_seed(job: Job) -> None:
    """Raise FitError for a seed that none can be, before anything is read."""
    if job.seed is not None:
        check_seed(job.seed)


def _path_of(directory: Target) -> Path:
    return directory.path if isinstance(directory, RunDirectory) else Path(directory).expanduser()


def _is_blank(target: Path) -> bool:
    """Whether a folder was made for a run that has written nothing of itself."""
    files = ("experiment.yaml", "study.sqlite")
    return (target / "run.json").is_file() and not any((target / name).exists() for name in files)


def _refuse_to_replace(target: Path) -> None:
    if (target / "run.json").is_file():
        RunDirectory.create(target)  # raises, before time is spent


def _check_inputs_stay(job: Job, target: Path) -> None:
    """Raise where a file that the run needs later would be replaced with its folder."""
    folder = target.resolve()
    for entry in job.input_files():
        if folder in (resolved := entry.resolve()).parents or folder == resolved:
            raise RunDirectoryError(
                f"{entry}, which is an input, lies in the run directory {target}, which is written "
                "anew: move it, or choose another run directory"
            )


def _check_same(directory: RunDirectory, former: Job, now: Job) -> None:
    """Raise where a run to resume was started with other settings."""
    if former.kind != now.kind:
        raise RunDirectoryError(
            f"{directory.path} is {former.noun}, not {now.noun}: choose another run directory"
        )
    before, after = former.identity(), now.identity()
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    if changed:
        raise RunDirectoryError(
            f"{directory.path} was started with another {listing(changed)}: resume it with the "
            f"options it was started with, as  trueup study resume {directory.path}  does"
        )


def _same_inputs(directory: RunDirectory, inputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Inputs of a run to resume, as it recorded them; raise where one has changed."""
    if not directory.provenance.is_file():
        return inputs  # stopped before the file was written: nothing to differ from
    entries, changed = same_inputs(provenance.read(directory.provenance), inputs)
    if changed:
        raise RunDirectoryError(
            f"{listing(sorted(changed), 4)} {'has' if len(changed) == 1 else 'have'} changed since "
            f"{directory.path} was started: take the former inputs to resume, or start anew with "
            "--overwrite or another run directory"
        )
    return entries
