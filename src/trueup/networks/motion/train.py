"""Training of corrections of joints through simulated motion, from the logs to the report."""

import os
from collections.abc import Sequence
from pathlib import Path

from trueup import runs
from trueup.actuators.search.run_logs import Logs
from trueup.errors import RunDirectoryError
from trueup.networks.motion.base import Joint, MotionBase
from trueup.networks.motion.of_model.run import prepare as prepare_model
from trueup.networks.motion.of_model.run import run_model_motion
from trueup.networks.motion.of_model.spec import ModelMotionSpec
from trueup.networks.motion.of_model.training import scored_model, train_model
from trueup.networks.motion.result import MotionResult, scored
from trueup.networks.motion.run import prepare, run_motion
from trueup.networks.motion.settings import MotionSettings
from trueup.networks.motion.spec import MotionSpec
from trueup.networks.motion.training import train_motion
from trueup.networks.training.hooks import TrainingHooks
from trueup.runs import Outcome
from trueup.runs.kinds import kind_of, noun_of
from trueup.runs.loop.progress import Progress
from trueup.runs.store.run_directory import RunDirectory
from trueup.sysid.experiment.file import load_experiment
from trueup.sysid.experiment.settings import Experiment


def run_motion_training(
    base: Joint | MotionBase | str,
    logs: Logs,
    directory: str | os.PathLike[str] | None = None,
    *,
    settings: MotionSettings | None = None,
    test_kp: Sequence[float] = (),
    test: Sequence[str] = (),
    validation: Sequence[str] = (),
    catalogue: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    verbose: bool = True,
) -> MotionResult:
    """Train a correction of a joint's torque as ``trueup network train-motion`` does.

    ``network.safetensors`` of the run directory contains the torque correction of the servo model
    in ``servo.json`` or the base in ``base.json``; it is absent where no correction is at least 1 %
    better on validation logs. ``trueup study resume`` resumes the run, ``trueup report`` renders
    its
    report::

        model = actuators.load_model("m4.json")
        result = networks.run_motion_training(model, "logs", "runs/knee")
        print(*result.verdict.lines(), sep="\\n")

    Args:
        base: the base model, also the baseline: a servo model, a :class:`PdJoint`, ``pd`` for a PD
            joint identified from the training logs, or ``none``.
        logs: logs or their paths; raw ones are resampled to 5 ms.
        directory: run directory; without it nothing is written.
        settings: settings of network and training.
        test_kp, test, validation: see :func:`motion_parts`.
        catalogue: YAML file with the servo of ``base``, if it is not one of the package; a resumed
            run reads it again.
        resume: resume the run in ``directory``, with the same arguments.
        overwrite: replace the run in ``directory``.
        verbose: show progress on the error stream.

    Raises:
        TrueupError: logs, model or run directory are unusable.
        RunInterrupted: Ctrl-C; the state is saved.
    """
    spec = MotionSpec.of(
        base,
        logs,
        settings,
        name=Path(directory).name if directory is not None else "motion",
        test_kp=test_kp,
        test=test,
        validation=validation,
        catalogue=None if catalogue is None else Path(catalogue),
    )
    if directory is None:
        _refuse_resume(resume)
        parts = prepare(spec).parts
        with Progress(verbose) as progress:
            hooks = TrainingHooks(progress=progress.update)
            done = train_motion(
                spec.base, parts.training, parts.validation, spec.settings, hooks=hooks
            )
        return scored(done, parts)
    target = _target(directory)
    return runs.start(
        run_motion, spec, target, resume=resume, overwrite=overwrite, verbose=verbose
    ).result


def run_model_training(
    experiment: Experiment | str | os.PathLike[str],
    directory: str | os.PathLike[str] | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    settings: MotionSettings | None = None,
    validation: Sequence[str] = (),
    resume: bool = False,
    overwrite: bool = False,
    anyway: bool = False,
    verbose: bool = True,
) -> MotionResult:
    """Train corrections of a MuJoCo model's joints as ``trueup network train-motion`` does.

    Each joint has a separate network, of its angle and velocity; its torque is added to that of
    the actuators of the model. It is saved as ``network_JOINT.safetensors`` in the run directory.
    The parameters of the model are fixed: identify them first.

    Args:
        experiment: experiment file, or the result of :func:`trueup.sysid.load_experiment`;
            parameters are optional. Its held-out recordings are the test.
        directory: run directory; without it nothing is written.
        folder: base of its relative paths; by default that of the file, else the working folder.
        settings: settings of networks and training.
        validation: validation recordings; empty: the one whose motion has the largest overlap with
            the others.
        resume: resume the run in ``directory``, with the same arguments.
        overwrite: replace the run in ``directory``.
        anyway: also accept a model whose inputs have changed since its run; every file records
            this.
        verbose: show progress on the error stream.

    Raises:
        TrueupError: experiment, recordings or run directory are unusable.
        RunInterrupted: Ctrl-C; the state is saved.
    """
    place = Path("." if folder is None else folder)
    if not isinstance(experiment, Experiment):
        place = place if folder is not None else Path(experiment).parent
        experiment = load_experiment(experiment)
    spec = ModelMotionSpec.of(experiment, place, settings, validation=validation, anyway=anyway)
    if directory is None:
        _refuse_resume(resume)
        parts = prepare_model(spec).parts
        with Progress(verbose) as progress:
            done = train_model(parts, spec.settings, TrainingHooks(progress=progress.update))
        return scored_model(done, parts)
    return runs.start(
        run_model_motion,
        spec,
        _target(directory),
        resume=resume,
        overwrite=overwrite,
        verbose=verbose,
    ).result


def resume_motion_training(directory: str | os.PathLike[str], *, verbose: bool = True) -> Outcome:
    """Resume a training with the settings of its run.

    Raises:
        RunDirectoryError: the folder contains no such training, or its logs are missing or changed.
        RunInterrupted: Ctrl-C; the state is saved.
    """
    opened = RunDirectory.open(directory)
    if kind_of(opened) not in (MotionSpec.kind, ModelMotionSpec.kind):
        raise RunDirectoryError(
            f"{opened.path} is {noun_of(kind_of(opened))}, not {MotionSpec.noun}"
        )
    return runs.resume(opened, verbose=verbose)


def _target(directory: str | os.PathLike[str]) -> Path:
    """Absolute path of the run directory, for messages."""
    return Path(directory).expanduser().resolve()


def _refuse_resume(resume: bool) -> None:
    if resume:
        raise RunDirectoryError("resume requires the run directory: set directory")
