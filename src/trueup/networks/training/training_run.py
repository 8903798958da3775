"""A whole training: recordings, splits, networks, scores and the run directory."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from trueup._version import __version__
from trueup.errors import ExperimentError, RunDirectoryError, listing
from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.data_check import DataCheck, read_checked
from trueup.networks.data.data_splits import DataSplit, split_global, split_lomo
from trueup.networks.evaluation.network_verdict import training_verdict
from trueup.networks.evaluation.report import training_report
from trueup.networks.training import run_files
from trueup.networks.training.configuration import (
    TrainingConfiguration,
    check_configuration,
    load_configuration,
)
from trueup.networks.training.hooks import TrainingHooks
from trueup.networks.training.split_training import Interrupted, SplitResult, train_split
from trueup.studies import RunDirectory, atomic, provenance
from trueup.studies._interrupts import Interrupts
from trueup.studies.event_log import EventLog
from trueup.studies.progress import Progress
from trueup.studies.yaml_file import read_mapping

PACKAGES = ("numpy", "torch", "lightning", "hydra-core", "safetensors")


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """What a training run gives."""

    directory: Path
    splits: tuple[SplitResult, ...]
    """One for ``global``; one a group for ``lomo_cv``."""
    metrics: dict[str, Any]
    """Content of ``metrics.json``."""


class TrainingInterrupted(KeyboardInterrupt):
    """Training was stopped; the best network so far is saved, and the run can be resumed."""

    def __init__(self, directory: Path):
        state = "stopped before an epoch was done"
        if any(directory.rglob(run_files.NETWORK)):
            state = f"stopped; the best network so far is in {directory}"
        super().__init__(f"{state}. Go on with  trueup network train --resume --output {directory}")
        self.directory = directory


def read_splits(
    configuration: TrainingConfiguration,
    checked: Callable[[DataCheck], object] = lambda check: None,
    *,
    refuse: bool = True,
) -> tuple[list[ActuatorSeries], list[DataSplit]]:
    """The recordings of a configuration and how it splits them.

    Args:
        configuration: of the training.
        checked: told what the checks of the recordings found.
        refuse: whether recordings that the checks find unusable are an error.

    Raises:
        TrueupError: the recordings cannot be read, trained on or split.
    """
    data = configuration.data
    folder = _data_folder(configuration)
    settings = replace(data, data_base_dir=os.fspath(folder))
    series, check = read_checked(settings, refuse=refuse)
    checked(check)
    shares = (data.global_train_ratio, data.global_val_ratio, data.split_by, configuration.seed)
    if configuration.evaluation_mode == "lomo_cv":
        return series, split_lomo(series, *shares)
    return series, [split_global(series, *shares)]


def train(
    configuration: TrainingConfiguration | Sequence[str] = (),
    directory: str | os.PathLike[str] | None = None,
    *,
    file: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    verbose: bool = True,
) -> TrainingResult:
    """Train a network as ``trueup network train`` does, from the recordings to the report.

    A run that was begun here is continued by ``trueup study resume`` and reported by
    ``trueup report``, and a run of the command line is continued here::

        result = networks.train(["data.data_base_dir=bench", "train.max_epochs=100"], "runs/arm")
        result.metrics["verdict"]["grade"]

    Args:
        configuration: checked configuration, or overrides such as ``train.max_epochs=100``.
        directory: run directory; a new one under ``outputs_dir``, named by the time, where absent.
        file: YAML with any of the keys, where overrides are given; those win.
        resume: continue the run that ``directory`` holds, with its own settings.
        overwrite: replace the run that ``directory`` holds.
        verbose: show progress on the error stream.

    Raises:
        TrueupError: the configuration, the recordings or the run directory cannot be used.
        TrainingInterrupted: Ctrl-C; the best network so far is kept.
    """
    given = isinstance(configuration, TrainingConfiguration) or bool(configuration)
    if resume:
        if given or file is not None or overwrite or directory is None:
            raise ExperimentError(
                "a resumed training keeps its own settings: give the run directory and resume=True "
                "alone"
            )
        chosen = resumed_configuration(RunDirectory.open(directory))
    elif isinstance(configuration, TrainingConfiguration):
        if file is not None:
            raise ExperimentError("give a checked configuration, or overrides and a file")
        chosen = configuration
    else:
        chosen = load_configuration(configuration, file)
    return run_training(chosen, directory, resume=resume, overwrite=overwrite, verbose=verbose)


def run_training(
    configuration: TrainingConfiguration,
    output: str | os.PathLike[str] | None = None,
    *,
    resume: bool = False,
    overwrite: bool = False,
    verbose: bool = True,
    checked: Callable[[DataCheck], object] = lambda check: None,
) -> TrainingResult:
    """Check the recordings, train as a configuration says and write the run directory.

    Args:
        configuration: of the run; `resumed_configuration` reads that of a run to go on with.
        output: run directory; where absent, a new one under ``outputs_dir``, named by the time.
        resume: go on with the run that ``output`` holds.
        overwrite: replace the run that ``output`` holds.
        verbose: show progress on the error stream.
        checked: told what the checks of the recordings found, before the training.

    Raises:
        TrueupError: the recordings or the run directory cannot be used, before time is spent.
        TrainingInterrupted: Ctrl-C; the best network so far is kept.
    """
    target = _target(configuration, output)
    directory = RunDirectory.open(target) if resume else None
    if directory is None and not overwrite and (target / "run.json").is_file():
        RunDirectory.create(target)  # raises, before the recordings are read
    checks: list[DataCheck] = []
    # a run that was begun goes on with its recordings, which are compared below
    series, splits = read_splits(configuration, checks.append, refuse=not resume)
    sources = list(dict.fromkeys(each.source for each in series if each.source))
    origin = provenance.collect(
        configuration.seed,
        sources,
        dict(configuration.values),
        relative_to=_data_folder(configuration),
        packages=PACKAGES,
    )
    if directory is None:
        directory = RunDirectory.create(target, overwrite=overwrite)
    else:
        _check_same_data(directory, origin)
    checked(checks[0])
    with directory.lock():
        _write_start(directory, configuration, origin)
        atomic.write_json(directory.inside(run_files.DATA_CHECK), checks[0].to_dict())
        return _run(directory, configuration, splits, origin, verbose)


def resumed_configuration(directory: RunDirectory) -> TrainingConfiguration:
    """Configuration of a run that is to go on.

    Raises:
      RunDirectoryError: the folder is no training run, or a file of it is damaged.
      ExperimentError: a value of it is not of its key.
    """
    content = read_mapping(directory.experiment)
    if content.get("kind") != run_files.KIND:
        raise RunDirectoryError(
            f"{directory.path} is a run of the kind {content.get('kind')!r}, not the training of "
            "a network"
        )
    values, data = _started_with(directory, content)
    data["data_base_dir"] = str(run_files.recorded_data_folder(directory.path, content))
    return check_configuration({**values, "data": data, "work_dir": None})


def _started_with(
    directory: RunDirectory, content: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values of the configuration in ``experiment.yaml``, and those of its data."""
    kinds: dict[str, type] = {"configuration": dict, "data_from_run": str}
    missing = [key for key, kind in kinds.items() if not isinstance(content.get(key), kind)]
    values = dict(content["configuration"]) if not missing else {}
    if not missing and not isinstance(values.get("data"), dict):
        missing = ["configuration.data"]
    if missing:
        raise RunDirectoryError(
            f"{directory.experiment} is damaged: it lacks {listing(missing)}. Start the training "
            "again with --overwrite"
        )
    return values, dict(values["data"])


def _data_folder(configuration: TrainingConfiguration) -> Path:
    return configuration.folder / Path(configuration.data.data_base_dir).expanduser()


def _target(configuration: TrainingConfiguration, output: str | os.PathLike[str] | None) -> Path:
    if output is not None:
        return Path(output).expanduser().resolve()
    base = configuration.folder / Path(configuration.outputs_dir).expanduser()
    return (base / time.strftime("%Y-%m-%d/%H-%M-%S")).resolve()


def _write_start(
    directory: RunDirectory, configuration: TrainingConfiguration, origin: dict[str, Any]
) -> None:
    values = atomic.to_plain(dict(configuration.values))
    text = yaml.safe_dump(values, sort_keys=False)
    atomic.write_text(directory.inside(run_files.CONFIGURATION), text)
    run_files.write_hydra(directory.path, values, configuration.overrides)
    data = _data_folder(configuration)
    content = {
        "kind": run_files.KIND,
        "trueup": __version__,
        # relative to the run, as both may move together
        "data_from_run": os.path.relpath(data.resolve(), directory.path),
        # whole, for a run that has moved alone
        "data_folder": str(data.resolve()),
        "configuration": values,
    }
    atomic.write_text(directory.experiment, yaml.safe_dump(content, sort_keys=False))
    atomic.write_json(directory.provenance, origin)


def _run(
    directory: RunDirectory,
    configuration: TrainingConfiguration,
    splits: Sequence[DataSplit],
    origin: dict[str, Any],
    verbose: bool,
) -> TrainingResult:
    kept = {key: origin[key] for key in ("started", "versions", "inputs")}
    values = atomic.to_plain(dict(configuration.values))
    # evaluation and prediction read other recordings as those of the training were read
    kept["data"] = values.pop("data")
    kept["configuration"] = values
    results: list[SplitResult] = []
    events = EventLog(directory.log)
    with Interrupts(verbose, "epoch") as interrupts, Progress(verbose) as progress:
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
            try:
                results.append(train_split(split, configuration, folder, kept, own, events))
            except Interrupted:
                raise TrainingInterrupted(directory.path) from None
    metrics = _metrics(configuration, results)
    atomic.write_json(directory.inside(run_files.METRICS), metrics)
    training_report(directory.path).save(directory.report)
    return TrainingResult(directory.path, tuple(results), metrics)


def fold_folder(index: int) -> str:
    """Folder of a fold within a run, counted from zero."""
    return f"fold_{index + 1}"


def _metrics(
    configuration: TrainingConfiguration, results: Sequence[SplitResult]
) -> dict[str, Any]:
    """Content of ``metrics.json``: of the one split, or mean and spread over the folds."""
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
    metrics["verdict"] = training_verdict(metrics).plain()
    return metrics


def _check_same_data(directory: RunDirectory, origin: dict[str, Any]) -> None:
    former = {e["name"]: e["sha256"] for e in atomic.read_json(directory.provenance)["inputs"]}
    now = {e["name"]: e["sha256"] for e in origin["inputs"]}
    changed = sorted(name for name in {*former, *now} if former.get(name) != now.get(name))
    if changed:
        raise RunDirectoryError(
            f"{directory.path} was trained on other recordings: {listing(changed)} differ. Start a "
            "new run with another --output"
        )
