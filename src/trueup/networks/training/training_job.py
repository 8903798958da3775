"""Training of a network as a piece of work; :mod:`trueup.runs.job` says in which order."""

import functools
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from trueup._version import __version__
from trueup.errors import RunDirectoryError, listing
from trueup.networks.data.data_check import DataCheck
from trueup.networks.evaluation.network_verdict import training_verdict
from trueup.networks.evaluation.report import training_report
from trueup.networks.training import run_files
from trueup.networks.training.accelerator import check_accelerator
from trueup.networks.training.configuration import TrainingConfiguration, check_configuration
from trueup.networks.training.hooks import TrainingHooks
from trueup.networks.training.kept_files import check_kept_files
from trueup.networks.training.plan import plan_training
from trueup.networks.training.run_recordings import RunRecordings, data_folder, read_recordings
from trueup.networks.training.split_training import Interrupted, SplitResult, train_split
from trueup.reports import Page
from trueup.runs import Job, JobRun, Outcome, RunInterrupted, RunState
from trueup.runs.loop._interrupts import Interrupts
from trueup.runs.loop.progress import Progress
from trueup.runs.run_state import training_state
from trueup.runs.store import atomic, provenance
from trueup.runs.store.event_log import EventLog
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.yaml_file import read_mapping
from trueup.signals import Finding


class TrainingInterrupted(RunInterrupted):
    """Training was stopped; the best network so far is saved, and the run can be resumed."""


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """What a training run gives."""

    directory: Path
    splits: tuple[SplitResult, ...]
    """One for ``global``; one a group for ``lomo_cv``."""
    metrics: dict[str, Any]
    """Content of ``metrics.json``."""
    check: DataCheck
    """What the checks of the recordings found."""


class TrainingJob(Job):
    """Training of a network.

    Args:
      configuration: checked configuration.
      name: name of the run.
      former: directory of the run that is continued.
    """

    kind = run_files.KIND
    noun = "the training of a network"
    known_limits = ()
    searched = False
    interruption = TrainingInterrupted
    packages = ("numpy", "torch", "lightning", "hydra-core", "safetensors")

    def __init__(
        self,
        configuration: TrainingConfiguration,
        name: str,
        former: RunDirectory | None = None,
    ):
        self.configuration = configuration
        self.name = name
        self.seed = configuration.seed
        self.former = former

    @property
    def folder(self) -> Path:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Folder of the recordings, which their names are relative to."""
        return data_folder(self.configuration)

    # --- experiment.yaml -------------------------------------------------------------------------

    def plain(self, directory: Path) -> dict[str, Any]:
        """Configuration, and where the recordings are."""
        data = self.folder.resolve()
        return {
            "name": self.name,
            # relative to the run, as both may move together
            "data_from_run": os.path.relpath(data, directory),
            # whole, for a run that has moved alone
            "data_folder": str(data),
            "configuration": self._values,
        }

    @property
    def _values(self) -> dict[str, Any]:
        return atomic.to_plain(dict(self.configuration.values))

    def origin(self, directory: Path) -> dict[str, Any]:
        """Settings that ``provenance.json`` holds."""
        return dict(self.configuration.values)

    @classmethod
    def from_plain(
        cls, content: dict[str, Any], directory: RunDirectory, folder: Path | None
    ) -> "TrainingJob":
        """The training of a run directory, with its own settings."""
        values, data = _started_with(directory, content)
        place = run_files.recorded_data_folder(directory.path, content)
        if folder is not None:
            place = folder / place.name if (folder / place.name).is_dir() else folder
        data["data_base_dir"] = str(place)
        configuration = check_configuration({**values, "data": data, "work_dir": None})
        name = str(content.get("name") or directory.path.name)
        return cls(configuration, name, directory)

    def continuing(self, former: Job) -> Job:
        """This training, with the recordings as they were accepted when the run was begun."""
        assert isinstance(former, TrainingJob)
        self.former = former.former
        return self

    # --- inputs ----------------------------------------------------------------------------------

    @functools.cached_property
    def recordings(self) -> RunRecordings:
        """Recordings and splits; read, checked and hashed once."""
        # a run that was begun goes on with its recordings: changed ones are found by their hashes
        return read_recordings(self.configuration, refuse=self.former is None)

    @property
    def mark(self) -> str | None:
        """What is said of the servo that is the base."""
        return self.configuration.mark

    def inputs(self) -> Sequence[Path | Mapping[str, Any]]:
        """Files of the recordings."""
        return self.recordings.inputs(self.folder)

    def input_files(self) -> Sequence[Path]:
        """Folder of the recordings."""
        return [self.folder]

    def prepare(self) -> None:
        """Read, check and split the recordings."""
        _ = self.recordings

    def check_execution(self) -> None:
        """Check that the machine has the accelerator; the configuration has the trackers."""
        check_accelerator(self.configuration.train.accelerator)

    def has_progress(self, directory: RunDirectory) -> bool:
        """Whether an epoch is done."""
        return any(directory.path.rglob(run_files.HISTORY))

    # --- training and result ---------------------------------------------------------------------

    def solve(self, run: JobRun) -> list[SplitResult]:
        """Train on each split; what the folder holds already is not trained again."""
        if run.resume:
            self._check_same_names(run)
            check_kept_files(run.directory.path)
        run.describe()
        directory, configuration = run.directory, self.configuration
        text = yaml.safe_dump(self._values, sort_keys=False)
        atomic.write_text(directory.inside(run_files.CONFIGURATION), text)
        run_files.write_hydra(directory.path, self._values, configuration.overrides)
        check = self.recordings.check
        atomic.write_json(directory.inside(run_files.DATA_CHECK), check.to_dict())
        for finding in check.doubtful if run.verbose else ():
            print(finding.sentence, file=sys.stderr)
        kept = {key: run.origin[key] for key in ("started", "versions", "inputs")}
        values = self._values
        # evaluation and prediction read other recordings as those of the training were read
        kept["data"] = values.pop("data")
        kept["configuration"] = values
        splits = self.recordings.splits
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
                try:
                    result = train_split(
                        split, configuration, folder, kept, own, events, self._seconds(splits)
                    )
                    results.append(result)
                except Interrupted:
                    raise KeyboardInterrupt from None
                except (RunDirectoryError, OSError) as error:
                    if not self.has_progress(directory):
                        raise
                    raise RunDirectoryError(f"{_reason(error)}. {_kept(directory)}") from error
        return results

    def _seconds(self, splits: Sequence[Any]) -> float | None:
        """Time for each split [s]."""
        whole = self.configuration.train.seconds
        return None if whole is None else whole / len(splits)

    def stopped(self, directory: RunDirectory) -> str:
        """Saved part of a training that was stopped, in words."""
        if any(directory.path.rglob(run_files.NETWORK)):
            return f"stopped; the best network so far is in {directory.path}"
        return "stopped before an epoch was done"

    def finish(self, run: JobRun, solution: list[SplitResult]) -> Outcome:
        """Scores and verdict of the networks."""
        metrics = _metrics(self.configuration, solution)
        result = TrainingResult(run.directory.path, tuple(solution), metrics, self.recordings.check)
        return Outcome(result, self._summary(run.directory, metrics))

    def _summary(self, directory: RunDirectory, metrics: dict[str, Any]) -> dict[str, Any]:
        """Content of ``solution.json``."""
        return {
            "format_version": self.format_version,
            "trueup": __version__,
            "kind": self.kind,
            "name": self.name,
            "status": "finished",
            "cost": metrics["rmse"],
            "unit": "N m",
            "findings": [finding_record(each) for each in self.recordings.check.doubtful],
            "stats": {"evaluations": epochs_of(directory)},
            **atomic.to_plain(metrics),
        }

    def write(self, run: JobRun, outcome: Outcome) -> None:
        """Write ``metrics.json``."""
        metrics = outcome.result.metrics
        atomic.write_json(run.directory.inside(run_files.METRICS), metrics)

    def bare_summary(self, solution: list[SplitResult]) -> dict[str, Any]:
        """Content of ``solution.json`` where the scores failed."""
        return {"kind": self.kind, "name": self.name, "status": "finished", "cost": None}

    @classmethod
    def report(cls, directory: RunDirectory) -> Page:
        """The report of a finished training."""
        return training_report(directory.path)

    @classmethod
    def state(cls, directory: RunDirectory) -> RunState:
        """State of a training, whose results stand in ``metrics.json``."""
        finished, cost, seconds = directory.inside(run_files.METRICS).is_file(), None, 0.0
        if finished:
            cost, seconds = _cost_and_seconds(directory)
        return training_state(
            directory,
            cls.kind,
            finished=finished,
            cost=cost,
            steps=epochs_of(directory),
            seconds=seconds,
        )

    @classmethod
    def compared(cls, directory: RunDirectory) -> dict[str, Any]:
        """Scores of a finished training; it has no parameters to compare."""
        metrics = _read_metrics(directory)
        folds = metrics.get("folds", {"": metrics})
        try:
            return {
                "parameters": [],
                "status": "finished",
                "cost": metrics["rmse"],
                "scores": [
                    {
                        "part": fold["scored_on"],
                        "channel": f"torque of {name}" if name else "torque",
                        "predictor": "identified",
                        "rmse": fold["rmse"],
                        # with R2 = 1 - |e|^2/|y - mean|^2, fit = 1 - |e|/|y - mean|
                        "fit_percent": 100.0 * (1.0 - np.sqrt(max(0.0, 1.0 - fold["r2"]))),
                    }
                    for name, fold in folds.items()
                ],
                "verdict": metrics.get("verdict"),
            }
        except (AttributeError, KeyError, TypeError) as error:
            raise _damaged(directory, error) from error

    def plan(self) -> dict[str, Any]:
        """What would be trained, and how long that takes at most."""
        plan = plan_training(self.configuration, self.recordings)
        findings = [finding_record(each) for each in self.recordings.check.doubtful]
        return {"configuration": self._values, "plan": plan.to_dict(), "findings": findings}

    def _check_same_names(self, run: JobRun) -> None:
        """Raise where recordings changed places, as groups are folders."""
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


def resumed_configuration(directory: RunDirectory) -> TrainingConfiguration:
    """Configuration of a run that is to be continued.

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
    return TrainingJob.from_plain(content, directory, None).configuration


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    return str(error).rstrip(".")


def _kept(directory: RunDirectory) -> str:
    """What a training that failed has saved, and how to continue it."""
    path = directory.path
    if any(path.rglob(run_files.CHECKPOINT)):
        return f"The last checkpoint is kept: continue with  trueup study resume {path}"
    return (
        f"The networks so far are kept in {path}, but no checkpoint:  trueup study resume {path}  "
        "starts the training anew"
    )


def finding_record(finding: Finding) -> dict[str, str]:
    """A finding of the checks as plain data."""
    return {name: getattr(finding, name) for name in ("check", "severity", "sentence")}


def fold_folder(index: int) -> str:
    """Folder of a fold within a run, counted from zero."""
    return f"fold_{index + 1}"


def epochs_of(directory: RunDirectory) -> int:
    """Number of epochs of a run, those of all folds and members."""
    epochs = 0
    for history in directory.path.rglob(run_files.HISTORY):
        with history.open("rb") as lines:
            epochs += sum(1 for _ in lines)
    return epochs


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


def _read_metrics(directory: RunDirectory) -> dict[str, Any]:
    file = directory.inside(run_files.METRICS)
    if not file.is_file():
        raise RunDirectoryError(
            f"{directory.path} has no {run_files.METRICS}: the training did not finish; continue "
            f"it with  trueup study resume {directory.path}"
        )
    content = atomic.read_json(file)
    if not isinstance(content, dict):
        raise RunDirectoryError(f"{file} is damaged: it holds no mapping")
    return content


def _cost_and_seconds(directory: RunDirectory) -> tuple[float, float]:
    """RMSE of the scores [N m], and wall time of training [s]."""
    content = _read_metrics(directory)
    try:
        parts = content.get("folds", {"": content}).values()
        return float(content["rmse"]), float(sum(part["training_seconds"] for part in parts))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _damaged(directory, error) from error


def _damaged(directory: RunDirectory, error: Exception) -> RunDirectoryError:
    return RunDirectoryError(f"{directory.inside(run_files.METRICS)} is damaged: {error!r}")
