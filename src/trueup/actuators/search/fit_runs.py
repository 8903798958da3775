"""Start and plan of a servo fit in a run directory."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trueup import runs
from trueup.actuators.search.fit_job import ServoFitJob
from trueup.errors import RunDirectoryError
from trueup.runs import Execution, Outcome
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.trackers.tracker import Tracker


def start_fit(
    job: ServoFitJob,
    directory: str | os.PathLike[str] | RunDirectory | None = None,
    *,
    resume: bool = False,
    overwrite: bool = False,
    execution: Execution | None = None,
    trackers: Sequence[Tracker] = (),
    verbose: bool = True,
) -> Outcome:
    """Do a servo fit in its run directory; arguments and errors as :func:`trueup.runs.start`.

    Without a directory, the run lies beside the parameter file: ``m6.run`` for ``m6.json``.
    """
    target = _target(job, directory)
    if not resume and not overwrite:
        _refuse_to_replace(job, target)
    return runs.start_job(
        job,
        target,
        resume=resume,
        overwrite=overwrite,
        execution=execution,
        trackers=trackers,
        verbose=verbose,
    )


def plan_fit(
    job: ServoFitJob,
    directory: str | os.PathLike[str] | RunDirectory | None = None,
    *,
    overwrite: bool = False,
    execution: Execution | None = None,
) -> dict[str, Any]:
    """Plan of a servo fit; arguments and errors as :func:`trueup.runs.plan`."""
    target = _target(job, directory)
    if not overwrite:
        _refuse_to_replace(job, target)
    return runs.plan_job(job, target, overwrite=overwrite, execution=execution)


def _target(
    job: ServoFitJob, directory: str | os.PathLike[str] | RunDirectory | None
) -> Path | RunDirectory:
    if isinstance(directory, RunDirectory):
        return directory
    if directory is not None:
        return Path(directory)
    assert job.output is not None  # or it is a fit in memory
    return job.output.with_suffix(".run")


def _refuse_to_replace(job: ServoFitJob, target: Path | RunDirectory) -> None:
    held = isinstance(target, Path) and (target / "run.json").is_file()  # said by the run itself
    if job.output is not None and job.output.exists() and not held:
        raise RunDirectoryError(
            f"{job.output} exists: choose another --output, or replace it with --overwrite"
        )
