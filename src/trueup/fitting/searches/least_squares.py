"""Levenberg-Marquardt with bounds, with the Jacobian and the line search in batches.

One call evaluates all columns of a finite-difference Jacobian; one call evaluates several step
lengths at once, so that no core is idle during the line search. Follows the
semantics of ``mujoco.minimize.least_squares`` (Gauss-Newton with a regulariser, box-QP steps,
sufficient reduction) with column scaling as in J. J. Moré, "The Levenberg-Marquardt Algorithm:
Implementation and Theory" (1978), section 6.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.fitting.linearisation import (
    Linearisation,
    difference_points,
    exact_linearisation,
    linearise,
    typical_size,
)
from trueup.fitting.losses import Loss
from trueup.fitting.problem import Failures, Problem
from trueup.fitting.searches.box_step import box_step
from trueup.fitting.searches.saved_state import require_version
from trueup.fitting.solution import Status
from trueup.parameters import Space

STATE_VERSION = 2
"""Version of :meth:`LeastSquares.state`."""

_SUFFICIENT = 1e-2  # minimum reduction of a step as a share of the first-order prediction (Armijo)

# If no step reduces the cost: forward differences have an error proportional to their step, so
# central ones are used; their rounding error is large in a rough simulation, so steps are enlarged.
LAST_STAGE = 2
_COARSER = 100.0
_MU_START = 1e-4

# With friction or contact the simulation is rough, and no step may reduce the cost although a
# reduction is predicted. Changes below this share of the standard errors are negligible.
_WITHIN_UNCERTAINTY = 0.05

# Steps of a plateau; a rough simulation makes predictions of linear models too large there.
_PLATEAU, _LONG_PLATEAU = 3, 10
_PREDICTED = 5.0

# The linear model may also underestimate a step: from a start at a small inertia the optimum is
# several full steps away in the same direction, or one long one.
_STRETCH = 2.0

# A reduction predicted without a Jacobian is less accurate than one with it: it may be this much
# larger than the tolerance, which is still negligible compared with the uncertainty of an estimate.
_FORESEEN = 10.0


@dataclass(frozen=True)
class LeastSquaresSettings:
    """Settings of :class:`LeastSquares`."""

    max_iters: int = 200
    """Maximum number of iterations, each with one Jacobian and one or more line searches."""
    cost_tolerance: float = 1e-10
    """Stop when the predicted relative reduction of the cost by the next step is smaller."""
    patience: int = 0
    """Also stop after this many consecutive steps with a relative reduction below
    ``cost_tolerance`` each; 0 never."""
    plateau: float = 0.0
    """Also stop on a plateau: where steps change the estimates by less than this share of their
    standard errors, three in a row while the next is predicted to stay within a few such shares, or
    ten in a row whatever is predicted; 0 never."""
    step_tolerance: float = 1e-10
    """Stop when the step of every element is smaller, relative to the element or its range."""
    gradient_tolerance: float = 1e-10
    """Stop when the cosine between the residual and each column of the Jacobian is smaller."""
    difference: float = 1e-6
    """Finite-difference step, relative to the parameter or to a tenth of its range."""
    jacobian: str = "differences"
    """``"exact"`` uses the derivatives of the problem, and finite differences only if no step
    along those reduces the cost, as at a kink; ``"differences"`` always uses differences."""
    trials: int = 2
    """Number of step lengths in one call of the line search, for example the number of cores."""
    mu_max: float = 1e8
    """Largest regulariser, relative to the squared norms of the columns."""
    loss: str = "linear"
    """Robust loss; see :class:`trueup.fitting.Loss`."""
    loss_scale: float = 1.0
    """Residual at which the loss changes from quadratic."""
    scale: str | tuple[float, ...] = "jac"
    """``"jac"`` scales each parameter by its column of the Jacobian, ``"none"`` does not; or one
    typical size per parameter."""


class LeastSquares:
    """Least-squares search with an ask-and-tell interface for whole batches.

    Args:
      space: search space.
      settings: settings.
      begin: start values ``(p,)``; None: the start of the space.

    Raises:
      FitError: no free element, or settings out of range.
    """

    settings_class = LeastSquaresSettings
    """Settings that the constructor takes."""

    def __init__(
        self,
        space: Space,
        settings: LeastSquaresSettings | None = None,
        begin: np.ndarray | None = None,
    ):
        settings = settings or LeastSquaresSettings()
        if space.size == 0:
            raise FitError("no free parameter to fit: all are frozen or tied")
        if settings.max_iters < 0 or settings.trials < 1 or settings.difference <= 0:
            raise FitError("max_iters must be >= 0, trials >= 1 and difference > 0")
        if settings.jacobian not in ("differences", "exact"):
            raise FitError(
                f"jacobian must be 'differences' or 'exact', found {settings.jacobian!r}"
            )
        self.space = space
        self.settings = settings
        self.loss = Loss(settings.loss, settings.loss_scale)
        self.x = (space.start if begin is None else begin).copy()
        self.cost = np.inf
        self.mu = _MU_START
        self.iteration = 0
        self.evaluations = 0
        self.status: Status | None = None
        self.message = ""
        self.history: list[dict[str, Any]] = []
        self._stage = 0
        self._flipped = np.zeros(space.size, bool)
        self._linear: Linearisation | None = None
        self.gram: np.ndarray | None = None
        """``J' J`` ``(p, p)`` in search coordinates at the last linearisation; not part of the
        state."""
        self._solved: tuple[Linearisation | None, dict[Any, np.ndarray]] = (None, {})
        self._points: np.ndarray | None = None
        self._steps = np.zeros(0)
        self._rejected = 0
        self._trusted = False
        self._promised = np.inf
        self._is_last = False

    # --- the protocol of a search ------------------------------------------------------------

    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)``."""
        if self._linear is None:
            self._points = self._neighbourhood(self.x)
        elif self._is_last:
            z = self.space.to_search(self.x) + self._step(self._linear, self.mu)
            self._points = self.space.from_search(z[None, :])
        elif self._looks_ahead:
            z = self.space.to_search(self.x) + self._step(self._linear, self.mu)
            self._points = self._neighbourhood(self.space.from_search(z))
        else:
            self._points = self._trial_points(self._linear)
        return self._points

    @property
    def _looks_ahead(self) -> bool:
        """Whether the step is evaluated together with the Jacobian at its end.

        If the linear model predicted the last step well, it most likely predicts the next one too,
        and a line search would only be a second call.
        """
        return (
            self._linear is not None and self._trusted and self._rejected == 0 and not self._is_last
        )

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> Any:
        """Answer of a batch for :meth:`tell`: a linearisation, or the costs of trial steps."""
        if self._linear is None or self._looks_ahead:
            if self._is_exact_jacobian:
                return exact_linearisation(problem, X[0], self.loss, failures)
            return linearise(problem, X, self._steps, self._central, self.loss, failures)
        return self.evaluate_costs(problem, X, failures)

    def evaluate_costs(self, problem: Problem, X: np.ndarray, failures: Failures) -> np.ndarray:
        """Costs ``(n,)`` of candidates, infinite for failed ones."""
        total = np.zeros(len(X))
        for rows, values in problem.residual_blocks(X, failures):
            plain = rows.start >= problem.data_rows
            weights = problem.weights_of(rows)
            total += (Loss() if plain else self.loss).costs(values, weights)
        total[list(failures)] = np.inf
        return total

    def costs_of(self, answer: Any) -> np.ndarray:
        """Costs ``(n,)`` in an answer of :meth:`evaluate`."""
        return answer.costs if isinstance(answer, Linearisation) else answer

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Process the answer for the batch of :meth:`ask`."""
        self.evaluations += len(X)
        if isinstance(answer, Linearisation):
            if self._linear is not None and not self._take_ahead(X, answer):
                return
            if self.status is None:
                self._take_linearisation(answer, failures)
        elif self._is_last:
            self._take_last(X, answer)
        else:
            self._take_trials(X, answer)

    def done(self) -> Status | None:
        """Final status of the search, or None while it runs."""
        return self.status

    def state(self) -> dict[str, Any]:
        """State for :meth:`from_state`: plain numbers and arrays."""
        return {
            "version": STATE_VERSION,
            "settings": asdict(self.settings),
            "x": self.x.copy(),
            "cost": self.cost,
            "mu": self.mu,
            "iteration": self.iteration,
            "evaluations": self.evaluations,
            "stage": self._stage,
            "flipped": self._flipped.copy(),
            "rejected": self._rejected,
            "trusted": self._trusted,
            "promised": self._promised,
            "is_last": self._is_last,
            "history": list(self.history),
            "status": self.status.value if self.status else None,
            "message": self.message,
            "linear": self._linear.state() if self._linear else None,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], space: Space) -> "LeastSquares":
        """Continue from :meth:`state` with a bitwise identical history.

        Raises:
          FitError: the state was saved by another version of this search.
        """
        require_version(state, STATE_VERSION, "least-squares search")
        search = cls(space, LeastSquaresSettings(**state["settings"]))
        search.x = np.array(state["x"], float)
        search.cost, search.mu = float(state["cost"]), float(state["mu"])
        search.iteration, search.evaluations = int(state["iteration"]), int(state["evaluations"])
        search._stage = int(state["stage"])
        search._flipped = np.array(state["flipped"], bool)
        search._rejected = int(state["rejected"])
        search._trusted = bool(state["trusted"])
        search._promised = float(state["promised"])
        search._is_last = bool(state["is_last"])
        search.history = [dict(record) for record in state["history"]]
        search.status = Status(state["status"]) if state["status"] else None
        search.message = str(state["message"])
        search._linear = Linearisation.from_state(state["linear"]) if state["linear"] else None
        return search

    @property
    def _central(self) -> bool:
        return self._stage > 0

    @property
    def _difference(self) -> float:
        return self.settings.difference * (_COARSER if self._stage == LAST_STAGE else 1.0)

    @property
    def _is_exact_jacobian(self) -> bool:
        return self.settings.jacobian == "exact" and self._stage == 0

    def _neighbourhood(self, x: np.ndarray) -> np.ndarray:
        """A point and its finite-difference points."""
        if self._is_exact_jacobian:
            return x[None, :]
        points, self._steps = difference_points(
            self.space, x, self._difference, self._central, self._flipped
        )
        return points

    # --- linearisation -----------------------------------------------------------------------

    def _take_linearisation(self, answer: Linearisation, failures: Failures) -> None:
        if 0 in failures:
            self._finish(Status.START_FAILED, f"the simulation fails at the start: {failures[0]}")
            return
        lost = answer.failed_columns
        untried = lost & ~self._flipped
        if untried.any() and not self._central:
            # a difference in the other direction may not fail
            self._flipped = self._flipped | untried
            return
        self._flipped[:] = False
        self._linear = answer
        self.gram = answer.gram
        self.cost = float(answer.costs[0])
        self._rejected = 0
        self._check_stationary(answer)
        if self.status is None:
            self._foresee_end(answer)

    def _check_stationary(self, linear: Linearisation) -> None:
        free = self._free(linear)
        norms = np.sqrt(np.diag(linear.gram)) * np.sqrt(2 * self.cost)
        cosine = np.abs(linear.gradient) / np.where(norms > 0, norms, 1.0)
        if self._is_exact() or self._is_rounding(linear):
            self._finish(Status.EXACT, f"the residual vanishes: cost {self.cost:.3g}")
        elif linear.failed_columns.all():
            self._finish(
                Status.STALLED,
                f"the simulation fails for every perturbed parameter: cost {self.cost:.6g}",
            )
        elif not free.any() or cosine[free].max() <= self.settings.gradient_tolerance:
            self._finish(Status.CONVERGED, f"the gradient vanishes: cost {self.cost:.6g}")
        elif self._promise(linear, 0.0) <= self.settings.cost_tolerance * self.cost:
            self._finish(Status.CONVERGED, f"no further reduction expected: cost {self.cost:.6g}")
        elif self.iteration >= self.settings.max_iters:
            self._finish(
                Status.ITERATION_LIMIT, f"{self.iteration} iterations: cost {self.cost:.6g}"
            )

    def _foresee_end(self, linear: Linearisation) -> None:
        """Predict whether the step after the next one would be below the tolerance.

        Predicted reductions decrease by a factor that is constant or decreases from step to step.
        If the next step is predicted to be the last, only its cost is evaluated, without a
        Jacobian.
        """
        former, self._promised = self._promised, self._promise(linear, 0.0)
        shrinking = self._promised / former if former > 0 else np.inf
        # the reduction withheld by damping in the next step remains after it
        left = max(self._promised * shrinking, self._held_back(linear, self.mu))
        self._is_last = self._trusted and left <= self._negligible

    @property
    def _negligible(self) -> float:
        return _FORESEEN * self.settings.cost_tolerance * self.cost

    def _is_exact(self) -> bool:
        first = self.history[0]["cost"] if self.history else self.cost
        return self.cost == 0 or self.cost <= 1e-26 * first

    def _is_rounding(self, linear: Linearisation) -> bool:
        """Whether the residual is rounding compared with the effect of the parameters."""
        effect = np.sqrt(np.diag(linear.gram)) * typical_size(self.space, self.x)
        return np.sqrt(2 * self.cost) <= 1e-13 * effect.max(initial=0.0)

    def _free(self, linear: Linearisation) -> np.ndarray:
        """Elements without an active bound: the gradient does not point out of the bounds."""
        at_lower = (self.x <= self.space.lower) & (linear.gradient > 0)
        at_upper = (self.x >= self.space.upper) & (linear.gradient < 0)
        return ~(at_lower | at_upper)

    # --- steps -------------------------------------------------------------------------------

    def _scales(self, linear: Linearisation) -> np.ndarray:
        """Squared scale of each element: of its column, or 1."""
        squared = np.diag(linear.gram)
        if not isinstance(self.settings.scale, str):
            unit = np.square(np.asarray(self.settings.scale, float))
            return max((squared * unit).max(initial=0.0), 1e-300) / unit
        if self.settings.scale == "none":
            return np.full(squared.shape, max(squared.max(initial=0.0), 1e-300))
        # a column of zeros has no scale
        return np.where(squared > 0, squared, max(squared.max(initial=0.0), 1.0) * 1e-12 + 1e-300)

    def _step(self, linear: Linearisation, mu: float) -> np.ndarray:
        """Step in search coordinates for a regulariser."""
        if self._solved[0] is not linear:
            self._solved = (linear, {})
        steps, key = self._solved[1], (mu, self.x.tobytes())
        if key not in steps:
            lower, upper = self.space.search_bounds
            z = self.space.to_search(self.x)
            hessian = linear.gram + np.diag(max(mu, 1e-14) * self._scales(linear))
            steps[key] = box_step(hessian, linear.gradient, lower - z, upper - z)
        return steps[key]

    def _promise(self, linear: Linearisation, mu: float) -> float:
        """Predicted reduction of the cost by the step of a regulariser."""
        return self._gain(linear, self._step(linear, mu))

    def _gain(self, linear: Linearisation, step: np.ndarray) -> float:
        """Predicted reduction of the cost by a given step, in the linear model."""
        return float(-(linear.gradient @ step) - 0.5 * step @ linear.gram @ step)

    def _held_back(self, linear: Linearisation, mu: float) -> float:
        """Part of the predicted reduction of the full step that a damped one does not reach."""
        return self._promise(linear, 0.0) - self._promise(linear, mu)

    def _ladder(self) -> np.ndarray:
        """Regularisers of one line search: around the current one, then increasing."""
        k = self.settings.trials
        first = 10.0 ** (np.arange(k) - 0.5)
        if self._rejected == 0:
            return self.mu * first
        # each search continues from the previous one
        return self.mu * first[-1] * 10.0 ** (1.0 + np.arange(k) + k * (self._rejected - 1))

    @property
    def _stretches(self) -> bool:
        """Whether the second trial is an extended first step: without an accepted step yet."""
        return self.iteration == 0 and self._rejected == 0 and self.settings.trials > 1

    def _trial_points(self, linear: Linearisation) -> np.ndarray:
        z = self.space.to_search(self.x)
        steps = np.array([self._step(linear, mu) for mu in self._ladder()])
        if self._stretches:
            steps[1] = _STRETCH * steps[0]
        return self.space.from_search(z + steps)

    def _sufficient(self, X: np.ndarray, costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Steps to candidates, and which of them reduce the cost sufficiently (Armijo)."""
        assert self._linear is not None
        steps = self.space.to_search(X) - self.space.to_search(self.x)
        slopes = steps @ self._linear.gradient
        good = costs <= self.cost + _SUFFICIENT * np.minimum(slopes, 0.0)
        return steps, good & np.isfinite(costs) & (costs < self.cost)

    def _take_ahead(self, X: np.ndarray, answer: Linearisation) -> bool:
        """Accept the step of a look-ahead batch; False if a line search is required."""
        costs = answer.costs[:1]
        steps, good = self._sufficient(X[:1], costs)
        if not good.any() or answer.failed_columns.any():
            self._trusted = False
            return False
        self._accept(X[:1], costs, steps, 0, self.mu)
        return True

    def _take_last(self, X: np.ndarray, costs: np.ndarray) -> None:
        """Accept the predicted last step, if its reduction is as predicted."""
        assert self._linear is not None
        self._is_last = False
        steps, good = self._sufficient(X, costs)
        if not good.any():
            self._trusted = False
            return
        promised = self._gain(self._linear, steps[0])
        held_back = self._held_back(self._linear, self.mu)
        ratio = self._accept(X, costs, steps, 0, self.mu)
        # The curvature along the step had an error of 2 (1 - ratio): the remaining share of the
        # step.
        left = promised * (2 * (1.0 - ratio)) ** 2 + held_back
        if self.status is None and left <= self._negligible:
            self._finish(Status.CONVERGED, f"no further reduction expected: cost {self.cost:.6g}")

    def _take_trials(self, X: np.ndarray, costs: np.ndarray) -> None:
        linear = self._linear
        assert linear is not None
        steps, good = self._sufficient(X, costs)
        if good.any():
            best = int(np.argmin(np.where(good, costs, np.inf)))
            # the validity of the linear model is measured by the step that it proposed
            judged = 0 if best == 1 and self._stretches else best
            self._accept(X, costs, steps, best, float(self._ladder()[judged]), judged)
            return
        self._rejected += 1
        promise = self._promise(linear, 0.0)
        if self._ladder()[0] <= self.settings.mu_max:
            return
        left = self._left_of_uncertainty(linear, promise)
        if self._stage < LAST_STAGE and left > self.settings.plateau:
            self._stage, self._linear, self.mu = self._stage + 1, None, _MU_START
            return
        if promise <= 1e-6 * self.cost:
            self._finish(
                Status.CONVERGED,
                f"no step reduces the cost by more than rounding in the simulation: "
                f"cost {self.cost:.6g}",
            )
        elif left <= max(_WITHIN_UNCERTAINTY, _PREDICTED * self.settings.plateau):
            self._finish(
                Status.CONVERGED,
                f"no step reduces the cost of a rough simulation, and the predicted one changes "
                f"estimates by {left:.2g} of their standard errors: cost {self.cost:.6g}",
            )
        else:
            self._finish(
                Status.STALLED,
                f"no step reduces the cost {self.cost:.6g}, although a reduction by {promise:.2g} "
                "was predicted",
            )

    def _left_of_uncertainty(self, linear: Linearisation, promise: float) -> float:
        """Step that corresponds to a predicted reduction, as a share of standard errors.

        The relative offset of Bates and Watts (1981): the root mean square over the elements.
        """
        freedom = linear.rows - len(self.x)
        if freedom <= 0:
            return np.inf
        return float(np.sqrt(promise * freedom / (self.cost * len(self.x))))

    def _accept(
        self,
        X: np.ndarray,
        costs: np.ndarray,
        steps: np.ndarray,
        best: int,
        mu: float,
        judged: int | None = None,
    ) -> float:
        """Accept a trial; return the ratio of actual to predicted reduction."""
        linear = self._linear
        assert linear is not None
        step = steps[best]
        judged = best if judged is None else judged
        promised = self._gain(linear, steps[judged])
        ratio = (self.cost - float(costs[judged])) / promised if promised > 0 else 0.0
        self.history.append(
            {
                "iteration": self.iteration,
                "cost": self.cost,
                "reduction": self.cost - float(costs[best]),
                "mu": mu,
                "ratio": ratio,
                "step": float(np.linalg.norm(step)),
                "evaluations": self.evaluations,
                "x": self.x.tolist(),
            }
        )
        is_negligible = self._is_negligible(linear, step)
        self.x = X[best].copy()
        self.cost = float(costs[best])
        self.iteration += 1
        # adapt the damping to the ratio of actual to predicted reduction (Fletcher 1971)
        self.mu = mu * (0.1 if ratio > 0.75 else 1.0 if ratio > 0.25 else 4.0)
        self.mu = min(max(self.mu, 1e-12), self.settings.mu_max)
        self._linear = None
        self._trusted = ratio > 0.5
        if self._is_exact():
            self._finish(Status.EXACT, f"the residual vanishes: cost {self.cost:.3g}")
        elif is_negligible:
            self._finish(Status.CONVERGED, f"the step is negligible: cost {self.cost:.6g}")
        elif self._is_slow():
            self._finish(
                Status.CONVERGED,
                f"negligible reduction in the last {self.settings.patience} steps: cost "
                f"{self.cost:.6g}",
            )
        elif self._is_plateau(linear):
            self._finish(
                Status.CONVERGED,
                "the last steps changed estimates by less than "
                f"{self.settings.plateau:.2g} of their standard errors: cost {self.cost:.6g}",
            )
        return ratio

    def _is_plateau(self, linear: Linearisation) -> bool:
        """Whether the last steps were negligible compared with the uncertainty of estimates."""
        if not self.settings.plateau or len(self.history) < _PLATEAU:
            return False
        slow = [
            self._left_of_uncertainty(linear, record["reduction"]) <= self.settings.plateau
            for record in self.history[-_LONG_PLATEAU:]
        ]
        left = self._left_of_uncertainty(linear, self._promise(linear, 0.0))
        is_short = all(slow[-_PLATEAU:]) and left <= _PREDICTED * self.settings.plateau
        return is_short or (len(slow) == _LONG_PLATEAU and all(slow))

    def _is_slow(self) -> bool:
        """Whether the last ``patience`` steps had a negligible reduction of the cost."""
        last = self.history[-self.settings.patience :] if self.settings.patience else []
        least = self.settings.cost_tolerance * self.cost
        is_long = 0 < self.settings.patience <= len(self.history)
        return is_long and all(record["reduction"] <= least for record in last)

    def _is_negligible(self, linear: Linearisation, step: np.ndarray) -> bool:
        """Whether a step is negligible, and not only because of damping."""
        # element by element: a large parameter must not mask the step of a small one
        typical = typical_size(self.space, self.x)
        if np.any(np.abs(step) > self.settings.step_tolerance * typical):
            return False
        promise = self._promise(linear, 0.0)
        return promise - self._gain(linear, step) <= max(0.5 * promise, self._negligible)

    def _finish(self, status: Status, message: str) -> None:
        self.status = status
        steps = "1 iteration" if self.iteration == 1 else f"{self.iteration} iterations"
        self.message = f"{message} ({steps}, {self.evaluations} simulations)"
        self.history.append(
            {
                "iteration": self.iteration,
                "cost": self.cost,
                "reduction": 0.0,
                "mu": self.mu,
                "ratio": 0.0,
                "step": 0.0,
                "evaluations": self.evaluations,
                "x": self.x.tolist(),
            }
        )
