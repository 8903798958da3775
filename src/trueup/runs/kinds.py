"""The kinds of runs, and the job that a run directory holds."""

import importlib
from pathlib import Path

from trueup.errors import RunDirectoryError, listing
from trueup.runs.job import Job
from trueup.runs.store.damage import read_as_written
from trueup.runs.store.experiment_file import read_experiment
from trueup.runs.store.run_directory import RunDirectory, check_format_version

KINDS = {
    "study": "trueup.runs.studies.job:StudyJob",
    "identification": "trueup.sysid.fit.identification_job:IdentificationJob",
    "servo": "trueup.actuators.search.fit_job:ServoFitJob",
    "comparison": "trueup.actuators.selection.comparison_job:ComparisonJob",
    "network": "trueup.networks.training.training_job:TrainingJob",
    "motion": "trueup.networks.motion.motion_job:MotionJob",
    "model motion": "trueup.networks.motion.model_motion_job:ModelMotionJob",
    "design": "trueup.design.job:DesignJob",
    "bench design": "trueup.design.bench.job:BenchDesignJob",
    "gait": "trueup.gait.job:GaitJob",
    "explanation": "trueup.explain.job:ExplainJob",
}
"""Kind -> class of its jobs, as ``module:name``; imported when a run of the kind is met."""


def job_class(kind: str) -> type[Job]:
    """Class of the jobs of a kind.

    Raises:
      RunDirectoryError: there is no such kind.
    """
    if kind not in KINDS:
        raise RunDirectoryError(f"there is no run of the kind {kind!r}; there are {listing(KINDS)}")
    module, name = KINDS[kind].split(":")
    return getattr(importlib.import_module(module), name)


def kind_of(directory: RunDirectory) -> str:
    """Kind of a run.

    Raises:
      RunDirectoryError: ``experiment.yaml`` is missing or damaged, or names no kind.
    """
    return read_experiment(directory)[0]


def class_of(directory: RunDirectory) -> type[Job]:
    """Class of the job of a run directory; errors as :func:`kind_of` and :func:`job_class`."""
    kind = kind_of(directory)
    if kind not in KINDS:
        raise RunDirectoryError(
            f"{directory.path} is a run of the kind {kind!r}; this trueup knows {listing(KINDS)}"
        )
    return job_class(kind)


def read_job(directory: RunDirectory, folder: Path | None = None) -> Job:
    """The job of a run directory, as it was started.

    Args:
      directory: run directory.
      folder: where the inputs are, if they have moved away from the run.

    Raises:
      RunDirectoryError: the run is of an unknown kind or a newer version, a file is damaged, or the
        inputs are gone.
    """
    found = class_of(directory)
    _, content = read_experiment(directory)
    version = content.get("format_version", 1)  # older identifications and networks have none
    check_format_version(directory.experiment, version, found.format_version)
    with read_as_written(directory.experiment):
        job = found.from_plain(content, directory, folder)
        job.execution = job.execution.with_former(content.get("execution") or {})
    return job
