"""Base of trainings through a simulator; :mod:`trueup.runs.job` says the order of the work."""

import re
from abc import abstractmethod
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import RunDirectoryError
from trueup.networks.motion.motion_report import ANGLES, motion_report
from trueup.networks.motion.motion_result import MotionResult
from trueup.networks.motion.motion_settings import MotionSettings
from trueup.networks.motion.motion_state import check_state, steps_and_seconds
from trueup.networks.motion.motion_training import MotionTraining
from trueup.networks.training.hooks import Interrupted, TrainingHooks
from trueup.reports import Page
from trueup.runs import Job, JobRun, Outcome, RunState
from trueup.runs.loop._interrupts import Interrupts
from trueup.runs.loop.progress import Progress
from trueup.runs.run_state import training_state
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory

METRICS = "metrics.json"
"""Scores and verdict."""
CHECKPOINT = "checkpoint.npz"
"""State that a stopped training goes on from."""


class SimulatedTraining(Job):
    """Training of corrections through simulated motion."""

    noun = "a training through the simulator"
    known_limits = ()
    searched = False
    packages = ("numpy", "torch", "safetensors")

    motion_settings: MotionSettings

    @abstractmethod
    def train(self, hooks: TrainingHooks, checkpoint: Path | None) -> MotionTraining:
        """Train; goes on from the checkpoint where there is one."""

    @abstractmethod
    def scored(self, done: MotionTraining, directory: Path | None) -> MotionResult:
        """The training scored on held-out motion."""

    @abstractmethod
    def write_networks(self, directory: RunDirectory, result: MotionResult) -> None:
        """Write the corrections and what is beneath them."""

    def check_execution(self) -> None:
        """Nothing is distributed."""

    def has_progress(self, directory: RunDirectory) -> bool:
        """Whether a checkpoint is there."""
        return directory.inside(CHECKPOINT).is_file()

    def solve(self, run: JobRun) -> MotionTraining:
        """Train; goes on from the checkpoint of the folder."""
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
                return self.train(hooks, file)
            except Interrupted:
                raise KeyboardInterrupt from None

    def stopped(self, directory: RunDirectory) -> str:
        """Saved part of a training that was stopped, in words."""
        steps, _ = steps_and_seconds(directory.inside(CHECKPOINT))
        return f"stopped after {steps} gradient steps, which are saved"

    def finish(self, run: JobRun, solution: MotionTraining) -> Outcome:
        """Scores and verdict on held-out motion."""
        result = self.scored(solution, run.directory.path)
        errors = list(result.errors.values())
        return Outcome(
            result,
            {
                "format_version": self.format_version,
                "kind": self.kind,
                "name": self.name,
                "status": "finished",
                "cost": float(np.mean(errors)),
                "stats": {"evaluations": solution.steps},
                "settings": asdict(self.motion_settings),
                **result.to_dict(),
            },
        )

    def write(self, run: JobRun, outcome: Outcome) -> None:
        """Write base, correction, scores, and the motion of the held-out logs."""
        directory, result = run.directory, outcome.result
        self.write_networks(directory, result)
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

    def bare_summary(self, solution: MotionTraining) -> dict[str, Any]:
        """Content of ``solution.json`` where the scores failed."""
        return {"kind": self.kind, "name": self.name, "status": "finished", "cost": None}

    @classmethod
    def report(cls, directory: RunDirectory) -> Page:
        """The report of a finished training."""
        return motion_report(directory.path)

    @classmethod
    def state(cls, directory: RunDirectory) -> RunState:
        """State of a training; its steps are its evaluations."""
        file, cost = directory.inside(METRICS), None
        steps, seconds = steps_and_seconds(directory.inside(CHECKPOINT))
        if file.is_file():
            content = atomic.read_json(file)
            cost = content.get("cost") if isinstance(content, dict) else None
        return training_state(
            directory,
            cls.kind,
            finished=cost is not None,
            cost=cost,
            steps=steps,
            seconds=seconds,
        )

    @classmethod
    def compared(cls, directory: RunDirectory) -> dict[str, Any]:
        """Angle errors of a finished training; it has no parameters to compare."""
        file = directory.inside(METRICS)
        if not file.is_file():
            raise RunDirectoryError(
                f"{directory.path} has no {METRICS}: the training did not finish; continue it "
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


def file_name(name: str) -> str:
    """Name as a part of a file's name."""
    return re.sub(r"[^\w.+-]", "_", name).lstrip(".") or "_"
