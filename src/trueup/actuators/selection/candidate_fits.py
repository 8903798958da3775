"""Parallel least-squares fits of many models to logs and parts of them; can be resumed."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import numpy as np

from trueup.actuators.bench.loads import Bench, bench_of
from trueup.actuators.bench.objective import OBJECTIVES
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.fit_settings import FitSettings
from trueup.actuators.search.prepared_fit import Prepared
from trueup.actuators.search.servo_search import best_of_families, scan_points
from trueup.actuators.search.warm_starts import converted_values, distinct, with_term_values
from trueup.actuators.selection.parts import HeldOutPart
from trueup.errors import SimulationError
from trueup.fitting.problem import LARGE_COST, Failures, Problem
from trueup.fitting.searches.least_squares import LeastSquaresSettings
from trueup.fitting.searches.parallel_descents import ParallelDescents

ALL = "all logs"
"""Part of a fit to all logs."""


@dataclass(frozen=True)
class Stage:
    """Parallel descents, the best of which continue."""

    coarse: bool
    """Whether derivatives come from the coarse simulator."""
    bend: float
    """Scale of the robust loss, relative to the objective."""
    steps: int
    """Greatest number of steps."""
    tolerance: float
    """Relative reduction of the cost in a step below which a descent ends."""
    kept: int
    """Number of descents that continue."""


@dataclass(frozen=True)
class Effort:
    """Thoroughness of the search of a fit."""

    scanned: int
    """Points of a scan over the box and its nested sub-models; 0 for none."""
    scan_starts: int
    """Number of descents from the best of them."""
    known_starts: int
    """Number of descents from known optima."""
    stages: tuple[Stage, ...]
    """Stages of the descents."""


THOROUGH = Effort(
    512,
    24,
    4,
    (
        Stage(True, 0.1, 10, 1e-3, 8),
        Stage(True, 0.1, 20, 1e-3, 4),
        Stage(False, 0.1, 25, 1e-4, 2),
        Stage(False, 0.03, 30, 1e-4, 1),
    ),
)
"""Effort of a fit to all logs, which may have to find another local minimum."""
LIGHT = Effort(
    256,
    8,
    4,
    (
        Stage(True, 0.1, 10, 1e-3, 4),
        Stage(True, 0.1, 20, 1e-3, 2),
        Stage(False, 0.1, 25, 1e-4, 1),
        Stage(False, 0.03, 20, 1e-4, 1),
    ),
)
"""Effort of a fit to all logs that starts near its optimum, or is an intermediate step."""
BRIEF = Effort(0, 0, 2, (Stage(True, 0.1, 15, 1e-3, 1), Stage(False, 0.05, 10, 1e-3, 1)))
"""Effort of a screening fit, from the optimum without the term."""
AGAIN = Effort(0, 0, 3, (Stage(True, 0.1, 12, 1e-3, 1), Stage(False, 0.05, 20, 1e-4, 1)))
"""Effort of a fit to fewer logs, near the optimum of all logs."""
POOLED = Effort(
    0,
    0,
    8,
    (
        Stage(True, 0.1, 15, 1e-3, 4),
        Stage(False, 0.1, 25, 1e-4, 2),
        Stage(False, 0.03, 30, 1e-4, 1),
    ),
)
"""Effort of a second fit to all logs, from the optima of all other fits."""


@dataclass(frozen=True)
class Candidate:
    """A friction model with extended terms."""

    model: str
    terms: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Name in tables: the model, then its terms."""
        return "+".join((self.model, *self.terms))


@dataclass(frozen=True)
class FoundFit:
    """Result of the fit of a candidate."""

    values: dict[str, float]
    """Values of the free parameters."""
    cost: float
    """Objective on the logs of the fit."""
    error: float
    """Mean absolute position error on the held-out logs [rad]; NaN without any."""
    evaluations: int
    """Number of simulated candidates."""


@dataclass(frozen=True)
class FitOrder:
    """Specification of a fit."""

    candidate: Candidate
    part: HeldOutPart | None
    """Held-out logs."""
    starts: tuple[Mapping[str, float], ...]
    """Values of known models, as start values."""
    effort: Effort
    new_term: str = ""
    """Term to vary over its range in the first of these."""
    name: str = ""
    """Name that distinguishes it from other fits of the same candidate and part."""

    @property
    def key(self) -> str:
        """Name of the fit in a file."""
        part = ALL if self.part is None else self.part.label
        return " | ".join((self.candidate.label, part, *([self.name] if self.name else ())))


class BudgetExhaustedError(Exception):
    """Fits are incomplete because the evaluations are used up."""


class _Allowance:
    """Budget of evaluations of a fit."""

    def __init__(self, most: int | None):
        self.most, self.used = most, 0

    def take(self, count: int) -> None:
        """Reserve the evaluations of a batch.

        Raises:
          BudgetExhaustedError: the batch exceeds the budget.
        """
        if self.most is not None and self.used + count > self.most:
            raise BudgetExhaustedError
        self.used += count


class CandidateFits:
    """Fits of many candidates to logs and parts of them, for cross-validation.

    Args:
      servo: servo, or its name in the catalogue.
      logs: evenly sampled logs.
      settings: settings of the fits, except ``method``; its terms are in every candidate.
      benches: load of each log.
      workers: number of parallel fits.
      known: earlier fits, from :meth:`to_dict`.
      on_fit: called with each new fit, in order.
    """

    def __init__(
        self,
        servo: str | Servo,
        logs: Sequence[ServoLog],
        settings: FitSettings,
        *,
        benches: Sequence[Bench] | None = None,
        workers: int = 1,
        known: Mapping[str, Any] | None = None,
        on_fit: Callable[[FitOrder, FoundFit], None] | None = None,
    ):
        self.servo, self.logs, self.settings = servo, list(logs), settings
        self.workers = workers
        self.found: dict[str, FoundFit] = {k: FoundFit(*v) for k, v in (known or {}).items()}
        self.evaluations = 0
        self.benches = [bench_of(log) for log in logs] if benches is None else list(benches)
        """Load of each log."""
        self._on_fit = on_fit
        self._stop = Event()
        self._threads = 1

    def to_dict(self) -> dict[str, Any]:
        """All fits as plain data."""
        return {
            key: [fit.values, fit.cost, fit.error, fit.evaluations]
            for key, fit in self.found.items()
        }

    def make(self, orders: Sequence[FitOrder], limit: int | None = None) -> list[FoundFit]:
        """Run fits in parallel; earlier results are reused.

        Args:
          orders: fits to run.
          limit: limit of :attr:`evaluations`; None for no limit. New fits share the remaining
            budget equally, so that none depends on the progress of the others.

        Raises:
          BudgetExhaustedError: a fit needs more than its share.
          KeyboardInterrupt: Ctrl-C; finished fits are in :attr:`found`.
        """
        new = [order for order in orders if order.key not in self.found]
        known = sum(self.found[o.key].evaluations for o in orders if o.key in self.found)
        self.evaluations += known
        if new:
            most = None if limit is None else max(0, limit - self.evaluations) // len(new)
            allowances = [_Allowance(most) for _ in new]
            try:
                self._make_new(new, allowances)
            finally:
                self.evaluations += sum(allowance.used for allowance in allowances)
            if any(order.key not in self.found for order in new):
                raise BudgetExhaustedError
        return [self.found[order.key] for order in orders]

    def _make_new(self, orders: Sequence[FitOrder], allowances: Sequence[_Allowance]) -> None:
        # a single fit uses all threads, several fits use one each
        self._threads = max(1, self.workers // len(orders))
        pool = ThreadPoolExecutor(min(self.workers, len(orders)))
        try:
            running = [
                pool.submit(self._fit, order, allowance)
                for order, allowance in zip(orders, allowances, strict=True)
            ]
            for order, future in zip(orders, running, strict=True):
                try:
                    found = future.result()
                except BudgetExhaustedError:
                    continue
                self.found[order.key] = found
                if self._on_fit is not None:
                    self._on_fit(order, found)
        except BaseException:
            self._stop.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            self._stop.clear()

    def prepared(self, candidate: Candidate, rows: Sequence[int]) -> Prepared:
        """A candidate on some of the logs, before its fit."""
        settings = replace(self.settings, terms=candidate.terms)
        logs = [self.logs[i] for i in rows]
        benches = [self.benches[i] for i in rows]
        return Prepared(self.servo, candidate.model, logs, settings, benches, self._threads)

    def model(self, candidate: Candidate, values: Mapping[str, float]) -> ServoModel:
        """Model of a candidate with values of its free parameters."""
        return self.prepared(candidate, range(len(self.logs))).start_model.with_values(**values)

    def parameters(self, candidate: Candidate) -> int:
        """Number of free parameters of a candidate."""
        return self.prepared(candidate, range(len(self.logs))).space.size

    def _fit(self, order: FitOrder, allowance: _Allowance) -> FoundFit:
        left_out = () if order.part is None else order.part.rows
        rows = [i for i in range(len(self.logs)) if i not in left_out]
        prepared = self.prepared(order.candidate, rows)
        groups = self._starts(prepared, order, allowance)
        coarse = [stage for stage in order.effort.stages if stage.coarse]
        fine = [stage for stage in order.effort.stages if not stage.coarse]
        # known optima have lower costs than scanned points at first, and would displace better
        # minima
        ends = [self._descend(prepared, starts, coarse, allowance) for starts in groups]
        best = self._descend(prepared, np.vstack(ends), fine, allowance)
        x, cost = best[0], float(_costs(prepared.problem, best[:1])[0])
        error = np.nan
        if left_out:
            judged = self.prepared(order.candidate, left_out)
            error = float(judged.problem.simulator.costs(x[None, :])[0])
        values = dict(zip(prepared.space.names, x.tolist(), strict=True))
        return FoundFit(values, cost, error, allowance.used)

    def _starts(
        self, prepared: Prepared, order: FitOrder, allowance: _Allowance
    ) -> list[np.ndarray]:
        """Known and scanned start values ``(n, p)``."""
        space, effort = prepared.space, order.effort
        parameters = {p.name: p for p in prepared.start_model.parameters}
        known = [
            converted_values(values, prepared.start_model.parameters, space.names)
            for values in order.starts
        ]
        if order.new_term and known and order.new_term in space.names:
            known += list(with_term_values(known[0], parameters[order.new_term], space.names))
        starts = []
        if known:
            points = np.array(known)
            allowance.take(len(points))
            costs = _costs(prepared.problem, points)
            ranked = points[np.argsort(costs, kind="stable")]
            starts.append(distinct(ranked, space, effort.known_starts))
        if effort.scanned and (effort.scan_starts or not known):
            points, families = scan_points(space, effort.scanned, self.settings.seed)
            allowance.take(len(points))
            costs = _costs(prepared.problem, points)
            starts.append(points[best_of_families(costs, families, effort.scan_starts)])
        found = [points for points in starts if len(points)]
        if not found:
            raise SimulationError(
                f"the simulation of {order.candidate.label} diverges at all "
                "start values: check the logs, the bench and the bounds of the servo"
            )
        return found

    def _descend(
        self,
        prepared: Prepared,
        starts: np.ndarray,
        stages: Sequence[Stage],
        allowance: _Allowance,
    ) -> np.ndarray:
        """End points of the best descents ``(n, p)``, best first."""
        problem = prepared.problem
        kind = OBJECTIVES[self.settings.objective.kind]
        allowance.take(len(starts))
        costs = _costs(problem, starts)
        order = np.argsort(costs, kind="stable")
        x, cost = starts[order], float(costs[order[0]])
        for stage in stages:
            settings = LeastSquaresSettings(
                jacobian="exact",
                loss=kind.descent_loss,
                loss_scale=max(stage.bend * cost, np.finfo(float).tiny),
                max_iters=stage.steps,
                cost_tolerance=stage.tolerance,
            )
            descents = ParallelDescents(prepared.space, x, settings)
            smooth = problem.coarse if stage.coarse else problem
            while descents.at_work:
                if self._stop.is_set():
                    raise KeyboardInterrupt
                batch = descents.ask()
                allowance.take(len(batch))
                failures: Failures = {}
                answers = descents.evaluate(smooth, problem, batch, failures, self._threads)
                found = np.array(answers.costs, float)
                found[found >= LARGE_COST] = np.inf
                descents.tell(batch, replace(answers, costs=found))
            chosen = descents.best(stage.kept)
            if not len(chosen):
                break
            x, cost = descents.x[chosen], float(descents.costs[chosen[0]])
        return x


def _costs(problem: Problem, X: np.ndarray) -> np.ndarray:
    """Objective ``(n,)``; infinite if the simulation diverges."""
    costs = np.array(problem.costs(X)[:, 0], float)
    costs[costs >= LARGE_COST] = np.inf
    return costs
