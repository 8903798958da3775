"""Run of a gait optimisation, from configuration to report."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import GaitError, ModelError
from trueup.fitting import Solution
from trueup.gait.begin import begun_search, search_at_start, search_limits, start_mark
from trueup.gait.report.interim_report import InterimReports
from trueup.gait.report.of_run import page_of_run, page_without_walk
from trueup.gait.result import GaitResult, judged_gait
from trueup.gait.search.distribution import DISTRIBUTION, distribution_of
from trueup.gait.search.earlier_runs import (
    CONTROLLER,
    configuration_of_run,
    controller_digest,
    kept_start,
)
from trueup.gait.search.fresh_perturbations import is_reevaluated
from trueup.gait.search.given_walks import problem_to_look_at
from trueup.gait.search.myoassist.cma_files import FOLDER as CMA_FOLDER
from trueup.gait.search.myoassist.cma_files import CmaFiles
from trueup.gait.search.myoassist.script import write_training_scripts
from trueup.gait.search.problem import GaitProblem
from trueup.gait.search.run_files import TERMS_LOG, TermsLog, write_vectors
from trueup.gait.spec import GaitSpec
from trueup.reports import Page
from trueup.runs import Outcome, Session
from trueup.runs.loop.generation import Generation
from trueup.runs.store import atomic
from trueup.runs.store.database import Store
from trueup.runs.store.history import History
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import solution_content
from trueup.runs.store.yaml_file import read_mapping
from trueup.simulation.warp.devices import DeviceChoice


def run_gait(spec: GaitSpec, session: Session) -> Outcome:
    """Optimise a walk; errors as :func:`trueup.runs.start`."""
    mark = start_mark(spec)
    problem, spec = begun_search(spec)
    search = search_at_start(problem, spec.configuration)
    limits, models = search_limits(spec, search), built_models(problem)
    origin: dict[str, Any] = {"models": models}
    if (own := spec.local.controller) is not None:
        origin[CONTROLLER] = controller_digest(own)
    # of own reflexes the run has a copy, so that their file may change
    inputs = [path for path in spec.paths() if str(path) != own]
    with session.begin(spec, inputs, problem=problem, further_origin=origin, mark=mark) as run:
        for note in spec.notes if run.verbose else ():
            print(note, file=sys.stderr)
        log = TermsLog(run.directory.inside(TERMS_LOG), problem)
        cma_files = CmaFiles(run.directory.inside(CMA_FOLDER), spec.configuration.seed)
        interim = InterimReports(run, problem, spec.name, spec.local)

        def on_generation(generation: Generation) -> None:
            log.write(generation)
            cma_files.write(generation)
            interim.after(generation)

        def on_start() -> None:
            effective = spec.configuration.model_copy(update={"maxiter": limits.max_generations})
            write_training_scripts(run.directory.path, spec.name, effective)
            if own is not None:
                run.directory.inside(CONTROLLER).write_bytes(Path(own).read_bytes())

        hashes = [*run.hashes, *([] if own is None else [origin[CONTROLLER]])]
        settings = search_settings(spec, hashes, models)
        solution = run.search(
            problem,
            search,
            settings,
            limits=limits,
            on_generation=on_generation,
            on_start=on_start,
        )
        log.finish()
        cma_files.finish()
        spec = with_device_notes(spec, problem)

        def bare(solution: Solution) -> dict[str, Any]:
            return solution_content(spec.name, spec.kind, problem.space, solution, spec.notes)

        def judge(solution: Solution) -> Outcome:
            history, path = read_history(run.directory), run.directory.path
            return judged_gait(spec, problem, solution, history, path, run.verbose)

        return run.finish(
            solution,
            bare=bare,
            judge=judge,
            write=lambda outcome: write_result(run.directory, spec, search, outcome.result),
            page=lambda outcome: page_of_result(run.directory, spec, outcome),
        )


def with_device_notes(spec: GaitSpec, problem: GaitProblem) -> GaitSpec:
    """The spec with notes on the device of a search, whose result the CPU evaluates."""
    notes = (*spec.notes, *problem.device_notes)
    problem.device = DeviceChoice()
    return spec.model_copy(update={"notes": notes})


def built_models(problem: GaitProblem) -> list[dict[str, str]]:
    """Models that are built instead of read, with the SHA-256 of their XML."""
    found: list[dict[str, str]] = []
    for scenario in problem.scenarios:
        walker = scenario.simulation.walker
        if walker.xml_sha256 is not None:
            model = {"name": Path(walker.source).name, "sha256": walker.xml_sha256}
            found += [] if model in found else [model]
    return found


def search_settings(
    spec: GaitSpec, hashes: Sequence[str], models: Sequence[dict[str, str]]
) -> dict[str, Any]:
    """Settings of the history; ``maxiter`` may change on resume."""
    settings = {**spec.configuration.to_dict(), "maxiter": None}
    return {
        **settings,
        "inputs": list(hashes),
        "models": [model["sha256"] for model in models],
    }


def read_history(directory: RunDirectory) -> History:
    """Every evaluation of a run."""
    with Store.open(directory.study) as store:
        return store.history()


def write_result(directory: RunDirectory, spec: GaitSpec, search: Any, result: GaitResult) -> None:
    """Write the vectors of the best candidate and of the best of the last generation.

    Args:
      directory: run directory.
      spec: spec of the run.
      search: the search in its initial state, for its final distribution.
      result: result of the run.
    """
    problem, solution = result.problem, result.solution
    if is_reevaluated(problem, spec.configuration.search) and np.isfinite(solution.cost):
        # the reevaluated candidate, from which other searches start
        content = {"parameters": solution.parameters, "cost": solution.cost}
        atomic.write_json(directory.parameters, content)
    with Store.open(directory.study) as store:
        history, saved = store.history(), store.last_state()
    last = np.flatnonzero(history.generation == history.generation.max())
    best_last = history.X[last[int(np.nanargmin(history.costs[last, 0]))]]
    if saved is not None and hasattr(type(search), "distribution"):
        reached = search.from_state(saved[1], problem.space)
        found = distribution_of(problem.space.names, reached.distribution)
        atomic.write_json(directory.inside(DISTRIBUTION), found, indent=None)
    write_vectors(directory.path, spec.configuration, problem, solution.x, best_last)


def page_of_result(directory: RunDirectory, spec: GaitSpec, outcome: Outcome) -> Page:
    """The report of a run at its end."""
    result: GaitResult = outcome.result
    start, verdict = result.problem.space.start, outcome.summary["verdict"]
    try:
        return page_of_run(directory, spec.local, result.problem, start, result.survivals, verdict)
    except GaitError as error:
        return page_without_walk(directory, error)


def report(directory: RunDirectory) -> Page:
    """The report of a run, which may be in progress."""
    configuration = configuration_of_run(directory)
    try:
        problem = problem_to_look_at(configuration)
        kept = kept_start(read_mapping(directory.experiment).get("start"), problem.space)
        start = None if kept is None else kept.start
        return page_of_run(directory, configuration, problem, start)
    except (GaitError, ModelError) as error:
        return page_without_walk(directory, error)
