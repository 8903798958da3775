"""Registry of the kinds of runs: spec, run function, and readers of run directories."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueup.errors import RunDirectoryError, listing
from trueup.runs.spec import Spec
from trueup.runs.store.damage import read_as_written
from trueup.runs.store.experiment_file import read_experiment
from trueup.runs.store.run_directory import RunDirectory, check_format_version


@dataclass(frozen=True)
class Kind:
    """A kind of run; every entry is ``module:name``, imported on first use."""

    spec: str
    """Subclass of :class:`trueup.runs.Spec`."""
    run: str
    """``run(spec, session) -> Outcome``: executes a run."""
    report: str
    """``report(directory) -> Page``: the page of a run, which may be in progress."""
    state: str = "trueup.runs.run_state:study_state"
    """``state(directory, kind) -> RunState``: progress of a run."""
    compared: str = "trueup.runs.store.solution_file:read_solution"
    """``compared(directory)``: plain data of a finished run for :func:`trueup.runs.compare`:
    ``parameters``, ``status`` and ``cost``; ``scores`` and ``verdict`` if available."""
    motions: str = ""
    """``motions(directory)``: motions of recordings and models, for the viewer and for films; empty
    for a kind without them."""
    entry: str = ""
    """``entry(spec, directory, folder, with_logs)``: writes the files of a published entry into a
    folder and returns its keys, ``logs`` among them; empty for a kind that is not published."""


KINDS: dict[str, Kind] = {
    "study": Kind(
        spec="trueup.runs.studies.spec:StudySpec",
        run="trueup.runs.studies.run:run_study",
        report="trueup.runs.study_page.report:report_of_search",
    ),
    "identification": Kind(
        spec="trueup.sysid.fit.spec:IdentificationSpec",
        run="trueup.sysid.fit.run:run_identification",
        report="trueup.sysid.report:report_of_run",
        motions="trueup.sysid.results.run_motions:motions_of_run",
        entry="trueup.sysid.results.entry:write_entry",
    ),
    "servo": Kind(
        spec="trueup.actuators.search.spec:FitSpec",
        run="trueup.actuators.search.run:run_fit",
        report="trueup.actuators.search.servo_run_report:report_of_run",
        entry="trueup.actuators.search.entry:write_entry",
    ),
    "comparison": Kind(
        spec="trueup.actuators.selection.spec:ComparisonSpec",
        run="trueup.actuators.selection.run:run_comparison",
        report="trueup.actuators.selection.run:report_of_run",
    ),
    "network": Kind(
        spec="trueup.networks.training.spec:TrainingSpec",
        run="trueup.networks.training.run:run_network",
        report="trueup.networks.training.finished:report",
        state="trueup.networks.training.finished:state",
        compared="trueup.networks.training.finished:compared",
    ),
    "motion": Kind(
        spec="trueup.networks.motion.spec:MotionSpec",
        run="trueup.networks.motion.run:run_motion",
        report="trueup.networks.motion.simulated_training:report",
        state="trueup.networks.motion.simulated_training:state",
        compared="trueup.networks.motion.simulated_training:compared",
    ),
    "model motion": Kind(
        spec="trueup.networks.motion.of_model.spec:ModelMotionSpec",
        run="trueup.networks.motion.of_model.run:run_model_motion",
        report="trueup.networks.motion.simulated_training:report",
        state="trueup.networks.motion.simulated_training:state",
        compared="trueup.networks.motion.simulated_training:compared",
    ),
    "design": Kind(
        spec="trueup.design.spec:DesignSpec",
        run="trueup.design.run:run_design",
        report="trueup.design.run:report",
        motions="trueup.design.motions:motions_of_run",
    ),
    "bench design": Kind(
        spec="trueup.design.bench.spec:BenchDesignSpec",
        run="trueup.design.bench.run:run_bench_design",
        report="trueup.design.bench.run:report",
    ),
    "gait": Kind(
        spec="trueup.gait.spec:GaitSpec",
        run="trueup.gait.run:run_gait",
        report="trueup.gait.run:report",
    ),
    "explanation": Kind(
        spec="trueup.explain.spec:ExplanationSpec",
        run="trueup.explain.run:run_explanation",
        report="trueup.explain.report:report_of_run",
        motions="trueup.explain.motions:motions_of_run",
    ),
}
"""Kinds of runs by their name in ``experiment.yaml``."""


def function_of(kind: str, field: str) -> Any:
    """Function or class of a field of a kind.

    Args:
      kind: name of the kind.
      field: field of :class:`Kind`.

    Raises:
      RunDirectoryError: unknown kind.
    """
    if kind not in KINDS:
        raise RunDirectoryError(f"unknown kind of run {kind!r}; available: {listing(KINDS)}")
    module, name = getattr(KINDS[kind], field).split(":")
    return getattr(importlib.import_module(module), name)


def kind_of(directory: RunDirectory) -> str:
    """Kind of a run.

    Raises:
      RunDirectoryError: ``experiment.yaml`` is missing or damaged, or has an unknown kind.
    """
    kind = read_experiment(directory)[0]
    if kind not in KINDS:
        raise RunDirectoryError(
            f"{directory.path} is a run of the kind {kind!r}; this trueup supports {listing(KINDS)}"
        )
    return kind


def noun_of(kind: str) -> str:
    """Noun for a run of a kind in messages, with its article."""
    return function_of(kind, "spec").noun


def read_spec(directory: RunDirectory, folder: Path | None = None) -> Spec:
    """The spec of a run directory.

    Args:
      directory: run directory.
      folder: location of the inputs, if they were moved.

    Raises:
      RunDirectoryError: the run is of an unknown kind or another version, a file is damaged, or the
        inputs are missing.
    """
    found = function_of(kind_of(directory), "spec")
    _, content = read_experiment(directory)
    version = content.get("format_version", 1)  # older identifications and networks have none
    check_format_version(directory.experiment, version, found.format_version)
    if version < found.format_version:
        raise RunDirectoryError(
            f"{directory.path} was started by an older version of trueup: its format is {version}, "
            f"this trueup supports {found.format_version}; resume it with that version, or "
            "restart it"
        )
    with read_as_written(directory.experiment):
        return found.from_dict(content, directory.path, folder)


def read_execution(directory: RunDirectory) -> Mapping[str, Any]:
    """Execution settings of a run, in the form of :meth:`trueup.runs.Execution.to_dict`."""
    return read_experiment(directory)[1].get("execution") or {}
