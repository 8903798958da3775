"""A training over the joints of a MuJoCo model as a piece of work."""

import functools
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from trueup._version import __version__
from trueup.errors import RunDirectoryError
from trueup.networks.model.network_file import save_network
from trueup.networks.motion.model_training import (
    ModelParts,
    model_parts,
    model_trainer,
    scored_model,
    train_model,
)
from trueup.networks.motion.motion_result import MotionResult
from trueup.networks.motion.motion_settings import MotionSettings
from trueup.networks.motion.motion_training import MotionTraining
from trueup.networks.motion.simulated_training import SimulatedTraining, file_name
from trueup.networks.plain_settings import build_settings
from trueup.networks.training.hooks import TrainingHooks
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory
from trueup.simulation.engine.warning_capture import captured_warnings
from trueup.sysid.experiment.preparation import Prepared, prepare
from trueup.sysid.experiment.run_inputs import inputs_of_run, mark_of_models
from trueup.sysid.experiment.settings import Experiment

BASE = "base.json"
"""The model beneath the corrections."""

_TIMED_STEPS = 2


def network_name(joint: str) -> str:
    """File of the correction of a joint."""
    return f"network_{file_name(joint)}.safetensors"


class ModelMotionJob(SimulatedTraining):
    """Training of a correction for each joint of the model of an experiment.

    Args:
        experiment: the experiment; it needs no parameters. What it holds out tests.
        folder: folder that its file names refer to.
        settings: of networks and training.
        validation: recordings that the corrections are chosen by.
        name: name of the run; that of the experiment where empty.
        anyway: take an identified model whose run has other inputs by now too; every file says so.
    """

    kind = "model motion"

    def __init__(
        self,
        experiment: Experiment,
        folder: Path,
        settings: MotionSettings | None = None,
        *,
        validation: Sequence[str] = (),
        name: str = "",
        anyway: bool = False,
    ):
        self.experiment, self.folder = experiment, folder
        self.motion_settings = settings or MotionSettings()
        self.validation = [str(each) for each in validation]
        self.name, self.seed = name or experiment.name, self.motion_settings.seed
        self.anyway = anyway
        self._mark: str | None = None

    def plain(self, directory: Path) -> dict[str, Any]:
        """Experiment, settings, and where the files are."""
        assert self.folder is not None
        return {
            "name": self.name,
            "folder": os.path.relpath(self.folder, directory),
            "validation": self.validation,
            "anyway": self.anyway,
            "settings": atomic.to_plain(asdict(self.motion_settings)),
            "experiment": self.experiment.model_dump(mode="json"),
        }

    @classmethod
    def from_plain(
        cls, content: dict[str, Any], directory: RunDirectory, folder: Path | None
    ) -> "ModelMotionJob":
        """The training of a run directory, with its own settings."""
        try:
            experiment = Experiment.model_validate(content["experiment"])
            settings = dict(content["settings"])
            validation = [str(each) for each in content["validation"]]
        except (KeyError, TypeError, ValueError, ValidationError) as error:
            first = str(error).splitlines()[0]
            raise RunDirectoryError(f"{directory.experiment} is damaged: {first}") from error
        settings |= {name: tuple(settings.get(name) or ()) for name in ("horizons", "inputs")}
        return cls(
            *inputs_of_run(directory, content.get("folder"), folder, experiment),
            build_settings(MotionSettings, settings, "settings"),
            validation=validation,
            name=str(content.get("name") or directory.path.name),
            anyway=bool(content.get("anyway")),
        )

    def identity(self) -> dict[str, Any]:
        """Settings that a resumed run must have been started with."""
        return {
            "experiment": self.experiment.model_dump(mode="json", exclude={"output"}),
            "settings": asdict(self.motion_settings),
            "validation": self.validation,
        }

    @functools.cached_property
    def prepared(self) -> Prepared:
        """Model and recordings, read once."""
        assert self.folder is not None
        found = prepare(self.experiment, self.folder, needs_parameters=False)
        self.notes = found.notes
        return found

    @functools.cached_property
    def parts(self) -> ModelParts:
        """Recordings to learn from, to choose by and to judge on."""
        return model_parts(self.prepared, self.motion_settings, self.validation)

    def inputs(self) -> Sequence[Path | Mapping[str, Any]]:
        """Files of model and recordings."""
        return self.prepared.inputs

    def prepare(self) -> None:
        """Read, check and split the recordings."""
        assert self.folder is not None
        self._mark = mark_of_models(self.experiment, self.folder, anyway=self.anyway)
        _ = self.parts

    @property
    def mark(self) -> str | None:
        """What is said of the model."""
        return self._mark

    def train(self, hooks: TrainingHooks, checkpoint: Path | None) -> MotionTraining:
        """Train; goes on from the checkpoint where there is one."""
        return train_model(self.parts, self.motion_settings, hooks, checkpoint)

    def scored(self, done: MotionTraining, directory: Path | None) -> MotionResult:
        """The training scored on what is held out."""
        return scored_model(done, self.parts, directory)

    def write_networks(self, directory: RunDirectory, result: MotionResult) -> None:
        """Write the correction of each joint, and what is beneath them."""
        training = result.training
        atomic.write_json(directory.inside(BASE), training.base.to_dict())
        for joint in self.parts.training.joints:
            directory.inside(network_name(joint)).unlink(missing_ok=True)
        if training.network is None:
            return
        for joint, network in training.network.networks.items():
            network.provenance.update(
                target=f"correction of the torque of the joint {joint} of a model, trained by the "
                "motion",
                base=training.base.to_dict(),
                settings=asdict(self.motion_settings),
                trained_on=[*self.parts.training.names, *self.parts.validation.names],
            )
            save_network(network, directory.inside(network_name(joint)))

    def plan(self) -> dict[str, Any]:
        """Plan of the training, and the time that it takes at most."""
        parts, settings = self.parts, self.motion_settings
        seconds = []
        with captured_warnings():
            trainer = model_trainer(parts, settings)
            for place in range(len(settings.horizons)):
                began = time.perf_counter()
                for _ in range(_TIMED_STEPS):
                    trainer.step((place + 0.5) / len(settings.horizons))
                seconds.append((time.perf_counter() - began) / _TIMED_STEPS)
        whole = float(np.mean(seconds)) * settings.max_steps
        logs = {"training": parts.training, "validation": parts.validation, "test": parts.test}
        return {
            "settings": asdict(settings),
            "base": parts.base.to_dict(),
            "base_words": parts.base.words,
            "joints": list(parts.training.joints),
            "inputs": list(parts.training.inputs),
            "logs": {n: [] if each is None else list(each.names) for n, each in logs.items()},
            "angle_error": {"training": trainer.own_error, "validation": trainer.base_error},
            "steps": settings.max_steps,
            "step_seconds": seconds,
            "seconds": min(whole, settings.seconds),
            "trueup": __version__,
        }
