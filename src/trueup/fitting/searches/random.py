"""Searches without adaptation: uniform random points, Sobol points, or normal samples around
the start."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from trueup._seeds import check_seed
from trueup.errors import FitError
from trueup.fitting.problem import Failures, Problem
from trueup.fitting.searches.box import check_box, start_deviations
from trueup.fitting.searches.cost_search import CostSearch
from trueup.fitting.searches.pareto import compromise, pareto_front
from trueup.fitting.searches.saved_state import require_version
from trueup.fitting.searches.unit_box import (
    SobolPoints,
    from_unit,
    require_finite_bounds,
    search_bounds,
)
from trueup.fitting.solution import ParetoFront, Status
from trueup.parameters import Space

STATE_VERSION = 1
"""Version of the searches' ``state``."""


class _Scan(CostSearch):
    """Base of searches whose candidates do not depend on costs. The first one is the given start.

    With several objectives it keeps the Pareto front of all candidates, and ``x`` is the one of
    them nearest to the ideal point.
    """

    settings_class = None
    """None: the settings are arguments of the constructor."""

    def __init__(self, space: Space, batch: int = 32, candidates: int | None = None, seed: int = 0):
        super().__init__(space)
        check_box(space)
        self._require(space)
        for name, count in (("batch", batch), ("candidates", candidates)):
            if count is not None and count < 1:
                raise FitError(f"{name} must be at least 1, found {count}")
        check_seed(seed)
        self.batch, self.candidates, self.seed = int(batch), candidates, int(seed)
        self.front: ParetoFront | None = None
        """Non-dominated candidates, with several objectives."""
        self._objectives: tuple[str, ...] = ()

    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)``."""
        return self.ask_at_most(self.batch)

    def ask_at_most(self, most: int) -> np.ndarray:
        """The next batch, of at most ``most`` candidates."""
        count = min(self.batch, most)
        if self.candidates is not None:
            count = min(count, self.candidates - self.evaluations)
        with_start = self.evaluations == 0
        first = max(self.evaluations - 1, 0)
        points = self._points(first, count - with_start)
        return np.vstack([self.space.start, points]) if with_start else points

    @abstractmethod
    def _require(self, space: Space) -> None:
        """Check that this search can draw from a space."""

    @abstractmethod
    def _points(self, first: int, count: int) -> np.ndarray:
        """Points ``first`` to ``first + count`` of the sequence ``(count, p)``."""

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> np.ndarray:
        """Costs ``(n, k)`` of a batch; keeps the names of the objectives."""
        self._objectives = tuple(problem.objectives)
        return problem.costs(X, failures)

    def _take_best(self, X: np.ndarray, costs: np.ndarray, valid: np.ndarray) -> None:
        if costs.shape[1] == 1:
            super()._take_best(X, costs, valid)
            return
        X, costs = X[valid], costs[valid]
        if self.front is not None:
            X, costs = np.vstack([self.front.x, X]), np.vstack([self.front.costs, costs])
        if len(X):
            names = self._objectives or tuple(f"cost {i + 1}" for i in range(costs.shape[1]))
            self.front = pareto_front(X, costs, names)
            best = compromise(self.front.costs)
            self.x, self.cost = self.front.x[best].copy(), float(self.front.costs[best, 0])

    def _learn(self, X: np.ndarray, costs: np.ndarray, valid: np.ndarray) -> None:
        if self.candidates is None or self.evaluations < self.candidates:
            return
        if np.isfinite(self.cost):
            self.status = Status.EVALUATION_LIMIT
            self.message = f"{self.evaluations} candidates: cost {self.cost:.6g}"
        else:
            self.status = Status.START_FAILED
            self.message = f"all of {self.evaluations} candidates failed"

    def state(self) -> dict[str, Any]:
        """State for :meth:`from_state`: plain numbers and arrays."""
        front = self.front
        return {
            "version": STATE_VERSION,
            "batch": self.batch,
            "candidates": self.candidates,
            "seed": self.seed,
            "objectives": list(self._objectives),
            **self._own_settings(),
            "front": None if front is None else {"x": front.x, "costs": front.costs},
            **self._common_state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], space: Space) -> Self:
        """Continue from :meth:`state` with a bitwise identical history.

        Raises:
          FitError: the state was saved by another version of this search.
        """
        require_version(state, STATE_VERSION, cls.__name__)
        search = cls._of(state, space)
        search._take_common_state(state)
        search._objectives = tuple(state["objectives"])
        if (front := state["front"]) is not None:
            costs = np.array(front["costs"], float)
            names = search._objectives or tuple(f"cost {i + 1}" for i in range(costs.shape[1]))
            search.front = ParetoFront(np.array(front["x"], float), costs, names)
        return search

    def _own_settings(self) -> dict[str, Any]:
        """Settings in addition to those that all of these searches have."""
        return {}

    @classmethod
    def _of(cls, state: dict[str, Any], space: Space) -> Self:
        return cls(space, state["batch"], state["candidates"], state["seed"])


class RandomSearch(_Scan):
    """Candidates drawn uniformly within the bounds, log-uniformly on a log scale.

    The first candidate is the given start.

    Args:
      space: search space; bounds have to be finite.
      batch: candidates in one batch.
      candidates: total number; by default the search continues until its budget ends.
      seed: seed of the points.

    Raises:
      FitError: an infinite bound, bounds of no width, a start outside, or a number below 1.
    """

    def _require(self, space: Space) -> None:
        require_finite_bounds(space, "a random search")

    def _points(self, first: int, count: int) -> np.ndarray:
        # a separate generator for each batch, so that no generator state needs to be saved
        random = np.random.default_rng([self.seed, first])
        return from_unit(self.space, random.random((count, self.space.size)))


class SobolSearch(_Scan):
    """Candidates of a scrambled Sobol sequence, more uniform than random points.

    The first candidate is the given start. The coverage is best for a power of two, plus the start.

    Args:
      space: search space; bounds have to be finite.
      batch: candidates in one batch.
      candidates: total number; by default the search continues until its budget ends.
      seed: seed of the scrambling (A. B. Owen, "Scrambling Sobol and Niederreiter-Xing points",
        1998).

    Raises:
      FitError: an infinite bound, bounds of no width, a start outside, or a number below 1.
    """

    def __init__(self, space: Space, batch: int = 32, candidates: int | None = None, seed: int = 0):
        super().__init__(space, batch, candidates, seed)
        self._sequence = SobolPoints(space.size, self.seed)

    def _require(self, space: Space) -> None:
        require_finite_bounds(space, "a search over Sobol points")

    def _points(self, first: int, count: int) -> np.ndarray:
        return from_unit(self.space, self._sequence.take(first, count))


class ScatterSearch(_Scan):
    """Candidates drawn from a normal distribution around the start.

    It finds a good basin to start a search in, where most candidates fail early and cost little
    time. Elements are clipped to the bounds. The first candidate is the given start.

    Args:
      space: search space. An explicit deviation takes precedence (:attr:`Space.deviation`).
      batch: candidates in one batch.
      candidates: total number; by default the search continues until its budget ends.
      seed: seed of the points.
      deviation: standard deviation as a share of an element's range in search coordinates; without
        a finite range, as a share of its start value.

    Raises:
      FitError: equal bounds, a start outside, an element without scale, a deviation that is not
        positive, or a number below 1.
    """

    def __init__(
        self,
        space: Space,
        batch: int = 32,
        candidates: int | None = None,
        seed: int = 0,
        deviation: float = 0.2,
    ):
        if not 0 < deviation < np.inf:
            raise FitError(f"deviation of a scatter search must be positive, found {deviation}")
        self.deviation = float(deviation)
        super().__init__(space, batch, candidates, seed)

    def _require(self, space: Space) -> None:
        self._deviations = start_deviations(space, self.deviation)

    def _points(self, first: int, count: int) -> np.ndarray:
        steps = np.random.default_rng([self.seed, first]).standard_normal((count, self.space.size))
        points = self.space.to_search(self.space.start) + steps * self._deviations
        return self.space.from_search(np.clip(points, *search_bounds(self.space)))

    def _own_settings(self) -> dict[str, Any]:
        return {"deviation": self.deviation}

    @classmethod
    def _of(cls, state: dict[str, Any], space: Space) -> Self:
        return cls(space, state["batch"], state["candidates"], state["seed"], state["deviation"])
