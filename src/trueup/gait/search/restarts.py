"""Restarts of a search with different seeds, of which the best is continued.

From the nominal vector CMA-ES converges to one of several gaits, depending on the seed: a shuffle
or a walk. The outcome is visible early, and while candidates still fall a generation takes little
time. So every restart has a separate seed and some generations, and the rest of the time is spent
on the restart with the lowest cost.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from trueup.fitting import Status
from trueup.fitting.problem import Failures, Problem
from trueup.parameters import Space

_JUDGED = 5
"""Number of last generations of a restart for its comparison."""


class Restarts:
    """Searches with different seeds, of which the best is continued.

    Args:
      make: creates the search of a restart from its index.
      count: number of restarts.
      generations: generations of each restart before the selection.
    """

    def __init__(self, make: Callable[[int], Any], count: int, generations: int):
        self.count, self.generations = count, generations
        self.restart: int | None = 0
        """Index of the current restart; None after the selection."""
        self._make = make
        self.search = make(0)
        """The current search."""
        self.x, self.cost = self.search.x.copy(), np.inf
        """The best candidate of all restarts; after the selection, of the selected one."""
        self._last_restart: int | None = 0
        self._ends: list[dict[str, Any]] = []
        self._medians: list[float] = []

    @property
    def space(self) -> Space:
        """Unknowns of the current search."""
        return self.search.space

    @property
    def generation(self) -> int:
        """Number of generations of the current search."""
        return self.search.generation

    @property
    def history(self) -> list[dict[str, Any]]:
        """History of the current search."""
        return self.search.history

    @property
    def words(self) -> str:
        """Text of the restart for the progress; empty after the selection."""
        return "" if self.restart is None else f", restart {self.restart + 1} of {self.count}"

    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)``."""
        return self.search.ask()

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> np.ndarray:
        """Costs ``(n, 1)`` of a batch."""
        return self.search.evaluate(problem, X, failures)

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Accept the costs of the batch from :meth:`ask`; starts the next restart at the end
        of one."""
        search = self.search
        search.tell(X, answer, failures)
        self._last_restart = self.restart
        if self.restart is None or search.cost < self.cost:
            self.x, self.cost = search.x.copy(), float(search.cost)

    def advance(self) -> None:
        """Start the next restart, or select the best, where the current one is finished."""
        search = self.search
        ended = search.generation >= self.generations or search.done() is not None
        if self.restart is None or not ended:
            return
        medians = [row["generation_median"] for row in search.history[-_JUDGED:]]
        self._medians.append(np.mean([np.inf if one is None else one for one in medians]).item())
        self._ends.append(search.state())
        if self.restart + 1 < self.count:
            self.restart += 1
            self.search = self._make(self.restart)
            return
        best = int(np.argmin(self._medians))
        self.search = self._make(best).from_state(self._ends[best], search.space)
        if np.isfinite(self.search.cost):
            self.x, self.cost = self.search.x.copy(), float(self.search.cost)
        self.restart, self._ends = None, []

    def done(self) -> Status | None:
        """Reason for the end of the search, or None."""
        return self.search.done() if self.restart is None else None

    def info(self) -> dict[str, Any]:
        """Numbers of the current search, and the index of the last evaluated restart."""
        restart = {} if self._last_restart is None else {"attempt": self._last_restart}
        return {**self.search.info(), **restart}

    def state(self) -> dict[str, Any]:
        """State for resumption: plain numbers and arrays."""
        return {
            "attempt": self.restart,
            "told": self._last_restart,
            "x": self.x.copy(),
            "cost": self.cost,
            "ends": list(self._ends),
            "medians": list(self._medians),
            "search": self.search.state(),
        }

    def from_state(self, state: dict[str, Any], space: Space) -> "Restarts":
        """This search restored from :meth:`state`."""
        self.restart, self._last_restart = state["attempt"], state["told"]
        self.x, self.cost = np.array(state["x"], float), float(state["cost"])
        self._ends, self._medians = list(state["ends"]), [float(m) for m in state["medians"]]
        self.search = self._make(self.restart or 0).from_state(state["search"], space)
        return self
