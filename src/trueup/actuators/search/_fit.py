"""Fits a servo model to logs, in memory or in a run directory."""

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

_NOTHING = (None, False, ())  # what arguments are that are not given


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
    """Fit a friction model and the motor's parameters to logs.

    With ``output`` or ``directory`` it does all that ``trueup actuator fit`` does, and both
    continue what the other began::

        result = actuators.fit("xl330", None, "logs", output="xl330.json")
        print(*result.verdict.lines(), sep="\\n")

    The run directory holds the settings, every evaluation, ``solution.json`` with the verdict and
    ``report.html``; ``trueup study resume`` and ``trueup report`` take it. Without either, the fit
    is one in memory.

    Args:
      servo: servo, or its name in the catalogue; or a :class:`FitSpec`, which holds the model, the
        logs and all that follows up to ``skipped``, except ``directory`` and ``execution``.
      model: friction model, ``m1`` to ``m6``. None tries all of them with the extended terms that
        servo and logs can carry, and takes what predicts logs best that its fits have not seen; see
        :func:`trueup.actuators.choose_model`. How it was chosen stands in ``choice``.
      logs: evenly sampled logs, from :func:`trueup.actuators.read_logs`; or a folder or files of
        them. A run of logs that no file holds, of other benches or of a servo that is not in the
        catalogue is continued from Python only.
      settings: settings.
      output: parameter file, rewritten whenever a better candidate is found.
      directory: run directory; next to ``output`` where absent, ``m6.run`` for ``m6.json``.
      limits: another number of evaluations than ``settings.trials``.
      execution: threads, trackers by name, and an Optuna storage that the search is written into.
      start: start values of the free parameters ``(p,)``, or an earlier result: a run directory, a
        parameter file, or an SQLite file of Optuna. Those of the catalogue by default.
      catalogue: YAML file with further servos.
      skip_bad_logs: leave logs of a folder out that cannot be used.
      benches: load of each log; by default the pendulum that the log describes.
      workers: threads; all cores by default. Nothing of the result depends on it.
      trackers: trackers, called after every batch of the search.
      inputs: files that provenance names; those of the logs by default.
      skipped: why logs were left out before, for the summary.
      resume: continue the fit in the run directory.
      overwrite: replace an earlier fit.
      verbose: show progress on the error stream.

    Returns:
      The fit. What it is worth stands in ``verdict``, ``held_out`` and ``assessment``.

    Raises:
      TrueupError: whatever is wrong, before time is spent.
      ServoFitInterrupted: Ctrl-C; the search is saved and can be resumed.
      UnfinishedRunError: the search is done and saved, and something after it failed.
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
        # by identity, as arrays have no truth
        if given := [k for k, value in described.items() if not any(value is d for d in _NOTHING)]:
            raise FitError(f"the FitSpec holds {listing(given)}: give them to FitSpec.of")
        spec = servo
    elif logs is None:
        raise FitError("a fit needs logs: give a folder, files, or what read_logs returns")
    else:
        name = None if directory is None or output is not None else _name_of(directory)
        spec = FitSpec.of(servo, name=name, **described)
    execution = execution or Execution()
    if workers is not None:
        execution = replace(execution, workers=workers)
    if spec.output is None and directory is None:
        if resume or overwrite or trackers or execution != Execution(execution.workers):
            raise RunDirectoryError("a fit with files or trackers needs a run directory")
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
