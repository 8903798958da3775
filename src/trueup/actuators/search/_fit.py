"""Fit of a servo model to logs, in memory or in a run directory."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup import runs
from trueup.actuators.bench.loads import Bench
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.search.fit_settings import FitSettings
from trueup.actuators.search.run import run_fit
from trueup.actuators.search.run_logs import Logs
from trueup.actuators.search.servo_fit import ServoFit
from trueup.actuators.search.spec import FitSpec
from trueup.actuators.search.target import run_target
from trueup.actuators.search.without_run import fit_in_memory
from trueup.errors import FitError, RunDirectoryError, listing
from trueup.runs import Execution
from trueup.runs.loop.budget import Budget
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.trackers.tracker import Tracker

_NOTHING = (None, False, ())  # values of arguments that are not given


def fit(
    servo: str | Servo | FitSpec,
    model: str | None = None,
    logs: Logs | None = None,
    *,
    settings: FitSettings | None = None,
    output: str | os.PathLike[str] | None = None,
    directory: str | os.PathLike[str] | RunDirectory | None = None,
    limits: Budget | None = None,
    execution: Execution | None = None,
    start: np.ndarray | str | os.PathLike[str] | None = None,
    catalogue: str | os.PathLike[str] | None = None,
    skip_bad_logs: bool = False,
    benches: Sequence[Bench] | None = None,
    workers: int | None = None,
    trackers: Sequence[Tracker] = (),
    inputs: Iterable[str | os.PathLike[str]] = (),
    skipped: Sequence[str] = (),
    resume: bool = False,
    overwrite: bool = False,
    verbose: bool = False,
) -> ServoFit:
    """Fit a friction model and the motor parameters to logs.

    With ``output`` or ``directory`` it is equivalent to ``trueup actuator fit``, and both can
    resume a fit of the other::

        result = actuators.fit("xl330", None, "logs", output="xl330.json")
        print(*result.verdict.lines(), sep="\\n")

    The run directory contains the settings, every evaluation, ``solution.json`` with the verdict
    and ``report.html``; ``trueup study resume`` and ``trueup report`` accept it. Without either,
    the fit is in memory only.

    Args:
      servo: servo, or its name in the catalogue; or a :class:`FitSpec`, which contains the model,
        the logs and all arguments up to ``skipped``, except ``directory`` and ``execution``.
      model: friction model, ``m1`` to ``m6``. None selects the model with the smallest
        cross-validation error among all of them with the extended terms that servo and logs
        support, see :func:`trueup.actuators.choose_model`; ``choice`` describes the selection.
      logs: evenly sampled logs, from :func:`trueup.actuators.read_logs`; or a folder or files of
        them. A run of logs without files, of custom benches or of a servo that is not in the
        catalogue can be resumed from Python only.
      settings: settings.
      output: parameter file, rewritten whenever a better candidate is found.
      directory: run directory; default: next to ``output``, ``m6.run`` for ``m6.json``.
      limits: number of evaluations that replaces ``settings.trials``.
      execution: threads, trackers by name, and an Optuna storage that the search is written into.
      start: start values of the free parameters ``(p,)``, or an earlier result: a run directory, a
        parameter file, or an SQLite file of Optuna. Default: those of the catalogue.
      catalogue: YAML file with additional servos.
      skip_bad_logs: skip unusable logs of a folder.
      benches: load of each log; by default the pendulum that the log describes.
      workers: number of threads; all cores by default. The result does not depend on it.
      trackers: trackers, called after every batch of the search.
      inputs: files to record in the provenance; those of the logs by default.
      skipped: reasons for logs that were skipped before, for the summary.
      resume: continue the fit in the run directory.
      overwrite: replace an earlier fit.
      verbose: show progress on the error stream.

    Returns:
      The fit; ``verdict``, ``held_out`` and ``assessment`` report its quality.

    Raises:
      TrueupError: invalid input, before the search starts.
      ServoFitInterrupted: Ctrl-C; the search is saved and can be resumed.
      UnfinishedRunError: the search is complete and saved, but a later step failed.
    """
    described: dict[str, Any] = {
        "model": model,
        "logs": logs,
        "settings": settings,
        "output": output,
        "limits": limits,
        "start": start,
        "catalogue": catalogue,
        "skip_bad_logs": skip_bad_logs,
        "benches": benches,
        "inputs": inputs,
        "skipped": skipped,
    }
    if isinstance(servo, FitSpec):
        # by identity, because arrays have no truth value
        if given := [k for k, value in described.items() if not any(value is d for d in _NOTHING)]:
            raise FitError(f"{listing(given)} belong to the FitSpec: pass them to FitSpec.of")
        spec = servo
    elif logs is None:
        raise FitError("a fit requires logs: pass a folder, files, or the result of read_logs")
    else:
        name = None if directory is None or output is not None else _name_of(directory)
        spec = FitSpec.of(servo, name=name, **described)
    execution = execution or Execution()
    if workers is not None:
        execution = replace(execution, workers=workers)
    if spec.output is None and directory is None:
        if resume or overwrite or trackers or execution != Execution(execution.workers):
            raise RunDirectoryError(
                "a fit with files or trackers requires a run directory: pass output or directory"
            )
        return fit_in_memory(spec, execution.workers)
    return runs.start(
        run_fit,
        spec,
        run_target(spec, directory, replace=resume or overwrite),
        resume=resume,
        overwrite=overwrite,
        execution=execution,
        trackers=trackers,
        verbose=verbose,
    ).result


def _name_of(directory: str | os.PathLike[str] | RunDirectory) -> str:
    path = directory.path if isinstance(directory, RunDirectory) else Path(directory)
    return path.resolve().name
