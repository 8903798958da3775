"""An identification as a piece of work."""

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import FitError, RunDirectoryError, TrueupError, listing
from trueup.fitting.losses import Loss
from trueup.fitting.searches.least_squares import LeastSquares
from trueup.fitting.solution import Solution, Status
from trueup.reports import Page
from trueup.runs import Job, Outcome, Run, SearchJob, read_solution
from trueup.runs.loop.budget import Budget
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.study_page.record import read_study
from trueup.runs.study_page.report import study_report
from trueup.simulation.engine.spare_memory import release_spare_memory
from trueup.sysid.assess.assessment import assess
from trueup.sysid.assess.horizons import horizon_errors
from trueup.sysid.assess.missing_terms import missing_terms
from trueup.sysid.assess.summary import summarise
from trueup.sysid.experiment.experiment_file import load_experiment
from trueup.sysid.experiment.preparation import Prepared, prepare
from trueup.sysid.experiment.run_inputs import inputs_of_run
from trueup.sysid.experiment.search_names import SCIPY_METHODS
from trueup.sysid.experiment.settings import Experiment
from trueup.sysid.fit._inner_fit import REFIT_ITERATIONS, AfterFit, with_known_cost
from trueup.sysid.fit.cross_validation import cross_validate
from trueup.sysid.fit.identification import Identification
from trueup.sysid.fit.identification_search import (
    OWN,
    check_search,
    check_start,
    make_search,
)
from trueup.sysid.fit.prior_weight import refit_with_noise
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.requests import check_requests
from trueup.sysid.fit.soft_friction import soft_friction_optimum
from trueup.sysid.fit.start_noise import measured_starts
from trueup.sysid.fit.unseen_ends import unseen_ends
from trueup.sysid.results.outputs import read_signals, write_models, write_signals
from trueup.sysid.results.reduced_experiment import reduced_set, write_reduced
from trueup.sysid.torque.load_check import torque_notes
from trueup.sysid.torque.report import torque_fit, torque_summary

_SHARE_OF_START = 0.3  # of a time limit, for a fit to torques, and for one with soft friction
_SECONDS_OF_TORQUE_START = 20.0  # for a fit to torques, which takes one or two

# What may differ on resume: none of it changes the course of the fit.
_FREE_ON_RESUME: Any = {
    "output": ...,
    "confidence": ...,
    "design": ...,
    "search": {"time_limit"},
}


class IdentificationJob(SearchJob):
    """An identification as a piece of work.

    Args:
      experiment: the experiment.
      folder: folder that its file names refer to.
    """

    kind = "identification"
    noun = "an identification"
    known_limits = ("max_seconds",)
    limits_of_call = False

    def __init__(self, experiment: Experiment, folder: Path):
        self.experiment = experiment
        self.folder = folder
        self.name = experiment.name
        self.seed = experiment.seed
        self.limits = Budget(max_seconds=experiment.search.time_limit)
        self._prepared: Prepared | None = None
        self._settings: dict[str, Any] = {}

    @property
    def prepared(self) -> Prepared:
        """Models, recordings and unknowns, read once."""
        if self._prepared is None:
            self._prepared = prepare(self.experiment, self._folder)
            self.notes = self._prepared.notes
        return self._prepared

    @property
    def can_resume(self) -> bool:
        return self.experiment.search.method not in SCIPY_METHODS

    @property
    def _folder(self) -> Path:
        assert self.folder is not None
        return self.folder

    def run_directory(self, output: str | Path | None = None) -> Path:
        """Run directory: ``output``, or the experiment's own."""
        if output is not None:
            return Path(output)
        return self._folder / (self.experiment.output.directory or f"runs/{self.name}")

    def inputs(self) -> Sequence[Path]:
        return self.prepared.inputs

    def plain(self, directory: Path) -> dict[str, Any]:
        return {"folder": os.path.relpath(self._folder, directory), **self.origin(directory)}

    def origin(self, directory: Path) -> dict[str, Any]:
        return self.experiment.model_dump(mode="json")

    @classmethod
    def from_plain(
        cls, content: dict[str, Any], directory: RunDirectory, folder: Path | None
    ) -> "IdentificationJob":
        last = list(Experiment.model_fields)[-1]
        if content.get("kind") and last not in content:
            # a run writes every key: what is gone would count as its default
            raise RunDirectoryError(
                f"{directory.experiment} is damaged: it ends before its last key, {last}"
            )
        try:
            experiment = load_experiment(directory.experiment)
        except TrueupError as error:
            if str(directory.path) in str(error):
                raise
            raise RunDirectoryError(f"{directory.experiment} is damaged: {error}") from error
        return cls(*inputs_of_run(directory, content.get("folder"), folder, experiment))

    def identity(self) -> dict[str, Any]:
        return self.experiment.model_dump(mode="json", exclude=_FREE_ON_RESUME)

    def continuing(self, former: Job) -> Job:
        return self  # output, confidence and time limit may be other ones

    def limited(self, limits: Budget) -> Job:
        super().limited(limits)
        search = self.experiment.search.model_copy(update={"time_limit": self.limits.max_seconds})
        self.experiment = self.experiment.model_copy(update={"search": search})
        return self

    def prepare(self) -> None:
        check_search(self.experiment.search)
        check_requests(self.experiment, self.prepared, self.problem)
        self.prepared.notes.extend(torque_notes(self.prepared))
        check_start(self.problem)
        _ = self.search

    def make_problem(self) -> GrayBoxProblem:
        return self.prepared.problem()

    def make_search(self) -> Any:
        search, self._settings = make_search(self.experiment, self.problem)
        return search

    def settings(self, hashes: Sequence[str]) -> dict[str, Any]:
        return self._settings

    def solve(self, run: Run) -> Solution:
        search, method = self.search, self.experiment.search.method
        limit = self.experiment.search.time_limit
        if method in SCIPY_METHODS:
            from trueup.fitting.searches._scipy_least_squares import scipy_least_squares

            run.describe()
            solution = scipy_least_squares(
                self.problem, search.settings, parallel=method == "scipy_parallel_fd"
            )
        else:
            if method == OWN and isinstance(search, LeastSquares):
                began = time.perf_counter()
                self._begin_with_torques(search)
                self._begin_with_soft_friction(search)
                release_spare_memory()
                if limit is not None:
                    left = limit - (time.perf_counter() - began)
                    self.limits = replace(self.limits, max_seconds=max(left, 0.1 * limit))
            solution = super().solve(run)
        if solution.status is Status.START_FAILED:
            raise FitError(solution.message)
        loss = Loss(search.settings.loss, search.settings.loss_scale)
        with_known_cost(self.problem, solution, loss)
        return refit_with_noise(self.problem, solution, search.settings, limit)

    def _begin_with_torques(self, search: LeastSquares) -> None:
        """Start where inverse dynamics ends, where that is nearer to the recorded motion."""
        problem = self.problem
        if self.experiment.search.max_iters == 0:
            return  # the start values are asked for
        limit = _SHARE_OF_START * (self.experiment.search.time_limit or np.inf)
        limit = min(limit, _SECONDS_OF_TORQUE_START)
        found = torque_fit(self.prepared, problem.space.start, limit)
        if found is None:
            return
        _, x, acts = found
        if not acts.any():
            return
        failures: dict[int, str] = {}
        before, after = problem.costs(np.stack([problem.space.start, x]), failures)[:, 0]
        if not failures and after < before:
            search.x = x
            names = [n for n, a in zip(problem.space.names, acts, strict=True) if a]
            self.prepared.notes.append(
                f"The search begins with the values that inverse dynamics gives for "
                f"{listing(names, 6)}: their cost is {after:.4g}, that of the start values "
                f"{before:.4g}."
            )

    def _begin_with_soft_friction(self, search: LeastSquares) -> None:
        """Start at the optimum with soft joint friction, where hard friction has a lower cost."""
        part, problem = self.experiment.search, self.problem
        if part.max_iters == 0:
            return
        limit = _SHARE_OF_START * (part.time_limit or np.inf)
        found = soft_friction_optimum(self.prepared, problem, search.x, limit)
        if found is None:
            return
        x, evaluations = found
        failures: dict[int, str] = {}
        before, after = problem.costs(np.stack([search.x, x]), failures)[:, 0]
        if 1 not in failures and after < before:
            search.x = x
            self.prepared.notes.append(
                f"The search begins at the optimum with MuJoCo's own, soft joint friction, found "
                f"with {evaluations} simulations: its cost with the friction of the model is "
                f"{after:.4g}, that of the start {before:.4g}."
            )

    def keep(self, run: Run, solution: Solution) -> None:
        release_spare_memory()  # the model is compiled with its covers
        write_models(self.problem, solution, run.directory, self.prepared.specs)
        release_spare_memory()

    def finish(self, run: Run, solution: Solution) -> Outcome:
        prepared, problem, experiment = self.prepared, self.problem, self.experiment
        held_out = prepared.problem(sequences=prepared.held_out) if prepared.held_out else None
        # only an optimum is compared with that of other data, and only it has intervals
        alone = prepared.held_out_alone() if solution.success else None
        for other in (held_out, alone):
            if other is not None:
                other.noise_scale = problem.noise_scale
        loss = Loss(experiment.search.loss, self._settings.get("loss_scale", 1.0))
        time_left = AfterFit(solution.stats.get("seconds", 0.0), experiment.search.time_limit)
        moves = solution.success and not experiment.search.by_torques
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
            starts=measured_starts(prepared, prepared.training, False) if moves else None,
            held_out_starts=measured_starts(prepared, prepared.alone, True) if moves else None,
            time=time_left,
            information=getattr(self.search, "gram", None),
        )
        folds = experiment.held_out.folds
        crossed = None
        if folds > 1:
            crossed = cross_validate(prepared, solution.x, folds, problem.noise_scale, loss)
        ends = None
        if crossed is None and held_out is None and solution.success:
            ends = unseen_ends(prepared, solution.x, problem.noise_scale, loss, time_left.left)
        missing = []
        if solution.success and not assessment.flaw:
            missing, untried = missing_terms(prepared, problem, solution.x, loss, time_left.left)
            prepared.notes.extend([untried] if untried else [])
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
            ends,
            horizon_errors(prepared, problem, solution.x) if time_left.left else (),
            torque_summary(
                prepared,
                solution.x,
                problem.space.start,
                assessment,
                experiment.confidence.level,
                time_left.left,
            ),
            missing,
        )
        result = Identification(
            prepared, problem, solution, assessment, crossed, run.directory.path, summary
        )
        return Outcome(result, summary, complete=solution.success)

    def write(self, run: Run, outcome: Outcome) -> None:
        found = outcome.result.assessment
        write_signals(found.signals, run.directory)
        reduced = reduced_set(found.identifiability, self.problem.parameters)
        if reduced is not None and reduced.frozen and outcome.complete:
            final = self.problem.parameters.copy()
            final.update_from_vector(outcome.result.solution.x)
            write_reduced(self.experiment, reduced, final, self._folder, run.directory)

    def page(self, run: Run, outcome: Outcome) -> Page | None:
        from trueup.sysid import report
        from trueup.sysid.results.overlay_video import overlay_videos

        output, result = self.experiment.output, outcome.result
        if not output.report:
            return None
        videos = overlay_videos(result) if output.video else []
        return report.identification_report(outcome.summary, result.assessment.signals, videos)

    @classmethod
    def report(cls, directory: RunDirectory) -> Page:
        from trueup.sysid import report

        if not directory.solution.is_file() and directory.study.is_file():
            return study_report(read_study(directory))
        return report.identification_report(read_solution(directory), read_signals(directory))

    def plan(self) -> dict[str, Any]:
        problem: GrayBoxProblem = self.problem
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
            "notes": self.prepared.notes,
        }
