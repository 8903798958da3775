"""Run of the training of a correction on the motion of a joint, from logs to report."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup._version import __version__
from trueup.actuators.catalogue.parameter_file import save_model
from trueup.actuators.logs._process import resample_log
from trueup.actuators.search.run_logs import RunLogs
from trueup.networks.model.network_file import save_network
from trueup.networks.motion.base import SERVO as SERVO_KIND
from trueup.networks.motion.base_fit import fit_base
from trueup.networks.motion.logs import MotionLogs, correction_inputs
from trueup.networks.motion.result import MotionParts, MotionResult, motion_parts, scored
from trueup.networks.motion.simulated_training import (
    PACKAGES,
    bare_summary,
    has_checkpoint,
    outcome_of,
    report,
    saved_steps,
    train_in,
    write_scores,
)
from trueup.networks.motion.spec import MotionSpec
from trueup.networks.motion.trainer import MotionTrainer
from trueup.networks.motion.training import MotionTraining, checked_logs, train_motion
from trueup.runs import Execution, Outcome, RunDirectory, Session, atomic

NETWORK, SERVO, BASE = "network.safetensors", "servo.json", "base.json"
"""Files of a training: the correction; the servo model that it corrects; another base, or firmware
factors."""
_TIMED_STEPS = 3


@dataclass(frozen=True, eq=False)
class MotionInputs:
    """Logs of a training, read and checked."""

    source: RunLogs
    """Raw logs, with the hashes of their files."""
    parts: MotionParts
    """The logs at a constant rate, for training, validation and test."""


def run_motion(spec: MotionSpec, session: Session) -> Outcome:
    """Train a correction on the motion of a joint; errors as :func:`trueup.runs.start`."""
    inputs = prepare(spec)
    parts, settings = inputs.parts, spec.settings
    with session.begin(
        spec,
        [*inputs.source.inputs(), *([] if spec.catalogue is None else [spec.catalogue])],
        packages=PACKAGES,
        mark=spec.base.mark,
        has_progress=has_checkpoint,
        saved=saved_steps,
    ) as run:
        done = train_in(
            run,
            lambda hooks, checkpoint: train_motion(
                spec.base,
                parts.training,
                parts.validation,
                settings,
                hooks=hooks,
                checkpoint=checkpoint,
            ),
        )

        def judge(done: MotionTraining) -> Outcome:
            return outcome_of(spec, settings, scored(done, parts, run.directory.path))

        def write(outcome: Outcome) -> None:
            write_correction(run.directory, spec, inputs.source, outcome.result)
            write_scores(run.directory, outcome)

        return run.finish(
            done,
            bare=lambda done: bare_summary(spec),
            judge=judge,
            write=write,
            page=lambda outcome: report(run.directory),
        )


def plan_motion(spec: MotionSpec, execution: Execution) -> dict[str, Any]:
    """Plan of a training, with its largest duration [s]."""
    parts, settings = prepare(spec).parts, spec.settings
    logs, held = checked_logs(spec.base, parts.training, parts.validation, settings)
    base = fit_base(spec.base, logs, settings.identify_gains)
    trainer = MotionTrainer(base, logs, held, settings)
    seconds = []
    for horizon in settings.horizons:
        share = (settings.horizons.index(horizon) + 0.5) / len(settings.horizons)
        began = time.perf_counter()
        for _ in range(_TIMED_STEPS):
            trainer.step(share)
        seconds.append((time.perf_counter() - began) / _TIMED_STEPS)
    whole = float(np.mean(seconds)) * settings.max_steps
    names = ("training", "validation", "test")
    return {
        "settings": settings.to_dict(),
        "base": base.to_dict(),
        "base_words": base.words,
        "inputs": list(logs.inputs),
        "logs": {n: [log.name for log in getattr(parts, n)] for n in names},
        "angle_error": {"training": trainer.own_error, "validation": trainer.base_error},
        "steps": settings.max_steps,
        "step_seconds": seconds,
        "seconds": min(whole, settings.seconds),
        "trueup": __version__,
    }


def prepare(spec: MotionSpec) -> MotionInputs:
    """Read, check and split the logs.

    Raises:
        TrueupError: the logs cannot be read, split or trained on.
    """
    source = spec.run_logs()
    even = [log if log.dt is not None else resample_log(log) for log in source.logs]
    parts = motion_parts(even, test_kp=spec.test_kp, test=spec.test, validation=spec.validation)
    inputs = correction_inputs(spec.base, parts.training, spec.settings.inputs)
    MotionLogs.of(spec.base, (*parts.training, *parts.validation, *parts.test), inputs)
    checked_logs(spec.base, parts.training, parts.validation, spec.settings)
    return MotionInputs(source, parts)


def write_correction(
    directory: RunDirectory, spec: MotionSpec, source: RunLogs, result: MotionResult
) -> None:
    """Write base and correction; files of an earlier attempt are removed."""
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
        return
    hashes = {source.hash_of(log) for log in (*parts.training, *parts.validation)}
    training.network.provenance.update(
        target=f"correction of the torque of the {training.base.words}, trained on the motion",
        base=training.base.to_dict(),
        settings=spec.settings.to_dict(),
        trained_on=sorted(hashes),
    )
    save_network(training.network, file)
