"""A training over the joints of a MuJoCo model, from its recordings to its report."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup._version import __version__
from trueup.networks.model.network_file import save_network
from trueup.networks.motion.of_model.spec import ModelMotionSpec
from trueup.networks.motion.of_model.training import (
    ModelParts,
    model_parts,
    model_trainer,
    scored_model,
    train_model,
)
from trueup.networks.motion.result import MotionResult
from trueup.networks.motion.simulated_training import (
    PACKAGES,
    bare_summary,
    file_name,
    has_checkpoint,
    outcome_of,
    report,
    saved_steps,
    train_in,
    write_scores,
)
from trueup.networks.motion.training import MotionTraining
from trueup.runs import Execution, Outcome, RunDirectory, Session, atomic
from trueup.simulation.engine.warning_capture import captured_warnings
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.experiment.preparation import prepare as prepare_experiment
from trueup.sysid.experiment.run_inputs import mark_of_models

BASE = "base.json"
"""File of the base model of the corrections."""

_TIMED_STEPS = 2


@dataclass(frozen=True, eq=False)
class ModelInputs:
    """Model and recordings of a training, read and checked."""

    prepared: Prepared
    parts: ModelParts
    """Recordings for training, validation and test."""
    mark: str | None
    """Warning for every result based on the model; None without one."""


def run_model_motion(spec: ModelMotionSpec, session: Session) -> Outcome:
    """Train a correction for each joint of a model; errors as :func:`trueup.runs.start`."""
    inputs = prepare(spec)
    parts, settings = inputs.parts, spec.settings
    with session.begin(
        spec,
        inputs.prepared.inputs,
        packages=PACKAGES,
        folder=spec.folder,
        mark=inputs.mark,
        has_progress=has_checkpoint,
        saved=saved_steps,
    ) as run:
        done = train_in(
            run, lambda hooks, checkpoint: train_model(parts, settings, hooks, checkpoint)
        )

        def judge(done: MotionTraining) -> Outcome:
            return outcome_of(spec, settings, scored_model(done, parts, run.directory.path))

        def write(outcome: Outcome) -> None:
            write_corrections(run.directory, spec, parts, outcome.result)
            write_scores(run.directory, outcome)

        return run.finish(
            done,
            bare=lambda done: bare_summary(spec),
            judge=judge,
            write=write,
            page=lambda outcome: report(run.directory),
        )


def plan_model_motion(spec: ModelMotionSpec, execution: Execution) -> dict[str, Any]:
    """Plan of a training, with its largest duration [s]."""
    parts, settings = prepare(spec).parts, spec.settings
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
        "settings": settings.to_dict(),
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


def prepare(spec: ModelMotionSpec) -> ModelInputs:
    """Read, check and split the recordings.

    Raises:
        TrueupError: model or recordings are unusable, or the inputs of the run of the model have
            changed.
    """
    mark = mark_of_models(spec.experiment, spec.folder, anyway=spec.anyway)
    prepared = prepare_experiment(spec.experiment, spec.folder, needs_parameters=False)
    return ModelInputs(prepared, model_parts(prepared, spec.settings, spec.validation), mark)


def network_name(joint: str) -> str:
    """File name of the correction of a joint."""
    return f"network_{file_name(joint)}.safetensors"


def write_corrections(
    directory: RunDirectory, spec: ModelMotionSpec, parts: ModelParts, result: MotionResult
) -> None:
    """Write the correction of each joint, and the base model."""
    training = result.training
    atomic.write_json(directory.inside(BASE), training.base.to_dict())
    for joint in parts.training.joints:
        directory.inside(network_name(joint)).unlink(missing_ok=True)
    if training.network is None:
        return
    for joint, network in training.network.networks.items():
        network.provenance.update(
            target=f"correction of the torque of the joint {joint} of a model, trained by the "
            "motion",
            base=training.base.to_dict(),
            settings=spec.settings.to_dict(),
            trained_on=[*parts.training.names, *parts.validation.names],
        )
        save_network(network, directory.inside(network_name(joint)))
