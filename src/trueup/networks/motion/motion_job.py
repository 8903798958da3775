"""A training through the simulator as a piece of work; :mod:`trueup.runs.job` says the order."""

import functools
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from trueup._version import __version__
from trueup.actuators.catalogue.parameter_file import save_model
from trueup.actuators.logs._process import resample_log
from trueup.actuators.search.run_logs import Logs, RunLogs
from trueup.errors import RunDirectoryError, listing
from trueup.networks.model.network_file import save_network
from trueup.networks.motion.base_fit import fit_base
from trueup.networks.motion.motion_base import SERVO as SERVO_KIND
from trueup.networks.motion.motion_base import Joint, MotionBase
from trueup.networks.motion.motion_logs import MotionLogs, correction_inputs
from trueup.networks.motion.motion_result import (
    MotionParts,
    MotionResult,
    motion_parts,
    scored,
)
from trueup.networks.motion.motion_settings import MotionSettings
from trueup.networks.motion.motion_trainer import MotionTrainer
from trueup.networks.motion.motion_training import (
    MotionTraining,
    checked_logs,
    train_motion,
)
from trueup.networks.motion.simulated_training import SimulatedTraining
from trueup.networks.plain_settings import build_settings
from trueup.networks.training.hooks import TrainingHooks
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory

NETWORK, SERVO, BASE = "network.safetensors", "servo.json", "base.json"
"""Files of a training: the correction; the servo model beneath it; another base, or the factors of
its gains."""
_TIMED_STEPS = 3


class MotionJob(SimulatedTraining):
    """Training of a correction of a joint's torque through its simulated motion.

    Args:
        base: model beneath the correction, see :func:`train_motion`.
        logs: logs, or where they are.
        settings: of network and training.
        name: name of the run.
        test_kp, test, validation: see :func:`motion_parts`.
    """

    kind = "motion"

    def __init__(
        self,
        base: Joint | MotionBase | str,
        logs: Logs | RunLogs,
        settings: MotionSettings | None = None,
        *,
        name: str = "motion",
        test_kp: Sequence[float] = (),
        test: Sequence[str] = (),
        validation: Sequence[str] = (),
    ):
        self.base, self.motion_settings = MotionBase.of(base), settings or MotionSettings()
        self.source = logs if isinstance(logs, RunLogs) else RunLogs(logs, uniform=False)
        self.name, self.seed = name, self.motion_settings.seed
        self.named = {
            "test_kp": [float(each) for each in test_kp],
            "test": list(test),
            "validation": list(validation),
        }

    # --- experiment.yaml -------------------------------------------------------------------------

    def plain(self, directory: Path) -> dict[str, Any]:
        """Base, settings and parts, and where the logs are."""
        return {
            "name": self.name,
            "base": atomic.to_plain(self.base.to_dict()),
            **self.source.plain(directory),
            "parts": self.named,
            "settings": atomic.to_plain(asdict(self.motion_settings)),
        }

    @classmethod
    def from_plain(
        cls, content: dict[str, Any], directory: RunDirectory, folder: Path | None
    ) -> "MotionJob":
        """The training of a run directory, with its own settings."""
        needed = ("base", "parts", "settings")
        if missing := [key for key in needed if not isinstance(content.get(key), dict)]:
            raise RunDirectoryError(
                f"{directory.experiment} is damaged: it lacks {listing(missing)}. Start the "
                "training again with --overwrite"
            )
        settings = dict(content["settings"])
        settings |= {name: tuple(settings.get(name) or ()) for name in ("horizons", "inputs")}
        return cls(
            MotionBase.from_dict(content["base"], str(directory.experiment)),
            RunLogs.from_plain(content, directory, folder, uniform=False),
            build_settings(MotionSettings, settings, "settings"),
            name=str(content.get("name") or directory.path.name),
            **content["parts"],
        )

    def identity(self) -> dict[str, Any]:
        """Settings that a resumed run must have been started with."""
        return {
            "base": self.base.to_dict(),
            "settings": asdict(self.motion_settings),
            "parts": self.named,
        }

    # --- inputs ----------------------------------------------------------------------------------

    @functools.cached_property
    def parts(self) -> MotionParts:
        """Logs to learn from, to choose by and to judge on; read once."""
        if self.source.place is None and not self.source.logs:
            raise RunDirectoryError(
                "the logs of this training were given in Python: continue it there, with "
                "run_motion_training(..., resume=True)"
            )
        even = [log if log.dt is not None else resample_log(log) for log in self.source.logs]
        return motion_parts(even, **self.named)

    @property
    def mark(self) -> str | None:
        """What is said of the base."""
        return self.base.mark

    def inputs(self) -> Sequence[Path | Mapping[str, Any]]:
        """Files of the logs."""
        return self.source.inputs()

    def input_files(self) -> Sequence[Path]:
        """Folder or files of the logs."""
        return self.source.files()

    def prepare(self) -> None:
        """Read, check and split the logs."""
        parts, settings = self.parts, self.motion_settings
        inputs = correction_inputs(self.base, parts.training, settings.inputs)
        MotionLogs.of(self.base, (*parts.training, *parts.validation, *parts.test), inputs)
        checked_logs(self.base, parts.training, parts.validation, settings)

    # --- training and result ---------------------------------------------------------------------

    def train(self, hooks: TrainingHooks, checkpoint: Path | None) -> MotionTraining:
        """Train; goes on from the checkpoint where there is one."""
        return train_motion(
            self.base,
            self.parts.training,
            self.parts.validation,
            self.motion_settings,
            hooks=hooks,
            checkpoint=checkpoint,
        )

    def scored(self, done: MotionTraining, directory: Path | None) -> MotionResult:
        """The training scored on held-out logs."""
        return scored(done, self.parts, directory)

    def write_networks(self, directory: RunDirectory, result: MotionResult) -> None:
        """Write base and correction."""
        training, parts = result.training, result.parts
        for name in (SERVO, BASE):
            directory.inside(name).unlink(missing_ok=True)
        if training.base.kind == SERVO_KIND:
            save_model(training.servo, directory.inside(SERVO))
        if training.base.kind != SERVO_KIND or training.base.gains:
            atomic.write_json(directory.inside(BASE), training.base.to_dict())
        file = directory.inside(NETWORK)
        if training.network is None:
            file.unlink(missing_ok=True)
        else:
            hashes = {self.source.hash_of(log) for log in (*parts.training, *parts.validation)}
            training.network.provenance.update(
                target=f"correction of the torque of the {training.base.words}, trained by the "
                "motion",
                base=training.base.to_dict(),
                settings=asdict(self.motion_settings),
                trained_on=sorted(hashes),
            )
            save_network(training.network, file)

    def plan(self) -> dict[str, Any]:
        """Plan of the training, and the time that it takes at most."""
        parts, settings = self.parts, self.motion_settings
        logs, held = checked_logs(self.base, parts.training, parts.validation, settings)
        base = fit_base(self.base, logs, settings.identify_gains)
        trainer = MotionTrainer(base, logs, held, settings)
        seconds = []
        for horizon in settings.horizons:
            share = (settings.horizons.index(horizon) + 0.5) / len(settings.horizons)
            began = time.perf_counter()
            for _ in range(_TIMED_STEPS):
                trainer.step(share)
            seconds.append((time.perf_counter() - began) / _TIMED_STEPS)
        whole = float(np.mean(seconds)) * settings.max_steps
        return {
            "settings": asdict(settings),
            "base": base.to_dict(),
            "base_words": base.words,
            "inputs": list(logs.inputs),
            "logs": {n: [log.name for log in getattr(parts, n)] for n in self.part_names},
            "angle_error": {"training": trainer.own_error, "validation": trainer.base_error},
            "steps": settings.max_steps,
            "step_seconds": seconds,
            "seconds": min(whole, settings.seconds),
            "trueup": __version__,
        }

    part_names = ("training", "validation", "test")
