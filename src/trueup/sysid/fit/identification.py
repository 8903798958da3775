"""Runs an experiment: fit, assessment, files and report in a run directory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import FitError, RunDirectoryError, SimulationError, did_you_mean, listing
from trueup.fitting.cma_es import CmaEs, CmaEsSettings
from trueup.fitting.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.losses import Loss
from trueup.fitting.multi_start import MultiStart
from trueup.fitting.polish import Polished
from trueup.fitting.solution import Solution, Status
from trueup.studies import Budget, RunDirectory, atomic, provenance, run
from trueup.studies.progress import Progress
from trueup.sysid.assess.assessment import Assessment, assess
from trueup.sysid.experiment.experiment_file import dump_experiment, load_experiment
from trueup.sysid.experiment.preparation import Prepared, prepare
from trueup.sysid.experiment.settings import Experiment, SearchPart
from trueup.sysid.fit._inner_fit import inner_fit
from trueup.sysid.fit.cross_validation import CrossValidation, check_folds, cross_validate
from trueup.sysid.fit.problem import GrayBoxProblem, default_threads
from trueup.sysid.fit.start_noise import measured_starts
from trueup.sysid.toolbox._prior_weight import refit_with_noise

_TUNING = 1.345 * 1.4826  # Huber's constant for 95 % efficiency, times the MAD of unit variance

SCIPY_METHODS = ("scipy", "scipy_parallel_fd")
"""Methods whose fits run in one piece: no several starts, no time limit, no resume."""

# Settings of a search that only some methods have.
_METHODS_OF = {
    "starts": ("mujoco",),
    "time_limit": ("mujoco", "cmaes"),
    "difference": ("mujoco", "scipy_parallel_fd", "cmaes"),
    "population": ("cmaes",),
    "restarts": ("cmaes",),
    "max_evaluations": ("cmaes",),
}
_INSTEAD = {
    "mujoco": "which scans the box with search.starts",
    "cmaes": "which has search.restarts",
    "scipy": "which goes from the given start for search.max_iters, with scipy's differences",
    "scipy_parallel_fd": "which goes from the given start for search.max_iters",
}

_NEAR = 1e-6  # share of the reduction so far below which CMA-ES hands over


class IdentificationInterrupted(KeyboardInterrupt):
    """Ctrl-C stopped an identification; it can be resumed where its method saves the fit."""

    def __init__(self, directory: Path, solution: Solution | None = None, method: str = "mujoco"):
        self.directory, self.solution = directory, solution
        so_far = "" if solution is None else f": {solution.message}"
        saved = (
            f"interrupted and saved in {directory}{so_far}. Go on with the same command and "
            f"--resume"
        )
        lost = (
            f"interrupted, and nothing of the fit is saved: the method {method} cannot go on where "
            f"it stopped. {directory} holds the experiment only; start anew with the same command "
            f"and --overwrite"
        )
        super().__init__(lost if method in SCIPY_METHODS else saved)


@dataclass
class Identification:
    """Result of :func:`identify`."""

    prepared: Prepared
    problem: GrayBoxProblem
    solution: Solution
    assessment: Assessment
    cross_validation: CrossValidation | None
    directory: Path
    summary: dict[str, Any]
    """Plain data of everything, as ``solution.json`` holds it."""

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.directory / "report.html"


def output_folder(experiment: Experiment, folder: Path, output: str | Path | None) -> Path:
    """Run directory of an experiment."""
    if output is not None:
        return Path(output)
    return folder / (experiment.output.directory or f"runs/{experiment.name}")


def identify(
    experiment: Experiment,
    folder: str | Path = ".",
    *,
    output: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    verbose: bool = True,
) -> Identification:
    """Identify the unknowns of an experiment.

    Args:
      experiment: the experiment, from :func:`trueup.sysid.load_experiment`.
      folder: folder that its file names refer to.
      output: run directory; the experiment's own where None.
      resume: continue an interrupted run.
      overwrite: replace a run that the directory holds.
      verbose: show progress on the error stream.

    Returns:
      The identification; its run directory holds every file.

    Raises:
      TrueupError: whatever is wrong, before anything is written.
      IdentificationInterrupted: Ctrl-C; the fit is saved and can be resumed, except by scipy.
    """
    folder = Path(folder)
    target = output_folder(experiment, folder, output)
    directory = RunDirectory.open(target) if resume else None
    if directory is None and not overwrite and (target / "run.json").is_file():
        RunDirectory.create(target)  # raises, before time is spent
    prepared = prepare(experiment, folder)
    problem = prepared.problem()
    check_requests(experiment, prepared, problem)
    check_start(problem)
    origin = provenance.collect(
        experiment.seed, prepared.inputs, experiment.model_dump(mode="json"), relative_to=folder
    )
    if directory is not None:
        check_same_run(directory, experiment, origin)
    search, settings = make_search(experiment, problem)
    directory = directory or RunDirectory.create(target, overwrite=overwrite)
    atomic.write_text(directory.experiment, dump_experiment(experiment))
    atomic.write_json(directory.provenance, origin)
    limit = experiment.search.time_limit
    try:
        solution = _fit(problem, search, directory, settings, resume, limit, verbose)
        if solution.status is Status.INTERRUPTED:
            raise IdentificationInterrupted(directory.path, solution)
        solution.provenance = origin
        with Progress(verbose) as progress:
            progress.update("intervals, held-out data, report")
            return finish(prepared, problem, solution, directory, settings.get("loss_scale", 1.0))
    except IdentificationInterrupted:
        raise
    except KeyboardInterrupt:
        method = experiment.search.method
        raise IdentificationInterrupted(directory.path, method=method) from None


def check_requests(experiment: Experiment, prepared: Prepared, problem: GrayBoxProblem) -> None:
    """Raise where something that is needed only after the fit cannot be had.

    Raises:
      FitError: ``confidence.profile`` names what is no free parameter.
      ExperimentError: more folds than training recordings.
    """
    names = problem.space.names
    unknown = [name for name in experiment.confidence.profile if name not in names]
    if unknown:
        raise FitError(
            f"confidence.profile names {listing(unknown)}; free parameters are {listing(names)}."
            f"{did_you_mean(unknown[0], names)}"
        )
    if experiment.held_out.folds > 1:
        check_folds(prepared, experiment.held_out.folds)


# What may differ on resume: none of it changes the course of the fit.
_FREE_ON_RESUME = {"output": ..., "confidence": ..., "search": {"time_limit"}}


def check_same_run(directory: RunDirectory, experiment: Experiment, origin: dict[str, Any]) -> None:
    """Raise RunDirectoryError where a run to resume was made from another experiment or data."""
    if not (directory.experiment.is_file() and directory.provenance.is_file()):
        return  # stopped before the first file: nothing to differ from
    former = load_experiment(directory.experiment)
    ignored: Any = _FREE_ON_RESUME
    before = former.model_dump(mode="json", exclude=ignored)
    now = experiment.model_dump(mode="json", exclude=ignored)
    changed = [key for key in now if now[key] != before[key]]
    if changed:
        raise RunDirectoryError(
            f"{directory.path} was made with another {listing(changed)}: resume it with the "
            f"experiment it was started with, or choose another --output"
        )
    hashes = [
        [file["sha256"] for file in block["inputs"]]
        for block in (origin, atomic.read_json(directory.provenance))
    ]
    if hashes[0] != hashes[1]:
        raise RunDirectoryError(
            f"the model or a recording has changed since {directory.path} was started: start anew "
            f"with --overwrite, or choose another --output"
        )


def check_start(problem: GrayBoxProblem) -> None:
    """Raise SimulationError where the simulation fails at the start values."""
    failures: dict[int, str] = {}
    problem.costs(problem.space.start[None, :], failures)
    if failures:
        raise SimulationError(
            f"the simulation fails at the start values: {failures[0]} Correct the model, the start "
            f"values or the initial state, or shorten the time step"
        )


def make_search(
    experiment: Experiment, problem: GrayBoxProblem
) -> tuple[LeastSquares | MultiStart | Polished, dict[str, Any]]:
    """The search of an experiment and the settings that its history depends on.

    Raises:
      FitError: settings of another method than the one that was chosen.
    """
    part = experiment.search
    check_search(part)
    scale = 1.0
    if part.loss != "linear":
        scale = _loss_scale(problem) if part.loss_scale == "auto" else float(part.loss_scale)
    settings = LeastSquaresSettings(
        max_iters=part.max_iters,
        difference=part.difference,
        trials=max(2, min(default_threads(), 8)),
        loss=part.loss,
        loss_scale=scale,
    )
    plain = {"loss_scale": scale, "starts": part.starts, "method": part.method}
    if part.method == "cmaes":
        chosen = {
            "population": part.population,
            "restarts": part.restarts,
            "max_evaluations": part.max_evaluations,
        }
        # where the best valley is found, least squares is quicker to its bottom
        near = CmaEsSettings(**chosen, options={"tolfunrel": _NEAR})
        first = CmaEs(problem.space, near, experiment.seed)
        return Polished(first, problem.space, settings), {**plain, **chosen}
    if part.starts > 1:
        return MultiStart(problem.space, settings, part.starts, seed=experiment.seed), plain
    return LeastSquares(problem.space, settings), plain


def check_search(part: SearchPart) -> None:
    """Raise FitError where settings of a search are for another method or loss than the chosen."""
    if part.loss == "linear" and part.loss_scale != "auto":
        raise FitError(
            f"search.loss_scale is {part.loss_scale:g}, and the loss 'linear' does not bend: leave "
            "it out, or choose a robust search.loss, such as huber"
        )
    defaults = SearchPart()
    for name, methods in _METHODS_OF.items():
        if part.method not in methods and getattr(part, name) != getattr(defaults, name):
            raise FitError(
                f"search.{name} is for the {'method' if len(methods) == 1 else 'methods'} "
                f"{', '.join(methods)}; the method is {part.method!r}, {_INSTEAD[part.method]}"
            )


def _loss_scale(problem: GrayBoxProblem) -> float:
    """Bend of a robust loss: from the spread of the residuals of a plain fit."""
    plain = inner_fit(problem, LeastSquares(problem.space, LeastSquaresSettings(max_iters=30)))
    residual = problem.residuals(plain.x[None, :])[0, : problem.data_rows]
    spread = float(np.median(np.abs(residual - np.median(residual))))
    return max(_TUNING * spread, 1e-12)


def _fit(
    problem: GrayBoxProblem,
    search: LeastSquares | MultiStart | Polished,
    directory: RunDirectory,
    settings: dict[str, Any],
    resume: bool,
    time_limit: float | None,
    verbose: bool,
) -> Solution:
    budget = Budget(max_seconds=time_limit)
    if settings["method"] in ("mujoco", "cmaes"):
        solution = run(
            problem,
            search,
            directory,
            settings=settings,
            resume=resume,
            budget=budget,
            verbose=verbose,
        )
    else:
        from trueup.fitting._scipy_least_squares import scipy_least_squares

        solution = scipy_least_squares(
            problem, search.settings, parallel=settings["method"] == "scipy_parallel_fd"
        )
    if not solution.success and solution.status is Status.START_FAILED:
        raise FitError(solution.message)
    return refit_with_noise(problem, solution, search.settings, time_limit)


def finish(
    prepared: Prepared,
    problem: GrayBoxProblem,
    solution: Solution,
    directory: RunDirectory,
    loss_scale: float = 1.0,
) -> Identification:
    """Assess a fit and write every file of the run directory."""
    from trueup.sysid.assess.summary import summarise
    from trueup.sysid.results.outputs import write_outputs

    experiment = prepared.experiment
    held_out = prepared.problem(sequences=prepared.held_out) if prepared.held_out else None
    alone = prepared.held_out_alone()
    for other in (held_out, alone):
        if other is not None:
            other.noise_scale = problem.noise_scale
    loss = Loss(experiment.search.loss, loss_scale)
    assessment = assess(
        problem,
        problem.space.start,
        solution,
        held_out,
        alone,
        method=experiment.confidence.method,
        level=experiment.confidence.level,
        loss=loss,
        profile=experiment.confidence.profile,
        seed=experiment.seed,
        starts=measured_starts(prepared, prepared.training, held_out=False),
        held_out_starts=measured_starts(prepared, prepared.held_out, held_out=True),
    )
    folds = experiment.held_out.folds
    crossed = None
    if folds > 1:
        crossed = cross_validate(prepared, solution.x, folds, problem.noise_scale, loss)
    solution.covariance = assessment.value_covariance
    solution.intervals = assessment.intervals
    summary = summarise(
        experiment.name,
        problem,
        solution,
        assessment,
        crossed,
        {r.name: r.quality for r in prepared.recordings},
        prepared.notes,
    )
    result = Identification(
        prepared, problem, solution, assessment, crossed, directory.path, summary
    )
    write_outputs(result, directory)
    return result
