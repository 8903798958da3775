"""CMA-ES: a population search that adapts to the scales and correlations of the parameters."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueup._seeds import check_seed
from trueup.errors import FitError
from trueup.fitting.cma_es.noise import Contender, Contenders, NoiseTreatment
from trueup.fitting.cma_es.options import resolve_cma_options
from trueup.fitting.cma_es.package import cma_package
from trueup.fitting.cma_es.restarts import FinishedRun, RunPlan, describe_stop, next_run
from trueup.fitting.cma_es.settings import CmaEsSettings
from trueup.fitting.cma_es.standstill import Standstill
from trueup.fitting.cma_es.strategy import CmaRun
from trueup.fitting.problem import LARGE_COST, Failures, Problem
from trueup.fitting.searches.box import check_box, start_deviations
from trueup.fitting.searches.cost_search import CostSearch
from trueup.fitting.searches.saved_state import HistoryColumns, require_version
from trueup.fitting.solution import Status
from trueup.parameters import Space

STATE_VERSION = 2
"""Version of :meth:`CmaEs.state`."""

_SEPARABLE_ABOVE = 100
_TRUSTED_COUNT = 5


@dataclass
class Batch:
    """Requested candidates, and the purpose of each row."""

    X: np.ndarray
    population: np.ndarray
    """Rows of the population ``(repeats, population)``."""
    places: np.ndarray
    """The population in the coordinates of the run ``(population, n)``."""
    again: np.ndarray
    """Rows that reevaluate its first candidates ``(repeats, m)``."""
    contenders: list[tuple[Contender, np.ndarray]]
    """Contenders and their rows."""
    noisy: bool
    start: int | None = None
    """Row of the start value."""


class CmaEs(CostSearch):
    """Covariance matrix adaptation evolution strategy, with the package ``cma``.

    It requires costs only and no derivatives, supports rough, noisy and invalid costs, and adapts
    to the scales and correlations of the parameters. The start value is evaluated first, and all
    candidates are within the bounds. Groups of elements (:attr:`Space.together`) are ignored.

    Hansen, "The CMA evolution strategy: a tutorial", arXiv:1604.00772.

    Args:
      space: search space.
      settings: population, restarts, noise, limits and options of ``cma``.
      seed: seed of all random numbers; the same seed gives the same history.

    Raises:
      FitError: no free element, a start outside the bounds, equal bounds, an element without scale,
        or an option that ``cma`` does not have or rejects.
    """

    settings_class = CmaEsSettings
    """Settings that the constructor takes."""

    def __init__(self, space: Space, settings: CmaEsSettings | None = None, seed: int = 0):
        super().__init__(space)
        check_box(space)
        self.settings = settings or CmaEsSettings()
        self.seed = int(seed)
        check_seed(self.seed)
        self.finished: list[FinishedRun] = []
        """The runs before the current one."""
        self.noisy = self.settings.noisy
        """Whether costs are noisy; None before the first evaluation."""
        self._options = resolve_cma_options(self.settings.options)
        self._rng = np.random.default_rng(self.seed)
        # cma does not support one element: add a second one without effect
        self._size = max(space.size, 2)
        self._center, self._scale = np.zeros(self._size), np.ones(self._size)
        self._center[: space.size] = space.to_search(space.start)
        self._scale[: space.size] = start_deviations(space, self.settings.deviation)
        self._bounds = self._run_bounds()
        self._target = self._options.pop("ftarget", self.settings.target_cost)
        self._max_evaluations = self._options.pop("maxfevals", self.settings.max_evaluations)
        self._plan = RunPlan(self._first_population())
        self._run_start = np.zeros(self._size)
        self._anchor = self._run_start
        self._run = self._start_run()
        self._run_cost, self._run_evaluations = np.inf, 0
        self._worst, self._spread, self._standstill = 0.0, 1.0, Standstill()
        self._noise = NoiseTreatment(self._size, self.settings.max_repeats)
        self._contenders = Contenders()
        self._closing: tuple[Status, str] | None = None
        self._batch: Batch | None = None
        self._before_ask: dict[str, Any] = {}

    # --- ask and tell ----------------------------------------------------------------------------

    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)``; the same one until :meth:`tell`."""
        if self._batch is None:
            self._before_ask = self._moving_state(with_histories=False)
            self._batch = self._last_batch() if self._closing else self._next_batch()
        return self._batch.X.copy()

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> np.ndarray:
        """Costs ``(n, 1)`` of candidates.

        Raises:
          FitError: the problem has several objectives.
        """
        if len(problem.objectives) != 1:
            raise FitError(
                f"CMA-ES minimises one cost, the problem has {len(problem.objectives)}: "
                f"{', '.join(problem.objectives)}. Use NSGA-II, or a weighted sum"
            )
        if self.noisy is None:
            self.noisy = bool(problem.noisy)
        return problem.costs(X, failures)

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Process the costs ``(n,)`` or ``(n, 1)`` of the batch of :meth:`ask`.

        Its rows may come in any order: the result is the same.

        Raises:
          FitError: no batch was requested, or the candidates are not those of the batch.
        """
        if self._batch is None:
            raise FitError("CMA-ES received costs without a requested batch: call ask() first")
        costs = np.array(answer, float).reshape(len(X), -1)
        if costs.shape[1] != 1:
            raise FitError(f"CMA-ES minimises one cost, received {costs.shape[1]} per candidate")
        order = match_rows(np.asarray(X, float), self._batch.X)
        place = {int(row): i for i, row in enumerate(order)}
        super().tell(
            self._batch.X, costs[order], {place[row]: why for row, why in failures.items()}
        )

    def forget_costs(self, step: float = 1.0) -> None:
        """Discard the costs of all candidates, and keep the current distribution.

        For a cost function that changes between two generations, such as its weights. The best
        candidate and the history then start with the next generation.

        Args:
          step: factor of the step size.

        Raises:
          FitError: a batch is pending, or the search has ended.
        """
        if self._batch is not None or self.status is not None or self._closing is not None:
            raise FitError("the costs of CMA-ES may change only between two generations")
        self.cost = self._run_cost = np.inf
        self.history, self._columns = [], HistoryColumns()
        self._run.widen(step)

    @property
    def distribution(self) -> tuple[np.ndarray, np.ndarray]:
        """Current standard deviations ``(p,)`` and correlations ``(p, p)`` in search coordinates.

        For ``deviation`` and ``correlation`` of the :class:`Space` of a following search.
        """
        size = self.space.size
        covariance = self._run.covariance[:size, :size]
        spread = np.sqrt(np.diag(covariance))
        return spread * self._scale[:size], covariance / np.outer(spread, spread)

    @property
    def mean(self) -> np.ndarray:
        """Mean of the distribution ``(p,)``, within the bounds."""
        return self._values(self._run.mean[None])[0]

    @property
    def step_size(self) -> float:
        """Step size in initial standard deviations, ``sigma`` of cma."""
        return self._run.step

    @property
    def axis_lengths(self) -> np.ndarray:
        """Lengths of the principal axes of the distribution for a step size of 1 ``(p,)``, in
        ascending order, in search coordinates: square roots of the eigenvalues of ``C``; NaN for a
        covariance that is not finite."""
        size = self.space.size
        scale = self._scale[:size] / self.step_size
        matrix = self._run.covariance[:size, :size] * np.outer(scale, scale)
        if not np.isfinite(matrix).all():
            return np.full(size, np.nan)  # eigvalsh raises
        return np.sqrt(np.maximum(np.linalg.eigvalsh(matrix), 0.0))

    def _next_batch(self) -> Batch:
        noisy = bool(self.noisy)
        places = self._run.ask()
        candidates = self._values(places)
        rows: list[np.ndarray] = []
        start = None
        if self.generation == 0:
            start = 0
            rows.append(self.space.start[None])
        count = len(candidates)
        repeats = self._noise.repeats if noisy else 1
        population = append_repeated(rows, candidates, repeats)
        treated = noisy and self.settings.noise_treatment
        second = candidates[: self._noise.reevaluated(count) if treated else 0]
        again = append_repeated(rows, second, repeats)
        contenders = []
        for contender in self._contenders.to_evaluate() if noisy else ():
            times = self.settings.contender_evaluations
            contenders.append((contender, append_repeated(rows, contender.x[None], times)[:, 0]))
        return Batch(np.concatenate(rows), population, places, again, contenders, noisy, start)

    def _last_batch(self) -> Batch:
        """The last mean and the best candidate, reevaluated until their costs are reliable."""
        assert self._contenders.incumbent is not None
        best = Contender(self._contenders.incumbent.x, self.cost)
        mean = Contender(self._values(self._run.mean[None])[0])
        self._contenders.incumbent, self._contenders.challenger = best, mean
        rows: list[np.ndarray] = []
        contenders = []
        for contender in (best, mean):
            places = append_repeated(rows, contender.x[None], self.settings.final_evaluations)
            contenders.append((contender, places[:, 0]))
        nothing = np.zeros((1, 0), int)
        X = np.concatenate(rows)
        return Batch(X, nothing, np.zeros((0, self._size)), nothing, contenders, True)

    def _take_best(self, X: np.ndarray, costs: np.ndarray, valid: np.ndarray) -> None:
        batch = self._batch
        assert batch is not None
        if batch.noisy and np.isfinite(self.cost):
            return  # the contenders decide, see _learn_noise
        super()._take_best(X, costs, valid)

    def _learn(self, X: np.ndarray, costs: np.ndarray, valid: np.ndarray) -> None:
        batch = self._batch
        assert batch is not None
        self._batch = None
        cost = costs[:, 0]
        valid = valid & (cost < LARGE_COST)
        if self._closing is not None:
            self._judge_contenders(batch, cost, valid, final=True)
            self._end(*self._closing)
            return
        if batch.start is not None:
            self._run.strategy.f0 = float(cost[0]) if valid[0] else np.inf
        mean_costs = np.where(valid, cost, 0.0)[batch.population].mean(axis=0)
        sound = np.asarray(valid[batch.population].all(axis=0))
        self._run_evaluations += len(X)
        if sound.any():
            place = int(np.argmin(np.where(sound, mean_costs, np.inf)))
            if mean_costs[place] < self._run_cost:
                self._run_cost, self._anchor = float(mean_costs[place]), batch.places[place].copy()
        self._standstill.count(bool(sound.any()), self._run_cost)
        reasons = self._run.tell(self._penalised(mean_costs, sound, batch.places))
        if batch.noisy:
            self._learn_noise(batch, cost, valid, mean_costs, sound)
        self._decide(reasons)

    def _penalised(
        self, mean_costs: np.ndarray, sound: np.ndarray, places: np.ndarray
    ) -> np.ndarray:
        """Costs with a penalty for invalid candidates, increasing with their distance to the best.

        So a generation without valid candidates moves back to the last valid ones, or to the start
        of the run.
        """
        if sound.any():
            self._worst = float(mean_costs[sound].max())
            spread = self._worst - float(mean_costs[sound].min())
            self._spread = spread if spread > 0 else self._spread
        if sound.all():
            return mean_costs
        distance = np.sqrt(np.sum((places - self._anchor) ** 2, axis=1))
        share = distance / max(float(distance.max()), np.finfo(float).tiny)
        return np.where(sound, mean_costs, self._worst + self._spread * (1.0 + share))

    # --- noise -----------------------------------------------------------------------------------

    def _learn_noise(
        self,
        batch: Batch,
        cost: np.ndarray,
        valid: np.ndarray,
        mean_costs: np.ndarray,
        sound: np.ndarray,
    ) -> None:
        second = cost[batch.again].mean(axis=0)
        both = sound[: len(second)] & valid[batch.again].all(axis=0)
        if both.any():
            # reevaluated candidates come first, as required by the measure
            others = sound.copy()
            others[np.flatnonzero(both)] = False
            first = np.concatenate([mean_costs[: len(second)][both], mean_costs[others]])
            repeats = len(batch.again)
            self._run.widen(self._noise.measure(first, second[both], repeats))
        self._judge_contenders(batch, cost, valid)
        if sound.any():
            place = int(np.argmin(np.where(sound, mean_costs, np.inf)))
            best = batch.X[batch.population[0, place]]
            if self.generation % 2 and self._contenders.incumbent is not None:
                best = self._values(self._run.mean[None])[0]
            self._contenders.propose(best, float(mean_costs[place]))

    def _judge_contenders(
        self, batch: Batch, cost: np.ndarray, valid: np.ndarray, final: bool = False
    ) -> None:
        for contender, rows in batch.contenders:
            if valid[rows].all():
                contender.take(cost[rows])
            else:
                self._contenders.drop_invalid(contender)
        if final:
            self._contenders.settle_finally()
        else:
            self._contenders.settle(self._noise.variance)
        incumbent = self._contenders.incumbent
        if incumbent is not None and np.isfinite(incumbent.cost):
            self.x, self.cost = incumbent.x.copy(), incumbent.cost

    # --- runs ------------------------------------------------------------------------------------

    def _decide(self, reasons: dict[str, Any]) -> None:
        """End the search, start another run, or continue this one."""
        limit = self._limit()
        if limit is not None:
            self._close(*limit)
            return
        reasons = self._standstill.reasons(self.settings.plateau) or reasons
        if not reasons:
            return
        status, sentence = describe_stop(reasons)
        if not np.isfinite(self.cost):
            status = Status.START_FAILED
        self.finished.append(
            FinishedRun(
                population=self._run.population,
                evaluations=self._run_evaluations,
                cost=self._run_cost,
                status=status.value,
                reason=sentence,
                regime=self._plan.regime,
            )
        )
        plan = next_run(
            self.settings.restarts,
            self.finished,
            self.settings.max_restarts,
            self.settings.population_factor,
            self._rng,
        )
        if plan is not None:
            self._restart(plan)
        else:
            self._close(*self._outcome())

    def _close(self, status: Status, why: str) -> None:
        """End the search; with noisy costs, reevaluate the best candidates first."""
        if self.noisy and self._contenders.incumbent is not None:
            self._closing = status, why
        else:
            self._end(status, why)

    def _limit(self) -> tuple[Status, str] | None:
        if self._target is not None and self.cost <= self._target and self._is_trusted:
            return Status.TARGET_REACHED, f"the cost reached the target of {self._target:.6g}"
        reserve = 2 * self.settings.final_evaluations if self.noisy else 0
        limit = self._max_evaluations
        if limit is not None and self.evaluations + reserve >= limit:
            return Status.EVALUATION_LIMIT, f"the limit of {limit:g} evaluations"
        generations = self.settings.max_generations
        done = self.generation + 1 + bool(self.noisy)
        if generations is not None and done >= generations:
            return Status.ITERATION_LIMIT, f"the limit of {generations} generations"
        return None

    @property
    def _is_trusted(self) -> bool:
        """Whether the best cost is confirmed by reevaluations."""
        incumbent = self._contenders.incumbent
        return not self.noisy or (incumbent is not None and incumbent.count >= _TRUSTED_COUNT)

    def _outcome(self) -> tuple[Status, str]:
        best = min(self.finished, key=lambda run: run.cost)
        if len(self.finished) == 1:
            return Status(best.status), best.reason
        return Status(best.status), f"the best of {len(self.finished)} runs ended: {best.reason}"

    def _end(self, status: Status, why: str) -> None:
        self.status = status
        if np.isfinite(self.cost):
            self.message = f"cost {self.cost:.6g}: {why}"
        else:
            self.message = f"no valid candidate: {why}"

    def _restart(self, plan: RunPlan) -> None:
        lower, upper = self._bounds
        boxed = np.isfinite(lower) & np.isfinite(upper)
        uniform, normal = self._rng.uniform(size=self._size), self._rng.standard_normal(self._size)
        inside = np.where(boxed, lower, 0.0) + uniform * np.where(boxed, upper - lower, 0.0)
        self._plan = plan
        self._run_start = np.where(boxed, inside, np.clip(3.0 * normal, lower, upper))
        self._anchor = self._run_start
        self._run = self._start_run()
        self._run_cost, self._run_evaluations = np.inf, 0
        self._standstill = Standstill()

    def _start_run(self) -> CmaRun:
        options: dict[str, Any] = {
            "CMA_active": self.settings.active,
            "CMA_elitist": self.settings.elitist,
            "CMA_diagonal": self._size > _SEPARABLE_ABOVE
            if self.settings.separable is None
            else self.settings.separable,
        }
        options.update(self._options)
        if self._plan.max_generations is not None:
            given = options.get("maxiter")
            limit = self._plan.max_generations
            options["maxiter"] = limit if given is None else min(limit, given)
        run = CmaRun(
            self._run_start,
            self._plan.step,
            self._plan.population,
            *self._bounds,
            options,
            self._rng,
            (self.seed, len(self.finished)),
        )
        correlation = self.space.correlation
        # a restart begins elsewhere, where the initial distribution is not valid
        if correlation is not None and not self.finished and not options["CMA_diagonal"]:
            size = self.space.size
            whole = np.eye(self._size)
            whole[:size, :size] = correlation
            run.correlate(whole)
        return run

    def _first_population(self) -> int:
        given = self._options.pop("popsize", None) or self.settings.population
        return int(given or 4 + 3 * np.log(self.space.size))

    def _run_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = np.full(self._size, -np.inf), np.full(self._size, np.inf)
        size = self.space.size
        low, high = self.space.search_bounds
        lower[:size] = (low - self._center[:size]) / self._scale[:size]
        upper[:size] = (high - self._center[:size]) / self._scale[:size]
        return np.minimum(lower, 0.0), np.maximum(upper, 0.0)

    def _values(self, places: np.ndarray) -> np.ndarray:
        size = self.space.size
        z = self._center[:size] + places[:, :size] * self._scale[:size]
        return self.space.from_search(z)

    def info(self) -> dict[str, Any]:
        """Run, step size in initial deviations, axis ratio, population and evaluations of each."""
        return {
            "run": len(self.finished),
            "step": self._run.step,
            "axis_ratio": self._run.axis_ratio,
            "population": self._run.population,
            "repeats": self._noise.repeats if self.noisy else 1,
        }

    # --- state -----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """State for :meth:`from_state`: plain numbers and arrays."""
        cma = cma_package()

        if self._batch is None:
            moving = self._moving_state()
        else:
            moving = dict(self._before_ask)
            moving["run"] = {**moving["run"], **self._run.histories()}
        return {
            "search": "CmaEs",
            "version": STATE_VERSION,
            "cma": cma.__version__,
            "settings": asdict(self.settings),
            "seed": self.seed,
            "names": list(self.space.names),
            "center": self._center.copy(),
            "scale": self._scale.copy(),
            **self._common_state(),
            **moving,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], space: Space) -> "CmaEs":
        """Continue from :meth:`state` with a bitwise identical history.

        Raises:
          FitError: the state is of another search, problem, version, or version of ``cma``.
        """
        check_state(state, space)
        search = cls(space, CmaEsSettings(**state["settings"]), int(state["seed"]))
        if not (
            np.array_equal(state["center"], search._center)
            and np.array_equal(state["scale"], search._scale)
        ):
            raise FitError(
                "the saved state of CMA-ES belongs to a problem with other bounds or start values"
            )
        search._take_common_state(state)
        search.noisy = state["noisy"]
        search.finished = [FinishedRun(**run) for run in state["finished"]]
        search._plan = RunPlan(**state["plan"])
        search._run_start = np.array(state["run_start"], float)
        search._anchor = np.array(state["anchor"], float)
        if search.finished:  # the first run already exists
            search._run = search._start_run()
        search._run.restore(state["run"])
        search._rng.bit_generator.state = state["generator"]
        search._run_cost = float(state["run_cost"])
        search._run_evaluations = int(state["run_evaluations"])
        search._worst, search._spread = float(state["worst"]), float(state["spread"])
        former = {"barren": state.get("barren", 0)}  # of a state without costs of the run
        search._standstill = Standstill(**state.get("standstill", former))
        search._noise.take_state(state["noise"])
        search._contenders.take_state(state["contenders"])
        if state["closing"] is not None:
            search._closing = Status(state["closing"][0]), str(state["closing"][1])
        return search

    def _moving_state(self, with_histories: bool = True) -> dict[str, Any]:
        """State that a generation changes, before its candidates are drawn."""
        closing = self._closing
        return {
            "noisy": self.noisy,
            "finished": [asdict(run) for run in self.finished],
            "plan": asdict(self._plan),
            "run_start": self._run_start.copy(),
            "anchor": self._anchor.copy(),
            "run": self._run.state(with_histories),
            "run_cost": self._run_cost,
            "run_evaluations": self._run_evaluations,
            "worst": self._worst,
            "spread": self._spread,
            "standstill": asdict(self._standstill),
            "generator": self._rng.bit_generator.state,
            "noise": self._noise.state(),
            "contenders": self._contenders.state(),
            "closing": None if closing is None else [closing[0].value, closing[1]],
        }


def append_repeated(rows: list[np.ndarray], candidates: np.ndarray, repeats: int) -> np.ndarray:
    """Append candidates ``repeats`` times; returns their rows ``(repeats, len(candidates))``."""
    first = sum(map(len, rows))
    rows.extend([candidates] * repeats)
    return first + np.arange(repeats * len(candidates)).reshape(repeats, len(candidates))


def match_rows(received: np.ndarray, sent: np.ndarray) -> np.ndarray:
    """Row of ``received`` for each row of ``sent``; equal rows keep their order."""
    if received.shape == sent.shape:
        if np.array_equal(received, sent):
            return np.arange(len(sent))
        left, right = np.lexsort(received.T[::-1]), np.lexsort(sent.T[::-1])
        if np.array_equal(received[left], sent[right]):
            order = np.empty(len(sent), int)
            order[right] = left
            return order
    raise FitError(
        f"CMA-ES received {received.shape[0]} candidates that are not the {len(sent)} of its batch"
    )


def check_state(state: dict[str, Any], space: Space) -> None:
    """Check that this search can continue from a saved state.

    Raises:
      FitError: the state is of another search, version, version of ``cma``, or problem.
    """
    cma = cma_package()
    if state.get("search") != "CmaEs":
        raise FitError(
            f"the saved state is of {state.get('search', 'another search')}, expected CMA-ES"
        )
    require_version(state, STATE_VERSION, "CMA-ES search")
    if state["cma"] != cma.__version__:
        raise FitError(
            f"the saved state requires cma {state['cma']}, found {cma.__version__}: "
            f"run  pip install cma=={state['cma']}  to resume it, or start a new study from its "
            "best parameters"
        )
    if tuple(state["names"]) != space.names:
        raise FitError(
            f"the saved state of CMA-ES belongs to another problem: it has {len(state['names'])} "
            f"parameters ({', '.join(state['names'][:5])}), expected {space.size} "
            f"({', '.join(space.names[:5])})"
        )
