"""NSGA-II: the Pareto front of several costs.

K. Deb, A. Pratap, S. Agarwal and T. Meyarivan, "A fast and elitist multiobjective genetic
algorithm: NSGA-II" (2002), with simulated binary crossover and polynomial mutation.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueup._seeds import check_seed
from trueup.errors import FitError
from trueup.fitting.problem import Failures, Problem
from trueup.fitting.searches.box import check_box
from trueup.fitting.searches.cost_search import CostSearch
from trueup.fitting.searches.pareto import (
    compromise,
    crowding_distances,
    dominates,
    domination_ranks,
    pareto_front,
)
from trueup.fitting.searches.saved_state import require_version
from trueup.fitting.searches.unit_box import SobolPoints, from_unit, require_finite_bounds, to_unit
from trueup.fitting.searches.variation import polynomial_mutation, simulated_binary_crossover
from trueup.fitting.solution import ParetoFront, Status
from trueup.parameters import Space

STATE_VERSION = 1
_LARGEST_POPULATION = 1_000_000
"""Version of :meth:`NSGA2.state`."""


@dataclass(frozen=True)
class NSGA2Settings:
    """Settings of :class:`NSGA2`."""

    population: int = 100
    """Number of candidates of a generation."""
    generations: int | None = None
    """Maximum number of generations; None: until the front no longer advances."""
    crossover_probability: float = 0.9
    """Crossover probability of a pair of parents."""
    crossover_index: float = 15.0
    """Distribution index of the crossover; larger values give children closer to their parents."""
    mutation_probability: float | None = None
    """Mutation probability of an element; None: one element per candidate on average."""
    mutation_index: float = 20.0
    """Distribution index of the mutation; larger values give smaller mutations."""
    tolerance: float = 1e-3
    """Advance of the front, relative to its range, below which the search stops; 0: never."""
    patience: int = 30
    """Number of generations over which the advance is measured."""


class NSGA2(CostSearch):
    """Search for the Pareto front by generations; answers may arrive in any order.

    The first generation is the given start and Sobol points; so are the next ones as long as no
    candidate is valid. An invalid candidate is worse than every valid one. The search ends as
    converged when no member of the front of ``patience`` generations ago is dominated by more than
    ``tolerance`` in every objective, and no objective has a new minimum.

    :attr:`front` contains the non-dominated candidates of the population, and ``x`` the one of
    them nearest to the ideal point (the minimum of each objective) with each objective divided by
    its range on the front; ``cost`` is its first objective. With one objective ``x`` is the best
    candidate. A survivor keeps the costs of its one evaluation, also where costs are noisy.

    Args:
      space: search space; bounds have to be finite.
      settings: settings.
      seed: seed of the first generation and of all variation.

    Raises:
      FitError: an infinite bound, equal bounds, a start outside, or settings out of range.
    """

    settings_class = NSGA2Settings
    """Settings that the constructor takes."""

    def __init__(self, space: Space, settings: NSGA2Settings | None = None, seed: int = 0):
        super().__init__(space)
        require_finite_bounds(space, "NSGA-II")
        check_box(space)
        self.settings = settings or NSGA2Settings()
        self.seed = int(seed)
        _check(self.settings, self.seed)
        self.front: ParetoFront | None = None
        """Non-dominated candidates."""
        self._objectives: tuple[str, ...] = ()
        self._members = np.empty((0, space.size))
        self._costs = np.empty((0, 1))
        self._valid = np.empty(0, bool)
        self._former: np.ndarray | None = None

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> np.ndarray:
        """Costs ``(n, k)`` of a batch; keeps the names of the objectives."""
        self._objectives = tuple(problem.objectives)
        return problem.costs(X, failures)

    def ask(self) -> np.ndarray:
        """The next generation of candidates ``(n, p)``."""
        if not self._valid.any():
            return self._first_candidates()
        # a separate generator for each generation, so that no generator state needs to be saved
        random = np.random.default_rng([self.seed, self.generation])
        members = to_unit(self.space, self._members)
        parents = members[self._selected(random)]
        settings = self.settings
        children = np.vstack(
            simulated_binary_crossover(
                parents[::2],
                parents[1::2],
                random,
                settings.crossover_probability,
                settings.crossover_index,
            )
        )[: settings.population]
        share = settings.mutation_probability
        share = 1.0 / self.space.size if share is None else share
        moved = random.random(children.shape) < share
        # a copy of a candidate adds no information: mutate at least one element
        element = random.integers(self.space.size, size=len(children))
        children = polynomial_mutation(children, moved, random, settings.mutation_index)
        again = np.zeros(children.shape, bool)
        copies = np.flatnonzero(_are_copies(children, members))
        again[copies, element[copies]] = True
        children = polynomial_mutation(children, again, random, settings.mutation_index)
        return from_unit(self.space, children)

    def info(self) -> dict[str, Any]:
        """Size of the front."""
        return {"front": 0 if self.front is None else len(self.front.x)}

    def state(self) -> dict[str, Any]:
        """State for :meth:`from_state`: plain numbers and arrays."""
        return {
            "version": STATE_VERSION,
            "settings": asdict(self.settings),
            "seed": self.seed,
            "objectives": list(self._objectives),
            "members": self._members.copy(),
            "costs": self._costs.copy(),
            "valid": self._valid.copy(),
            "former": None if self._former is None else self._former.copy(),
            **self._common_state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], space: Space) -> "NSGA2":
        """Continue from :meth:`state` with a bitwise identical history.

        Raises:
          FitError: the state was saved by another version of this search.
        """
        require_version(state, STATE_VERSION, "NSGA-II search")
        search = cls(space, NSGA2Settings(**state["settings"]), state["seed"])
        search._take_common_state(state)
        search._objectives = tuple(state["objectives"])
        search._members = np.array(state["members"], float)
        search._costs = np.array(state["costs"], float)
        search._valid = np.array(state["valid"], bool)
        if state["former"] is not None:
            search._former = np.array(state["former"], float)
        search._take_front()
        return search

    # --- variation -----------------------------------------------------------------------------

    def _first_candidates(self) -> np.ndarray:
        with_start = self.generation == 0
        count = self.settings.population
        points = SobolPoints(self.space.size, self.seed).take(
            self.generation * count, count - with_start
        )
        points = from_unit(self.space, points)
        return np.vstack([self.space.start, points]) if with_start else points

    def _selected(self, random: np.random.Generator) -> np.ndarray:
        """Winners of tournaments of two, an even number; each member takes part about twice.

        A member that dominates the other wins, otherwise the one with the larger crowding distance.
        Comparing ranks first, as in the paper, more often loses a narrow part of a front early on.
        """
        size = len(self._members)
        winners = 2 * ((self.settings.population + 1) // 2)
        rounds = -(-2 * winners // size)
        entrants = np.concatenate([random.permutation(size) for _ in range(rounds)])
        first, second = entrants[: 2 * winners].reshape(2, winners)
        costs, valid = self._costs, self._valid
        room = crowding_distances(costs, domination_ranks(costs, valid))
        above = dominates(costs, costs) & valid[:, None] & valid
        above |= valid[:, None] & ~valid
        better = room[second] > room[first]
        better = above[second, first] | (better & ~above[first, second])
        return np.where(better, second, first)

    # --- survival ------------------------------------------------------------------------------

    def _take_best(self, X: np.ndarray, costs: np.ndarray, valid: np.ndarray) -> None:
        if costs.shape[1] == 1:
            super()._take_best(X, costs, valid)

    def _learn(self, X: np.ndarray, costs: np.ndarray, valid: np.ndarray) -> None:
        if len(self._members):
            X = np.vstack([self._members, X])
            costs = np.vstack([self._costs, np.where(valid[:, None], costs, 0.0)])
            valid = np.concatenate([self._valid, valid])
        else:
            costs = np.where(valid[:, None], costs, 0.0)
        # the order of the answers has no influence
        order = np.lexsort(X.T)
        X, costs, valid = X[order], costs[order], valid[order]
        ranks = domination_ranks(costs, valid)
        room = crowding_distances(costs, ranks)
        kept = np.lexsort((-room, ranks))[: self.settings.population]
        self._members, self._costs, self._valid = X[kept], costs[kept], valid[kept]
        self._take_front()
        if self.front is not None and costs.shape[1] > 1:
            best = compromise(self.front.costs)
            self.x, self.cost = self.front.x[best].copy(), float(self.front.costs[best, 0])
        self._check_end()

    def _take_front(self) -> None:
        if self._valid.any():
            count = self._costs.shape[1]
            names = self._objectives or tuple(f"cost {i + 1}" for i in range(count))
            self.front = pareto_front(self._members[self._valid], self._costs[self._valid], names)

    def _check_end(self) -> None:
        done = self.generation + 1
        if self.front is not None and done % self.settings.patience == 0:
            if self._former is not None and not self._has_advanced(self._former, self.front.costs):
                self.status = Status.CONVERGED
                several = self._costs.shape[1] > 1
                what = (
                    f"the front of {len(self.front.x)} candidates" if several else "the best cost"
                )
                self.message = (
                    f"{what} has not advanced for {self.settings.patience} generations: "
                    f"cost {self.cost:.6g}"
                )
            self._former = self.front.costs.copy()
        if self.status is None and done == self.settings.generations:
            if self.front is None:
                self.status = Status.START_FAILED
                self.message = f"all of {self.evaluations} candidates failed"
            else:
                self.status = Status.ITERATION_LIMIT
                self.message = f"{done} generations: cost {self.cost:.6g}"

    def _has_advanced(self, former: np.ndarray, costs: np.ndarray) -> bool:
        tolerance = self.settings.tolerance
        if costs.shape[1] == 1:
            # one cost has no range of a front; its magnitude is used instead
            return bool(former.min() - costs.min() > tolerance * abs(former.min()))
        span = np.ptp(np.vstack([former, costs]), axis=0)
        if (former.min(axis=0) - costs.min(axis=0) > tolerance * span).any():
            return True
        return bool(dominates(costs + tolerance * span, former).any())


def _are_copies(children: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Which children equal a member or an earlier child ``(n,)``."""
    everyone = np.vstack([members, children])
    _, first, which = np.unique(everyone, axis=0, return_index=True, return_inverse=True)
    rows = np.arange(len(everyone))
    return (first[which.reshape(-1)] != rows)[len(members) :]


def _check(settings: NSGA2Settings, seed: int) -> None:
    limits = {
        "population": 4 <= settings.population <= _LARGEST_POPULATION,
        "generations": settings.generations is None or settings.generations >= 1,
        "crossover_probability": 0.0 <= settings.crossover_probability <= 1.0,
        "crossover_index": settings.crossover_index >= 0.0,
        "mutation_probability": settings.mutation_probability is None
        or 0.0 <= settings.mutation_probability <= 1.0,
        "mutation_index": settings.mutation_index >= 0.0,
        "tolerance": settings.tolerance >= 0.0,
        "patience": settings.patience >= 1,
    }
    check_seed(seed)
    for name, good in limits.items():
        if not good:
            raise FitError(
                f"NSGA-II: {name} is {getattr(settings, name)}; population must be 4 to "
                f"{_LARGEST_POPULATION}, generations and patience at least 1, "
                "probabilities within [0, 1], indices and the tolerance non-negative"
            )
