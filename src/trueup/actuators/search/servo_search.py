"""Search for servo models: scan, robust least squares from the best points, CMA-ES, polish."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from trueup.actuators.search.nested_models import nested_sub_models
from trueup.errors import FitError
from trueup.fitting.cma_es import CmaEs, CmaEsSettings
from trueup.fitting.problem import LARGE_COST, Failures, Problem
from trueup.fitting.searches.least_squares import LeastSquaresSettings
from trueup.fitting.searches.parallel_descents import DescentAnswers, ParallelDescents
from trueup.fitting.searches.random import SobolSearch
from trueup.fitting.searches.saved_state import require_version
from trueup.fitting.solution import Status
from trueup.parameters import Space

STAGES = ("scan", "descents", "fine 1", "fine 2", "cmaes", "polish")
"""Names of the stages by their numbers in the history of a study."""

STATE_VERSION = 2
"""Version of the content of :meth:`ServoSearch.state`."""

_SCALES = (0.1, 0.1, 0.03, 0.03)
_TOLERANCES = (1e-4, 1e-4, 1e-5, 1e-6)
_ITERATIONS = (40, 40, 40, 40)
_POLISH = len(_SCALES) - 1
_CMA_TOLERANCE = 1e-5  # relative spread of the objective at which CMA-ES ends
_NARROWEST, _WIDEST = 0.005, 0.1  # initial standard deviation of CMA-ES, relative to a range
_DEVIATIONS = (
    30.0  # initial deviation in standard errors for white residuals; real residuals are not white
)
_NOTHING = 1e-12  # objective that counts as 0 [rad]
_BATCH = 64  # points of the scan per batch
_IMPROVED = 2e-3  # relative improvement of a round that justifies another one


@dataclass(frozen=True)
class ServoSearchSettings:
    """Settings of :class:`ServoSearch`."""

    scanned: int = 256
    """Points of the scan, including the given start."""
    descents: int = 8
    """Number of descents from the best of them, with the coarse simulator."""
    kept: int = 3
    """Number of descents that continue with the fine simulator."""
    loss: str = "soft_l1"
    """Loss of the descents: ``"soft_l1"``, which approximates the absolute error, ``"huber"`` or
        ``"linear"``."""
    loss_scale: float | None = None
    """Scale of the robust loss; None: decreasing fractions of the objective."""
    evolve: bool = True
    """Whether CMA-ES refines the result of the descents on the objective itself."""
    rounds: int = 3
    """Greatest number of rounds of CMA-ES and polish; a round follows one that improved."""
    evaluations_per_element: int = 60
    """Evaluations of CMA-ES per round and unknown."""

    def __post_init__(self) -> None:
        for name in ("scanned", "descents", "kept", "rounds", "evaluations_per_element"):
            if getattr(self, name) < 1:
                raise FitError(
                    f"{name} of the search must be at least 1, got {getattr(self, name)}"
                )


class ServoSearch:
    """Search in stages, with all candidates evaluated by the objective of the problem.

    1. ``scan``: the given start and Sobol points of the box and of its nested sub-models.
    2. ``descents``: least squares with a robust loss and exact derivatives of the coarse simulator,
       from the best points of each sub-model, in parallel.
    3. ``fine 1``, ``fine 2``: the best of them with the fine simulator and a loss that approaches
       the absolute error.
    4. ``cmaes``: CMA-ES on the objective itself, which has kinks that least squares does not model.
    5. ``polish``: least squares again. A round of 4 and 5 that improved is followed by another.

    Args:
      space: the unknowns; bounds must be finite.
      settings: settings.
      seed: random seed.
      known: additional start points of descents ``(k, p)``; with them all scan points are in the
        full box.

    Raises:
      FitError: no free element, an infinite bound, or settings out of range.
    """

    ends_by_itself = True
    """Whether the search usually converges well before its limits."""

    def __init__(
        self,
        space: Space,
        settings: ServoSearchSettings | None = None,
        seed: int = 0,
        known: np.ndarray | None = None,
    ):
        self.space = space
        self.settings = settings or ServoSearchSettings()
        self.seed = seed
        self.x, self.cost = space.start.copy(), np.inf
        self.evaluations = 0
        self.generation = 0
        self.status: Status | None = None
        self.message = ""
        self.history: list[dict[str, Any]] = []
        self._round = 0
        self._before_round = np.inf
        self._level = -1
        self._known = known
        self._points, self._families = scan_points(space, self.settings.scanned, seed, known)
        self._scanned: np.ndarray | None = np.zeros(0)
        self._descents: ParallelDescents | None = None
        self._cma: CmaEs | None = None
        self._gram: np.ndarray | None = None

    @property
    def stage(self) -> str:
        """Current stage."""
        if self._scanned is not None:
            return "scan"
        if self._cma is not None:
            return "cmaes"
        if self._level == _POLISH:
            return "polish"
        return "descents" if self._level == 0 else f"fine {self._level}"

    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)``."""
        if self._scanned is not None:
            return self._points[len(self._scanned) :][:_BATCH]
        search = self._descents or self._cma
        assert search is not None
        return search.ask()

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> Any:
        """Evaluation of a batch for the current stage; of a staged problem also the coarse copy.

        Raises:
          FitError: the problem has several objectives.
        """
        if len(problem.objectives) > 1:
            raise FitError("this search supports one objective only: use 'nsgaii' for several")
        if self._descents is None:
            return problem.costs(X, failures)[:, 0]
        smooth = getattr(problem, "coarse", problem) if self._level == 0 else problem
        threads = getattr(problem, "threads", 1)
        return self._descents.evaluate(smooth, problem, X, failures, threads)

    def costs_of(self, answer: Any) -> np.ndarray:
        """Objective ``(n,)`` in a result of :meth:`evaluate`."""
        return answer.costs if isinstance(answer, DescentAnswers) else answer

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Process the results for the batch from :meth:`ask`."""
        costs = np.array(self.costs_of(answer), float)
        costs[list(failures)] = np.inf
        costs[costs >= LARGE_COST] = np.inf
        self.evaluations += len(X)
        best = int(np.argmin(costs))
        if costs[best] < self.cost:
            self.x, self.cost = X[best].copy(), float(costs[best])
        stage = self.stage
        if self._scanned is not None:
            self._take_scanned(costs)
        elif self._descents is not None:
            self._descents.tell(X, replace(answer, costs=costs))
            if not self._descents.at_work:
                self._close_descents()
        else:
            assert self._cma is not None
            self._cma.tell(X, costs, failures)
            if self._cma.done() is not None:
                self._cma = None
                self._descend(_POLISH, self.x[None, :])
        self.history.append(
            {
                "generation": self.generation,
                "evaluations": self.evaluations,
                "stage": stage,
                "cost": float(self.cost),
                "generation_best": float(costs[best]) if np.isfinite(costs[best]) else None,
            }
        )
        self.generation += 1

    def done(self) -> Status | None:
        """Reason for the end of the search, or None."""
        return self.status

    def info(self) -> dict[str, Any]:
        """Number of the stage: 0 scan, 1 coarse descents, 2 and 3 fine ones, 4 CMA-ES, 5 polish."""
        return {"stage": STAGES.index(self.stage), "round": self._round}

    def state(self) -> dict[str, Any]:
        """State for resuming: plain numbers and arrays."""
        parts = {"descents": self._descents, "cma": self._cma}
        return {
            "version": STATE_VERSION,
            "settings": asdict(self.settings),
            "seed": self.seed,
            "x": self.x.copy(),
            "cost": self.cost,
            "evaluations": self.evaluations,
            "generation": self.generation,
            "status": self.status.value if self.status else None,
            "message": self.message,
            "history": [dict(record) for record in self.history],
            "known": None if self._known is None else self._known.copy(),
            "round": self._round,
            "before_round": self._before_round,
            "level": self._level,
            "gram": None if self._gram is None else self._gram.copy(),
            "scanned": None if self._scanned is None else self._scanned.copy(),
            "cma_start": None if self._cma is None else self._cma.space.start.copy(),
            "cma_deviation": None if self._cma is None else self._cma.space.deviation,
            **{name: part.state() if part is not None else None for name, part in parts.items()},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], space: Space) -> "ServoSearch":
        """Search resumed from :meth:`state`, with the same history bit for bit.

        Raises:
          FitError: the state was saved by another version of this search.
        """
        require_version(state, STATE_VERSION, "servo search")
        known = state["known"]
        search = cls(
            space,
            ServoSearchSettings(**state["settings"]),
            int(state["seed"]),
            None if known is None else np.array(known, float).reshape(-1, space.size),
        )
        search.x, search.cost = np.array(state["x"], float), float(state["cost"])
        search.evaluations, search.generation = int(state["evaluations"]), int(state["generation"])
        search.status = Status(state["status"]) if state["status"] else None
        search.message = str(state["message"])
        search.history = [dict(record) for record in state["history"]]
        search._round, search._level = int(state["round"]), int(state["level"])
        search._before_round = float(state["before_round"])
        search._gram = None if state["gram"] is None else np.array(state["gram"], float)
        search._scanned = None if state["scanned"] is None else np.array(state["scanned"], float)
        if state["descents"] is not None:
            search._descents = ParallelDescents.from_state(state["descents"], space)
        if state["cma"] is not None:
            start, deviation = (np.array(state[f"cma_{n}"], float) for n in ("start", "deviation"))
            near = replace(space, start=start, deviation=deviation)
            search._cma = CmaEs.from_state(state["cma"], near)
        return search

    # --- transitions between stages
    # -----------------------------------------------------------------

    def _take_scanned(self, costs: np.ndarray) -> None:
        assert self._scanned is not None
        self._scanned = np.concatenate([self._scanned, costs])
        if len(self._scanned) < len(self._points):
            return
        count = self.settings.descents + (0 if self._known is None else len(self._known))
        best = best_of_families(self._scanned, self._families, count)
        found, self._scanned = self._points[best], None
        if not len(found):
            self.status = Status.START_FAILED
            self.message = f"all of {self.evaluations} candidates failed"
            return
        self._descend(0, found)

    def _descend(self, level: int, starts: np.ndarray) -> None:
        scale = self.settings.loss_scale
        settings = LeastSquaresSettings(
            jacobian="exact",
            loss=self.settings.loss,
            # a servo at rest can be fitted exactly, and the scale of a loss must be positive
            loss_scale=max(_SCALES[level] * self.cost, _NOTHING) if scale is None else scale,
            max_iters=_ITERATIONS[level],
            cost_tolerance=_TOLERANCES[level],
        )
        self._level = level
        self._descents = ParallelDescents(self.space, starts, settings)

    def _close_descents(self) -> None:
        descents = self._descents
        assert descents is not None
        chosen = descents.best(self.settings.kept)
        if len(chosen):
            self._gram = descents.grams[chosen[0]]
        level, self._descents = self._level, None
        if level < _POLISH - 1 and len(chosen):
            self._descend(level + 1, descents.x[chosen])
            return
        if level == _POLISH and self.cost > (1.0 - _IMPROVED) * self._before_round:
            self._finish(f"another round of CMA-ES brings no improvement: {self._figure}")
        elif not self.settings.evolve:
            self._finish(f"{len(descents.descents)} descents converged: {self._figure}")
        elif self._round == self.settings.rounds:
            self._finish(f"{self._round} rounds of CMA-ES: {self._figure}")
        else:
            self._evolve()

    def _evolve(self) -> None:
        self._round += 1
        self._before_round = self.cost
        near = replace(self.space, start=self.x.copy(), deviation=self._deviation())
        settings = CmaEsSettings(
            max_evaluations=self.settings.evaluations_per_element * self.space.size,
            options={"tolfun": _CMA_TOLERANCE * self.cost},
        )
        self._cma = CmaEs(near, settings, self.seed + self._round)

    def _deviation(self) -> np.ndarray:
        """Initial deviations of CMA-ES in search coordinates ``(p,)``, from the last Jacobian."""
        lower, upper = self.space.search_bounds
        span = upper - lower
        narrow, wide = _NARROWEST * span, _WIDEST * span
        if self._gram is None:
            return wide
        unit = np.sqrt(np.maximum(np.diag(self._gram), 1e-300))
        scaled = self._gram / np.outer(unit, unit) + 1e-6 * np.eye(self.space.size)
        errors = np.sqrt(np.diag(np.linalg.inv(scaled))) / unit
        return np.clip(_DEVIATIONS * self.cost * errors, narrow, wide)

    @property
    def _figure(self) -> str:
        return f"{self.evaluations} evaluations, objective {self.cost:.6g}"

    def _finish(self, message: str) -> None:
        self.status, self.message = Status.CONVERGED, message


_SCANNED_MODELS = ("m4", "m3", "m1")


def scan_points(
    space: Space, count: int, seed: int, known: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Points of a scan, and the family of each point.

    In the box of a richer friction model few points are near its sub-models, while good models
    often are: points are spread over the box and the sub-models M4, M3 and M1 in turn.

    Args:
      space: the unknowns.
      count: number of points, including the given start, which is the first.
      seed: seed of the Sobol sequence.
      known: good points ``(k, p)``, each a separate family; all others are then in the
        full box.

    Returns:
      Points ``(count + k, p)`` and the number of their family ``(count + k,)``.
    """
    points = SobolSearch(space, count, count, seed).ask()
    families = np.zeros(count, int)
    if known is not None:
        families = np.concatenate([families, 1 + np.arange(len(known))])
        return np.vstack([points, known]), families
    by_name = {sub_model.name: sub_model for sub_model in nested_sub_models(space)}
    sub_models = [by_name[name] for name in _SCANNED_MODELS if name in by_name]
    for number, sub_model in enumerate(sub_models, start=1):
        rows = np.arange(1, count)[np.arange(1, count) % (len(sub_models) + 1) == number]
        families[rows] = number
        points[rows] = sub_model.to_full(sub_model.from_full(points[rows]))
    return np.clip(points, space.lower, space.upper), families


def best_of_families(costs: np.ndarray, families: np.ndarray, count: int) -> np.ndarray:
    """Numbers of the ``count`` points to descend from: the best of each family in turn."""
    order = np.argsort(costs, kind="stable")
    order = order[np.isfinite(costs[order])]
    queues = [order[families[order] == family] for family in np.unique(families)]
    rank = np.concatenate([np.arange(len(queue)) for queue in queues] or [np.zeros(0)])
    chosen = np.concatenate(queues or [np.zeros(0, int)]).astype(int)
    turns = np.lexsort((costs[chosen], rank))
    return chosen[turns][:count]
