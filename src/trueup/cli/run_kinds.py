"""``trueup study resume``: continues a run of any kind."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trueup import runs
from trueup.cli.output import Output
from trueup.cli.run_results import print_outcome
from trueup.errors import RunDirectoryError
from trueup.reports import Page
from trueup.runs import Execution, RunState
from trueup.runs.experiment_file import read_experiment
from trueup.runs.run_state import age_of, is_running, study_state
from trueup.studies import Budget, RunDirectory, atomic

OWN = {
    "network": (
        "trueup.cli.network_training:resume_training",
        "trueup.cli.network_training:report_of_training",
    ),
}
"""Kinds that continue and report their runs here: functions as ``module:function``."""


def resume_run(
    path: Path,
    limits: Budget,
    folder: Path | None,
    execution: Execution,
    verbose: bool,
    output: Output,
) -> int:
    """Continue a run of any kind; returns the exit code."""
    directory = RunDirectory.open(path)
    kind, _ = read_experiment(directory)
    if kind in OWN:
        own = _function(OWN[kind][0])
        return own(directory, limits, folder, execution, verbose, output)
    outcome = runs.resume(
        directory, limits=limits, folder=folder, execution=execution, verbose=verbose
    )
    return print_outcome(outcome, output)


def report_of(directory: RunDirectory) -> Page:
    """The report of a run of any kind."""
    kind, _ = read_experiment(directory)
    return _function(OWN[kind][1])(directory) if kind in OWN else runs.report(directory)


def run_state(path: Path) -> RunState:
    """The state of a run of any kind."""
    directory = RunDirectory.open(path)
    kind = read_experiment(directory)[0] if directory.experiment.is_file() else "unknown"
    if kind == "network":
        return _network_state(directory)
    return study_state(directory, kind) if kind in OWN else runs.state(directory)


def _function(place: str) -> Callable[..., Any]:
    module, name = place.split(":")
    return getattr(importlib.import_module(module), name)


def _network_state(directory: RunDirectory) -> RunState:
    """The state of a training, whose results stand in ``metrics.json``."""
    metrics = directory.inside("metrics.json")
    finished, cost, seconds = metrics.is_file(), None, 0.0
    if finished:
        content = atomic.read_json(metrics)
        try:
            cost = float(content["rmse"])
            parts = content.get("folds", {"": content}).values()
            seconds = float(sum(part["training_seconds"] for part in parts))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise RunDirectoryError(f"{metrics} is damaged: {error!r}") from error
    epochs = 0
    for history in directory.path.rglob("history.jsonl"):
        with history.open("rb") as lines:
            epochs += sum(1 for _ in lines)
    return RunState(
        directory=directory,
        kind="network",
        state="running" if is_running(directory) else "finished" if finished else "stopped",
        cost=cost,
        evaluations=epochs,
        generations=epochs,
        failed=0,
        seconds=seconds,
        age=age_of(directory),
        solution=None,
    )
