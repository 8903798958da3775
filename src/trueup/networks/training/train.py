"""Trains a network in a run directory, from the recordings to the report."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from trueup import runs
from trueup.errors import ExperimentError, RunDirectoryError
from trueup.networks.training.configuration import TrainingConfiguration, load_configuration
from trueup.networks.training.run import TrainingResult, run_network
from trueup.networks.training.spec import TrainingSpec
from trueup.runs import Outcome, read_spec
from trueup.runs.kinds import kind_of, noun_of
from trueup.runs.store.run_directory import RunDirectory


def train(
    configuration: TrainingConfiguration | Sequence[str] = (),
    directory: str | os.PathLike[str] | None = None,
    *,
    file: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    anyway: bool = False,
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
        anyway: take a servo of a fit whose logs have changed since too; every file says so.
        verbose: show progress on the error stream.

    Raises:
        TrueupError: the configuration, the recordings or the run directory cannot be used.
        TrainingInterrupted: Ctrl-C; the best network so far is kept.
    """
    if resume:
        given = isinstance(configuration, TrainingConfiguration) or bool(configuration)
        if given or file is not None or overwrite or directory is None:
            raise ExperimentError(
                "a resumed training keeps its own settings: give the run directory and resume=True "
                "alone"
            )
        return resume_training(directory, verbose=verbose).result
    if not isinstance(configuration, TrainingConfiguration):
        configuration = load_configuration(configuration, file, anyway=anyway)
    elif file is not None:
        raise ExperimentError("give a checked configuration, or overrides and a file")
    return start_training(configuration, directory, overwrite=overwrite, verbose=verbose).result


def run_training(
    configuration: TrainingConfiguration,
    output: str | os.PathLike[str] | None = None,
    *,
    resume: bool = False,
    overwrite: bool = False,
    verbose: bool = True,
) -> TrainingResult:
    """Check the recordings, train as a configuration says and write the run directory.

    Args:
        configuration: configuration; ``resumed_configuration`` reads that of a run to continue.
        output: run directory; where absent, a new one under ``outputs_dir``, named by the time.
        resume: continue the run that ``output`` holds, with this configuration.
        overwrite: replace the run that ``output`` holds.
        verbose: show progress on the error stream.

    Raises:
        TrueupError: the recordings or the run directory cannot be used, before time is spent.
        TrainingInterrupted: Ctrl-C; the best network so far is kept.
    """
    return start_training(
        configuration, output, resume=resume, overwrite=overwrite, verbose=verbose
    ).result


def start_training(
    configuration: TrainingConfiguration,
    output: str | os.PathLike[str] | None = None,
    *,
    resume: bool = False,
    overwrite: bool = False,
    verbose: bool = True,
) -> Outcome:
    """The outcome of ``run_training``, with the content of ``solution.json``."""
    spec, target = training_spec(configuration, output)
    return runs.start(
        run_network, spec, target, resume=resume, overwrite=overwrite, verbose=verbose
    )


def resume_training(
    directory: str | os.PathLike[str] | RunDirectory, *, verbose: bool = True
) -> Outcome:
    """Continue a training with its own settings.

    Raises:
        RunDirectoryError: the folder holds no training, or its recordings have changed.
        TrainingInterrupted: Ctrl-C; the best network so far is kept.
    """
    opened = directory if isinstance(directory, RunDirectory) else RunDirectory.open(directory)
    _check_kind(opened)
    return runs.resume(opened, verbose=verbose)


def resumed_configuration(directory: RunDirectory) -> TrainingConfiguration:
    """Configuration of a run that is to be continued.

    Raises:
        RunDirectoryError: the folder is no training run, or a file of it is damaged.
    """
    _check_kind(directory)
    spec = read_spec(directory)
    assert isinstance(spec, TrainingSpec)
    return spec.configuration


def _check_kind(directory: RunDirectory) -> None:
    if kind_of(directory) != TrainingSpec.kind:
        raise RunDirectoryError(
            f"{directory.path} is {noun_of(kind_of(directory))}, not {TrainingSpec.noun}"
        )


def training_spec(
    configuration: TrainingConfiguration, output: str | os.PathLike[str] | None = None
) -> tuple[TrainingSpec, Path]:
    """The spec of a training with a configuration, and its run directory."""
    if output is not None:
        target = Path(output).expanduser().resolve()
    else:
        base = configuration.folder / Path(configuration.outputs_dir).expanduser()
        target = (base / time.strftime("%Y-%m-%d/%H-%M-%S")).resolve()
    return TrainingSpec.of(configuration, target.name), target
