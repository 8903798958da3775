"""Gauss-Newton steps near an optimum, several of them with one Jacobian.

Near an optimum the Jacobian of a residual hardly changes, and its finite differences cost many
times a step. So a step uses the Jacobian of an earlier point, as in the chord method (C. T. Kelley,
"Iterative Methods for Linear and Nonlinear Equations", 1995, section 5.4). The optimum by such a
Jacobian is off by about as many standard errors as the relative change of the Jacobian: the search
ends only where that is small, which the residuals at both points show.
"""

from typing import Any

import numpy as np

from trueup.fitting.linearisation import difference_points, jacobian_of_points
from trueup.fitting.problem import Failures, Problem
from trueup.fitting.searches.box_step import box_step
from trueup.fitting.solution import Status
from trueup.parameters import Space

NEAR = 0.1
"""Distance of the optimum from the point of its Jacobian, in standard errors (root mean square over
the elements), up to which that Jacobian is the one of the optimum."""

LINEAR = 0.05
"""Share of the change of the residual since that point that the Jacobian may miss farther away.
Only what it could express counts, since standard errors change by twice that share; by what is
orthogonal to it, mostly single samples at which friction sticks, they change in second order."""

_STEP = 1e-5  # of central differences, as of the Jacobian for intervals
_SHRINKING = 0.3  # largest ratio of a predicted reduction to the former one
_JACOBIANS = 3  # the search gives up after so many
_ROUNDING = 1e-6  # predicted reduction, relative to the cost, that rounding may hide
_EXACT = 1e-10  # share of the first cost below which the residual may vanish


class StoredJacobian:
    """Least-squares search from a point near the optimum, with the interface of a search.

    It gives up, with :attr:`Status.STALLED`, where steps do not shrink as near an optimum, where
    the residual vanishes or a simulation fails; its best point is then a start for another search.

    Args:
      space: search space.
      begin: the point ``(p,)``.
      cost_tolerance: end when the predicted relative reduction of the cost is smaller.
      worst: cost that the point must have at most.
    """

    def __init__(self, space: Space, begin: np.ndarray, cost_tolerance: float, worst: float):
        self.space = space
        self.x = begin.copy()
        self.cost = worst
        self.begin_cost = np.inf
        """Cost of the first point, once evaluated."""
        self.evaluations = 0
        self.iteration = 0
        self.message = ""
        self.history: list[dict[str, Any]] = []
        self.residual: np.ndarray | None = None
        """Residual at :attr:`x` ``(m,)``."""
        self.jacobian: np.ndarray | None = None
        """Jacobian at a point near it ``(m, p)``, in search coordinates; None if it is to be
        computed."""
        self._tolerance = cost_tolerance
        self._first_cost = worst
        self._status: Status | None = None
        self._begin_residual = np.zeros(0)
        self._rows = 0
        self._steps = np.zeros(0)
        self._gram = np.zeros((space.size, space.size))
        self._gradient = np.zeros(space.size)
        self._moved = np.zeros(space.size)
        self._step = np.zeros(space.size)
        self._promise = np.inf
        self._jacobians = 0

    # --- the protocol of a search ----------------------------------------------------------------

    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)``: of differences, or one step."""
        if self.jacobian is None:
            flipped = np.zeros(self.space.size, bool)
            points, self._steps = difference_points(self.space, self.x, _STEP, True, flipped)
            return points
        z = self.space.to_search(self.x)
        return self.space.from_search((z + self._step)[None])

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> Any:
        """Residual and Jacobian ``(m,), (m, p)``, or the residual of a step and None."""
        if self.jacobian is None:
            return jacobian_of_points(problem, X, self._steps, True, failures)
        return problem.residuals(X, failures)[0], None

    def costs_of(self, answer: Any) -> np.ndarray:
        """Cost ``(1,)`` in an answer of :meth:`evaluate`."""
        return np.array([0.5 * float(answer[0] @ answer[0])])

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Process the answer for the batch of :meth:`ask`."""
        self.evaluations += len(X)
        residual, jacobian = answer
        cost = 0.5 * float(residual @ residual)
        if jacobian is not None:
            is_first = self._jacobians == 0
            if is_first:
                self.begin_cost = cost
            if failures or (is_first and cost > self.cost):
                self._give_up("no reduction by the point that the search begins at")
                return
            self.cost, self.residual, self.jacobian = cost, residual, jacobian
            self._begin_residual, self._rows = residual, len(residual)
            self._gram = jacobian.T @ jacobian
            self._moved[:] = 0.0
            self._jacobians += 1
            self._promise = np.inf
            self._plan()
        elif failures or not cost < self.cost:
            self._take_rejected()
        else:
            self._accept(X[0], residual, cost)
            self._plan()

    def done(self) -> Status | None:
        """Final status, or None while it runs."""
        return self._status

    # --- steps -----------------------------------------------------------------------------------

    def _plan(self) -> None:
        """Compute the next step, or decide that there is none."""
        assert self.jacobian is not None and self.residual is not None
        if self.cost <= _EXACT * self._first_cost:
            self._give_up("the residual may vanish")
            return
        self._gradient = self.jacobian.T @ self.residual
        lower, upper = self.space.search_bounds
        z = self.space.to_search(self.x)
        size = np.diag(self._gram)
        floor = 1e-14 * np.where(size > 0, size, max(size.max(initial=0.0), 1e-300))
        hessian = self._gram + np.diag(floor)
        self._step = box_step(hessian, self._gradient, lower - z, upper - z)
        former, self._promise = self._promise, self._gain()
        if self._in_errors(2 * self._promise) <= NEAR and not self._is_of_optimum():
            # the last digits are for the Jacobian of the optimum
            self._renew()
        elif self._promise <= self._tolerance * self.cost:
            self._finish(f"no further reduction expected: cost {self.cost:.6g}")
        elif self._promise > _SHRINKING * former:
            self._renew()

    def _gain(self) -> float:
        step = self._step
        return float(-(self._gradient @ step) - 0.5 * step @ self._gram @ step)

    def _is_of_optimum(self) -> bool:
        """Whether the Jacobian is, as far as it matters, the one of the best point."""
        assert self.jacobian is not None and self.residual is not None
        if self._in_errors(float(self._moved @ self._gram @ self._moved)) <= NEAR:
            return True
        predicted = self.jacobian @ self._moved
        missed = self.jacobian.T @ (self.residual - self._begin_residual - predicted)
        expressed = float(missed @ np.linalg.pinv(self._gram, hermitian=True) @ missed)
        return expressed <= LINEAR**2 * float(predicted @ predicted)

    def _in_errors(self, squares: float) -> float:
        """Change of all residuals as a step in standard errors (root mean square).

        ``squares`` is the sum of squares of that change, to first order.
        """
        p = self.space.size
        freedom = max(self._rows - p, 1)
        return float(np.sqrt(max(squares, 0.0) * freedom / (2 * self.cost * p)))

    def _accept(self, x: np.ndarray, residual: np.ndarray, cost: float) -> None:
        reduction = self.cost - cost
        self._record(reduction, reduction / self._promise)
        self.iteration += 1
        self._moved += self.space.to_search(x) - self.space.to_search(self.x)
        self.x, self.residual, self.cost = x.copy(), residual, cost

    def _take_rejected(self) -> None:
        if self._moved.any():
            self._renew()
        elif self._promise <= _ROUNDING * self.cost:
            self._finish(
                f"no step reduces the cost by more than rounding in the simulation: cost "
                f"{self.cost:.6g}"
            )
        else:
            self._give_up("a step along the Jacobian of its point does not reduce the cost")

    def _renew(self) -> None:
        """Compute the Jacobian again, at the best point."""
        if self._jacobians == _JACOBIANS:
            self._give_up(f"no optimum after {_JACOBIANS} Jacobians")
        else:
            self.jacobian = None

    def _record(self, reduction: float, ratio: float) -> None:
        self.history.append(
            {
                "iteration": self.iteration,
                "cost": self.cost,
                "reduction": reduction,
                "mu": 0.0,
                "ratio": ratio,
                "step": float(np.linalg.norm(self._step)) if reduction else 0.0,
                "evaluations": self.evaluations,
                "x": self.x.tolist(),
            }
        )

    def _finish(self, message: str) -> None:
        self._status, self.message = Status.CONVERGED, message
        self._record(0.0, 0.0)

    def _give_up(self, message: str) -> None:
        self._status, self.message = Status.STALLED, message
