"""Base of searches that require costs only: the best candidate, counts and history."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.fitting.problem import Failures
from trueup.fitting.searches.saved_state import HistoryColumns
from trueup.fitting.solution import Status
from trueup.parameters import Space


class CostSearch(ABC):
    """Base of a search over costs; its answers are ``problem.costs(X, failures)``.

    A subclass gives :meth:`ask`, :meth:`_learn`, :meth:`state` and ``from_state``, and sets
    :attr:`status` and :attr:`message` when it ends.

    Args:
      space: search space.

    Raises:
      FitError: no free element.
    """

    def __init__(self, space: Space):
        if space.size == 0:
            raise FitError("no free parameter to search: all are frozen or tied")
        self.space = space
        self.x = space.start.copy()
        """Best valid candidate so far ``(p,)``."""
        self.cost = np.inf
        """Its cost; infinite before the first valid one."""
        self.evaluations = 0
        self.generation = 0
        self.status: Status | None = None
        self.message = ""
        self.history: list[dict[str, Any]] = []
        self._columns = HistoryColumns()

    @abstractmethod
    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)``."""

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Process the costs ``(n,)`` or ``(n, k)`` of a batch; rows in ``failures`` are invalid."""
        costs = np.array(answer, float).reshape(len(X), -1)
        valid = np.asarray(np.isfinite(costs).all(axis=1))
        valid[list(failures)] = False
        self.evaluations += len(X)
        self._take_best(X, costs, valid)
        self._learn(X, costs, valid)
        self._record(costs, valid)
        self.generation += 1

    @abstractmethod
    def _learn(self, X: np.ndarray, costs: np.ndarray, valid: np.ndarray) -> None:
        """Process costs ``(n, k)``; rows outside ``valid (n,)`` are undefined."""

    def done(self) -> Status | None:
        """Final status of the search, or None while it runs."""
        return self.status

    def info(self) -> dict[str, Any]:
        """State variables of the search for the history."""
        return {}

    def _take_best(self, X: np.ndarray, costs: np.ndarray, valid: np.ndarray) -> None:
        if not valid.any():
            return
        first = np.where(valid, costs[:, 0], np.inf)
        best = int(np.argmin(first))
        if first[best] < self.cost:
            self.x, self.cost = X[best].copy(), float(first[best])

    def _record(self, costs: np.ndarray, valid: np.ndarray) -> None:
        good = costs[valid, 0]
        record = {
            "generation": self.generation,
            "evaluations": self.evaluations,
            "cost": float(self.cost),
            "generation_best": float(good.min()) if len(good) else None,
            "generation_median": float(np.median(good)) if len(good) else None,
            "invalid": int(len(costs) - len(good)),
            **self.info(),
        }
        self._columns.add(self.history, record)

    def _common_state(self) -> dict[str, Any]:
        return common_state(self, self._columns)

    def _take_common_state(self, state: dict[str, Any]) -> None:
        take_common_state(self, state)


def common_state(search: Any, columns: HistoryColumns) -> dict[str, Any]:
    """Best point, counts, status and history of a search of costs, as plain numbers and arrays."""
    return {
        "x": search.x.copy(),
        "cost": search.cost,
        "evaluations": search.evaluations,
        "generation": search.generation,
        "status": search.status.value if search.status else None,
        "message": search.message,
        "history": columns.pack(search.history),
    }


def take_common_state(search: Any, state: dict[str, Any]) -> None:
    """Inverse of :func:`common_state`."""
    search.x, search.cost = np.array(state["x"], float), float(state["cost"])
    search.evaluations, search.generation = int(state["evaluations"]), int(state["generation"])
    search.status = Status(state["status"]) if state["status"] else None
    search.message = str(state["message"])
    search.history = HistoryColumns.unpack(state["history"])
