"""Trainings with every combination of swept overrides, as Hydra's multirun.

An override with several values, such as ``seed=1,2,3`` or ``model.gru_hidden_dim=choice(64,128)``,
is swept (https://hydra.cc, override grammar); every combination is one job in a separate folder,
numbered from zero.
"""

import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from trueup._input_files import read_settings, safe_yaml
from trueup.errors import ExperimentError, MissingExtraError, RunDirectoryError, listing
from trueup.networks.training.configuration import TrainingConfiguration, load_configuration
from trueup.networks.training.train import resume_training, start_training
from trueup.runs import Outcome
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory

JOBS = "multirun.yaml"
"""File with the overrides of the jobs, in the folder of a multirun."""

MOST_JOBS = 1000


@dataclass(frozen=True)
class Job:
    """One training of a multirun."""

    number: int
    """Number from zero, the name of its folder."""
    overrides: tuple[str, ...]
    """Overrides, each with one value."""
    swept: tuple[str, ...]
    """Those that differ among the jobs."""


def jobs_of(overrides: Sequence[str]) -> list[Job]:
    """The jobs of overrides, of which some have several values.

    Raises:
        ExperimentError: no override has several values, one is not in the grammar of Hydra, or
            there are more than ``MOST_JOBS`` jobs.
        MissingExtraError: hydra-core is not installed.
    """
    try:
        from hydra.core.override_parser.overrides_parser import OverridesParser
        from hydra.errors import HydraException
    except ImportError as error:
        raise MissingExtraError("training", "network", "hydra-core") from error
    try:
        parsed = OverridesParser.create().parse_overrides([str(each) for each in overrides])
        values = [_values(each) for each in parsed]
    except HydraException as error:
        what = str(error).strip().splitlines()[0]
        raise ExperimentError(f"an override cannot be read: {what}") from error
    count = 1
    for each in values:
        count *= len(each)
    if all(len(each) == 1 for each in values):
        raise ExperimentError(
            "--multirun trains once for each value, but no key has several: give some, such as "
            "seed=1,2,3, or remove --multirun"
        )
    if count > MOST_JOBS:
        raise ExperimentError(
            f"the values of the keys give {count} trainings; at most {MOST_JOBS} are run at once: "
            "give fewer values"
        )
    swept = [len(each) > 1 for each in values]
    return [
        Job(number, chosen, tuple(itertools.compress(chosen, swept)))
        for number, chosen in enumerate(itertools.product(*values))
    ]


def _values(override: Any) -> list[str]:
    """An override of Hydra with each of its values."""
    if not override.is_sweep_override():
        return [override.input_line]
    key = override.input_line.split("=", 1)[0]
    return [f"{key}={value}" for value in override.sweep_string_iterator()]


def start_jobs(
    jobs: Sequence[Job],
    directory: str | os.PathLike[str],
    *,
    file: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    anyway: bool = False,
    verbose: bool = True,
) -> Iterator[tuple[Job, Outcome]]:
    """Train the jobs one after the other, each in a folder of ``directory``.

    All configurations are checked before the first training.

    Args:
        jobs: the jobs.
        directory: folder of the multirun.
        file: YAML with any of the keys; overrides take precedence.
        overwrite: replace the multirun in ``directory``.
        anyway: also accept a servo whose logs have changed since its fit.
        verbose: show progress on the error stream.

    Yields:
        Each job with its outcome.

    Raises:
        TrueupError: a configuration or the recordings are unusable, or the folder has a multirun.
        TrainingInterrupted: Ctrl-C; finished jobs and the best network so far are saved.
    """
    folder = Path(directory)
    checked = [load_configuration(job.overrides, file, anyway=anyway) for job in jobs]
    if (folder / JOBS).exists() and not overwrite:
        raise RunDirectoryError(
            f"{folder} has a multirun: resume it with --resume, replace it with --overwrite, or "
            "give another --output"
        )
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "jobs": [{"overrides": list(job.overrides), "swept": list(job.swept)} for job in jobs],
        "config": None if file is None else str(Path(file).resolve()),
    }
    atomic.write_text(folder / JOBS, yaml.safe_dump(content, sort_keys=False))
    for job, configuration in zip(jobs, checked, strict=True):
        yield job, _trained(job, configuration, folder, overwrite, verbose)


def resume_jobs(
    directory: str | os.PathLike[str], *, verbose: bool = True
) -> Iterator[tuple[Job, Outcome]]:
    """Continue a multirun: finished jobs are read, a stopped one is resumed, the rest is trained.

    Raises:
        RunDirectoryError: the folder contains no multirun.
        TrueupError: the configuration or the recordings are unusable.
        TrainingInterrupted: Ctrl-C; finished jobs and the best network so far are saved.
    """
    folder = Path(directory)
    jobs, file = _read(folder)
    checked = [load_configuration(job.overrides, file) for job in jobs]
    for job, configuration in zip(jobs, checked, strict=True):
        target = folder / str(job.number)
        if target.is_dir() and any(target.iterdir()):
            yield job, resume_training(RunDirectory.open(target), verbose=verbose)
        else:
            yield job, _trained(job, configuration, folder, False, verbose)


def _trained(
    job: Job, configuration: TrainingConfiguration, folder: Path, overwrite: bool, verbose: bool
) -> Outcome:
    target = folder / str(job.number)
    return start_training(configuration, target, overwrite=overwrite, verbose=verbose)


def _read(folder: Path) -> tuple[list[Job], Path | None]:
    place = folder / JOBS
    if not place.is_file():
        raise RunDirectoryError(
            f"{folder} has no multirun: start one with trueup network train --multirun KEY=A,B "
            "--output DIRECTORY"
        )
    content = safe_yaml(read_settings(place))
    try:
        jobs = [
            Job(number, tuple(map(str, each["overrides"])), tuple(map(str, each["swept"])))
            for number, each in enumerate(content["jobs"])
        ]
        file = None if content["config"] is None else Path(content["config"])
    except (KeyError, TypeError) as error:
        raise RunDirectoryError(
            f"{place} is damaged: {error!r}. Restore it, or start the multirun again with "
            "--overwrite"
        ) from error
    if file is not None and not file.is_file():
        raise RunDirectoryError(f"{place} names {listing([str(file)])}, which is missing")
    return jobs, file
