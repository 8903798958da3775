"""A gait optimisation as a piece of work; :mod:`trueup.runs.job` says in which order it is done."""

import dataclasses
import hashlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import GaitError, ModelError, RunDirectoryError
from trueup.fitting import CmaEs, ScatterSearch, SearchEnd, Solution, Status, Verdict
from trueup.gait.models._own_models import OWN_MODELS
from trueup.gait.report._survival import Survival
from trueup.gait.report.first_looks import FirstLooks
from trueup.gait.report.run_report import norms_of, page_of_run, page_without_walk, survivals_of
from trueup.gait.report.walk_verdict import judge_walk
from trueup.gait.report.walk_words import mean_term, trunk_notes
from trueup.gait.search._make_problem import (
    check_chosen_trunk,
    device_notes,
    make_problem,
    without_unfit_norm,
)
from trueup.gait.search.configuration import GaitConfiguration, make_configuration
from trueup.gait.search.distribution import DISTRIBUTION, distribution_of
from trueup.gait.search.earlier_runs import FORMAT_VERSION, KIND, configuration_of_run, kept_start
from trueup.gait.search.fresh_perturbations import (
    candidates_left_over,
    judged_anew,
    judges_anew,
    means_of_generations,
    told_over,
)
from trueup.gait.search.given_walks import problem_to_look_at
from trueup.gait.search.myoassist_checkout import checkout_notes
from trueup.gait.search.problem import GaitProblem
from trueup.gait.search.run_files import TERMS_LOG, TermsLog, write_vectors
from trueup.gait.search.searches import make_search
from trueup.gait.search.shipped_walk import start_path
from trueup.gait.search.staged_problem import StagedProblem
from trueup.gait.search.staged_search import StagedSearch, make_staged_search
from trueup.gait.search.starts import check_start, resolved_start, start_of
from trueup.gait.walk.walk_settings import WalkSettings
from trueup.reports import Page
from trueup.runs import Job, JobRun, Outcome, SearchJob
from trueup.runs.loop.budget import Budget
from trueup.runs.loop.generation import Generation
from trueup.runs.store import atomic
from trueup.runs.store.database import Store
from trueup.runs.store.input_check import mark_of_file
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.yaml_file import read_mapping
from trueup.simulation.models.sources import model_sources

STARTS = {"param_path", "start_in_cycle", "start_values"}
"""Keys that say what a search starts from."""

LIMITS = (Status.ITERATION_LIMIT, Status.EVALUATION_LIMIT, Status.TIME_LIMIT)
"""Ends of a search that has done what it was asked for."""


@dataclass(frozen=True)
class GaitResult:
    """Result of a gait optimisation.

    Attributes:
      configuration: resolved configuration.
      problem: problem; its perturbations are those that the result was walked over.
      solution: solution of the search.
      vector: whole vector of the best walk ``(size,)``.
      terms: its terms.
      survivals: its repeats under unseen perturbations in each scenario; empty where it falls
        without any.
      verdict: whether it is steady and natural.
      notes: what was done about the start.
      directory: run directory.
    """

    configuration: GaitConfiguration
    problem: GaitProblem
    solution: Solution
    vector: np.ndarray
    terms: dict[str, float]
    survivals: tuple[Survival, ...]
    verdict: Verdict
    notes: tuple[str, ...]
    directory: Path

    @property
    def report(self) -> Path:
        """HTML report."""
        return self.directory / "report.html"


class GaitJob(SearchJob):
    """A gait optimisation.

    Args:
      configuration: configuration with all changes.
      name: name of the run.
      loaded: configuration before the changes; the same where absent.
      changes: values that replaced those of ``loaded``, by key.
      source: what the configuration is called in messages.
      threads: threads that simulate; 0 for all cores.
      repeated: content of the ``experiment.yaml`` of a run that is repeated from its start.
      kept: content of the ``experiment.yaml`` of the run that is continued.
      directory: directory of that run.
      anyway: start from the walk of a run whose inputs have changed too; every file says so.
    """

    kind = KIND
    noun = "a gait optimisation"
    format_version = FORMAT_VERSION

    def __init__(
        self,
        configuration: GaitConfiguration,
        name: str,
        *,
        loaded: GaitConfiguration | None = None,
        changes: Mapping[str, Any] | None = None,
        source: str = "the configuration",
        threads: int = 0,
        repeated: Mapping[str, Any] | None = None,
        kept: Mapping[str, Any] | None = None,
        directory: RunDirectory | None = None,
        anyway: bool = False,
    ):
        self.configuration = configuration
        self.anyway = anyway
        self._mark: str | None = None
        self.name = name
        self.loaded = configuration if loaded is None else loaded
        self.changes = dict(changes or {})
        self.source = source
        self.threads = WalkSettings(threads=threads).threads  # refused before a walk is made
        self.repeated = repeated
        self.kept = kept
        self.directory = directory
        self.seed = configuration.seed
        self.limits = Budget(max_generations=configuration.maxiter)
        self.begun_with = fingerprint(self.loaded) if kept is None else kept.get("begun_with")
        self.moved_to: Path | None = None
        self.survivals: tuple[Survival, ...] = ()
        self.solution: Solution | None = None

    # --- experiment.yaml -------------------------------------------------------------------------

    def plain(self, directory: Path) -> dict[str, Any]:
        """Content of ``experiment.yaml``; paths of a configuration are absolute."""
        space = self.problem.space
        return {
            "name": self.name,
            "begun_with": self.begun_with,
            "configuration": self.configuration.plain(),
            "start": dict(zip(space.names, space.start.tolist(), strict=True)),
            "notes": list(self.notes),
        }

    @classmethod
    def from_plain(
        cls, content: dict[str, Any], directory: RunDirectory, folder: Path | None
    ) -> "GaitJob":
        """The job of a run; its configuration and its start values are kept."""
        configuration = make_configuration(
            content.get("configuration"), str(directory.experiment), resolved=True
        )
        name = str(content.get("name") or directory.path.name)
        job = cls(configuration, name, kept=content, directory=directory)
        job.moved_to = folder
        return job

    # --- inputs, problem, search -----------------------------------------------------------------

    def inputs(self) -> list[Path]:
        """Model and references, whatever the search starts from."""
        configuration = self.local
        model = configuration.model_file
        models = [] if model is None or model in OWN_MODELS else model_sources(model)
        return [*models, *map(Path, configuration.reference_files)]

    @property
    def local(self) -> GaitConfiguration:
        """The configuration with the paths of this machine, where the inputs have moved."""
        if self.moved_to is None:
            return self.configuration
        return _found_in(self.configuration, self.moved_to)

    def make_problem(self) -> GaitProblem:
        """The problem with the start values of the search; resolves the configuration."""
        if self.kept is not None:
            return self._kept_problem(self.kept)
        if self.configuration.param_path is not None:
            self._mark = mark_of_file(start_path(self.configuration.param_path), anyway=self.anyway)
        repeated = self.repeated
        moved = None if repeated is None else (repeated.get("configuration") or {}).get("moved")
        if moved is not None and (STARTS | {"moved"}) & set(self.changes):
            raise GaitError(
                f"{self.source} holds all that its search did not move at the values that it "
                "started from: for others take the configuration that it was made from"
            )
        if repeated is not None and not STARTS & set(self.changes):
            problem = make_problem(self.configuration, self.threads)
            if set(repeated.get("start") or {}) != set(problem.space.names):
                raise GaitError(
                    f"{self.source} holds the start of a search with other unknowns: name what "
                    "this one is to start from with --param-path, such as that run's directory"
                )
            problem.space = kept_start(repeated, problem.space) or problem.space
            check_start(problem, problem.space)
            self.notes = list(repeated.get("notes") or [])
            return problem
        unfit: list[str] = []
        if not {"weights", "cost"} & set(self.changes):
            self.configuration, unfit = without_unfit_norm(self.configuration)
        self.configuration = resolved_start(self.configuration)
        problem = make_problem(self.configuration, self.threads)
        check_chosen_trunk(self.changes, problem)
        problem.space, notes = start_of(self.configuration, problem)
        self.notes = [
            *checkout_notes(self.configuration),
            *device_notes(self.configuration),
            *unfit,
            *notes,
            *trunk_notes(problem),
        ]
        return problem

    def _kept_problem(self, kept: Mapping[str, Any]) -> GaitProblem:
        problem = make_problem(self.local, self.threads)
        start = kept_start(kept, problem.space)
        if start is None:
            where = "experiment.yaml" if self.directory is None else self.directory.experiment
            raise RunDirectoryError(
                f"{where} lacks the block 'start': the run was begun by another version of trueup, "
                "and cannot be resumed"
            )
        problem.space = start
        self.notes = list(kept.get("notes") or [])
        return problem

    def make_search(self) -> CmaEs | ScatterSearch | StagedSearch:
        """The search at its start."""
        problem, configuration = self.problem, self.configuration
        if isinstance(problem, StagedProblem):
            search = make_staged_search(problem, configuration)
            if self.limits.max_generations is None:  # for the time left
                whole = sum(stage.all_generations for stage in search.stages)
                self.limits = dataclasses.replace(self.limits, max_generations=whole)
            return search
        return make_search(configuration, problem.space)

    def settings(self, hashes: Sequence[str]) -> dict[str, Any]:
        """Settings of the history; ``maxiter`` may be another one on resume."""
        models = [model["sha256"] for model in self.models]
        settings = {**self.configuration.plain(), "maxiter": None}
        return {**settings, "inputs": list(hashes), "models": models}

    @property
    def models(self) -> list[dict[str, str]]:
        """Models that are built rather than read, with the SHA-256 of their XML."""
        found: list[dict[str, str]] = []
        for scenario in self.problem.scenarios:
            walker = scenario.simulation.walker
            if walker.xml_sha256 is not None:
                model = {"name": Path(walker.source).name, "sha256": walker.xml_sha256}
                found += [] if model in found else [model]
        return found

    @property
    def mark(self) -> str | None:
        """Mark of the search, where inputs of the walk that it starts from have changed."""
        return self._mark

    def further_origin(self) -> dict[str, Any]:
        """Models that are built, beside the input files."""
        return {"models": self.models}

    # --- resume
    # ------------------------------------------------------------------------------------

    def continuing(self, former: Job) -> "GaitJob":
        """The former job with more generations, where the configuration asks for them.

        Raises:
          RunDirectoryError: the run was started with another configuration.
        """
        assert isinstance(former, GaitJob) and former.directory is not None
        target = former.directory.path
        begun, now = former.begun_with, fingerprint(self.loaded)
        if begun not in (None, now) and self.loaded != former.configuration:
            raise RunDirectoryError(
                f"{target} was begun with another configuration than {self.source} is now. To go "
                f"on as it was begun use  trueup study resume {target}"
            )
        given = former.configuration.with_changes(self.changes)
        if given.model_copy(update={"maxiter": former.configuration.maxiter}) != (
            former.configuration
        ):
            raise RunDirectoryError(
                f"{target} was started with another configuration: resume it without options that "
                "change it"
            )
        former.configuration, former.threads = given, self.threads
        limits = dataclasses.replace(self.limits, max_generations=given.maxiter)
        former.limits = Budget()
        return former.limited(limits)  # pyright: ignore[reportReturnType]

    def plan(self) -> dict[str, Any]:
        """Stages with their walks, and the time that they take if all walks last."""
        problem, search = self.problem, self.search
        X, began = search.ask(), time.perf_counter()
        search.evaluate(problem, X, {})
        seconds = time.perf_counter() - began
        rate = seconds / max(self._simulated(problem, len(X)), 1e-9)
        counts = (
            [stage.all_generations for stage in search.stages]
            if isinstance(search, StagedSearch)
            else [self.limits.max_generations]
        )
        stages, whole, left = [], 0.0, self.limits.max_generations
        for (name, own), count in zip(self.configuration.staged, counts, strict=True):
            generations = count if count is None or left is None else min(count, left)
            left = None if left is None else left - (generations or 0)
            candidates = own.popsize or len(X)
            walks = len(problem.scenarios) * max(own.perturbed_repeats, 1)
            whole += (generations or 0) * candidates * walks * own.sim_time
            stages.append(
                {
                    "name": name,
                    "generations": generations,
                    "candidates": candidates,
                    "walks_of_each": walks,
                    "duration_s": own.sim_time,
                }
            )
        return {
            "unknowns": problem.space.size,
            "stages": stages,
            "seconds_at_most": None if None in counts else rate * whole,
            "notes": list(self.notes),
        }

    @staticmethod
    def _simulated(problem: GaitProblem, candidates: int) -> float:
        """Time that the candidates of the last batch walked [s]."""
        lasted = [v for name, v in problem.terms.items() if name.rpartition(".")[2] == "lasted"]
        repeats = 1 if problem.perturbations is None else problem.perturbations.repeats
        return candidates * repeats * float(np.sum([np.nanmean(values) for values in lasted]))

    # --- search and result
    # -------------------------------------------------------------------------

    def solve(self, run: JobRun) -> Solution:
        """Search; the terms of every evaluation are kept beside the history."""
        for note in self.notes if run.verbose else ():
            print(note, file=sys.stderr)
        log = TermsLog(run.directory.inside(TERMS_LOG), self.problem)
        looks = FirstLooks(run, self.problem, self.name, self.local)

        def on_generation(generation: Generation) -> None:
            log.write(generation)
            looks.after(generation)

        return run.search(self.problem, self.search, on_generation=on_generation)

    def finish(self, run: JobRun, solution: Solution) -> Outcome:
        """Judge the best walk under perturbations that no candidate was scored by."""
        configuration, problem = self.configuration, self.problem
        if isinstance(problem, StagedProblem) and np.isfinite(solution.cost):
            cost = np.array([solution.cost])
            problem.enter(int(problem.stages_of(cost)[0]))
            own = float(problem.own_costs(cost)[0])
            if not problem.is_of_target(solution.cost):
                own = float(problem.costs(solution.x[None])[0, 0])
            message = solution.message.replace(f"cost {solution.cost:.6g}", f"cost {own:.6g}")
            solution = dataclasses.replace(solution, cost=own, message=message)
        if judges_anew(problem, configuration.search) and np.isfinite(solution.cost):
            solution = self._judged_anew(run, solution)
            assert problem.perturbations is not None  # or nothing could have been judged
            problem.perturbations = told_over(problem.perturbations)
        self.solution = solution
        vector = problem.parameters.complete(solution.x[None])[0]
        problem.costs(solution.x[None])
        terms = {name: float(value[0]) for name, value in problem.terms.items()}
        if problem.perturbations is not None or not mean_term(terms, "fell"):
            self.survivals = tuple(survivals_of(problem, vector))
        verdict = judge_walk(
            problem,
            vector,
            norms=norms_of(self.local),
            survivals=self.survivals,
            search=SearchEnd.of(solution, converges=configuration.search != "scatter"),
        )
        summary = self._summary(solution, terms, verdict)
        result = GaitResult(
            configuration,
            problem,
            solution,
            vector,
            terms,
            self.survivals,
            verdict,
            tuple(self.notes),
            run.directory.path,
        )
        ended = solution.success or solution.status in LIMITS
        return Outcome(result, summary, complete=bool(np.isfinite(solution.cost)) and ended)

    def _judged_anew(self, run: JobRun, solution: Solution) -> Solution:
        """The solution with the best of what the last generations left over, and of their means."""
        if run.verbose:
            words = "Judging the candidates of the last generations over other repeats ..."
            print(words, file=sys.stderr)
        with Store.open(run.directory.study) as store:
            history = store.history()
        costs = history.costs[:, 0]
        problem, rows = self.problem, np.full(len(costs), True)
        if isinstance(problem, StagedProblem):
            levels = problem.levels_of(costs)
            rows = levels == levels[np.nanargmin(costs)]
        of_stage = history.X[rows], costs[rows], history.generation[rows]
        kept = candidates_left_over(*of_stage), means_of_generations(*of_stage), solution.x
        judged = judged_anew(problem, np.unique(np.vstack(kept), axis=0))
        if isinstance(problem, StagedProblem):
            judged = judged._replace(cost=float(problem.own_costs(np.array([judged.cost]))[0]))
        return dataclasses.replace(
            solution,
            x=judged.x,
            cost=judged.cost,
            parameters=dict(zip(problem.space.names, map(float, judged.x), strict=True)),
            message=f"{judged.message}. The search itself: {solution.message}",
        )

    def _summary(
        self, solution: Solution, terms: dict[str, float], verdict: Verdict
    ) -> dict[str, Any]:
        """Content of ``solution.json``."""
        space = self.problem.space
        summary: dict[str, Any] = {
            "kind": KIND,
            "name": self.name,
            "status": solution.status.value,
            "message": solution.message,
            "advice": solution.status.advice,
            "verdict": verdict.plain(),
            "cost": solution.cost,
            "parameters": [
                {
                    "name": name,
                    "value": float(solution.x[i]),
                    "lower": float(space.lower[i]),
                    "upper": float(space.upper[i]),
                }
                for i, name in enumerate(space.names)
            ],
            "terms": terms,
            "walked_m": mean_term(terms, "walked"),
            "lasted_s": mean_term(terms, "lasted"),
            "fell": bool(mean_term(terms, "fell")),
            "stats": solution.stats,
            "notes": list(self.notes),
        }
        if self.survivals:
            names = [scenario.name for scenario in self.problem.scenarios]
            named = zip(names, self.survivals, strict=True)
            summary["survival"] = {name: found.plain() for name, found in named}
        return summary

    def write(self, run: JobRun, outcome: Outcome) -> None:
        """Write the vectors of the best candidate and of the best one of the last generation."""
        solution = outcome.result.solution
        if judges_anew(self.problem, self.configuration.search) and np.isfinite(solution.cost):
            # what other searches start from: the candidate that was judged anew
            content = {"parameters": solution.parameters, "cost": solution.cost}
            atomic.write_json(run.directory.parameters, content)
        with Store.open(run.directory.study) as store:
            history, saved = store.history(), store.last_state()
        last = np.flatnonzero(history.generation == history.generation.max())
        best_last = history.X[last[int(np.nanargmin(history.costs[last, 0]))]]
        if saved is not None and not isinstance(self.search, ScatterSearch):
            search = self.search.from_state(saved[1], self.problem.space)
            found = distribution_of(self.problem.space.names, search.distribution)
            atomic.write_json(run.directory.inside(DISTRIBUTION), found, indent=None)
        write_vectors(run.directory.path, self.configuration, self.problem, solution.x, best_last)

    # --- report
    # --------------------------------------------------------------------------------------

    def page(self, run: JobRun, outcome: Outcome) -> Page:
        """The report of an outcome."""
        start, verdict = self.problem.space.start, outcome.summary["verdict"]
        try:
            return page_of_run(
                run.directory, self.local, self.problem, start, self.survivals, verdict
            )
        except GaitError as error:
            return page_without_walk(run.directory, error)

    @classmethod
    def report(cls, directory: RunDirectory) -> Page:
        """The report of a run, which may be in progress."""
        configuration = configuration_of_run(directory)
        try:
            problem = problem_to_look_at(configuration)
            kept = kept_start(read_mapping(directory.experiment), problem.space)
            start = None if kept is None else kept.start
            return page_of_run(directory, configuration, problem, start)
        except (GaitError, ModelError) as error:
            return page_without_walk(directory, error)


def fingerprint(configuration: GaitConfiguration) -> str:
    """SHA-256 of a configuration."""
    text = json.dumps(configuration.plain(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _found_in(configuration: GaitConfiguration, folder: Path) -> GaitConfiguration:
    """The configuration with input files that are gone looked for in a folder, by their names."""

    def found(path: str | None) -> str | None:
        if path is None or path in OWN_MODELS or Path(path).exists():
            return path
        moved = folder / Path(path).name
        if not moved.exists():
            raise RunDirectoryError(f"the input {path} of the run is gone, and not in {folder}")
        return str(moved.resolve())

    references = configuration.reference
    return configuration.model_copy(
        update={
            "model_file": found(configuration.model_file),
            "reference": None if references is None else tuple(map(found, references)),
            "reference_emg": found(configuration.reference_emg),
        }
    )
