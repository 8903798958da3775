"""Training of a network in a run directory, from recordings to report."""

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

    ``trueup study resume`` and ``trueup report`` also accept this run, and ``resume`` accepts a run
    of the command line::

        result = networks.train(["data.data_base_dir=bench", "train.max_epochs=100"], "runs/arm")
        result.metrics["verdict"]["grade"]

    Args:
        configuration: checked configuration, or overrides such as ``train.max_epochs=100``.
        directory: run directory; by default a new one under ``outputs_dir``, named by the time.
        file: YAML with any of the keys; overrides take precedence.
        resume: resume the run in ``directory``, with its settings.
        overwrite: replace the run in ``directory``.
        anyway: also accept a servo whose logs have changed since its fit; every file records this.
        verbose: show progress on the error stream.

    Raises:
        TrueupError: the configuration, the recordings or the run directory are unusable.
        TrainingInterrupted: Ctrl-C; the best network so far is saved.
    """
    if resume:
        given = isinstance(configuration, TrainingConfiguration) or bool(configuration)
        if given or file is not None or overwrite or directory is None:
            raise ExperimentError(
                "a resumed training keeps its settings: give the run directory and resume=True "
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
    """Check the recordings, train with a configuration and write the run directory.

    Args:
        configuration: the configuration; ``resumed_configuration`` reads that of a run to resume.
        output: run directory; by default a new one under ``outputs_dir``, named by the time.
        resume: resume the run in ``output``, with this configuration.
        overwrite: replace the run in ``output``.
        verbose: show progress on the error stream.

    Raises:
        TrueupError: the recordings or the run directory are unusable; raised before training.
        TrainingInterrupted: Ctrl-C; the best network so far is saved.
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
    """Resume a training with its settings.

    Raises:
        RunDirectoryError: the folder contains no training, or its recordings have changed.
        TrainingInterrupted: Ctrl-C; the best network so far is saved.
    """
    opened = directory if isinstance(directory, RunDirectory) else RunDirectory.open(directory)
    _check_kind(opened)
    return runs.resume(opened, verbose=verbose)


def resumed_configuration(directory: RunDirectory) -> TrainingConfiguration:
    """Configuration of a run to resume.

    Raises:
        RunDirectoryError: the folder is not a training run, or one of its files is damaged.
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
