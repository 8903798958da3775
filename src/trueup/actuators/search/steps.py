"""Steps of a servo fit, with and without a run directory."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from trueup.actuators.assess.jackknife import ReportStep, jackknife_parts, no_report
from trueup.actuators.search.live_parameters import LiveParameters
from trueup.actuators.search.prepared_fit import Prepared, prepare, start_model
from trueup.actuators.search.run_logs import RunLogs
from trueup.actuators.search.servo_fit import ServoFit
from trueup.actuators.search.spec import FitSpec
from trueup.actuators.search.start_values import with_start
from trueup.actuators.selection.missing_terms import term_findings
from trueup.actuators.selection.model_choice import ModelChoice
from trueup.actuators.selection.model_for_fit import check_choice, choice_for_fit
from trueup.actuators.selection.progress import FitCourse
from trueup.actuators.selection.untried_terms import untried_term_findings
from trueup.errors import SimulationError
from trueup.fitting.problem import LARGE_COST
from trueup.fitting.solution import Solution
from trueup.runs.execution import Execution
from trueup.runs.interruption import RunInterrupted
from trueup.runs.loop.budget import Budget
from trueup.runs.session import Run


def prepared_start(spec: FitSpec, execution: Execution) -> tuple[FitSpec, RunLogs, Prepared]:
    """Spec with its start values, logs, and the fit before its search.

    If the model is to be selected, it is the fit of the simplest one.
    """
    logs = read_inputs(spec)
    spec = with_start(spec, execution)
    first = prepare(spec, logs.logs, execution.workers)
    if spec.model is None:
        check_choice(spec, first.training_logs)
    return spec, logs, first


def read_inputs(spec: FitSpec) -> RunLogs:
    """Logs of a fit; unknown names are rejected before reading."""
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
    course: FitCourse | None = None,
) -> ModelChoice | None:
    """Selection of friction model and terms for a fit; None if its spec has a model.

    Args:
      spec: the fit.
      first: the fit of the simplest model before its search.
      directory: run directory, which stores the selection; an existing one is read.
      origin: provenance of the parameter file, with the best model so far.
      verbose: show progress on the error stream.
      course: course of the fit, whose remaining time is shown.
    """
    if spec.model is not None:
        return None
    if course is not None:
        parts = jackknife_parts(first.problem, first.training_logs)
        course.intervals = sum(map(len, parts.values()))
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
        course=course,
    )


def searched(
    run: Run, spec: FitSpec, ready: Prepared, logs: RunLogs, live: LiveParameters | None
) -> Solution:
    """Solution of the search of a run; the parameter file has the best candidate meanwhile."""
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
    """Settings that determine the history; a resumed fit can have more evaluations."""
    return {
        **spec.fit_settings.to_dict(),
        "trials": None,
        "servo": ready.start_model.servo.name,
        "model": ready.start_model.friction.name,
        "logs": [logs.hash_of(log) for log in ready.training_logs],
    }


def check_result(solution: Solution) -> None:
    """Raise SimulationError if no candidate could be simulated."""
    if not solution.cost < LARGE_COST:
        raise SimulationError(
            f"{solution.message}: check the logs, the bench and the bounds of the servo"
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
    """Fit from a solution, assessed on training and held-out logs.

    Args:
      spec: the fit, with its selected model.
      ready: the fit before its search.
      logs: its logs.
      solution: end of the search.
      choice: selection of friction model and terms.
      directory: run directory.
      report: progress callback: description of each long step, and fraction done.
    """
    result = ready.result(solution, report, choice)
    further: list[str] = []
    missing: list[str] = []
    if choice is not None:
        further = term_findings(choice)
    elif solution.success and result.assessment.spread is not None:
        missing = untried_term_findings(
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
        missing=tuple(missing),
        skipped=[*spec.notes, *spec.skipped, *logs.skipped],
        output=spec.output,
        directory=directory,
    )
    return replace(result, model=replace(result.model, provenance=result.provenance()))
