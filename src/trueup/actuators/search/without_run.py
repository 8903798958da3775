"""Servo fit without a run directory: in memory, or with its search in a folder."""

from trueup.actuators.search.prepared_fit import prepare
from trueup.actuators.search.run_logs import RunLogs
from trueup.actuators.search.servo_fit import ServoFit
from trueup.actuators.search.spec import FitSpec
from trueup.actuators.search.start_values import with_start
from trueup.actuators.search.steps import (
    check_result,
    chosen_model,
    history_settings,
    judged,
    prepared_start,
)
from trueup.actuators.selection.model_for_fit import chosen_spec
from trueup.fitting._minimise import minimise
from trueup.fitting.solution import Status
from trueup.runs.execution import Execution
from trueup.runs.loop._run_search import run_search
from trueup.runs.loop.budget import Budget
from trueup.runs.store import provenance
from trueup.runs.store.run_directory import RunDirectory


def fit_in_memory(spec: FitSpec, workers: int | None = None) -> ServoFit:
    """Fit without a run directory; Ctrl-C ends it with its best candidate so far.

    Raises:
      TrueupError: invalid input.
    """
    spec, logs, first = prepared_start(spec, Execution(workers=workers))
    choice = chosen_model(spec, first)
    fitted = chosen_spec(spec, choice)
    ready = first if choice is None else prepare(fitted, logs.logs, workers)
    settings = fitted.fit_settings
    solution = minimise(ready.searched, ready.search(), max_evaluations=settings.trials)
    inputs = spec.named_inputs or logs.inputs()
    solution.provenance = provenance.collect(spec.seed, inputs, settings.to_dict())
    if solution.status is not Status.INTERRUPTED:
        check_result(solution)
    return judged(fitted, ready, logs, solution, choice)


def fit_in_folder(
    spec: FitSpec,
    logs: RunLogs,
    directory: RunDirectory,
    *,
    workers: int | None = None,
    resume: bool = False,
    verbose: bool = False,
) -> ServoFit:
    """Fit of a given model with its search stored in a folder, without other files of a run.

    Args:
      spec: the fit.
      logs: its logs.
      directory: folder of the search.
      workers: number of threads; None: all cores.
      resume: resume the search in the folder.
      verbose: show progress on the error stream.

    Raises:
      KeyboardInterrupt: Ctrl-C; the search is saved.
    """
    ready = prepare(with_start(spec, Execution()), logs.logs, workers)
    settings = spec.fit_settings
    solution = run_search(
        ready.searched,
        ready.search(),
        directory,
        settings=history_settings(spec, ready, logs),
        resume=resume,
        budget=Budget(max_evaluations=settings.trials),
        verbose=verbose,
    )
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    check_result(solution)
    solution.provenance = provenance.collect(spec.seed, logs.inputs(), settings.to_dict())
    return judged(spec, ready, logs, solution)
