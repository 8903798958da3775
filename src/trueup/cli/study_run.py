"""``trueup study run``, and how a study goes on."""

import contextlib
import dataclasses
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup.cli.output import Output
from trueup.cli.study_commands import StudyResume, StudyRun
from trueup.cli.study_files import (
    KIND,
    read_experiment,
    solution_content,
    space_records,
    write_experiment,
    write_front,
)
from trueup.cli.study_problems import (
    NamedProblem,
    named_problem,
    problem_of_file,
    send_by_value,
)
from trueup.cli.study_search import (
    SEARCH_KEYS,
    budget_of,
    check_execution,
    evaluator_of,
    execution_record,
    resolved_method,
    search_of,
    trackers_of,
    with_former_execution,
)
from trueup.cli.study_show import show_summary
from trueup.errors import ExperimentError, RunDirectoryError, listing
from trueup.fitting import SEARCH_METHODS, Solution, Status
from trueup.parameters import Space
from trueup.reports import read_study, study_report
from trueup.studies import (
    Budget,
    RunDirectory,
    atomic,
    provenance,
    removed_on_early_error,
    run,
    warm_start,
)

DONE, NOT_CONVERGED, INTERRUPTED = 0, 3, 130


@dataclass(frozen=True)
class _Setup:
    """A study before its first or next generation."""

    named: NamedProblem
    space: Space
    settings: dict[str, Any]
    """Values of :data:`SEARCH_KEYS`, the method resolved."""
    budget: Budget
    notes: list[str]
    name: str

    @property
    def inputs(self) -> list[Path]:
        """Files that the history depends on."""
        return [] if self.named.file is None else [self.named.file]

    @property
    def run_settings(self) -> dict[str, Any]:
        """What has to be the same on resume."""
        hashes = [provenance.sha256_of(path) for path in self.inputs]
        return {"problem": self.named.function, "inputs": hashes, **self.settings}


def run_study_command(command: StudyRun, output: Output) -> int:
    """Run the command; returns the exit code."""
    command = _with_former_names(command)
    if command.resume and command.overwrite:
        raise ExperimentError("--resume continues a run, --overwrite replaces it: give one of them")
    if command.seed < 0:
        raise ExperimentError(f"--seed has to be 0 or larger, got {command.seed}")
    named = named_problem(command.problem, command.dimension)
    target = command.output or Path("runs") / named.name
    settings = {key: getattr(command, key) for key in SEARCH_KEYS}
    settings["method"] = resolved_method(command.method, named.problem)
    if command.resume:
        directory = RunDirectory.open(target)
        _check_same(directory, named, settings)
        return resume_study(directory, command, output)
    if not command.overwrite and (target / "run.json").is_file():
        RunDirectory.create(target)  # raises, before time is spent
    space, notes = _start(command, named)
    setup = _Setup(named, space, settings, budget_of(command), notes, target.name)
    if command.dry_run:
        return _dry_run(setup, target, output)
    # whatever is wrong with the options is said before a folder is made
    _search(setup)
    check_execution(command, setup.name, space, named.problem.objectives)
    directory = RunDirectory.create(target, overwrite=command.overwrite)
    return _go(setup, directory, command, output, resume=False)


def problem_of_run(directory: RunDirectory, folder: Path | None = None) -> NamedProblem:
    """The problem that a study was started with, with the start values that it had.

    Raises:
      RunDirectoryError: the file of the problem is gone or has changed.
    """
    record = read_experiment(directory)
    named = _named_again(directory, record["problem"], folder)
    if tuple(record["parameters"]) != named.problem.space.names:
        raise RunDirectoryError(
            f"the problem of {directory.path} has other parameters by now: it had "
            f"{listing(record['parameters'])}, it has {listing(named.problem.space.names)}"
        )
    start = np.array([row["start"] for row in record["parameters"].values()], float)
    named.problem.space = dataclasses.replace(named.problem.space, start=start)
    return named


def resume_study(directory: RunDirectory, command: StudyResume | StudyRun, output: Output) -> int:
    """Continue the study in a run directory; returns the exit code."""
    record = read_experiment(directory)
    named = problem_of_run(directory, getattr(command, "folder", None))
    command = with_former_execution(command, record.get("execution") or {})
    setup = _Setup(
        named=named,
        space=named.problem.space,
        settings=record["search"],
        budget=budget_of(command, record.get("budget")),
        notes=list(record.get("notes") or ()),
        name=record["name"],
    )
    return _go(setup, directory, command, output, resume=True)


def _go(
    setup: _Setup,
    directory: RunDirectory,
    options: StudyRun | StudyResume,
    output: Output,
    *,
    resume: bool,
) -> int:
    """Run the search and write everything that a run directory holds."""
    verbose = not (options.quiet or output.json)
    experiment = {**_experiment(setup, directory), "execution": execution_record(options)}
    origin = provenance.collect(setup.settings["seed"], setup.inputs, experiment)
    evaluator = evaluator_of(options)
    if options.scheduler is not None:
        send_by_value(setup.named)
    trackers = trackers_of(options, setup.name)
    search = _search(setup)
    begun = contextlib.nullcontext() if resume else removed_on_early_error(directory)
    with begun, directory.lock():
        write_experiment(directory, experiment)
        atomic.write_json(directory.provenance, origin)
        solution = run(
            setup.named.problem,
            search,
            directory,
            settings=setup.run_settings,
            resume=resume,
            budget=setup.budget,
            evaluator=evaluator,
            trackers=trackers,
            verbose=verbose,
        )
        solution.provenance = origin
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt(
                f"{solution.message}. Continue with  trueup study resume {directory.path}"
            )
        summary = _write_results(setup, directory, solution)
    output.result({**summary, "directory": str(directory.path), "report": str(directory.report)})
    show_summary(summary, output)
    output.text("", f"Report: {directory.report}", f"Files:  {directory.path}")
    return DONE if _reached_its_end(setup, solution) else NOT_CONVERGED


def _write_results(setup: _Setup, directory: RunDirectory, solution: Solution) -> dict[str, Any]:
    converges = SEARCH_METHODS[setup.settings["method"]].converges
    summary = solution_content(setup.name, KIND, setup.space, solution, setup.notes, converges)
    if solution.front is not None:
        write_front(directory, setup.space.names, solution.front)
    atomic.write_json(directory.solution, summary)
    study_report(read_study(directory)).save(directory.report)
    return summary


def _reached_its_end(setup: _Setup, solution: Solution) -> bool:
    limits = (Status.EVALUATION_LIMIT, Status.ITERATION_LIMIT, Status.TIME_LIMIT)
    endless = not SEARCH_METHODS[setup.settings["method"]].converges and solution.status in limits
    return solution.success or endless


def _search(setup: _Setup) -> Any:
    problem = setup.named.problem
    problem.space = setup.space
    return search_of(setup.settings, problem, setup.space, setup.budget)


def _start(command: StudyRun, named: NamedProblem) -> tuple[Space, list[str]]:
    """The space with its start values, and what was done about them."""
    space = named.problem.space
    if command.load_study and command.storage:
        from trueup.studies.optuna_storage import load_study

        found = load_study(command.storage, command.load_study, space, named.problem.objectives)
        if found.x is None:
            return space, found.notes()
        return dataclasses.replace(space, start=found.x.copy()), found.notes()
    if command.param_path is None:
        return space, []
    warm = warm_start(command.param_path, space)
    return warm.space(space), warm.sentences


def _experiment(setup: _Setup, directory: RunDirectory) -> dict[str, Any]:
    """Everything needed to make the study again, as plain data."""
    named = setup.named
    problem: dict[str, Any] = {"function": named.function, "dimension": named.dimension}
    if named.file is not None:
        # relative: run and file may move together
        problem = {"file": os.path.relpath(named.file, directory.path), **problem}
    return {
        "name": setup.name,
        "problem": problem,
        "objectives": list(named.problem.objectives),
        "search": setup.settings,
        "budget": dataclasses.asdict(setup.budget),
        "parameters": space_records(setup.space),
        "notes": setup.notes,
    }


def _named_again(
    directory: RunDirectory, record: dict[str, Any], folder: Path | None
) -> NamedProblem:
    """The problem that a run was started with."""
    if "file" not in record:
        return named_problem(record["function"], record.get("dimension"))
    file = directory.path / record["file"]
    if folder is not None:
        file = folder / file.name
    if not file.is_file():
        raise RunDirectoryError(
            f"the problem of {directory.path} was in {file.resolve()}, which is gone: say where "
            f"{file.name} is with --folder"
        )
    named = problem_of_file(file, record["function"], record.get("dimension"))
    former = (
        atomic.read_json(directory.provenance)["inputs"] if directory.provenance.is_file() else []
    )
    if former and former[0]["sha256"] != provenance.sha256_of(file):
        raise RunDirectoryError(
            f"{file} has changed since {directory.path} was started: take the former file to "
            "resume, or start anew with another --output"
        )
    return named


def _check_same(directory: RunDirectory, named: NamedProblem, settings: dict[str, Any]) -> None:
    """Raise where a run to resume was started with another problem or search."""
    record = read_experiment(directory)
    former = {**record["search"], "problem": record["problem"]["function"]}
    now = {**settings, "problem": named.function}
    changed = [key for key in now if now[key] != former.get(key)]
    if changed:
        raise RunDirectoryError(
            f"{directory.path} was started with another {listing(changed)}: resume it with the "
            f"options it was started with, as  trueup study resume {directory.path}  does"
        )


def _with_former_names(command: StudyRun) -> StudyRun:
    """The command with the options of former names replaced by those of today."""
    if command.pickle_path is None:
        return command
    path = command.pickle_path.expanduser()
    if command.output is not None:
        raise ExperimentError("--pickle-path and --output name the run directory: give one of them")
    if not path.is_dir() or not (path / "run.json").is_file():
        raise RunDirectoryError(
            f"{path} is not the run directory of a study. A pickled search of another program can "
            "run any code when it is opened, so it is never read: start from its parameters with "
            "--param-path, given as text, JSON, YAML or .npy"
        )
    return dataclasses.replace(command, output=path, resume=True, pickle_path=None)


def _dry_run(setup: _Setup, target: Path, output: Output) -> int:
    search = _search(setup)
    problem = setup.named.problem
    X = search.ask()
    failures: dict[int, str] = {}
    started = time.perf_counter()
    problem.costs(X, failures)
    seconds = time.perf_counter() - started
    result = {
        "directory": str(target),
        "method": setup.settings["method"],
        "parameters": list(setup.space.names),
        "objectives": list(problem.objectives),
        "population": len(X),
        "seconds_per_generation": seconds,
        "invalid": {str(i): reason for i, reason in failures.items()},
        "notes": setup.notes,
    }
    output.result(result)
    output.text(
        f"{setup.name}: {setup.space.size} parameters, {len(problem.objectives)} objective(s), "
        f"searched with {setup.settings['method']}.",
        f"The first {len(X)} candidates took {seconds:.2g} s here; {len(failures)} were invalid.",
        f"It would be written to {target}.",
        *setup.notes,
    )
    return DONE
