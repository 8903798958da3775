"""Kinds of runs, and how each continues: the registry that other commands add theirs to.

The kind stands in ``experiment.yaml`` under ``kind``; the file of an identification, which says
what to do and not what it is, has none.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueup.cli.output import Output
from trueup.cli.study_commands import StudyResume
from trueup.errors import RunDirectoryError, listing
from trueup.studies import RunDirectory, atomic
from trueup.studies.yaml_file import read_mapping

if TYPE_CHECKING:
    from trueup.reports import Page

IDENTIFICATION = "identification"
NETWORK = "network"


@dataclass(frozen=True)
class RunKind:
    """What to do with a run of a kind; functions as ``module:function``, imported when called."""

    resume: str
    """``(directory, command, output) -> exit code``: continues the run."""
    report: str
    """``(directory) -> Page``: builds its report again."""


KINDS = {
    "study": RunKind("trueup.cli.study_run:resume_study", "trueup.cli.run_kinds:report_of_study"),
    "servo": RunKind(
        "trueup.cli.actuator_fit:resume_servo_fit",
        "trueup.cli.actuator_report:report_of_servo_fit",
    ),
    NETWORK: RunKind(
        "trueup.cli.network_training:resume_training",
        "trueup.cli.network_training:report_of_training",
    ),
    "gait": RunKind(
        "trueup.cli.gait_optimize:resume_gait",
        "trueup.cli.gait_optimize:report_of_gait",
    ),
    IDENTIFICATION: RunKind(
        "trueup.cli.run_kinds:resume_identification",
        "trueup.cli.run_kinds:report_of_identification",
    ),
}
"""Kind -> what to do with a run of it."""


def kind_of(directory: RunDirectory) -> str:
    """Kind of a run.

    Raises:
      RunDirectoryError: ``experiment.yaml`` is missing or damaged, or tells no kind.
    """
    if not directory.experiment.is_file():
        raise RunDirectoryError(
            f"{directory.path} has no experiment.yaml: the run did not finish even its first step. "
            "Give the command that started it again, with --resume"
        )
    content = read_mapping(directory.experiment)
    kind = content.get("kind")
    if kind is None and "model" in content and "recordings" in content:
        return IDENTIFICATION
    if not isinstance(kind, str):
        raise RunDirectoryError(f"{directory.experiment} does not tell what kind of run this is")
    return kind


def resume_run(command: StudyResume, output: Output) -> int:
    """Continue a run of any kind; returns the exit code."""
    directory = RunDirectory.open(command.directory)
    return _function(_known_kind(directory).resume)(directory, command, output)


def report_of(directory: RunDirectory) -> "Page":
    """The report of a run of any kind."""
    return _function(_known_kind(directory).report)(directory)


def report_of_study(directory: RunDirectory) -> "Page":
    """The report of a study, which may be in progress."""
    from trueup.reports import read_study, study_report

    return study_report(read_study(directory))


def report_of_identification(directory: RunDirectory) -> "Page":
    """The report of a finished identification."""
    from trueup.sysid.report import identification_report
    from trueup.sysid.results.outputs import read_signals, read_summary

    return identification_report(read_summary(directory), read_signals(directory))


def _known_kind(directory: RunDirectory) -> RunKind:
    kind = kind_of(directory)
    if kind not in KINDS:
        raise RunDirectoryError(
            f"{directory.path} is a run of the kind {kind!r}; this trueup knows {listing(KINDS)}"
        )
    return KINDS[kind]


def _function(place: str) -> Callable[..., Any]:
    module, name = place.split(":")
    return getattr(importlib.import_module(module), name)


def resume_identification(directory: RunDirectory, command: StudyResume, output: Output) -> int:
    """Continue ``trueup identify``; returns the exit code."""
    from trueup.cli.identify import report_identification
    from trueup.sysid.experiment.experiment_file import load_experiment
    from trueup.sysid.fit.identification import identify

    experiment = load_experiment(directory.experiment)
    limits = ("max_evaluations", "max_generations", "target_cost")
    unknown = [f"--{k.replace('_', '-')}" for k in limits if getattr(command, k) is not None]
    if unknown:
        raise RunDirectoryError(
            f"{directory.path} is an identification, which does not know {listing(unknown)}; it "
            "knows --max-seconds"
        )
    if command.max_seconds is not None:
        search = experiment.search.model_copy(update={"time_limit": command.max_seconds})
        experiment = experiment.model_copy(update={"search": search})
    result = identify(
        experiment,
        _folder_of_inputs(directory, command.folder),
        output=directory.path,
        resume=True,
        verbose=not (command.quiet or output.json),
    )
    return report_identification(result, output)


def _folder_of_inputs(directory: RunDirectory, folder: Path | None) -> Path:
    """Folder that the file names of a run refer to: the nearest above the run that holds them."""
    record: Any = atomic.read_json(directory.provenance) if directory.provenance.is_file() else {}
    names = [entry["name"] for entry in record.get("inputs", ())]
    tried = [Path.cwd(), *directory.path.parents] if folder is None else [folder]
    for place in tried:
        if all((place / name).exists() for name in names):
            return place
    where = "above the run or in this folder" if folder is None else f"in {folder}"
    raise RunDirectoryError(
        f"the inputs of {directory.path} ({listing(names, 4)}) are not {where}: say where they "
        "are with --folder"
    )
