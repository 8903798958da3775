"""Steps of a servo fit, with and without a run directory."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from trueup.actuators.assess.left_out_intervals import ReportStep, no_report
from trueup.actuators.search.live_parameters import LiveParameters
from trueup.actuators.search.prepared_fit import Prepared, prepare, start_model
from trueup.actuators.search.run_logs import RunLogs
from trueup.actuators.search.servo_fit import ServoFit
from trueup.actuators.search.spec import FitSpec
from trueup.actuators.search.start_values import with_start
from trueup.actuators.selection.missing_terms import term_findings
from trueup.actuators.selection.model_choice import ModelChoice
from trueup.actuators.selection.model_for_fit import check_choice, choice_for_fit
from trueup.actuators.selection.untried_terms import untried_term_findings
from trueup.errors import SimulationError
from trueup.fitting.problem import LARGE_COST
from trueup.fitting.solution import Solution
from trueup.runs.execution import Execution
from trueup.runs.interruption import RunInterrupted
from trueup.runs.loop.budget import Budget
from trueup.runs.session import Run


def prepared_start(spec: FitSpec, execution: Execution) -> tuple[FitSpec, RunLogs, Prepared]:
    """The spec with its start values, the logs, and the fit before its search.

    Where the model is to be chosen, it is the fit of the simplest one.
    """
    logs = read_inputs(spec)
    spec = with_start(spec, execution)
    first = prepare(spec, logs.logs, execution.workers)
    if spec.model is None:
        check_choice(spec, first.training_logs)
    return spec, logs, first


def read_inputs(spec: FitSpec) -> RunLogs:
    """The logs of a fit; unknown names are refused before they are read."""
    spec.load_catalogue()
    start_model(spec.servo_or_name, spec.first_model, spec.fit_settings)
    logs = spec.run_logs()
    _ = logs.logs
    return logs


def chosen_model(
    spec: FitSpec,
    first: Prepared,
    directory: Path | None = None,
    origin: dict[str, Any] | None = None,
    verbose: bool = False,
) -> ModelChoice | None:
    """Friction model and terms that a fit takes; None for one that names its model.

    Args:
      spec: the fit.
      first: the fit of the simplest model before its search.
      directory: run directory, which keeps the choice; one that it holds is read.
      origin: provenance of the parameter file, which holds the best model so far.
      verbose: show progress on the error stream.
    """
    if spec.model is not None:
        return None
    return choice_for_fit(
        spec.servo_or_name,
        first.training_logs,
        spec.fit_settings,
        benches=[first.bench_of(log) for log in first.training_logs],
        workers=first.threads,
        directory=directory,
        output=spec.output,
        origin=origin,
        verbose=verbose,
    )


def searched(
    run: Run, spec: FitSpec, ready: Prepared, logs: RunLogs, live: LiveParameters | None
) -> Solution:
    """The solution of the search of a run; the parameter file holds the best so far meanwhile."""
    try:
        return run.search(
            ready.searched,
            ready.search(),
            history_settings(spec, ready, logs),
            limits=Budget(max_evaluations=spec.fit_settings.trials),
            on_best=None if live is None else live.offer,
            describe=None if live is None else live.content,
        )
    except RunInterrupted:
        if live is not None:
            live.flush()
        raise


def history_settings(spec: FitSpec, ready: Prepared, logs: RunLogs) -> dict[str, Any]:
    """Settings that the history depends on; a resumed fit may take more evaluations."""
    return {
        **spec.fit_settings.to_dict(),
        "trials": None,
        "servo": ready.start_model.servo.name,
        "model": ready.start_model.friction.name,
        "logs": [logs.hash_of(log) for log in ready.training_logs],
    }


def check_result(solution: Solution) -> None:
    """Raise SimulationError where no candidate could be simulated."""
    if not solution.cost < LARGE_COST:
        raise SimulationError(
            f"{solution.message}: correct the logs, the bench or the bounds of the servo"
        )


def judged(
    spec: FitSpec,
    ready: Prepared,
    logs: RunLogs,
    solution: Solution,
    choice: ModelChoice | None = None,
    directory: Path | None = None,
    report: ReportStep = no_report,
) -> ServoFit:
    """The fit of a solution, judged on the logs, those held out included.

    Args:
      spec: the fit, with the model that was chosen.
      ready: the same before its search.
      logs: its logs.
      solution: end of the search.
      choice: how friction model and terms were chosen.
      directory: run directory.
      report: takes words on each long step, and a share.
    """
    result = ready.result(solution, report, choice)
    further: list[str] = []
    if choice is not None:
        further = term_findings(choice)
    elif solution.success and result.assessment.spread is not None:
        further = untried_term_findings(
            spec.servo_or_name,
            ready.start_model.friction.name,
            ready.training_logs,
            ready.settings,
            dict(solution.parameters),
            solution.cost,
            benches=[ready.bench_of(log) for log in ready.training_logs],
            workers=ready.threads,
            report=report,
        )
    result = replace(
        result,
        findings=(*result.findings, *further),
        skipped=[*spec.notes, *spec.skipped, *logs.skipped],
        output=spec.output,
        directory=directory,
    )
    return replace(result, model=replace(result.model, provenance=result.provenance()))
