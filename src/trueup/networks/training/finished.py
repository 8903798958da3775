"""State, scores and report of a training from its directory."""

from typing import Any

import numpy as np

from trueup.errors import RunDirectoryError
from trueup.networks.evaluation.report import training_report
from trueup.networks.training import run_files
from trueup.reports import Page
from trueup.runs import RunState
from trueup.runs.run_state import training_state
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory


def report(directory: RunDirectory) -> Page:
    """The report of a finished training."""
    return training_report(directory.path)


def state(directory: RunDirectory, kind: str) -> RunState:
    """State of a training; epochs count as evaluations, results are in ``metrics.json``."""
    finished, cost, seconds = directory.inside(run_files.METRICS).is_file(), None, 0.0
    if finished:
        cost, seconds = _cost_and_seconds(directory)
    steps = epochs_of(directory)
    return training_state(
        directory, kind, finished=finished, cost=cost, steps=steps, seconds=seconds
    )


def compared(directory: RunDirectory) -> dict[str, Any]:
    """Scores of a finished training, which has no parameters to compare."""
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


def epochs_of(directory: RunDirectory) -> int:
    """Number of epochs of a run over all folds and members."""
    epochs = 0
    for history in directory.path.rglob(run_files.HISTORY):
        with history.open("rb") as lines:
            epochs += sum(1 for _ in lines)
    return epochs


def _cost_and_seconds(directory: RunDirectory) -> tuple[float, float]:
    """RMSE of the scores [N m], and wall time of training [s]."""
    content = _read_metrics(directory)
    try:
        parts = content.get("folds", {"": content}).values()
        return float(content["rmse"]), float(sum(part["training_seconds"] for part in parts))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _damaged(directory, error) from error


def _read_metrics(directory: RunDirectory) -> dict[str, Any]:
    file = directory.inside(run_files.METRICS)
    if not file.is_file():
        raise RunDirectoryError(
            f"{directory.path} has no {run_files.METRICS}: the training is not finished; resume "
            f"it with  trueup study resume {directory.path}"
        )
    content = atomic.read_json(file)
    if not isinstance(content, dict):
        raise RunDirectoryError(f"{file} is damaged: expected a mapping")
    return content


def _damaged(directory: RunDirectory, error: Exception) -> RunDirectoryError:
    return RunDirectoryError(f"{directory.inside(run_files.METRICS)} is damaged: {error!r}")
