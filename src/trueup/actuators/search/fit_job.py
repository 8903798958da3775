"""A servo fit as a piece of work; :mod:`trueup.runs.job` says in which order it is done."""

import dataclasses
import functools
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueup import runs
from trueup.actuators.assess.left_out_intervals import ReportStep, no_report
from trueup.actuators.bench.loads import Bench
from trueup.actuators.catalogue.entries import load_catalogue, servos
from trueup.actuators.catalogue.parameter_file import save_model
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.equations.friction_models import FRICTION_MODELS
from trueup.actuators.report._servo_report import servo_fit_report
from trueup.actuators.search.fit_settings import FitSettings
from trueup.actuators.search.live_parameters import LiveParameters
from trueup.actuators.search.prepared_fit import Prepared, start_model
from trueup.actuators.search.run_logs import Logs, RunLogs
from trueup.actuators.search.servo_fit import KIND, ServoFit, space_records
from trueup.actuators.search.servo_run_report import report_of_run
from trueup.actuators.selection.missing_terms import term_findings
from trueup.actuators.selection.model_choice import ModelChoice
from trueup.actuators.selection.model_for_fit import (
    CHOICE,
    choice_for_fit,
    choice_plan,
    chosen_settings,
    start_of,
)
from trueup.actuators.selection.parts import split_quantities
from trueup.actuators.selection.suitable_terms import suitable_terms
from trueup.actuators.selection.untried_terms import untried_term_findings
from trueup.errors import FitError, RunDirectoryError, SimulationError, listing
from trueup.fitting._minimise import minimise
from trueup.fitting.problem import LARGE_COST
from trueup.fitting.solution import Solution, Status
from trueup.parameters import Space
from trueup.reports import Page
from trueup.runs import Job, JobRun, Outcome, RunInterrupted, SearchJob
from trueup.runs.loop._warm_start import warm_start
from trueup.runs.loop.budget import Budget
from trueup.runs.loop.progress import Progress
from trueup.runs.store import atomic, provenance
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.yaml_file import read_mapping
from trueup.runs.study_page.record import read_study
from trueup.runs.study_page.report import study_report


class ServoFitInterrupted(RunInterrupted):
    """Ctrl-C stopped a servo fit after its search was saved; it can be resumed."""


class ServoFitJob(SearchJob):
    """A servo fit.

    Args:
      servo: servo, or its name in the catalogue.
      model: friction model, ``m1`` to ``m6``; None chooses friction model and extended terms by
        cross-validation, see :func:`trueup.actuators.choose_model`.
      logs: evenly sampled logs, or where they are.
      settings: settings.
      output: parameter file, rewritten whenever a better candidate is found; None for none.
      name: name of the run; that of the parameter file where absent.
      limits: limits of the search; ``settings.trials`` where it names none.
      start: start values of the free parameters ``(p,)``, or an earlier result: a run directory, a
        parameter file, or an SQLite file of Optuna.
      catalogue: YAML file with further servos.
      skip_bad_logs: leave logs out that cannot be used.
      benches: load of each log; by default the pendulum that the log describes.
      inputs: files that provenance names; those of the logs by default.
      skipped: why logs were left out before, for the summary.
    """

    kind = KIND
    noun = "a servo fit"
    known_limits = ("max_evaluations",)
    interruption = ServoFitInterrupted

    def __init__(
        self,
        servo: str | Servo,
        model: str | None,
        logs: Logs | RunLogs,
        settings: FitSettings | None = None,
        *,
        output: str | os.PathLike[str] | None = None,
        name: str | None = None,
        limits: Budget | None = None,
        start: np.ndarray | str | os.PathLike[str] | None = None,
        catalogue: str | os.PathLike[str] | None = None,
        skip_bad_logs: bool = False,
        benches: Sequence[Bench] | None = None,
        inputs: Iterable[str | os.PathLike[str]] = (),
        skipped: Sequence[str] = (),
    ):
        settings = settings or FitSettings()
        self.servo, self.model = servo, model
        self.output = None if output is None else Path(output)
        self.name = name or ("fit" if self.output is None else self.output.stem)
        self.given_limits = limits or Budget()
        trials = self.given_limits.max_evaluations
        self.fit_settings = (
            settings if trials is None else dataclasses.replace(settings, trials=trials)
        )
        self.seed = settings.seed
        self.limits = Budget(max_evaluations=self.fit_settings.trials)
        self.start = start
        self.catalogue = None if catalogue is None else Path(catalogue)
        self.benches = benches
        self.source = logs if isinstance(logs, RunLogs) else RunLogs(logs, skip_bad_logs)
        self.notes = []
        self._skipped = list(skipped)
        self._inputs = list(inputs)
        self._kept_start: dict[str, float] | None = None
        self._former: RunDirectory | None = None
        self._lacking: list[str] = []
        self._supplied = False
        self._live: LiveParameters | None = None
        self.choice: ModelChoice | None = None
        if model is None and start is not None:
            raise FitError("--load-study starts a fit of one friction model: name it with --model")

    # --- experiment.yaml -------------------------------------------------------------------------

    def plain(self, directory: Path) -> dict[str, Any]:
        """Everything needed to make the fit again; files relative to the run, as both may move."""

        def relative(path: Path | None) -> str | None:
            return None if path is None else os.path.relpath(path, directory)

        settings = self.fit_settings
        return {
            "name": self.name,
            "problem": {"actuator": self.prepared.start_model.servo.name, "model": self.model},
            **self.source.plain(directory),
            "output": relative(self.output),
            "catalogue": relative(self.catalogue),
            "only_in_python": self.only_in_python,
            "objectives": list(self.problem.objectives),
            "search": {"method": settings.method, "seed": settings.seed},
            "budget": {"max_evaluations": settings.trials},
            "settings": settings.to_dict(),
            "parameters": {} if self.model is None else space_records(self.prepared.space),
            "notes": list(self.notes),
        }

    @classmethod
    def from_plain(
        cls, content: dict[str, Any], directory: RunDirectory, folder: Path | None
    ) -> "ServoFitJob":
        """The fit of a run directory."""
        needed = ("problem", "settings", "parameters")
        if missing := [key for key in needed if key not in content]:
            raise RunDirectoryError(
                f"{directory.experiment} is not that of a servo fit, or damaged: it lacks "
                f"{listing(missing)}"
            )

        def place(name: str) -> Path | None:
            if content.get(name) is None:
                return None
            path = Path(os.path.normpath(directory.path / content[name]))
            return folder / path.name if folder is not None and name != "output" else path

        problem = content["problem"]
        job = cls(
            problem["actuator"],
            problem["model"],
            RunLogs.from_plain(content, directory, folder),
            FitSettings.from_dict(content["settings"]),
            output=place("output"),
            name=content.get("name"),
            catalogue=place("catalogue"),
        )
        job.notes = list(content.get("notes") or ())
        if job.model is not None:
            rows = content["parameters"].items()
            job._kept_start = {name: row["start"] for name, row in rows}
        job._former = directory
        job._lacking = list(content.get("only_in_python") or ())
        return job

    @property
    def only_in_python(self) -> list[str]:
        """Objects that no file holds, so that the run is continued from Python only."""
        if self._former is not None:
            return list(self._lacking)
        found = [] if self.source.in_files else ["logs"]
        if self.benches is not None:
            found.append("benches")
        if isinstance(self.servo, Servo) and servos().get(self.servo.name) != self.servo:
            found.append("servo")
        return found

    # --- inputs, problem, search -----------------------------------------------------------------

    def inputs(self) -> Sequence[Path | Mapping[str, Any]]:
        """Logs that lie in files, hashed as they were read."""
        return [Path(each) for each in self._inputs] or self.source.inputs()

    def input_files(self) -> list[Path]:
        """Files of the logs."""
        return self.source.files()

    def prepare(self) -> None:
        """Read and check everything; unknown names before the logs are read."""
        self._check_whole()
        if self.catalogue is not None:
            load_catalogue(self.catalogue, replace=True)
        start_model(self.servo, self.fitted_model, self.fit_settings)
        super().prepare()
        if self.model is None:
            split_quantities(self.prepared.training_logs, None)
            settings = self.fit_settings
            for name in settings.models:
                start_model(self.servo, name, settings)
            suitable_terms(self.servo, self.prepared.training_logs, settings, settings.try_terms)

    @property
    def fitted_model(self) -> str:
        """Friction model of the search; the simplest one before the choice."""
        if self.choice is not None:
            return self.choice.chosen.model
        if self.model is not None:
            return self.model
        return next(iter(self.fit_settings.models or FRICTION_MODELS))

    @property
    def fitted_settings(self) -> FitSettings:
        """Settings of the search."""
        return chosen_settings(self.fit_settings, self.choice)

    def _choose(self, directory: Path | None, origin: dict[str, Any], verbose: bool) -> None:
        """Choose friction model and terms, where none is named."""
        if self.model is not None or self.choice is not None:
            return
        prepared = self.prepared
        self.choice = choice_for_fit(
            self.servo,
            prepared.training_logs,
            self.fit_settings,
            benches=[prepared.bench_of(log) for log in prepared.training_logs],
            workers=prepared.threads,
            directory=directory,
            output=self.output,
            origin=origin,
            verbose=verbose,
        )
        for name in ("prepared", "problem", "search"):
            vars(self).pop(name, None)  # those of the model before the choice
        self.limits = dataclasses.replace(self.limits, max_evaluations=self.fitted_settings.trials)

    @functools.cached_property
    def prepared(self) -> Prepared:
        """Model, logs, simulators and problem, with the start values of the search."""
        found = Prepared(
            self.servo,
            self.fitted_model,
            self.source.logs,
            self.fitted_settings,
            self.benches,
            self.execution.workers,
        )
        found.start_at(self._start_of(found.space))
        return found

    def make_problem(self) -> Any:
        """The problem as the search sees it."""
        return self.prepared.searched

    def make_search(self) -> Any:
        """The search at its start."""
        return self.prepared.search()

    def settings(self, hashes: Sequence[str]) -> dict[str, Any]:
        """Settings that the history depends on; a resumed fit may go on for longer."""
        prepared = self.prepared
        return {
            **self.fitted_settings.to_dict(),
            "trials": None,
            "servo": prepared.start_model.servo.name,
            "model": prepared.start_model.friction.name,
            "logs": [self.source.hash_of(log) for log in prepared.training_logs],
        }

    def _start_of(self, space: Space) -> np.ndarray | None:
        """Start values ``(p,)``; None for those of the catalogue."""
        kept, start, execution = self._kept_start, self.start, self.execution
        if self.choice is not None:
            return start_of(self.choice, space.names)
        if kept is not None:
            if tuple(kept) != space.names:
                where = "" if self._former is None else f" in {self._former.path}"
                raise RunDirectoryError(
                    f"the fit{where} has other parameters by now: it had {listing(kept, 40)}, it "
                    f"has {listing(space.names, 40)}"
                )
            return np.array(list(kept.values()), float)
        if execution.storage and execution.load_study:
            return self._best_of_storage(execution.storage, execution.load_study, space)
        if start is None or isinstance(start, np.ndarray):
            return start
        path = Path(start).expanduser()
        if path.is_file() and _is_sqlite(path):
            return self._best_of_storage(f"sqlite:///{path}", None, space)
        if not path.exists():
            raise FitError(
                f"--load-study {start}: there is no such run directory or SQLite file; to name a "
                "study of a storage, give the --storage too"
            )
        warm = warm_start(path, space)
        self.notes = list(warm.sentences)
        return warm.space(space).start

    def _best_of_storage(self, storage: str, name: str | None, space: Space) -> np.ndarray | None:
        from trueup.runs.optuna_storage import load_study

        found = load_study(storage, name, space, (self.fit_settings.objective.kind,))
        self.notes = list(found.notes())
        return space.start if found.x is None else found.x.copy()

    def _check_whole(self) -> None:
        """Raise where a run that Python alone can continue is continued by another way."""
        if self._lacking and not self._supplied:
            raise RunDirectoryError(
                f"{self._lacking_words()}: resume it with  trueup.actuators.fit(..., "
                "directory=..., resume=True)  and the same objects"
            )

    def _lacking_words(self) -> str:
        where = "" if self._former is None else f" of {self._former.path}"
        return f"the {listing(self._lacking)}{where} were objects in Python, which no file holds"

    # --- resume ----------------------------------------------------------------------------------

    def identity(self) -> dict[str, Any]:
        """Servo, model and settings; trials may be others."""
        settings = self.fit_settings.to_dict()
        del settings["trials"]
        servo = self.servo.name if isinstance(self.servo, Servo) else self.servo
        return {**settings, "actuator": servo, "model": self.model}

    def continuing(self, former: Job) -> Job:
        """The fit as it was begun, with what no file holds from this one."""
        assert isinstance(former, ServoFitJob)
        if former._lacking:
            former.servo, former.benches, former.source = self.servo, self.benches, self.source
            former._supplied = True
        return former.limited(self.given_limits)

    def limited(self, limits: Budget) -> Job:
        """The fit with another number of trials, where one is given."""
        super().limited(limits)
        trials = self.limits.max_evaluations
        if trials is not None:
            self.fit_settings = dataclasses.replace(self.fit_settings, trials=trials)
        return self

    # --- search and result -----------------------------------------------------------------------

    def in_memory(self) -> ServoFit:
        """The fit without a run directory; Ctrl-C ends it with what it has."""
        self.prepare()
        self._choose(None, {}, False)
        settings = self.fitted_settings
        solution = minimise(self.problem, self.search, max_evaluations=settings.trials)
        solution.provenance = provenance.collect(self.seed, self.inputs(), settings.to_dict())
        if solution.status is not Status.INTERRUPTED:
            self._check_result(solution)
        return self._result(solution, None)

    def fit_in(self, directory: RunDirectory, *, resume: bool, verbose: bool) -> ServoFit:
        """The fit with its search kept in a folder, and no other file of a run.

        Args:
          directory: folder of the search.
          resume: continue the search that it holds.
          verbose: show progress on the error stream.

        Raises:
          KeyboardInterrupt: Ctrl-C; the search is saved.
        """
        self.prepare()
        settings = self.fit_settings
        solution = runs.run_search(
            self.problem,
            self.search,
            directory,
            settings=self.settings(()),
            resume=resume,
            budget=self.limits,
            verbose=verbose,
        )
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        self._check_result(solution)
        solution.provenance = provenance.collect(self.seed, self.inputs(), settings.to_dict())
        return self._result(solution, None)

    def _check_result(self, solution: Solution) -> None:
        if not solution.cost < LARGE_COST:
            raise SimulationError(
                f"{solution.message}: correct the logs, the bench or the bounds of the servo"
            )

    def _result(
        self, solution: Solution, directory: Path | None, report: ReportStep = no_report
    ) -> ServoFit:
        """The fit of a solution, judged."""
        result = self.prepared.result(solution, report, self.choice)
        if self.choice is not None:
            result.findings = (*result.findings, *term_findings(self.choice))
        elif solution.success and result.assessment.spread is not None:
            result.findings = (*result.findings, *self._untried_terms(solution, report))
        result.skipped = [*self.notes, *self._skipped, *self.source.skipped]
        result.output, result.directory = self.output, directory
        result.model = dataclasses.replace(result.model, provenance=result.provenance())
        return result

    def _untried_terms(self, solution: Solution, report: ReportStep) -> list[str]:
        """Terms that a model lacks whose residuals are no noise."""
        prepared = self.prepared
        return untried_term_findings(
            self.servo,
            self.fitted_model,
            prepared.training_logs,
            self.fitted_settings,
            dict(solution.parameters),
            solution.cost,
            benches=[prepared.bench_of(log) for log in prepared.training_logs],
            workers=prepared.threads,
            report=report,
        )

    def origin(self, directory: Path) -> dict[str, Any]:
        """Settings that ``provenance.json`` holds."""
        return self.fit_settings.to_dict()

    def solve(self, run: JobRun) -> Solution:
        """Search; the parameter file holds the best so far meanwhile."""
        self._choose(run.directory.path, run.origin, run.verbose)
        if self.output is not None:
            problem = self.prepared.problem
            self._live = LiveParameters(self.output, problem, run.origin, begun=run.resume)
        live = self._live
        solution = run.search(
            self.prepared.problem,
            self.search,
            on_best=None if live is None else live.offer,
            describe=None if live is None else live.content,
        )
        if solution.status is Status.INTERRUPTED:
            if live is not None:
                live.flush()
            return solution
        try:
            self._check_result(solution)
        except SimulationError:
            self._withdraw()
            raise
        return solution

    def finish(self, run: JobRun, solution: Solution) -> Outcome:
        """Judge the fit on the logs, those held out included."""
        try:
            with Progress(run.verbose) as shown:
                result = self._result(solution, run.directory.path, shown.update)
        except Exception:
            # a file with values that nothing vouches for would pass for a result
            self._withdraw()
            raise
        return Outcome(result, result.to_dict(), complete=result.reached_its_end)

    def _withdraw(self) -> None:
        if self._live is not None:
            self._live.withdraw()

    def write(self, run: JobRun, outcome: Outcome) -> None:
        """Write the parameter file."""
        if self.output is not None:
            save_model(outcome.result.model, self.output)

    def page(self, run: JobRun, outcome: Outcome) -> Page:
        """The report of a fit."""
        prepared = self.prepared
        everything = [*prepared.training_logs, *prepared.held_out_logs]
        benches = [prepared.bench_of(log) for log in everything]
        return servo_fit_report(outcome.result, benches=benches)

    @classmethod
    def report(cls, directory: RunDirectory) -> Page:
        """The report of a run; of one in progress, that of its search."""
        if not directory.solution.is_file():
            return study_report(read_study(directory))
        content = read_mapping(directory.experiment)
        job = cls.from_plain(content, directory, None)
        if job._lacking:
            raise RunDirectoryError(
                f"{job._lacking_words()}: its report is the one that the fit wrote, "
                f"{directory.report}"
            )
        job.take_choice_of(directory)
        return report_of_run(
            directory, job.servo, job.fitted_model, job.fitted_settings, job.source.logs, job.choice
        )

    def take_choice_of(self, directory: RunDirectory) -> None:
        """Take the friction model and terms that a finished run chose, where it named none."""
        if self.catalogue is not None:
            load_catalogue(self.catalogue, replace=True)
        if self.model is None:
            self.choice = ModelChoice.from_dict(atomic.read_json(directory.inside(CHOICE)))

    def plan(self) -> dict[str, Any]:
        """Model that would be fitted, and the time of an evaluation [s]."""
        prepared = self.prepared
        X = np.repeat(prepared.space.start[None, :], 2 * prepared.threads, axis=0)
        prepared.problem.costs(X)  # compiles
        started = time.perf_counter()
        prepared.problem.costs(X)
        seconds = (time.perf_counter() - started) / len(X)
        return {
            "output": None if self.output is None else str(self.output),
            "method": self.fit_settings.method,
            "choice": None
            if self.model is not None
            else choice_plan(
                self.servo,
                prepared.training_logs,
                self.fit_settings,
                [prepared.bench_of(log) for log in prepared.training_logs],
                seconds,
            ),
            "parameters": list(prepared.space.names),
            "training_logs": [log.name for log in prepared.training_logs],
            "held_out_logs": [log.name for log in prepared.held_out_logs],
            "threads": prepared.threads,
            "seconds_per_evaluation": seconds,
            "skipped": [*self._skipped, *self.source.skipped],
            "notes": [*self.notes, *prepared.findings],
        }


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(15) == b"SQLite format 3"
