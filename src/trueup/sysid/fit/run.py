"""Execution of an identification, from its experiment to its report."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.fitting.losses import Loss
from trueup.fitting.searches.device_first import DeviceFirst
from trueup.fitting.searches.least_squares import LeastSquares
from trueup.fitting.solution import Solution, Status
from trueup.reports import Page
from trueup.runs.execution import Execution
from trueup.runs.outcome import Outcome
from trueup.runs.session import Run, Session
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import solution_content
from trueup.simulation.engine.spare_memory import release_spare_memory
from trueup.simulation.warp.devices import DeviceChoice
from trueup.sysid.assess.judge import judge
from trueup.sysid.experiment.preparation import Prepared, prepare
from trueup.sysid.experiment.search_names import SCIPY_METHODS
from trueup.sysid.fit._inner_fit import REFIT_ITERATIONS, with_known_cost
from trueup.sysid.fit.identification import Fit, Identification
from trueup.sysid.fit.identification_search import (
    OWN,
    check_search,
    check_start,
    make_search,
)
from trueup.sysid.fit.prior_weight import refit_with_noise
from trueup.sysid.fit.requests import check_requests
from trueup.sysid.fit.spec import IdentificationSpec
from trueup.sysid.results.outputs import write_models, write_posterior, write_signals
from trueup.sysid.results.reduced_experiment import reduced_set, write_reduced
from trueup.sysid.results.replay import motion_replay, read_replay, write_replay
from trueup.sysid.starts.better_start import better_start
from trueup.sysid.starts.free_starts import fit_with_free_starts
from trueup.sysid.starts.second_optimum import SecondOptimum, second_optimum
from trueup.sysid.starts.widened_bounds import fit_within_wider_bounds
from trueup.sysid.torque.in_windows import fit_with_torques
from trueup.sysid.torque.load_check import torque_notes
from trueup.sysid.torque.reduced import searched

_LEAST_SHARE = 0.1  # minimum share of a time limit for the search after finding a start


@dataclass(frozen=True)
class Ready:
    """An identification with checked inputs."""

    prepared: Prepared
    """Models, recordings and parameters."""
    problem: Any
    """Problem of the fit."""
    search: Any
    """The new search."""
    settings: dict[str, Any]
    """Settings that the history of the search depends on."""
    notes: tuple[str, ...]
    """Notes on the recordings, in sentences."""


def run_identification(spec: IdentificationSpec, session: Session) -> Outcome:
    """Execute an identification; errors as :func:`trueup.runs.start`."""
    experiment, method = spec.experiment, spec.experiment.search.method
    ready = read_and_check(spec)
    prepared, problem = ready.prepared, ready.problem
    session.execution.check(spec.name, problem.space, problem.objectives)
    with session.begin(
        spec,
        prepared.inputs,
        settings=experiment.model_dump(mode="json"),
        folder=spec.folder,
        resumable=method not in SCIPY_METHODS,
    ) as run:
        fit = search(spec, ready, run)
        problem = fit.problem  # with wider bounds, or initial states

        def bare(solution: Solution) -> dict[str, Any]:
            return solution_content(spec.name, spec.kind, problem.space, solution, list(fit.notes))

        def keep(solution: Solution) -> None:
            release_spare_memory()  # the model is compiled with its visual meshes
            write_models(problem, solution, run.directory, prepared.specs)
            release_spare_memory()

        def judged(solution: Solution) -> Outcome:
            result = judge(prepared, fit, run.directory.path, run.verbose)
            return Outcome(result, result.summary, complete=solution.success)

        return run.finish(
            fit.solution,
            bare=bare,
            keep=keep,
            judge=judged,
            write=lambda outcome: write_results(outcome.result, run.directory),
            page=page_of,
        )


def read_and_check(spec: IdentificationSpec) -> Ready:
    """Read models and recordings, and construct the problem and the search.

    Raises:
      TrueupError: the first error in the inputs.
    """
    experiment = spec.experiment
    check_search(experiment.search)
    device = DeviceChoice(experiment.simulation.device)
    prepared = prepare(experiment, spec.folder)
    prepared.device = device
    problem = prepared.problem()
    check_requests(experiment, prepared, problem)
    notes = (*prepared.notes, *torque_notes(prepared))
    check_start(problem)
    made, settings = make_search(experiment, problem)
    return Ready(prepared, problem, made, settings, notes)


def search(spec: IdentificationSpec, ready: Ready, run: Run) -> Fit:
    """Fit: a better start if available, the search, and priors weighted by its residuals.

    Raises:
      FitError: the search fails at its start values.
      RunInterrupted: Ctrl-C.
    """
    part, problem, made = spec.experiment.search, ready.problem, ready.search
    notes, limits, start = ready.notes, spec.limits, None
    began = time.perf_counter()
    if part.method in SCIPY_METHODS:
        from trueup.fitting.searches.scipy_least_squares import scipy_least_squares

        run.describe()
        parallel = part.method == "scipy_parallel_fd"
        solution = scipy_least_squares(problem, made.settings, parallel=parallel)
    else:
        # max_iters 0 requests the start values
        if part.method == OWN and _is_single(made) and part.max_iters:
            start = better_start(ready.prepared, problem, part.time_limit)
            made = type(made)(problem.space, made.settings, start.x)
            notes += start.notes
            if part.time_limit is not None:
                left = part.time_limit - (time.perf_counter() - began)
                limits = replace(limits, max_seconds=max(left, _LEAST_SHARE * part.time_limit))
        solution = run.search(searched(problem, made), made, ready.settings, limits=limits)
    if solution.status is Status.START_FAILED:
        raise FitError(solution.message)
    loss = Loss(made.settings.loss, made.settings.loss_scale)
    solution = with_known_cost(problem, solution, loss)
    notes += getattr(problem, "device_notes", ())

    def seconds_left() -> float:
        return (
            np.inf if part.time_limit is None else part.time_limit - (time.perf_counter() - began)
        )

    if part.max_iters:
        problem, solution, moved = fit_within_wider_bounds(
            ready.prepared, problem, solution, made.settings, seconds_left
        )
        notes += moved
    problem, solution = refit_with_noise(problem, solution, made.settings, part.time_limit)
    joined: tuple[str, ...] = ()
    if part.method == OWN and part.max_iters:
        problem, solution, joined = fit_with_torques(
            ready.prepared, problem, solution, made.settings, seconds_left()
        )
        notes += joined
        problem, solution, freed = fit_with_free_starts(
            ready.prepared, problem, solution, made.settings, seconds_left()
        )
        joined += freed
        notes += freed
        start = start and start.with_size(problem.space.size)
    found = (
        second_optimum(ready.prepared, problem, solution, loss, start, seconds_left())
        if part.max_iters
        else SecondOptimum(solution)
    )
    notes += found.notes
    information = None if found.notes or joined else getattr(made, "gram", None)
    return Fit(problem, found.solution, loss, notes, information, found.elsewhere, found.was_tried)


def _is_single(search: Any) -> bool:
    """Whether a search is least squares from one start."""
    return isinstance(search, (LeastSquares, DeviceFirst))


def write_results(result: Identification, directory: RunDirectory) -> None:
    """Write signals and motion, and the experiment with undetermined parameters frozen."""
    prepared, problem = result.prepared, result.problem
    write_signals(result.assessment.signals, directory)
    if result.assessment.posterior is not None:
        write_posterior(result.assessment.posterior, problem.parameters, directory)
    replay = motion_replay(result)
    if replay is not None:
        write_replay(replay, directory)
    reduced = reduced_set(result.assessment.identifiability, problem.parameters)
    if reduced is not None and reduced.frozen and result.solution.success:
        final = problem.parameters.copy()
        final.update_from_vector(result.solution.x)
        write_reduced(prepared.experiment, reduced, final, prepared.folder, directory)


def page_of(outcome: Outcome) -> Page | None:
    """The report, with requested videos; None if no report is requested."""
    from trueup.sysid import report
    from trueup.sysid.results.overlay_video import overlay_videos

    result: Identification = outcome.result
    output = result.prepared.experiment.output
    if not output.report:
        return None
    videos = overlay_videos(result) if output.video else []
    return report.identification_report(
        outcome.summary,
        result.assessment.signals,
        videos,
        directory=result.directory,
        replay=read_replay(RunDirectory(result.directory)),
    )


def plan_identification(spec: IdentificationSpec, execution: Execution) -> dict[str, Any]:
    """Size of an identification, and its estimated duration [s]."""
    ready = read_and_check(spec)
    problem = ready.problem
    began = time.perf_counter()
    problem.costs(np.tile(problem.space.start, (problem.space.size + 1, 1)))
    batch = time.perf_counter() - began
    # central differences, a few steps of a second fit to less data, predictions at horizons
    after = batch * (2 + 0.5 * (REFIT_ITERATIONS + 2)) + 1.0
    return {
        "parameters": list(problem.space.names),
        "sequences": [s.name for s in problem.sequences],
        "residuals": problem.residual_size,
        "seconds_per_iteration": 1.5 * batch,
        "seconds_after_fit": after,
        "notes": list(ready.notes),
    }
