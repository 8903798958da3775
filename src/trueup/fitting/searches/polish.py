"""Search over costs, followed by least squares from its result."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.fitting.problem import Failures, Problem
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.searches.methods import class_name, restore
from trueup.fitting.searches.saved_state import require_version
from trueup.fitting.solution import ParetoFront, Status
from trueup.parameters import Space

STATE_VERSION = 1
"""Version of :meth:`Polished.state`."""

_SAME_COST = 1e-6  # relative tolerance of equal costs
_SAME_SINGLE = 1e-3  # of costs in single precision


class Polished:
    """A search over costs, run to its end, then least squares from its best candidate.

    A cost is half the sum of squared residuals. With a robust loss the first search minimises the
    robust cost too, so that both are comparable. Least squares is skipped, as the message reports,
    if the problem has no residuals, several objectives or noise, if its costs are not those of its
    residuals, or if there is no valid candidate to start from.

    Args:
      first: a search of trueup over costs, such as :class:`CmaEs`; it may have ended.
      space: search space.
      settings: settings of the least squares.
      first_evaluations: maximum number of evaluations of the first search.

    Raises:
      FitError: the first search is not one of trueup's.
    """

    def __init__(
        self,
        first: Any,
        space: Space,
        settings: LeastSquaresSettings | None = None,
        first_evaluations: int | None = None,
    ):
        if first_evaluations is not None and first_evaluations < 1:
            raise FitError(f"first_evaluations must be at least 1, found {first_evaluations}")
        self._name = class_name(first)
        self.first = first
        self.space = space
        self.settings = settings or LeastSquaresSettings()
        self.first_evaluations = first_evaluations
        self.status: Status | None = None
        self.message = ""
        self._descent: LeastSquares | None = None
        self._obstacle: str | None = None
        self._single = False  # whether a cost of the first search is of single precision
        if first.done() is not None:
            self._hand_over()

    # --- results ---------------------------------------------------------------------------------

    @property
    def x(self) -> np.ndarray:
        """Best valid candidate so far ``(p,)``."""
        return (self._improved or self.first).x

    @property
    def cost(self) -> float:
        """Its cost; infinite before the first valid one."""
        return float((self._improved or self.first).cost)

    @property
    def evaluations(self) -> int:
        """Evaluated candidates of both searches."""
        return self.first.evaluations + (self._descent.evaluations if self._descent else 0)

    @property
    def history(self) -> list[dict[str, Any]]:
        """Records of the first search, then those of the least squares."""
        descent = self._descent.history if self._descent else []
        before = self.first.evaluations
        return [
            *self.first.history,
            *({**r, "evaluations": before + r["evaluations"], "polish": 1} for r in descent),
        ]

    @property
    def front(self) -> ParetoFront | None:
        """The Pareto front of the first search, if it has one."""
        return getattr(self.first, "front", None)

    @property
    def _improved(self) -> LeastSquares | None:
        """The least squares, if it is at least as good as the first search."""
        descent = self._descent
        if descent is None or self._obstacle is not None:
            return None
        # in single precision the first search may seem better by its rounding
        most = self.first.cost * (1 + _SAME_SINGLE if self._single else 1)
        if not descent.cost <= most:
            return None
        return descent

    # --- the protocol of a search ----------------------------------------------------------------

    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)`` of the active search."""
        return (self._descent or self.first).ask()

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> Any:
        """Answer of a batch for the active search.

        Raises:
          FitError: a finished search cannot be polished on a problem without residuals.
        """
        if self._descent is not None:
            return self._descent.evaluate(problem, X, failures)
        self._obstacle = _obstacle(problem)
        quick = problem.quick(len(X))
        self._single = self._single or quick is not problem
        problem = quick
        if self._obstacle is None and self.settings.loss != "linear":
            problem = _RobustCosts(problem, LeastSquares(self.space, self.settings))
        own = getattr(self.first, "evaluate", None)
        return problem.costs(X, failures) if own is None else own(problem, X, failures)

    def costs_of(self, answer: Any) -> np.ndarray:
        """Costs ``(n,)`` or ``(n, k)`` in an answer of :meth:`evaluate`."""
        if self._descent is not None:
            return self._descent.costs_of(answer)
        own = getattr(self.first, "costs_of", None)
        return answer if own is None else own(answer)

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Process the answer for the batch of :meth:`ask`."""
        if self._descent is None:
            self.first.tell(X, answer, failures)
            limit = self.first_evaluations
            if self.first.done() is not None or (limit and self.first.evaluations >= limit):
                self._hand_over()
            return
        descent, begins = self._descent, self._descent.evaluations == 0
        cost = float(descent.costs_of(answer)[0]) if begins else np.inf
        if begins and np.isfinite(cost) and not self._means_the_same(cost):
            descent.evaluations += len(X)
            self._obstacle = (
                f"the problem's cost {self.first.cost:.6g} is not that of its residuals, {cost:.6g}"
            )
            self._end_unpolished()
            return
        descent.tell(X, answer, failures)
        if descent.done() is not None:
            self._end()

    def done(self) -> Status | None:
        """Final status of the search, or None while it runs."""
        return self.status

    def info(self) -> dict[str, Any]:
        """State variables of the first search while it is active."""
        if self._descent is not None or not hasattr(self.first, "info"):
            return {}
        return self.first.info()

    def state(self) -> dict[str, Any]:
        """State for :meth:`from_state`: plain numbers and arrays."""
        return {
            "version": STATE_VERSION,
            "first": self._name,
            "first_state": self.first.state(),
            "settings": asdict(self.settings),
            "first_evaluations": self.first_evaluations,
            "status": self.status.value if self.status else None,
            "message": self.message,
            "obstacle": self._obstacle,
            "single": self._single,
            "descent": self._descent.state() if self._descent else None,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], space: Space) -> "Polished":
        """Continue from :meth:`state` with a bitwise identical history.

        Raises:
          FitError: the state was saved by another version of this search.
        """
        require_version(state, STATE_VERSION, "polished search")
        search = cls(
            restore(state["first"], state["first_state"], space),
            space,
            LeastSquaresSettings(**state["settings"]),
            state["first_evaluations"],
        )
        search.status = Status(state["status"]) if state["status"] else None
        search.message = str(state["message"])
        search._obstacle = state["obstacle"]
        search._single = bool(state.get("single", False))
        descent = state["descent"]
        search._descent = None if descent is None else LeastSquares.from_state(descent, space)
        return search

    # --- from one search to the other ------------------------------------------------------------

    def _hand_over(self) -> None:
        if self._obstacle is None and not np.isfinite(self.first.cost):
            self._obstacle = "no valid candidate to start from"
        if self._obstacle is not None:
            self._end_unpolished()
            return
        self._descent = LeastSquares(self.space, self.settings)
        self._descent.x = self.first.x.copy()

    def _means_the_same(self, cost: float) -> bool:
        # costs near zero are rounding, relative to the cost at the start
        began = self.first.history[0]["cost"] if self.first.history else np.inf
        size = max(abs(cost), abs(self.first.cost))
        same = _SAME_SINGLE if self._single else _SAME_COST
        rounding = same**2 * abs(began) if np.isfinite(began) else 0.0
        return abs(cost - self.first.cost) <= same * size + rounding

    def _first_ended(self) -> tuple[Status, str]:
        status = self.first.done() or Status.EVALUATION_LIMIT
        if not np.isfinite(self.first.cost):
            status = Status.START_FAILED
        words = self.first.message or f"{self.first.evaluations} evaluations"
        return status, words

    def _end_unpolished(self) -> None:
        self.status, words = self._first_ended()
        self.message = f"{words}; not polished: {self._obstacle}"

    def _end(self) -> None:
        descent = self._descent
        assert descent is not None
        status, words = self._first_ended()
        if self._improved is None:
            self.status = status
            self.message = f"{words}; not polished: {descent.message}"
            return
        self.status = descent.status
        self.message = f"{descent.message}, polished from {self.first.cost:.6g} ({words})"


def _obstacle(problem: Problem) -> str | None:
    """Reason why least squares does not apply to a problem, or None."""
    if not problem.has_residuals:
        return "the problem has costs but no residuals"
    if len(problem.objectives) > 1:
        return "the problem has several objectives"
    if problem.noisy:
        return "the residuals are noisy, so finite differences are not valid"
    return None


class _RobustCosts(Problem):
    """A problem whose costs are those of a robust loss."""

    def __init__(self, problem: Problem, descent: LeastSquares):
        self._problem, self._descent = problem, descent
        self.space, self.groups = problem.space, problem.groups
        self.data_rows, self.objectives = problem.data_rows, problem.objectives

    @property
    def residual_size(self) -> int:
        """Number of rows of the residual."""
        return self._problem.residual_size

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Residuals of the problem."""
        return self._problem.residual_blocks(X, failures)

    def costs(self, X: np.ndarray, failures: Failures | None = None) -> np.ndarray:
        """Robust costs ``(n, 1)``, infinite for candidates that fail."""
        failures = {} if failures is None else failures
        return self._descent.evaluate_costs(self._problem, X, failures)[:, None]
