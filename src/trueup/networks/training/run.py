"""Run of a training of a network, from recordings to report."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from trueup._rich_display import RichDisplay
from trueup._version import __version__
from trueup.errors import RunDirectoryError, listing
from trueup.networks.data.check import DataCheck
from trueup.networks.evaluation.network_verdict import training_verdict
from trueup.networks.training import run_files
from trueup.networks.training.accelerator import check_accelerator
from trueup.networks.training.configuration import TrainingConfiguration
from trueup.networks.training.finished import epochs_of, report
from trueup.networks.training.hooks import Interrupted, TrainingHooks
from trueup.networks.training.plan import plan_training
from trueup.networks.training.run_recordings import RunRecordings, read_recordings
from trueup.networks.training.saved_files import check_saved_files
from trueup.networks.training.schedule import TimeLimit
from trueup.networks.training.spec import TrainingSpec
from trueup.networks.training.split_training import SplitResult, train_split
from trueup.runs import Execution, Outcome, Run, RunDirectory, Session, atomic, provenance
from trueup.runs.loop._interrupts import Interrupts
from trueup.runs.loop.progress import Progress
from trueup.runs.store.event_log import EventLog
from trueup.signals import Finding

PACKAGES = ("numpy", "torch", "lightning", "hydra-core", "safetensors")
"""Distributions with versions recorded by a training."""


@dataclass(frozen=True, eq=False)
class TrainingResult(RichDisplay):
    """Result of a training."""

    displayed_by = "trueup.runs.display:of_run"

    directory: Path
    splits: tuple[SplitResult, ...]
    """One for ``global``; one per group for ``lomo_cv``."""
    metrics: dict[str, Any]
    """Content of ``metrics.json``."""
    check: DataCheck
    """Findings of the checks of the recordings."""


def run_network(spec: TrainingSpec, session: Session) -> Outcome:
    """Train a network on each split and score it; errors as :func:`trueup.runs.start`."""
    began = time.perf_counter()
    configuration = spec.configuration
    # a resumed run keeps its recordings; their hashes reveal changes
    recordings = read_recordings(configuration, refuse=not session.resume)
    if not session.resume:
        check_accelerator(configuration.train.accelerator)
    with session.begin(
        spec,
        recordings.inputs(spec.data_from_run),
        settings=configuration.values,
        packages=PACKAGES,
        folder=spec.data_from_run,
        mark=configuration.mark,
        has_progress=has_epochs,
        saved=saved_so_far,
    ) as run:
        if run.resume:
            _check_same_names(run)
            check_saved_files(run.directory.path)
        run.describe()
        _write_start(run, configuration, recordings)
        splits = _train_splits(run, configuration, recordings, began)

        def bare(splits: list[SplitResult]) -> dict[str, Any]:
            return {"kind": spec.kind, "name": spec.name, "status": "finished", "cost": None}

        def judge(splits: list[SplitResult]) -> Outcome:
            metrics = _metrics(configuration, splits)
            directory, check = run.directory, recordings.check
            result = TrainingResult(directory.path, tuple(splits), metrics, check)
            return Outcome(result, _summary(spec, directory, metrics, check))

        def write(outcome: Outcome) -> None:
            metrics = outcome.result.metrics
            atomic.write_json(run.directory.inside(run_files.METRICS), metrics)

        return run.finish(
            splits,
            bare=bare,
            judge=judge,
            write=write,
            page=lambda outcome: report(run.directory),
        )


def plan_network(spec: TrainingSpec, execution: Execution) -> dict[str, Any]:
    """Plan of a training, with its largest duration [s]."""
    recordings = read_recordings(spec.configuration)
    return {
        "configuration": spec.configuration.to_dict(),
        "plan": plan_training(spec.configuration, recordings).to_dict(),
        "findings": _findings(recordings.check),
    }


def has_epochs(directory: RunDirectory) -> bool:
    """Whether an epoch is completed."""
    return any(directory.path.rglob(run_files.HISTORY))


def saved_so_far(directory: RunDirectory) -> str:
    """Text about the saved state of a stopped training."""
    if any(directory.path.rglob(run_files.NETWORK)):
        return f"stopped; the best network so far is in {directory.path}"
    return "stopped before the end of the first epoch"


def fold_folder(index: int) -> str:
    """Folder of a fold within a run, counted from zero."""
    return f"fold_{index + 1}"


# --- training ------------------------------------------------------------------------------------


def _check_same_names(run: Run) -> None:
    """Check that recordings were not moved to another group; groups are folders."""
    if not run.directory.provenance.is_file():
        return
    record = provenance.read(run.directory.provenance)
    former = {e["name"]: e["sha256"] for e in record.get("inputs", ())}
    now = {e["name"]: e["sha256"] for e in run.inputs}
    changed = sorted(name for name in {*former, *now} if former.get(name) != now.get(name))
    if changed:
        raise RunDirectoryError(
            f"{run.directory.path} was trained on other recordings: {listing(changed)} differ. "
            "Start a new run with another --output"
        )


def _write_start(run: Run, configuration: TrainingConfiguration, recordings: RunRecordings) -> None:
    """Write the configuration and the findings of the checks; show the findings."""
    directory, values = run.directory, configuration.to_dict()
    text = yaml.safe_dump(values, sort_keys=False)
    atomic.write_text(directory.inside(run_files.CONFIGURATION), text)
    run_files.write_hydra(directory.path, values, configuration.overrides)
    check = recordings.check
    atomic.write_json(directory.inside(run_files.DATA_CHECK), check.to_dict())
    for finding in check.doubtful if run.verbose else ():
        print(finding.sentence, file=sys.stderr)


def _train_splits(
    run: Run, configuration: TrainingConfiguration, recordings: RunRecordings, began: float
) -> list[SplitResult]:
    """Train on each split; finished networks in the folder are not trained again.

    Args:
        run: the run.
        configuration: configuration of the training.
        recordings: recordings of the training.
        began: moment of ``time.perf_counter`` from which the time limit counts.
    """
    directory, splits = run.directory, recordings.splits
    kept = _network_provenance(run, configuration)
    whole = configuration.train.seconds
    results: list[SplitResult] = []
    events = EventLog(directory.log)
    with Interrupts(run.verbose, "epoch") as interrupts, Progress(run.verbose) as progress:
        hooks = TrainingHooks(
            progress=progress.update,
            stop=lambda: interrupts.requested is not None,
            stop_at_once=lambda: interrupts.at_once,
            log=lambda entry: events.write(entry.pop("event"), **entry),
        )
        for index, split in enumerate(splits):
            folder, own = directory.path, hooks
            if len(splits) > 1:
                folder = directory.path / fold_folder(index)
                words = f"fold {index + 1} of {len(splits)} ({split.name}), "
                own = hooks.part(words, index, len(splits))
            limit = None
            if whole is not None:
                left = max(whole - (time.perf_counter() - began), 0.0)
                limit = TimeLimit.of(left / (len(splits) - index))
            try:
                results.append(train_split(split, configuration, folder, kept, own, events, limit))
            except Interrupted:
                raise KeyboardInterrupt from None
            except (RunDirectoryError, OSError) as error:
                if not has_epochs(directory):
                    raise
                raise RunDirectoryError(f"{_reason(error)}. {_kept(directory)}") from error
    return results


def _network_provenance(run: Run, configuration: TrainingConfiguration) -> dict[str, Any]:
    """Provenance of every network of the run."""
    kept = {key: run.origin[key] for key in ("started", "versions", "inputs")}
    values = configuration.to_dict()
    # evaluation and prediction read other recordings with the settings of the training
    kept["data"] = values.pop("data")
    kept["configuration"] = values
    return kept


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    return str(error).rstrip(".")


def _kept(directory: RunDirectory) -> str:
    """Text about the saved state of a failed training, and how to resume it."""
    path = directory.path
    if any(path.rglob(run_files.CHECKPOINT)):
        return f"The last checkpoint is saved: resume with  trueup study resume {path}"
    return (
        f"The networks so far are saved in {path}, but no checkpoint:  trueup study resume {path}  "
        "restarts the training"
    )


# --- scores --------------------------------------------------------------------------------------


def _metrics(
    configuration: TrainingConfiguration, results: Sequence[SplitResult]
) -> dict[str, Any]:
    """Content of ``metrics.json``: of the single split, or mean and spread over the folds."""
    if configuration.evaluation_mode == "global":
        return atomic.read_json(results[0].folder / run_files.METRICS)
    folds = [atomic.read_json(result.folder / run_files.METRICS) for result in results]
    metrics: dict[str, Any] = {"evaluation_mode": "lomo_cv"}
    for name in ("mse", "rmse", "mae", "r2"):
        values = np.array([float(fold[name]) for fold in folds])
        metrics[name] = float(values.mean())
        metrics[f"{name}_std"] = float(values.std(ddof=1))
        linear = np.array([float(fold["others"]["linear"][name]) for fold in folds])
        metrics[f"linear_{name}"] = float(linear.mean())
        settled = [float(fold["settled"][name]) for fold in folds]
        metrics[f"settled_{name}"] = float(np.mean(settled))
        settled = [float(fold["others_settled"]["linear"][name]) for fold in folds]
        metrics[f"settled_linear_{name}"] = float(np.mean(settled))
    metrics["folds"] = {result.name: fold for result, fold in zip(results, folds, strict=True)}
    metrics["verdict"] = training_verdict(metrics).to_dict()
    return metrics


def _summary(
    spec: TrainingSpec, directory: RunDirectory, metrics: dict[str, Any], check: DataCheck
) -> dict[str, Any]:
    """Content of ``solution.json``."""
    return {
        "format_version": 1,
        "trueup": __version__,
        "kind": spec.kind,
        "name": spec.name,
        "status": "finished",
        "cost": metrics["rmse"],
        "unit": "N m",
        "findings": _findings(check),
        "stats": {"evaluations": epochs_of(directory)},
        **atomic.to_plain(metrics),
    }


def _findings(check: DataCheck) -> list[dict[str, str]]:
    """Doubtful findings of the checks as plain data."""
    return [_finding(each) for each in check.doubtful]


def _finding(finding: Finding) -> dict[str, str]:
    return {name: getattr(finding, name) for name in ("check", "severity", "sentence")}
