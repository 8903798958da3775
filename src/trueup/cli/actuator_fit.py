"""``trueup actuator fit``, and how a servo fit goes on."""

import dataclasses
import time
from pathlib import Path

import numpy as np
import yaml

from trueup.actuators import Objective, load_catalogue, read_logs, servo_fit_report
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.report.parameter_section import meanings_of, parameter_rows, remark_of
from trueup.actuators.search._fit import Prepared, fit, reached_its_end, start_model
from trueup.actuators.search.fit_settings import DEFAULT_TRIALS, FitSettings, parse_values
from trueup.actuators.search.servo_fit import ServoFit
from trueup.cli.actuator_evaluate import milli, show_evaluation, trivial_sentence
from trueup.cli.actuator_fit_commands import FitServo
from trueup.cli.output import Output
from trueup.cli.servo_job import (
    ServoJob,
    check_same,
    check_same_logs,
    execution_of,
    experiment_content,
    read_job,
)
from trueup.errors import FitError, RunDirectoryError, listing
from trueup.parameters import Space
from trueup.runs import Execution
from trueup.studies import Budget, RunDirectory, atomic, provenance, warm_start

DONE, NOT_CONVERGED = 0, 3


def run_fit(command: FitServo, output: Output) -> int:
    """Run the command; returns the exit code."""
    if command.resume and command.overwrite:
        raise FitError("--resume continues a fit, --overwrite replaces it: give one of them")
    job = _job(command)
    if job.catalogue is not None:
        load_catalogue(job.catalogue, replace=True)
    start_model(job.actuator, job.model, job.settings)  # whatever is unknown, before logs are read
    if command.eval:
        simulation = {k: getattr(job.settings, k) for k in ("scheme", "reset_period", "vin")}
        return show_evaluation(
            job.output,
            job.logdir,
            job.actuator,
            job.model,
            job.skip_bad_logs,
            simulation,
            output,
        )
    target, verbose = run_directory_of(job.output), not (command.quiet or output.json)
    if command.resume:
        directory = RunDirectory.open(target)
        former = read_job(directory)
        check_same(directory, former, job)
        trials = former.settings.trials if command.trials is None else command.trials
        settings = dataclasses.replace(former.settings, trials=trials)
        job = dataclasses.replace(former, settings=settings)
        execution = execution_of(command.execution, directory)
        return _go(job, directory, execution, verbose, output, resume=True)
    if not command.overwrite:
        _refuse_to_replace(target, job.output)
    logs, skipped = _read_logs(job)
    prepared = Prepared(job.actuator, job.model, logs, job.settings, workers=command.workers)
    job = _with_start(job, command, prepared.space)
    if command.dry_run:
        return _dry_run(job, prepared, target, skipped, output)
    execution = command.execution
    # what is wrong is said before a folder is made
    execution.check(job.output.stem, prepared.space, prepared.problem.objectives)
    directory = RunDirectory.create(target, overwrite=command.overwrite)
    return _go(job, directory, execution, verbose, output, resume=False)


def resume_servo_fit(
    directory: RunDirectory,
    limits: Budget,
    folder: Path | None,
    execution: Execution,
    verbose: bool,
    output: Output,
) -> int:
    """Continue a servo fit from its run directory; returns the exit code."""
    names = ("max_generations", "max_seconds", "target_cost")
    unknown = [f"--{k.replace('_', '-')}" for k in names if getattr(limits, k) is not None]
    if unknown:
        raise RunDirectoryError(
            f"{directory.path} is a servo fit, which does not know {listing(unknown)}; it knows "
            "--max-evaluations"
        )
    job = read_job(directory, folder)
    if limits.max_evaluations is not None:
        settings = dataclasses.replace(job.settings, trials=limits.max_evaluations)
        job = dataclasses.replace(job, settings=settings)
    if job.catalogue is not None:
        load_catalogue(job.catalogue, replace=True)
    return _go(job, directory, execution_of(execution, directory), verbose, output, resume=True)


def run_directory_of(output: Path) -> Path:
    """Run directory of a parameter file: beside it."""
    return output.with_suffix(".run")


def _go(
    job: ServoJob,
    directory: RunDirectory,
    execution: Execution,
    verbose: bool,
    output: Output,
    *,
    resume: bool,
) -> int:
    """Search, and write everything that a run directory holds."""
    logs, skipped = _read_logs(job)
    if resume:
        check_same_logs(directory, logs)
    start = None if job.start is None else np.array(list(job.start.values()), float)
    prepared = Prepared(job.actuator, job.model, logs, job.settings)
    if start is not None:
        if tuple(job.start or ()) != prepared.space.names:
            raise RunDirectoryError(
                f"the fit in {directory.path} has other parameters by now: it had "
                f"{listing(job.start or (), 40)}, it has {listing(prepared.space.names, 40)}"
            )
        space = dataclasses.replace(prepared.space, start=start)
    else:
        space = prepared.space
    trackers = execution.make_trackers(job.output.stem)
    with directory.lock():
        experiment = experiment_content(job, directory, space, execution)
        atomic.write_text(
            directory.experiment,
            yaml.safe_dump(experiment, sort_keys=False, default_flow_style=None, width=100),
        )
        origin = provenance.collect(
            job.settings.seed, [log.source for log in logs], job.settings.to_dict()
        )
        atomic.write_json(directory.provenance, origin)
        result = fit(
            job.actuator,
            job.model,
            logs,
            settings=job.settings,
            output=job.output,
            directory=directory,
            resume=resume,
            start=start,
            workers=execution.workers,
            trackers=trackers,
            skipped=[*job.notes, *skipped],
            verbose=verbose,
        )
        summary = result.to_dict()
        atomic.write_json(directory.solution, summary)
        servo_fit_report(result, directory.path)
    output.result(summary)
    show_fit(result, output)
    output.text(f"Report:     {directory.path / 'report.html'}")
    return DONE if reached_its_end(result) else NOT_CONVERGED


def show_fit(result: ServoFit, output: Output) -> None:
    """Print a fit for people."""
    model, solution = result.model, result.solution
    output.text(
        f"\n{model.servo.name} {model.friction.name}: {solution.status.value}. {solution.message}\n"
    )
    output.text(*result.verdict.lines(), "")
    space = result.problem.space
    units = space.units or ("",) * space.size
    remarks = _remarks(result)
    output.table(
        ["parameter", "value", "unit", f"{100 * result.settings.level:g} % interval", ""],
        [
            [
                name,
                f"{solution.x[i]:.5g}",
                units[i],
                _interval(*result.assessment.intervals[i]),
                remarks[i],
            ]
            for i, name in enumerate(space.names)
        ],
    )
    rows = [["training", str(len(result.training_logs)), milli(result.training.mae),
             milli(result.training_start.mae), milli(result.training.at_rest)]]  # fmt: skip
    if result.held_out is not None and result.held_out_start is not None:
        rows.append(["held out", str(len(result.held_out_logs)), milli(result.held_out.mae),
                     milli(result.held_out_start.mae), milli(result.held_out.at_rest)])  # fmt: skip
    columns = ["mean absolute error, mrad", "logs", "fitted", "start values", "at rest"]
    output.table(columns, rows)
    by_log = [(name, error, "") for name, error in result.training.by_log.items()]
    if result.held_out is not None:
        by_log += [(name, error, "held out") for name, error in result.held_out.by_log.items()]
    output.table(["log", "error, mrad", ""], [[n, milli(e), held] for n, e, held in by_log])
    output.text(trivial_sentence(result.training), "")
    sentences = (*meanings_of(remarks), *result.assessment.sentences)
    output.text(*(f"  - {sentence}" for sentence in sentences))
    output.text(*(f"  ! {message}" for message in (*result.findings, *result.skipped)))
    if result.output is not None:
        output.text("", f"Parameters: {result.output}", f"Run:        {result.directory}")


def _job(command: FitServo) -> ServoJob:
    fixed: dict[str, float] = {}
    for text in command.set:
        values = parse_values(text)
        if twice := [name for name in values if name in fixed]:
            raise FitError(f"--set gives {listing(twice)} twice")
        fixed |= values
    settings = FitSettings(
        method=command.method,
        trials=DEFAULT_TRIALS if command.trials is None else command.trials,
        seed=command.seed,
        objective=Objective(command.objective, 1.0, command.speed_weight, command.duty_weight),
        scheme=command.scheme,
        reset_period=command.reset_period,
        vin=command.vin,
        terms=tuple(t.strip() for t in command.terms.split(",") if t.strip()),
        quadratic=command.quadratic,
        fixed=fixed,
        validation_kp=tuple(kp for kp in command.validation_kp if kp != 0),
        validation_mass=command.validation_mass,
        validation_trajectory=command.validation_trajectory,
    )
    return ServoJob(
        actuator=command.actuator,
        model=command.model,
        logdir=command.logdir,
        output=command.output,
        settings=settings,
        catalogue=command.catalogue,
        skip_bad_logs=command.skip_bad_logs,
    )


def _read_logs(job: ServoJob) -> tuple[list[ServoLog], list[str]]:
    skipped: list[str] = []
    logs = read_logs(job.logdir, uniform=True, skip_bad=job.skip_bad_logs, on_skip=skipped.append)
    return logs, skipped


def _with_start(job: ServoJob, command: FitServo, space: Space) -> ServoJob:
    """The job with the best values of an earlier study, where one is named."""
    study = command.load_study
    if study is None:
        return job
    path = Path(study).expanduser()
    if command.storage is None and path.is_dir():
        warm = warm_start(path, space)
        return _started(job, warm.space(space), warm.sentences)
    storage = command.storage
    name: str | None = study
    if storage is None:
        if not path.is_file():
            raise FitError(
                f"--load-study {study}: there is no such run directory or SQLite file; to name a "
                "study of a storage, give the --storage too"
            )
        storage, name = f"sqlite:///{path}", None
    from trueup.studies.optuna_storage import load_study

    found = load_study(storage, name, space, (job.settings.objective.kind,))
    if found.x is not None:
        space = dataclasses.replace(space, start=found.x.copy())
    return _started(job, space, found.notes())


def _started(job: ServoJob, space: Space, notes: list[str]) -> ServoJob:
    start = dict(zip(space.names, space.start.tolist(), strict=True))
    return dataclasses.replace(job, start=start, notes=tuple(notes))


def _refuse_to_replace(target: Path, output: Path) -> None:
    if (target / "run.json").is_file():
        RunDirectory.create(target)  # raises
    if output.exists():
        raise RunDirectoryError(
            f"{output} exists: choose another --output, or replace it with --overwrite"
        )


def _dry_run(
    job: ServoJob, prepared: Prepared, target: Path, skipped: list[str], output: Output
) -> int:
    space = prepared.space
    X = np.repeat(space.start[None, :], 2 * prepared.threads, axis=0)
    prepared.problem.costs(X)  # compiles
    started = time.perf_counter()
    prepared.problem.costs(X)
    seconds = (time.perf_counter() - started) / len(X)
    output.result(
        {
            "output": str(job.output),
            "directory": str(target),
            "method": job.settings.method,
            "parameters": list(space.names),
            "training_logs": [log.name for log in prepared.training_logs],
            "held_out_logs": [log.name for log in prepared.held_out_logs],
            "seconds_per_evaluation": seconds,
            "skipped": skipped,
            "notes": [*job.notes, *prepared.findings],
        }
    )
    held = len(prepared.held_out_logs)
    output.text(
        f"{job.actuator} {job.model}: {space.size} parameters from {len(prepared.training_logs)} "
        f"logs, {held} held out, searched with {job.settings.method}.",
        f"An evaluation takes {1e3 * seconds:.2g} ms here, with {prepared.threads} threads.",
        f"It would write {job.output} and {target}.",
        *job.notes,
        *(f"  ! {message}" for message in (*prepared.findings, *skipped)),
    )
    return DONE


def _remarks(result: ServoFit) -> list[str]:
    """What the table says of each parameter, as the report does."""
    rows = {row["name"]: row for row in parameter_rows(result.model, result.to_dict())}
    return [remark_of(rows[name]) for name in result.problem.space.names]


def _interval(low: float, high: float) -> str:
    return f"{low:.4g} to {high:.4g}" if np.isfinite([low, high]).all() else "not determined"
