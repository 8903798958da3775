"""Multi-start least squares: a scan of Sobol points, then descents from the best few."""

from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.fitting.problem import Failures, Problem
from trueup.fitting.searches.device_first import DeviceFirst
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.searches.saved_state import require_version
from trueup.fitting.searches.unit_box import SobolPoints, from_unit, require_finite_bounds
from trueup.fitting.solution import Status
from trueup.parameters import Space

STATE_VERSION = 2
"""Version of :meth:`MultiStart.state`."""

_BATCH = 256  # scanned points in one batch
_VALUES_AT_ONCE = 32_000_000  # maximum residuals of scanned points in memory


class MultiStart:
    """Search that scans the bounds before its descents.

    The scan consists of the given start and Sobol points. It is evaluated in batches and parts of
    bounded memory; only the points to polish are kept.

    Args:
      space: search space; bounds must be finite.
      settings: settings of each descent.
      starts: scanned points, the given start included.
      polished: number of descents, from the given start and from the best scanned points; a
        single one starts from the best of all.
      seed: seed of the scrambled Sobol sequence.
      device_first: whether descents begin on the device of the problem, see
        :class:`trueup.fitting.searches.device_first.DeviceFirst`.

    Raises:
      FitError: no free element, an infinite bound, fewer than one start, or settings out of range.
    """

    settings_class = LeastSquaresSettings
    """Settings that the constructor takes."""

    def __init__(
        self,
        space: Space,
        settings: LeastSquaresSettings | None = None,
        starts: int = 32,
        polished: int = 3,
        seed: int = 0,
        device_first: bool = False,
    ):
        require_finite_bounds(space, "a search from several starts")
        if starts < 1 or polished < 1:
            raise FitError(f"starts and polished must be at least 1, found {starts} and {polished}")
        self.space = space
        self.settings = LeastSquares(space, settings).settings
        self.starts, self.polished, self.seed = starts, polished, seed
        self.device_first = device_first
        self.x, self.cost = space.start.copy(), np.inf
        self.message = ""
        self.evaluations = 0
        self.status: Status | None = None
        self.history: list[dict[str, Any]] = []
        self._points = SobolPoints(space.size, seed)
        self._start_cost = np.inf
        self._best_points = np.empty((0, space.size))
        self._best_costs = np.empty(0)
        self._queue: list[np.ndarray] | None = None
        self._descent: LeastSquares | DeviceFirst | None = None
        self._best_status: Status | None = None
        self._descent_cost = np.inf

    def ask(self) -> np.ndarray:
        """The scan, then the batches of each descent."""
        if self._queue is None:
            return self._scan_points()
        assert self._descent is not None
        return self._descent.ask()

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> Any:
        """Costs of the scan, or the answer for the descent."""
        if self._descent is not None:
            return self._descent.evaluate(problem, X, failures)
        scan = LeastSquares(self.space, self.settings)
        costs = np.empty(len(X))
        step = max(1, _VALUES_AT_ONCE // max(problem.residual_size, 1))
        for first in range(0, len(X), step):
            failed: Failures = {}
            part = slice(first, first + step)
            quick = problem.quick(len(X[part]))
            costs[part] = scan.evaluate_costs(quick, X[part], failed)
            failures.update((first + row, why) for row, why in failed.items())
        return costs

    def costs_of(self, answer: Any) -> np.ndarray:
        """Costs ``(n,)`` in an answer of :meth:`evaluate`."""
        return LeastSquares.costs_of(self, answer)  # type: ignore[arg-type]

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Process the answer for the batch of :meth:`ask`."""
        self.evaluations += len(X)
        if self._queue is None:
            self._take_scanned(X, np.array(answer, float))
            return
        assert self._descent is not None
        self._descent.tell(X, answer, failures)
        exact = not isinstance(self._descent, DeviceFirst) or self._descent.is_fine
        if exact and self._descent.cost < self.cost and np.isfinite(self._descent.cost):
            self.x, self.cost = self._descent.x.copy(), self._descent.cost
        if self._descent.done() is not None:
            self._close_descent()

    def done(self) -> Status | None:
        """Final status of the search, or None while it runs."""
        return self.status

    def state(self) -> dict[str, Any]:
        """State for :meth:`from_state`: plain numbers and arrays."""
        return {
            "version": STATE_VERSION,
            "descent_settings": LeastSquares(self.space, self.settings).state()["settings"],
            "starts": self.starts,
            "polished": self.polished,
            "seed": self.seed,
            "device_first": self.device_first,
            "x": self.x.copy(),
            "cost": self.cost,
            "evaluations": self.evaluations,
            "message": self.message,
            "status": self.status.value if self.status else None,
            "best_status": self._best_status.value if self._best_status else None,
            "history": list(self.history),
            "descent_cost": self._descent_cost,
            "start_cost": self._start_cost,
            "best_points": self._best_points.copy(),
            "best_costs": self._best_costs.copy(),
            "queue": None if self._queue is None else [q.copy() for q in self._queue],
            "descent": self._descent.state() if self._descent else None,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], space: Space) -> "MultiStart":
        """Continue from :meth:`state` with a bitwise identical history.

        Raises:
          FitError: the state was saved by another version of this search.
        """
        require_version(state, STATE_VERSION, "search from several starts")
        search = cls(
            space,
            LeastSquaresSettings(**state["descent_settings"]),
            int(state["starts"]),
            int(state["polished"]),
            int(state["seed"]),
            bool(state.get("device_first")),  # earlier runs have none
        )
        search.x, search.cost = np.array(state["x"], float), float(state["cost"])
        search.evaluations, search.message = int(state["evaluations"]), str(state["message"])
        search.status = Status(state["status"]) if state["status"] else None
        search._best_status = Status(state["best_status"]) if state["best_status"] else None
        search.history = [dict(record) for record in state["history"]]
        search._descent_cost = float(state["descent_cost"])
        search._start_cost = float(state["start_cost"])
        search._best_points = np.array(state["best_points"], float).reshape(-1, space.size)
        search._best_costs = np.array(state["best_costs"], float)
        if state["queue"] is not None:
            search._queue = [np.array(q, float) for q in state["queue"]]
        if state["descent"] is not None:
            search._descent = search._kind.from_state(state["descent"], space)
        return search

    def _scan_points(self) -> np.ndarray:
        count = min(_BATCH, self.starts - self.evaluations)
        with_start = self.evaluations == 0
        unit = self._points.take(max(self.evaluations - 1, 0), count - with_start)
        points = from_unit(self.space, unit)
        return np.vstack([self.space.start, points]) if with_start else points

    def _take_scanned(self, X: np.ndarray, costs: np.ndarray) -> None:
        costs = np.where(np.isfinite(costs), costs, np.inf)
        if self.evaluations == len(X):
            self._start_cost = float(costs[0])
        points = np.vstack([self._best_points, X])
        costs = np.concatenate([self._best_costs, costs])
        order = np.argsort(costs, kind="stable")
        order = order[np.isfinite(costs[order])][: self.polished]
        self._best_points, self._best_costs = points[order], costs[order]
        if len(order):
            self.x, self.cost = self._best_points[0].copy(), float(self._best_costs[0])
        if self.evaluations < self.starts:
            return
        best = [point.copy() for point in self._best_points]
        start = self.space.start
        if not best or (self.polished > 1 and np.isfinite(self._start_cost)):
            # the given start comes first, unless it failed and there is another
            best = [start.copy()] + [x for x in best if not np.array_equal(x, start)]
        self._queue = best[: self.polished]
        self._descend()

    def _descend(self) -> None:
        assert self._queue is not None
        self._descent = self._kind(self.space, self.settings, self._queue.pop(0))

    @property
    def _kind(self) -> type[LeastSquares] | type[DeviceFirst]:
        return DeviceFirst if self.device_first else LeastSquares

    def _close_descent(self) -> None:
        descent = self._descent
        assert descent is not None and self._queue is not None
        done = len({record["descent"] for record in self.history})
        self.history += [{**record, "descent": done} for record in descent.history]
        if self._best_status is None or descent.cost < self._descent_cost:
            self._descent_cost = descent.cost
            self.message = f"best of {self.starts} starts: {descent.message}"
            self._best_status = descent.done()
        if self._queue:
            self._descend()
            return
        self._descent = None
        self.status = self._best_status or Status.START_FAILED
