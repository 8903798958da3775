"""Compares servo models, in memory or in a run directory."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

from trueup import runs
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.run_logs import Logs
from trueup.actuators.selection.model_comparison import (
    ComparisonOptions,
    ModelComparison,
    compare_models,
)
from trueup.actuators.selection.run import run_comparison
from trueup.actuators.selection.settings import ComparisonSettings
from trueup.actuators.selection.spec import ComparisonSpec
from trueup.errors import FitError
from trueup.runs import Execution
from trueup.runs.store.run_directory import RunDirectory


def compare(
    models: Mapping[str, ServoModel] | Sequence[str | os.PathLike[str]],
    logs: Logs,
    held_out: Sequence[ServoLog] = (),
    *,
    directory: str | os.PathLike[str] | RunDirectory | None = None,
    settings: ComparisonSettings | None = None,
    servo: str | Servo | None = None,
    catalogue: str | os.PathLike[str] | None = None,
    skip_bad_logs: bool = False,
    workers: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    anyway: bool = False,
    verbose: bool = True,
    **options: Unpack[ComparisonOptions],
) -> ModelComparison:
    """Compare models of one servo and choose one.

    With ``directory`` it does all that ``trueup actuator compare`` does, and both continue what the
    other began: the models of ``settings`` are fitted, each with checkpoints, and compared with
    those of parameter files::

        found = actuators.compare([], "logs", directory="comparison", settings=ComparisonSettings(
            models=("m1", "m4", "m6"), fit=FitSettings(validation_kp=(400,))))
        found.recommended

    With logs held out, the choice is the model with fewest parameters whose held-out error is
    within 5 % of the smallest one. With one log held out the smallest error decides; with none the
    Bayesian criterion. The standard error of a difference is that of the logs one by one, because
    logs differ more in how hard they are than models do.

    Args:
        models: label -> model; with ``directory`` parameter files.
        logs: logs that the models were fitted to; with ``directory`` all logs, or where they are.
        held_out: logs that they were not fitted to; with ``directory`` the settings of the fits
            say which.
        directory: run directory; without one nothing is fitted or written.
        settings: models to fit, and how; error, scheme, reset period and voltage are those of its
            fits.
        servo: servo of the fits; that of the parameter files, or else of the logs, by default.
        catalogue: YAML file with further servos.
        skip_bad_logs: leave logs of a folder out that cannot be used.
        workers: threads of the fits; all cores by default.
        resume: continue the comparison in the run directory.
        overwrite: replace the run that the directory holds.
        anyway: take parameter files of fits whose logs have changed too; every file says so.
        verbose: show progress of a run on the error stream.
        options: of a comparison without a directory, whose place the settings take in a run:
            ``kind``, error, ``"mae"`` or ``"rmse"``, that which the fits minimised;
            ``parameters``, label -> number of parameters that the fit determined, all by default;
            ``origins``, label -> where the numbers come from; ``scheme``, how the bench steps, one
            of ``SCHEMES``; ``reset_period``, take position and speed from the
            log again after this time [s]; ``vin``, nominal bus voltage [V] in place of the logs'
            own; ``benches``, load of each log, training logs first.

    Raises:
        FitError: there is no model, no such error, or every model diverges.
        RecordingError: there is no log, or one cannot be simulated.
        ParameterError: a model is of another servo than the logs.
        RunDirectoryError: the directory holds another run.
        RunInterrupted: Ctrl-C; finished fits and the search of the last are saved.
    """
    if directory is None:
        for_runs = settings is not None or resume or overwrite
        return _in_memory(models, logs, held_out, options, for_runs)
    if isinstance(models, Mapping) or held_out or options:
        raise FitError(
            "a comparison with a run directory takes parameter files and all logs: save models "
            "with save_model, and hold logs out, name the error and the simulation with the "
            "settings of the fits"
        )
    target = directory.path if isinstance(directory, RunDirectory) else Path(directory)
    spec = ComparisonSpec.of(
        models,
        logs,
        settings,
        servo=servo,
        name=target.resolve().name,
        catalogue=catalogue,
        skip_bad_logs=skip_bad_logs,
        anyway=anyway,
    )
    return runs.start(
        run_comparison,
        spec,
        directory,
        resume=resume,
        overwrite=overwrite,
        execution=Execution(workers=workers),
        verbose=verbose,
    ).result


def _in_memory(
    models: Mapping[str, ServoModel] | Sequence[str | os.PathLike[str]],
    logs: Logs,
    held_out: Sequence[ServoLog],
    options: ComparisonOptions,
    for_runs: bool,
) -> ModelComparison:
    given = [] if isinstance(logs, str | os.PathLike) else [*logs]
    own = [log for log in given if isinstance(log, ServoLog)]
    if for_runs or not isinstance(models, Mapping) or len(own) < len(given):
        raise FitError(
            "models are fitted, and files read, in a run directory: give one with directory=. "
            "Without one, models by label and the logs themselves are compared"
        )
    return compare_models(models, own, held_out, **options)
