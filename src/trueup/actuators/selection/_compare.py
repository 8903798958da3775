"""Comparison of servo models, in memory or in a run directory."""

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
    """Compare models of one servo and recommend one.

    With ``directory`` it is equivalent to ``trueup actuator compare``, and both can resume a
    comparison of the other: the models of ``settings`` are fitted, each with checkpoints, and
    compared with those of parameter files::

        found = actuators.compare([], "logs", directory="comparison", settings=ComparisonSettings(
            models=("m1", "m4", "m6"), fit=FitSettings(validation_kp=(400,))))
        found.recommended

    With held-out logs, the model with the fewest parameters and a held-out error within 5 % of
    the smallest one is recommended. With a single held-out log the smallest error decides; with
    none the Bayesian criterion. The standard error of a difference uses the paired differences per
    log, because logs differ more in difficulty than models do in accuracy.

    Args:
        models: label -> model; with ``directory`` parameter files.
        logs: logs that the models were fitted to; with ``directory`` all logs, or their folder or
          files.
        held_out: held-out logs; with ``directory`` the settings of the fits
          define them.
        directory: run directory; without one nothing is fitted or written.
        settings: models to fit, and settings of the fits; error, scheme, reset period and voltage
            are those of its fits.
        servo: servo of the fits; default: that of the parameter files, or else of the logs.
        catalogue: YAML file with additional servos.
        skip_bad_logs: skip unusable logs of a folder.
        workers: number of threads of the fits; all cores by default.
        resume: resume the comparison in the run directory.
        overwrite: replace the run in the directory.
        anyway: accept parameter files of fits with changed logs; every output records this.
        verbose: show progress of a run on the error stream.
        options: of a comparison without a directory; in a run the settings define them:
            ``kind``, the error that the fits minimised, ``"mae"`` or ``"rmse"``;
            ``parameters``, label -> number of fitted parameters, all by default;
            ``origins``, label -> origin of the values; ``scheme``, integration scheme, one
            of ``SCHEMES``; ``reset_period``, interval at which position and
            speed are reset to the log's [s]; ``vin``, nominal bus voltage [V] that replaces that of
            the logs; ``benches``, load of each log, training logs first.

    Raises:
        FitError: no models, an unknown error, or every model diverges.
        RecordingError: no logs, or one cannot be simulated.
        ParameterError: a model is of another servo than the logs.
        RunDirectoryError: the directory contains another run.
        RunInterrupted: Ctrl-C; finished fits and the search of the last one are saved.
    """
    if directory is None:
        for_runs = settings is not None or resume or overwrite
        return _in_memory(models, logs, held_out, options, for_runs)
    if isinstance(models, Mapping) or held_out or options:
        raise FitError(
            "a comparison with a run directory requires parameter files and all logs: save models "
            "with save_model, and set held-out logs, error and simulation in the settings of the "
            "fits"
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
            "fitting models and reading files require a run directory: pass directory=. "
            "Without one, pass models by label and ServoLog objects"
        )
    return compare_models(models, own, held_out, **options)
