"""A search begun several times, of which the best one is gone on with.

From the nominal vector CMA-ES comes to one of several gaits, by chance: to a shuffle as well as to
a walk. Which one shows long before its end, and while all candidates still fall early a generation
costs little. So every attempt has a seed of its own and some generations, and the rest of the time
goes to the attempt whose candidates cost least.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from trueup.fitting import Status
from trueup.fitting.problem import Failures, Problem
from trueup.parameters import Space

_JUDGED = 5
"""Generations at the end of an attempt that it is judged by."""


class Attempts:
    """Searches with seeds of their own; the one that comes furthest goes on.

    Args:
      make: makes the search of an attempt, by its number.
      count: attempts.
      generations: generations of each, before the best one is chosen.
    """

    def __init__(self, make: Callable[[int], Any], count: int, generations: int):
        self.count, self.generations = count, generations
        self.attempt: int | None = 0
        """Number of the present attempt; None once the best one has been chosen."""
        self._make = make
        self.search = make(0)
        """The search at work."""
        self.x, self.cost = self.search.x.copy(), np.inf
        """The best candidate of all attempts; once one is chosen, its own."""
        self._told_attempt: int | None = 0
        self._ends: list[dict[str, Any]] = []
        self._medians: list[float] = []

    @property
    def space(self) -> Space:
        """Unknowns of the search at work."""
        return self.search.space

    @property
    def generation(self) -> int:
        """Generations of the search at work."""
        return self.search.generation

    @property
    def history(self) -> list[dict[str, Any]]:
        """History of the search at work."""
        return self.search.history

    @property
    def words(self) -> str:
        """Attempt in words, for the progress; empty once one was chosen."""
        return "" if self.attempt is None else f", attempt {self.attempt + 1} of {self.count}"

    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)``."""
        return self.search.ask()

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> np.ndarray:
        """Costs ``(n, 1)`` of a batch."""
        return self.search.evaluate(problem, X, failures)

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Take the costs of the batch that :meth:`ask` gave; goes on to the next attempt at the end
        of one."""
        search = self.search
        search.tell(X, answer, failures)
        self._told_attempt = self.attempt
        if self.attempt is None or search.cost < self.cost:
            self.x, self.cost = search.x.copy(), float(search.cost)

    def go_on(self) -> None:
        """Begin the next attempt, or choose the best one, where the present one is at its end."""
        search = self.search
        ended = search.generation >= self.generations or search.done() is not None
        if self.attempt is None or not ended:
            return
        medians = [row["generation_median"] for row in search.history[-_JUDGED:]]
        self._medians.append(np.mean([np.inf if one is None else one for one in medians]).item())
        self._ends.append(search.state())
        if self.attempt + 1 < self.count:
            self.attempt += 1
            self.search = self._make(self.attempt)
            return
        best = int(np.argmin(self._medians))
        self.search = self._make(best).from_state(self._ends[best], search.space)
        if np.isfinite(self.search.cost):
            self.x, self.cost = self.search.x.copy(), float(self.search.cost)
        self.attempt, self._ends = None, []

    def done(self) -> Status | None:
        """Why the search ended, or None."""
        return self.search.done() if self.attempt is None else None

    def info(self) -> dict[str, Any]:
        """Numbers of the search at work, and the number of the attempt that was told last."""
        attempt = {} if self._told_attempt is None else {"attempt": self._told_attempt}
        return {**self.search.info(), **attempt}

    def state(self) -> dict[str, Any]:
        """Everything needed to go on: plain numbers and arrays."""
        return {
            "attempt": self.attempt,
            "told": self._told_attempt,
            "x": self.x.copy(),
            "cost": self.cost,
            "ends": list(self._ends),
            "medians": list(self._medians),
            "search": self.search.state(),
        }

    def from_state(self, state: dict[str, Any], space: Space) -> "Attempts":
        """This search as it was at :meth:`state`."""
        self.attempt, self._told_attempt = state["attempt"], state["told"]
        self.x, self.cost = np.array(state["x"], float), float(state["cost"])
        self._ends, self._medians = list(state["ends"]), [float(m) for m in state["medians"]]
        self.search = self._make(self.attempt or 0).from_state(state["search"], space)
        return self
