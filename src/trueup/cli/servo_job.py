"""A servo fit as its run directory keeps it, and how it was run."""

import dataclasses
import os
from pathlib import Path
from typing import Any

from trueup._version import __version__
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.fit_settings import FitSettings
from trueup.actuators.search.servo_fit import KIND, space_records
from trueup.errors import RunDirectoryError, listing
from trueup.parameters import Space
from trueup.runs import Execution
from trueup.studies import RunDirectory, atomic
from trueup.studies.run_directory import check_format_version
from trueup.studies.yaml_file import read_mapping

FORMAT_VERSION = 1
"""Version of what ``experiment.yaml`` of a servo fit holds."""


def execution_of(given: Execution, directory: RunDirectory) -> Execution:
    """Where a fit is computed; what the options leave out is as it was in a run."""
    return given.with_former(read_mapping(directory.experiment).get("execution") or {})


@dataclasses.dataclass(frozen=True)
class ServoJob:
    """What is fitted to what, how, and into which file."""

    actuator: str
    """Name of the servo."""
    model: str
    """Friction model."""
    logdir: Path
    """Folder of the logs."""
    output: Path
    """Parameter file."""
    settings: FitSettings
    """How it is fitted."""
    catalogue: Path | None
    """YAML file with further servos."""
    skip_bad_logs: bool
    """Whether logs that cannot be used are left out."""
    start: dict[str, float] | None = None
    """Start values of the free parameters; None: those of the catalogue."""
    notes: tuple[str, ...] = ()
    """What was done about the start."""


def experiment_content(
    job: ServoJob, directory: RunDirectory, space: Space, execution: Execution
) -> dict[str, Any]:
    """Everything needed to make the fit again; files relative to the run, as both may move."""

    def relative(path: Path | None) -> str | None:
        return None if path is None else os.path.relpath(path, directory.path)

    settings = job.settings.to_dict()
    return {
        "kind": KIND,
        "format_version": FORMAT_VERSION,
        "trueup": __version__,
        "name": job.output.stem,
        "problem": {"actuator": job.actuator, "model": job.model},
        "logdir": relative(job.logdir),
        "output": relative(job.output),
        "catalogue": relative(job.catalogue),
        "skip_bad_logs": job.skip_bad_logs,
        "objectives": [job.settings.objective.kind]
        + ([f"speed {job.settings.objective.kind}"] if job.settings.method == "nsgaii" else []),
        "search": {"method": job.settings.method, "seed": job.settings.seed},
        "budget": {"max_evaluations": job.settings.trials},
        "settings": settings,
        "parameters": space_records(space),
        "notes": list(job.notes),
        "execution": execution.record(),
    }


def read_job(directory: RunDirectory, folder: Path | None = None) -> ServoJob:
    """The fit of a run directory.

    Args:
      directory: the run directory.
      folder: where the logs are, if they have moved.

    Raises:
      RunDirectoryError: it is that of another run, damaged, or the logs are gone.
    """
    content = read_mapping(directory.experiment)
    check_format_version(directory.experiment, content.get("format_version"), FORMAT_VERSION)
    missing = [k for k in ("problem", "logdir", "output", "settings") if k not in content]
    if missing or content.get("kind") != KIND:
        raise RunDirectoryError(f"{directory.experiment} is not that of a servo fit, or damaged")

    def place(name: str) -> Path | None:
        if content.get(name) is None:
            return None
        path = Path(os.path.normpath(directory.path / content[name]))
        return folder / path.name if folder is not None and name != "output" else path

    logdir, output = place("logdir"), place("output")
    assert logdir is not None and output is not None
    if not logdir.exists():
        raise RunDirectoryError(
            f"the logs of {directory.path} were in {logdir}, which is gone: say where the folder "
            f"{logdir.name} is with --folder"
        )
    return ServoJob(
        actuator=content["problem"]["actuator"],
        model=content["problem"]["model"],
        logdir=logdir,
        output=output,
        settings=FitSettings.from_dict(content["settings"]),
        catalogue=place("catalogue"),
        skip_bad_logs=bool(content.get("skip_bad_logs")),
        start={name: row["start"] for name, row in content["parameters"].items()},
        notes=tuple(content.get("notes") or ()),
    )


def check_same(directory: RunDirectory, former: ServoJob, now: ServoJob) -> None:
    """Raise where a fit to resume was started with other options."""
    settings = (former.settings.to_dict(), now.settings.to_dict())
    changed = [k for k in settings[0] if k != "trials" and settings[0][k] != settings[1][k]]
    changed += [k for k in ("actuator", "model") if getattr(former, k) != getattr(now, k)]
    if changed:
        raise RunDirectoryError(
            f"{directory.path} was started with another {listing(changed)}: resume it with the "
            f"options it was started with, as  trueup study resume {directory.path}  does"
        )


def check_same_logs(directory: RunDirectory, logs: list[ServoLog]) -> None:
    """Raise where the logs of a fit to resume have changed."""
    if not directory.provenance.is_file():
        return
    former = sorted(entry["sha256"] for entry in atomic.read_json(directory.provenance)["inputs"])
    if former != sorted(log.sha256 for log in logs):
        raise RunDirectoryError(
            f"the logs have changed since {directory.path} was started: take the former ones to "
            "resume, or start anew with --overwrite"
        )
