"""Common parts of both trainings through the simulator: training, files, state, scores."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import RunDirectoryError
from trueup.networks.motion.checkpoint import check_state, steps_and_seconds
from trueup.networks.motion.report import ANGLES, motion_report
from trueup.networks.motion.result import MotionResult
from trueup.networks.motion.settings import MotionSettings
from trueup.networks.motion.training import MotionTraining
from trueup.networks.training.hooks import Interrupted, TrainingHooks
from trueup.reports import Page
from trueup.runs import Outcome, Run, RunDirectory, RunState, Spec, atomic
from trueup.runs.loop._interrupts import Interrupts
from trueup.runs.loop.progress import Progress
from trueup.runs.run_state import training_state

PACKAGES = ("numpy", "torch", "safetensors")
"""Distributions with versions recorded by a training."""
METRICS = "metrics.json"
"""File of scores and verdict."""
CHECKPOINT = "checkpoint.npz"
"""File of the state from which a stopped training resumes."""

# --- training ------------------------------------------------------------------------------------


def train_in(run: Run, train: Callable[[TrainingHooks, Path], MotionTraining]) -> MotionTraining:
    """Train in a run directory; resumes from its checkpoint.

    Args:
        run: the run.
        train: training function of hooks and the file of the checkpoint.

    Raises:
        RunDirectoryError: the checkpoint is damaged.
        KeyboardInterrupt: Ctrl-C; the state is saved.
    """
    file = run.directory.inside(CHECKPOINT)
    check_state(file)
    run.describe()
    with Interrupts(run.verbose, "step") as interrupts, Progress(run.verbose) as progress:
        hooks = TrainingHooks(
            progress=progress.update,
            stop=lambda: interrupts.requested is not None,
            stop_at_once=lambda: interrupts.at_once,
        )
        try:
            return train(hooks, file)
        except Interrupted:
            raise KeyboardInterrupt from None


def has_checkpoint(directory: RunDirectory) -> bool:
    """Whether a failed run has saved gradient steps."""
    return directory.inside(CHECKPOINT).is_file()


def saved_steps(directory: RunDirectory) -> str:
    """Text about the saved steps of a stopped training."""
    steps, _ = steps_and_seconds(directory.inside(CHECKPOINT))
    return f"stopped after {steps} gradient steps, which are saved"


# --- result --------------------------------------------------------------------------------------


def outcome_of(spec: Spec, settings: MotionSettings, result: MotionResult) -> Outcome:
    """Outcome of a training scored on held-out motion."""
    return Outcome(
        result,
        {
            "format_version": 1,
            **bare_summary(spec),
            "cost": float(np.mean(list(result.errors.values()))),
            "stats": {"evaluations": result.training.steps},
            "settings": settings.to_dict(),
            **result.to_dict(),
        },
    )


def bare_summary(spec: Spec) -> dict[str, Any]:
    """Content of ``solution.json`` without scores, where scoring failed."""
    return {"kind": spec.kind, "name": spec.name, "status": "finished", "cost": None}


def write_scores(directory: RunDirectory, outcome: Outcome) -> None:
    """Write the scores, and the motion of each held-out log [rad] as CSV."""
    result: MotionResult = outcome.result
    place = directory.path / ANGLES
    place.mkdir(exist_ok=True)
    for log in result.parts.test or result.parts.validation:
        angles = (result.base_motions[log.name].position, result.motions[log.name].position)
        columns = {"time_s": log.times, "recorded_rad": log.position}
        columns |= dict(zip(("base_rad", "corrected_rad"), angles, strict=True))
        lines = [",".join(columns)]
        lines += [",".join(f"{v:.9g}" for v in row) for row in np.stack([*columns.values()], 1)]
        atomic.write_text(place / f"{file_name(log.name)}.csv", "\n".join(lines) + "\n")
    atomic.write_json(directory.inside(METRICS), outcome.summary)


def file_name(name: str) -> str:
    """Name with characters allowed in file names."""
    return re.sub(r"[^\w.+-]", "_", name).lstrip(".") or "_"


# --- state and report of a directory -------------------------------------------------------------


def report(directory: RunDirectory) -> Page:
    """The report of a finished training."""
    return motion_report(directory.path)


def state(directory: RunDirectory, kind: str) -> RunState:
    """State of a training; gradient steps count as evaluations."""
    file, cost = directory.inside(METRICS), None
    steps, seconds = steps_and_seconds(directory.inside(CHECKPOINT))
    if file.is_file():
        content = atomic.read_json(file)
        cost = content.get("cost") if isinstance(content, dict) else None
    return training_state(
        directory, kind, finished=cost is not None, cost=cost, steps=steps, seconds=seconds
    )


def compared(directory: RunDirectory) -> dict[str, Any]:
    """Angle errors of a finished training, which has no parameters to compare."""
    file = directory.inside(METRICS)
    if not file.is_file():
        raise RunDirectoryError(
            f"{directory.path} has no {METRICS}: the training is not finished; resume it "
            f"with  trueup study resume {directory.path}"
        )
    content = atomic.read_json(file)
    try:
        part = "test" if content["logs"]["test"] else "validation"
        scores = [
            {"part": part, "channel": f"angle of {n}", "predictor": "identified",
             "rmse": each["corrected"],
             "fit_percent": 100.0 * (1.0 - each["corrected"] / (each["deviation"] or 1.0))}
            for n, each in content["test"].items()
        ]  # fmt: skip
        return {
            "parameters": [],
            "status": "finished",
            "cost": content["cost"],
            "scores": scores,
            "verdict": content["verdict"],
        }
    except (AttributeError, KeyError, TypeError) as error:
        raise RunDirectoryError(f"{file} is damaged: {error!r}") from error
