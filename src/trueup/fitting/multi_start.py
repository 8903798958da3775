"""Least squares from several starts: a scan of Sobol points, then the best few polished."""

from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.fitting.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.problem import Failures, Problem
from trueup.fitting.solution import Status
from trueup.parameters import Space


class MultiStart:
    """Search that scans the box before it descends.

    Args:
      space: the unknowns; bounds have to be finite.
      settings: settings of each descent.
      starts: scanned points, the given start included.
      polished: descents, from the given start and from the best scanned points.
      seed: seed of the scrambled Sobol sequence.

    Raises:
      FitError: an infinite bound, or fewer than one start.
    """

    def __init__(
        self,
        space: Space,
        settings: LeastSquaresSettings | None = None,
        starts: int = 32,
        polished: int = 3,
        seed: int = 0,
    ):
        lower, upper = space.search_bounds
        if starts < 1 or polished < 1:
            raise FitError("starts and polished have to be at least 1")
        if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
            raise FitError("several starts need finite bounds for every parameter")
        self.space = space
        self.settings = settings or LeastSquaresSettings()
        self.starts, self.polished, self.seed = starts, polished, seed
        self.x, self.cost = space.start.copy(), np.inf
        self.message = ""
        self.evaluations = 0
        self.status: Status | None = None
        self.history: list[dict[str, Any]] = []
        self._queue: list[np.ndarray] | None = None
        self._descent: LeastSquares | None = None
        self._best_status: Status | None = None

    def ask(self) -> np.ndarray:
        """The scan, then the batches of each descent."""
        if self._queue is None:
            return self._scan_points()
        assert self._descent is not None
        return self._descent.ask()

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> Any:
        """Costs of the scan, or what the descent needs."""
        if self._descent is not None:
            return self._descent.evaluate(problem, X, failures)
        return LeastSquares(self.space, self.settings).evaluate_costs(problem, X, failures)

    def costs_of(self, answer: Any) -> np.ndarray:
        """Costs ``(n,)`` in an answer of :meth:`evaluate`."""
        return LeastSquares.costs_of(self, answer)  # type: ignore[arg-type]

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Take the answer for the batch that :meth:`ask` gave."""
        self.evaluations += len(X)
        if self._queue is None:
            order = np.argsort(answer, kind="stable")
            valid = [int(i) for i in order if np.isfinite(answer[i])]
            # the given start comes first, unless it fails and there is another
            chosen = [i for i in valid if i == 0] + [i for i in valid if i != 0] or [0]
            self._queue = [X[i].copy() for i in chosen[: self.polished]]
            self._descend()
            return
        assert self._descent is not None
        self._descent.tell(X, answer, failures)
        if self._descent.cost < self.cost and np.isfinite(self._descent.cost):
            self.x, self.cost = self._descent.x.copy(), self._descent.cost
        if self._descent.done() is not None:
            self._close_descent()

    def done(self) -> Status | None:
        """Why the search ended, or None."""
        return self.status

    def state(self) -> dict[str, Any]:
        """Everything needed to go on: plain numbers and arrays."""
        return {
            "descent_settings": LeastSquares(self.space, self.settings).state()["settings"],
            "starts": self.starts,
            "polished": self.polished,
            "seed": self.seed,
            "x": self.x.copy(),
            "cost": self.cost,
            "evaluations": self.evaluations,
            "message": self.message,
            "status": self.status.value if self.status else None,
            "best_status": self._best_status.value if self._best_status else None,
            "history": list(self.history),
            "queue": None if self._queue is None else [q.copy() for q in self._queue],
            "descent": self._descent.state() if self._descent else None,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], space: Space) -> "MultiStart":
        """Continue from :meth:`state`: the same history, bit for bit."""
        search = cls(
            space,
            LeastSquaresSettings(**state["descent_settings"]),
            int(state["starts"]),
            int(state["polished"]),
            int(state["seed"]),
        )
        search.x, search.cost = np.array(state["x"], float), float(state["cost"])
        search.evaluations, search.message = int(state["evaluations"]), str(state["message"])
        search.status = Status(state["status"]) if state["status"] else None
        search._best_status = Status(state["best_status"]) if state["best_status"] else None
        search.history = [dict(record) for record in state["history"]]
        if state["queue"] is not None:
            search._queue = [np.array(q, float) for q in state["queue"]]
        if state["descent"] is not None:
            search._descent = LeastSquares.from_state(state["descent"], space)
        return search

    def _scan_points(self) -> np.ndarray:
        from scipy.stats import qmc

        lower, upper = self.space.search_bounds
        sampler = qmc.Sobol(self.space.size, scramble=True, rng=np.random.default_rng(self.seed))
        power = int(np.ceil(np.log2(max(self.starts - 1, 1))))
        unit = sampler.random_base2(power)[: self.starts - 1]
        points = self.space.from_search(lower + unit * (upper - lower))
        return np.vstack([self.space.start[None, :], points])

    def _descend(self) -> None:
        assert self._queue is not None
        self._descent = LeastSquares(self.space, self.settings)
        self._descent.x = self._queue.pop(0)

    def _close_descent(self) -> None:
        descent = self._descent
        assert descent is not None and self._queue is not None
        done = len({record["descent"] for record in self.history})
        self.history += [{**record, "descent": done} for record in descent.history]
        if descent.cost <= self.cost:
            self.message = f"best of {self.starts} starts: {descent.message}"
            self._best_status = descent.status
        if self._queue:
            self._descend()
            return
        self._descent = None
        self.status = self._best_status or Status.START_FAILED
