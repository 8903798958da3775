"""Servo fit in its run directory, from logs to report."""

import contextlib
import time
from typing import Any

import numpy as np

from trueup.actuators.catalogue.parameter_file import save_model
from trueup.actuators.report._servo_fit import servo_fit_report
from trueup.actuators.search.live_parameters import LiveParameters
from trueup.actuators.search.prepared_fit import prepare
from trueup.actuators.search.spec import FitSpec
from trueup.actuators.search.steps import (
    check_result,
    chosen_model,
    judged,
    prepared_start,
    searched,
)
from trueup.actuators.selection.model_for_fit import choice_plan, chosen_spec
from trueup.actuators.selection.progress import FitCourse
from trueup.fitting.solution import Solution
from trueup.reports import Page
from trueup.runs.execution import Execution
from trueup.runs.loop.progress import Progress
from trueup.runs.outcome import Outcome
from trueup.runs.session import Session
from trueup.runs.store.solution_file import solution_content


def run_fit(spec: FitSpec, session: Session) -> Outcome:
    """Run a servo fit; raises the errors of :func:`trueup.runs.start`."""
    workers = session.execution.workers
    spec, logs, first = prepared_start(spec, session.execution)
    with session.begin(
        spec,
        spec.named_inputs or logs.inputs(),
        problem=first.searched,
        shown={"parameters": {}}
        if spec.model is None
        else None,  # those of a selected model are not known yet
        settings=spec.fit_settings.to_dict(),
    ) as run:
        course = FitCourse()
        choice = chosen_model(spec, first, run.directory.path, run.origin, run.verbose, course)
        fitted = chosen_spec(spec, choice)
        ready = first if choice is None else prepare(fitted, logs.logs, workers)
        live = None
        if spec.output is not None:
            live = LiveParameters(spec.output, ready.problem, run.origin, begun=run.resume)
        withdrawn = contextlib.nullcontext if live is None else live.withdrawn_on_error
        solution = searched(run, fitted, ready, logs, live)
        with withdrawn():
            check_result(solution)

        def bare(solution: Solution) -> dict[str, Any]:
            space = ready.searched.space
            return solution_content(spec.name, spec.kind, space, solution, list(spec.notes))

        def judge(solution: Solution) -> Outcome:
            with withdrawn(), Progress(run.verbose, since=course.since) as shown:

                def report(words: str, share: float | None) -> None:
                    shown.update(words, course.share(share))

                result = judged(fitted, ready, logs, solution, choice, run.directory.path, report)
            return Outcome(result, result.to_dict(), complete=result.reached_its_end)

        def write(outcome: Outcome) -> None:
            if spec.output is not None:
                save_model(outcome.result.model, spec.output)

        def page(outcome: Outcome) -> Page:
            everything = [*ready.training_logs, *ready.held_out_logs]
            return servo_fit_report(outcome.result, benches=[*map(ready.bench_of, everything)])

        return run.finish(solution, bare=bare, judge=judge, write=write, page=page)


def plan_fit(spec: FitSpec, execution: Execution) -> dict[str, Any]:
    """Model to fit, and the time per evaluation [s]."""
    spec, logs, first = prepared_start(spec, execution)
    X = np.repeat(first.space.start[None, :], 2 * first.threads, axis=0)
    first.problem.costs(X)  # compiles
    started = time.perf_counter()
    first.problem.costs(X)
    seconds = (time.perf_counter() - started) / len(X)
    choice = None
    if spec.model is None:
        benches = [first.bench_of(log) for log in first.training_logs]
        servo, settings = spec.servo_or_name, spec.fit_settings
        choice = choice_plan(servo, first.training_logs, settings, benches, seconds)
    return {
        "output": None if spec.output is None else str(spec.output),
        "method": spec.settings.method,
        "choice": choice,
        "parameters": list(first.space.names),
        "training_logs": [log.name for log in first.training_logs],
        "held_out_logs": [log.name for log in first.held_out_logs],
        "threads": first.threads,
        "seconds_per_evaluation": seconds,
        "skipped": [*spec.skipped, *logs.skipped],
        "notes": [*spec.notes, *first.findings],
    }
