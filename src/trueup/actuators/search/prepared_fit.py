"""A servo fit before and after its search: model, logs, simulators, problem, assessed result."""

import functools
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueup.actuators.assess._evaluate import check_servo, evaluation
from trueup.actuators.assess.bench_causes import BenchCause, GainCause, bench_causes
from trueup.actuators.assess.current_limits import check_given_limit, current_findings
from trueup.actuators.assess.firmware_gain import fitted_gain, gain_finding
from trueup.actuators.assess.fit_assessment import assess
from trueup.actuators.assess.held_out_logs import held_out_refit
from trueup.actuators.assess.jackknife import MODEL_ERROR, ReportStep, model_error, no_report
from trueup.actuators.assess.measured_gain import (
    RATIO,
    check_given_gain,
    gain_is_measured,
    measured_gain_finding,
)
from trueup.actuators.assess.odd_logs import OddLog, odd_logs
from trueup.actuators.bench.loads import Bench, bench_of
from trueup.actuators.bench.objective import OBJECTIVES, Objective
from trueup.actuators.bench.simulator import MAX_STEP, BenchSimulator
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations.extended_terms import terms_for
from trueup.actuators.logs.findings import findings_in_words, header_finding, log_findings
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.logs.splits import split_logs
from trueup.actuators.search.fit_settings import REFINE, RESTARTED, FitSettings
from trueup.actuators.search.nested_models import nested_sub_models
from trueup.actuators.search.nested_search import NestedServoSearch
from trueup.actuators.search.problem import ServoProblem
from trueup.actuators.search.refit import refitted
from trueup.actuators.search.servo_fit import ServoFit
from trueup.actuators.search.servo_search import ServoSearch, ServoSearchSettings
from trueup.actuators.search.spec import FitSpec
from trueup.actuators.search.staged_problem import PositionAndSpeed, StagedProblem, default_threads
from trueup.actuators.selection.model_choice import ModelChoice
from trueup.errors import FitError, ParameterError, RunDirectoryError, listing
from trueup.fitting.problem import Problem
from trueup.fitting.searches._make_search import make_search
from trueup.fitting.solution import Solution
from trueup.parameters import Space

_COARSE_STEP = 5e-3  # longest step of the coarse simulator that guides the search [s]


class Prepared:
    """A fit before its search: model, logs, simulators, problem.

    Args:
      servo: servo, or its name in the catalogue.
      model: friction model.
      logs: evenly sampled logs.
      settings: settings.
      benches: load of each log.
      workers: number of threads.
      start: start values of the free parameters ``(p,)``.

    Raises:
      TrueupError: invalid input.
    """

    def __init__(
        self,
        servo: str | Servo,
        model: str,
        logs: Sequence[ServoLog],
        settings: FitSettings,
        benches: Sequence[Bench] | None = None,
        workers: int | None = None,
        start: np.ndarray | None = None,
    ):
        if workers is not None and workers < 1:
            raise FitError(f"workers is a number of threads and must be at least 1, got {workers}")
        most = max(64, 8 * (os.cpu_count() or 1))
        if workers is not None and workers > most:
            raise FitError(
                f"{workers} workers requested, but this machine has {os.cpu_count()} cores: "
                f"use at most {most}"
            )
        self.settings = settings
        self.threads = default_threads() if workers is None else workers
        self.start_model = start_model(servo, model, settings)
        check_servo(logs, self.start_model.servo)
        check_given_gain(logs, self.start_model.servo, settings.fixed)
        check_given_limit(logs, self.start_model, settings.fixed, settings.vin)
        loads = [bench_of(log) for log in logs] if benches is None else list(benches)
        self.training_logs, self.held_out_logs = split_logs(
            logs,
            kp=settings.validation_kp,
            mass=settings.validation_mass,
            trajectory=settings.validation_trajectory,
        )
        self._benches = {id(log): bench for log, bench in zip(logs, loads, strict=True)}
        self._logs = list(logs)
        self.free = free_names(self.start_model, settings)
        fine = self.simulator(self.training_logs)
        coarse = None
        if settings.scheme == "semi-implicit":
            coarse = self.simulator(self.training_logs, max_step=max(_COARSE_STEP, MAX_STEP))
        self.problem = StagedProblem(fine, coarse, settings.objective)
        self.catalogue_start = self.problem.space.start.copy()
        """Values before the fit ``(p,)``: those of the catalogue, which do not depend on the logs.
            The start of the search can depend on them, after a model selection or an earlier
            fit."""
        if start is not None:
            space = self.problem.space
            start = np.clip(start, space.lower, space.upper)
            self.problem.space = replace(space, start=start)

    @functools.cached_property
    def findings(self) -> list[str]:
        """Findings on logs and settings before a fit, as sentences."""
        return _findings(self._logs, self.settings)

    def bench_of(self, log: ServoLog) -> Bench:
        """Load of a log."""
        return self._benches[id(log)]

    @property
    def space(self) -> Space:
        """The free parameters."""
        return self.problem.space

    @property
    def searched(self) -> Problem:
        """Problem that is passed to the search."""
        two = self.settings.method == "nsgaii"
        return PositionAndSpeed(self.problem) if two else self.problem

    def simulator(
        self,
        logs: Sequence[ServoLog],
        benches: Sequence[Bench] | None = None,
        max_step: float = MAX_STEP,
    ) -> BenchSimulator:
        """Simulator of the free parameters on some of the logs, by default with their loads."""
        settings = self.settings
        return BenchSimulator(
            self.start_model,
            logs,
            free=self.free,
            benches=[self.bench_of(log) for log in logs] if benches is None else benches,
            scheme=settings.scheme,
            max_step=max_step,
            reset_period=settings.reset_period,
            vin=settings.vin,
            threads=self.threads,
        )

    def search(self) -> Any:
        """The search before its first batch."""
        settings, space = self.settings, self.space
        if settings.method == REFINE:
            near = ServoSearchSettings(
                scanned=1,
                descents=1,
                kept=1,
                loss=OBJECTIVES[settings.objective.kind].descent_loss,
                loss_scale=_loss_scale(settings.objective),
                evolve=False,
            )
            return ServoSearch(space, near, settings.seed)
        if settings.method in ("auto", "least-squares"):
            most = ServoSearchSettings().scanned
            scanned = max(1, min(most, settings.trials // (4 * len(nested_sub_models(space)))))
            own = ServoSearchSettings(
                scanned=scanned,
                loss=OBJECTIVES[settings.objective.kind].descent_loss,
                loss_scale=_loss_scale(settings.objective),
                evolve=settings.method == "auto",
            )
            return NestedServoSearch(space, own, settings.seed, limit=settings.trials // 2)
        if settings.method == RESTARTED:
            own_settings = {"restarts": "bipop", "deviation": 0.25}
            return make_search(RESTARTED, space, seed=settings.seed, settings=own_settings)
        objectives = len(self.searched.objectives)
        return make_search(settings.method, space, seed=settings.seed, objectives=objectives)

    def result(
        self,
        solution: Solution,
        report: ReportStep = no_report,
        choice: ModelChoice | None = None,
    ) -> ServoFit:
        """Fit from a solution, with assessment and verdict.

        Args:
          solution: end of the search.
          report: progress callback: description of each long step, and fraction done.
          choice: selection of friction model and terms, with its cross-validation errors.
        """
        solution = _closest(solution)
        x, begin = solution.x, self.catalogue_start
        held_out = self.simulator(self.held_out_logs) if self.held_out_logs else None
        fine = self.problem.simulator
        assessment = assess(
            self.problem,
            x,
            self.training_logs,
            self.settings.level,
            converged=solution.success,
            report=report,
        )
        model = self.problem.model_at(x)
        training = evaluation(fine, x)
        beyond = None if held_out is None else evaluation(held_out, x)
        findings = [*self.findings, *current_findings(model, self.training_logs, self.settings.vin)]
        findings += [*training.worse_than_trivial("the training logs")]
        if beyond is not None:
            findings += beyond.worse_than_trivial("the held-out logs")
        unseen = None
        if held_out is None and choice is None and solution.success:
            unseen = held_out_refit(self.simulator, self.training_logs, self.problem, x, begin)
        odd = odd_logs(self.training_logs, [one[0] for one in fine.simulate(x[None]).position])
        tried = () if choice is None else (each.term for each in choice.screened)
        causes = self.bench_causes(x, odd, report, RATIO in tried)
        wrong_gain = gain_finding(model, self.space, assessment)
        if wrong_gain is None and RATIO not in self.space.names:
            given = self.settings.fixed.get(RATIO, 1.0)
            wrong_gain = measured_gain_finding(self.training_logs, model.servo, given)
        if wrong_gain is not None:
            findings.append(wrong_gain)
        slope = self.space.slope(x)
        solution.covariance = assessment.covariance.matrix * np.outer(slope, slope)
        solution.intervals = assessment.intervals
        return ServoFit(
            model=model,
            settings=self.settings,
            problem=self.problem,
            solution=solution,
            training_logs=self.training_logs,
            held_out_logs=self.held_out_logs,
            training=training,
            held_out=beyond,
            training_start=evaluation(fine, begin),
            held_out_start=None if held_out is None else evaluation(held_out, begin),
            assessment=assessment,
            findings=tuple(findings),
            unseen=unseen,
            choice=choice,
            odd_logs=tuple(odd),
            bench_causes=tuple(causes),
            wrong_gain=wrong_gain,
        )

    def bench_causes(
        self,
        x: np.ndarray,
        odd: Sequence[OddLog] = (),
        report: ReportStep = no_report,
        gain_tried: bool = False,
    ) -> list[BenchCause]:
        """Descriptions of the bench that explain the error of the model, if it has one.

        Args:
          x: optimum of the training logs ``(p,)``.
          odd: logs with a large error; those that contradict the others are left out.
          report: progress callback.
          gain_tried: whether a choice of the model has tried another gain of all logs.
        """
        if not model_error(self.problem, x) > MODEL_ERROR:
            return []
        report("testing the description of the bench", None)
        wrong = {one.number for one in odd if one.contradicts}
        kept = [log for number, log in enumerate(self.training_logs) if number not in wrong]
        problem = ServoProblem(self.simulator(kept), self.settings.objective)
        benches = [self.bench_of(log) for log in kept]
        # an optimum: otherwise the end of the search, and not the bench, would explain the error
        return bench_causes(
            self.simulator,
            problem,
            refitted(problem, x),
            kept,
            benches,
            gain=None if gain_tried else self.gain_cause(kept),
            known_motor=bool({"kt", "R"} & set(self.settings.fixed)),
        )

    def gain_cause(self, logs: list[ServoLog]) -> GainCause | None:
        """Fit of the gain of all logs; None if it is a parameter already, the law has none, or the
        measured duty cycle shows that it is right."""
        settings, model = self.settings, self.start_model
        if RATIO in model.names or RATIO not in terms_for(model.servo.law):
            return None
        if gain_is_measured(logs, model.servo):
            return None
        held = dict.fromkeys(("validation_kp", "validation_mass", "validation_trajectory"), ())
        with_ratio = replace(settings, terms=(*settings.terms, RATIO), **held)
        benches = [self.bench_of(log) for log in logs]
        other = Prepared(model.servo, model.friction.name, logs, with_ratio, benches, self.threads)
        return functools.partial(fitted_gain, other.problem, other.start_model, settings.seed)


def prepare(spec: FitSpec, logs: Sequence[ServoLog], workers: int | None = None) -> Prepared:
    """Fit before its search, at the start values of its spec.

    Args:
      spec: the fit; if its model is to be selected, the simplest one is prepared.
      logs: its logs.
      workers: number of threads; None: all cores.

    Raises:
      TrueupError: invalid input.
      RunDirectoryError: the fit of the run has other parameters than when it started.
    """
    start = None if spec.start is None else np.array(list(spec.start.values()), float)
    settings = spec.fit_settings
    model = start_model(spec.servo_or_name, spec.first_model, settings)
    names = free_names(model, settings)
    if spec.start is not None and tuple(spec.start) != names:
        raise RunDirectoryError(
            f"the fit {spec.name} has changed its parameters: it started with "
            f"{listing(spec.start, 40)}, now has {listing(names, 40)}"
        )
    return Prepared(model.servo, spec.first_model, logs, settings, spec.benches, workers, start)


def free_names(model: ServoModel, settings: FitSettings) -> tuple[str, ...]:
    """Names of the free parameters.

    Raises:
      FitError: there is none.
    """
    free = tuple(name for name in model.names if name not in settings.fixed)
    if not free:
        raise FitError("all parameters are fixed: free at least one")
    return free


def _findings(logs: Sequence[ServoLog], settings: FitSettings) -> list[str]:
    """Findings on logs and settings before a fit, as sentences."""
    found = findings_in_words((log.name, log_findings(log, settings.vin)) for log in logs)
    slip = None if settings.vin is None else header_finding("vin", settings.vin)
    if slip is not None:
        found.append(f"the settings: {slip.sentence}")
    gains = {log.kp for log in logs}
    if len(gains) == 1:
        found.append(
            f"all logs have the gain {gains.pop():g}: effects of the gain (currents and "
            "torques above those recorded, their limits and saturation) cannot be determined from "
            "them. Record a second gain before using the model at another gain"
        )
    return found


def start_model(servo: str | Servo, model: str, settings: FitSettings) -> ServoModel:
    """Model at its start values and fixed values.

    Raises:
      FitError: unknown servo, friction model or term.
      ParameterError: a fixed value of an unknown parameter, or outside its bounds.
    """
    found = ServoModel.create(servo, model, settings.terms, quadratic=settings.quadratic)
    found.check_names(settings.fixed)
    for parameter in found.parameters:
        value = settings.fixed.get(parameter.name)
        if value is not None and parameter.outside(value):
            raise ParameterError(
                f"{parameter.name} = {value:g} is outside its bounds {parameter.lower:g} to "
                f"{parameter.upper:g} {parameter.unit}".rstrip()
            )
    return found.with_values(**settings.fixed)


def _loss_scale(objective: Objective) -> float | None:
    """Scale of the robust loss of the descents; None: chosen by them."""
    if not OBJECTIVES[objective.kind].has_width:
        return None
    pairs = zip(objective.weights, objective.widths, strict=True)
    return max(weight * width for weight, width in pairs)


def _closest(solution: Solution) -> Solution:
    """Solution with the candidate of the Pareto front that has the smallest first objective."""
    front = solution.front
    if front is None:
        return solution
    best = int(np.argmin(front.costs[:, 0]))
    x = front.x[best].copy()
    return replace(
        solution,
        x=x,
        cost=float(front.costs[best, 0]),
        parameters=dict(zip(solution.parameters, map(float, x), strict=True)),
    )
