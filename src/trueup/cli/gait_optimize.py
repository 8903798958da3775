"""``trueup gait optimize``, and how a run of it goes on."""

import contextlib
import dataclasses
import hashlib
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from trueup._version import __version__
from trueup.cli.gait_commands import EvaluateGait, OptimizeGait
from trueup.cli.gait_options import GaitOverrides
from trueup.cli.gait_results import judged_solution, write_results
from trueup.cli.gait_show import (
    OF_SEARCHES,
    check_chosen_trunk,
    check_paths,
    run_gait_evaluate,
    survival_lines,
    trunk_notes,
)
from trueup.cli.gait_start import (
    FORMAT_VERSION,
    KIND,
    best_vector_file,
    check_start,
    configuration_of_run,
    experiment_content,
    kept_start,
    problem_to_look_at,
    resolved_start,
    start_of,
)
from trueup.cli.output import Output
from trueup.errors import GaitError, ModelError, RunDirectoryError, listing
from trueup.fitting import CmaEs, CmaEsSettings, ScatterSearch, Status, parse_cma_options
from trueup.gait import (
    EarlyStoppingCmaEs,
    FreshPerturbationsCmaEs,
    GaitConfiguration,
    GaitProblem,
    load_configuration,
    make_problem,
)
from trueup.gait.models._own_models import OWN_MODELS
from trueup.gait.search.fresh_perturbations import told_over
from trueup.gait.search.run_files import TermsLog
from trueup.parameters import Space
from trueup.reports import Page
from trueup.studies import (
    Budget,
    RunDirectory,
    atomic,
    provenance,
    removed_on_early_error,
    run,
)
from trueup.studies.yaml_file import read_mapping

DONE, NOT_CONVERGED = 0, 3
STARTS = {"param_path", "start_in_cycle", "start_values"}
"""Options that say what a search starts from."""
SCATTERED = 128
"""Candidates of a batch of a scatter, unless given: most fall at once, so large ones are quick."""


def run_optimize(command: OptimizeGait, output: Output) -> int:
    """Run the command; returns the exit code."""
    if command.pickle_path is not None:
        if command.save_path is not None or command.overwrite:
            raise GaitError("--pickle-path is --save-path and --resume in one: leave those out")
        if not (command.pickle_path / "run.json").is_file():
            raise GaitError(
                f"--pickle-path names a run directory, and {command.pickle_path} is none. A "
                "pickled search of another program can run any code, so it is never read: start "
                "from its best vector with --param-path FILE_OR_FOLDER instead"
            )
        command = dataclasses.replace(command, save_path=command.pickle_path, resume=True)
    if command.resume and command.overwrite:
        raise GaitError("--resume continues a run, --overwrite replaces it: give one of them")
    loaded = load_configuration(command.configuration)
    configuration = loaded.with_changes(command.changes)
    if not command.resume:
        check_paths(command.configuration, command.changes)
    if configuration.optim_mode == "evaluate":
        return _evaluate(command, configuration, output)
    target = command.save_path or Path("runs") / Path(command.configuration).stem
    budget = Budget(max_evaluations=command.max_evaluations, max_seconds=command.max_seconds)
    verbose = not (command.quiet or output.json)
    begun_with = _fingerprint(loaded)
    if command.resume and not _died_at_birth(target):
        directory = RunDirectory.open(target)
        former = configuration_of_run(directory)
        begun = read_mapping(directory.experiment).get("begun_with")
        if begun not in (None, begun_with) and loaded != former:
            raise RunDirectoryError(
                f"{target} was begun with another configuration than {command.configuration} is "
                f"now. To go on as it was begun use  trueup study resume {target}"
            )
        if command.changes:
            given = former.with_changes(command.changes)
            if given.model_copy(update={"maxiter": former.maxiter}) != former:
                raise RunDirectoryError(
                    f"{target} was started with another configuration: resume it without options "
                    "that change it"
                )
            former = given
        problem, notes = _resumed(former, directory, command.threads)
        return _go(former, problem, notes, directory, budget, verbose, output)
    overwrite = command.overwrite or command.resume
    if not overwrite and (target / "run.json").is_file():
        RunDirectory.create(target)  # raises, before time is spent
    _check_inputs_stay(configuration, target)
    # whatever is wrong, before a folder is made or replaced
    configuration, problem, notes = _begun(command, configuration)
    _search(configuration, problem.space)
    directory = RunDirectory.create(target, overwrite=overwrite)
    return _go(configuration, problem, notes, directory, budget, verbose, output, begun_with)


def _died_at_birth(target: Path) -> bool:
    """Whether a run was killed before it had written what it is: there is nothing to go on from."""
    files = ("experiment.yaml", "study.sqlite")
    return (target / "run.json").is_file() and not any((target / name).exists() for name in files)


def _fingerprint(configuration: GaitConfiguration) -> str:
    """SHA-256 of a configuration, to tell it from another one."""
    text = json.dumps(configuration.plain(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _begun(
    command: OptimizeGait, configuration: GaitConfiguration
) -> tuple[GaitConfiguration, GaitProblem, list[str]]:
    """The resolved configuration, its problem with the start values, and what is to be said."""
    repeated = experiment_content(command.configuration)
    held = repeated is not None and (repeated.get("configuration") or {}).get("moved") is not None
    if held and (STARTS | {"moved"}) & set(command.changes):
        raise GaitError(
            f"{command.configuration} holds all that its search did not move at the values that it "
            "started from: for others take the configuration that it was made from"
        )
    if repeated is not None and not STARTS & set(command.changes):
        problem = make_problem(configuration, command.threads)
        if set(repeated.get("start") or {}) != set(problem.space.names):
            raise GaitError(
                f"{command.configuration} holds the start of a search with other unknowns: name "
                "what this one is to start from with --param-path, such as that run's directory"
            )
        problem.space = kept_start(repeated, problem.space) or problem.space
        check_start(problem, problem.space)
        return configuration, problem, list(repeated.get("notes") or [])
    configuration = resolved_start(configuration)
    problem = make_problem(configuration, command.threads)
    check_chosen_trunk(command.changes, problem)
    problem.space, notes = start_of(configuration, problem)
    return configuration, problem, [*notes, *trunk_notes(problem)]


def _resumed(
    configuration: GaitConfiguration, directory: RunDirectory, threads: int
) -> tuple[GaitProblem, list[str]]:
    """The problem of a run with the start values that it keeps, and what was said of them."""
    problem = make_problem(configuration, threads)
    content = read_mapping(directory.experiment)
    start = kept_start(content, problem.space)
    if start is None:
        raise RunDirectoryError(
            f"{directory.experiment} lacks the block 'start': the run was begun by another version "
            "of trueup, and cannot be gone on with"
        )
    problem.space = start
    return problem, list(content.get("notes") or [])


def _check_inputs_stay(configuration: GaitConfiguration, target: Path) -> None:
    """Raise GaitError where a file that the run needs later would be replaced with its folder."""
    folder = target.expanduser().resolve()
    for path in _inputs(configuration):
        if folder in path.resolve().parents:
            raise GaitError(
                f"{path}, which is an input, lies in the run directory {target}, which is written "
                "anew: move it, or choose another --save-path"
            )


def _inputs(configuration: GaitConfiguration) -> list[Path]:
    """Files that a run reads, whatever it starts from."""
    model = configuration.model_file
    models = [] if model is None or model in OWN_MODELS else [model]
    return [Path(value) for value in (*models, *configuration.reference_files)]


def _evaluate(command: OptimizeGait, configuration: GaitConfiguration, output: Output) -> int:
    """Evaluate the vector of ``--param-path``, for the mode that searches nothing."""
    if configuration.param_path is None:
        raise GaitError(
            "the mode evaluate searches nothing: name the vector with --param-path, or use  "
            "trueup gait evaluate FILE"
        )
    overrides = {
        entry.name: getattr(command, entry.name)
        for entry in fields(GaitOverrides)
        if entry.name not in OF_SEARCHES
    }
    target = _vector_file(Path(configuration.param_path))
    return run_gait_evaluate(
        EvaluateGait(
            **overrides,
            target=target,
            config=command.configuration,
            threads=command.threads,
            json=command.json,
        ),
        output,
    )


def _vector_file(path: Path) -> Path:
    """A file with the best vector of a run or a folder: what it walks by is said elsewhere."""
    if not (path / "run.json").is_file():
        return best_vector_file(path)
    found = sorted(path.glob("*_Best.txt"))
    if not found:
        raise GaitError(f"the run {path} has written no *_Best.txt yet: it is not finished")
    return found[0]


def resume_gait(
    directory: RunDirectory,
    limits: Budget,
    folder: Path | None,
    execution: Any,
    verbose: bool,
    output: Output,
) -> int:
    """Continue a gait optimisation from its run directory; returns the exit code."""
    configuration = configuration_of_run(directory)
    problem, notes = _resumed(configuration, directory, 0)
    return _go(configuration, problem, notes, directory, limits, verbose, output)


def report_of_gait(directory: RunDirectory) -> Page:
    """The report of a gait optimisation, which may be in progress."""
    from trueup.cli.gait_report import page_of_run, page_without_walk

    configuration = configuration_of_run(directory)
    try:
        problem = problem_to_look_at(configuration)
        kept = kept_start(read_mapping(directory.experiment), problem.space)
        return page_of_run(directory, configuration, problem, kept.start if kept else None)
    except (GaitError, ModelError) as error:
        return page_without_walk(directory, error)


def models_of(problem: GaitProblem) -> list[dict[str, Any]]:
    """Models that are put together rather than read, with the SHA-256 of the XML they come to."""
    found = []
    for scenario in problem.scenarios:
        walker = scenario.simulation.walker
        if walker.xml_sha256 is not None:
            model = {"name": Path(walker.source).name, "sha256": walker.xml_sha256}
            found += [] if model in found else [model]
    return found


def _search(configuration: GaitConfiguration, space: Space) -> CmaEs | ScatterSearch:
    if configuration.search == "scatter":
        for_cma = ("early_stop", "fresh_perturbations", "cma_options")
        if foreign := [key for key in for_cma if getattr(configuration, key)]:
            raise GaitError(
                f"{listing(foreign)} belongs to the search 'cma', and this one is 'scatter': leave "
                "it out"
            )
        if configuration.maxiter is None:
            raise GaitError("a scatter has no end of its own: give maxiter, its batches")
        return ScatterSearch(space, configuration.popsize or SCATTERED, seed=configuration.seed)
    settings = CmaEsSettings(
        population=configuration.popsize,
        options=parse_cma_options(configuration.cma_options),
    )
    kind = CmaEs
    if configuration.early_stop:
        kind = EarlyStoppingCmaEs
    elif configuration.fresh_perturbations:
        kind = FreshPerturbationsCmaEs
    return kind(space, settings, seed=configuration.seed)


def _go(
    configuration: GaitConfiguration,
    problem: GaitProblem,
    notes: list[str],
    directory: RunDirectory,
    budget: Budget,
    verbose: bool,
    output: Output,
    new_with: str | None = None,
) -> int:
    """Search, and write everything that a run directory holds.

    ``new_with`` is the fingerprint of the configuration that a new run begins with; a run that is
    gone on with keeps its own.
    """
    resume = new_with is None
    begun_with = read_mapping(directory.experiment).get("begun_with") if resume else new_with
    if budget.max_generations is None:
        budget = dataclasses.replace(budget, max_generations=configuration.maxiter)
    inputs = _inputs(configuration)
    content = {
        "kind": KIND,
        "format_version": FORMAT_VERSION,
        "trueup": __version__,
        "name": directory.path.name,
        "begun_with": begun_with,
        "configuration": configuration.plain(),
        "start": dict(zip(problem.space.names, problem.space.start.tolist(), strict=True)),
        "notes": notes,
    }
    settings = {**configuration.plain(), "maxiter": None}
    settings["inputs"] = [provenance.sha256_of(path) for path in inputs]
    models = models_of(problem)
    settings["models"] = [model["sha256"] for model in models]
    origin = {**provenance.collect(configuration.seed, inputs, content), "models": models}
    log = TermsLog(directory.path / "terms.jsonl", problem)

    def describe_run() -> None:
        text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)
        atomic.write_text(directory.experiment, text)
        atomic.write_json(directory.provenance, origin)

    output.text(*notes)
    begun = contextlib.nullcontext() if resume else removed_on_early_error(directory)
    with begun, directory.lock():
        solution = run(
            problem,
            _search(configuration, problem.space),
            directory,
            settings=settings,
            resume=resume,
            budget=budget,
            on_generation=log.write,
            on_start=describe_run,
            verbose=verbose,
        )
        if solution.status is Status.INTERRUPTED:
            # one way to go on, the one without the configuration
            message = solution.message.partition("; the run in ")[0]
            raise KeyboardInterrupt(
                f"{message}. Continue with  trueup study resume {directory.path}"
            )
        try:
            if configuration.fresh_perturbations and np.isfinite(solution.cost):
                output.text("Judging the candidates of the last generations over other repeats ...")
                solution = judged_solution(directory, problem, solution)
                assert problem.perturbations is not None  # or nothing could have been judged
                problem.perturbations = told_over(problem.perturbations)
            summary = write_results(configuration, directory, problem, solution, notes)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                "stopped after the search, which is saved, and before its results were written. "
                f"Write them with  trueup study resume {directory.path}"
            ) from None
    output.result({**summary, "directory": str(directory.path), "report": str(directory.report)})
    output.text(
        f"{solution.status.value}: {solution.message}",
        f"The best walk costs {solution.cost:.6g} and goes {summary['walked_m']:.2f} m in "
        f"{summary['lasted_s']:.2f} s.",
        *survival_lines(summary.get("survival", {})),
        f"Report: {directory.report}",
        f"Files:  {directory.path}",
    )
    if not np.isfinite(solution.cost):
        return NOT_CONVERGED  # no candidate could walk
    limits = (Status.ITERATION_LIMIT, Status.EVALUATION_LIMIT, Status.TIME_LIMIT)
    return DONE if solution.success or solution.status in limits else NOT_CONVERGED
