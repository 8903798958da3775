"""Least squares in single precision on a device, followed by least squares in double precision.

A device evaluates thousands of candidates at once with rounding errors of about 1e-6: enough to
come near the optimum with central differences over large steps, too little for its last digits and
for intervals. So the search continues from there in double precision, with few evaluations.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from trueup.fitting.linearisation import (
    difference_jacobian,
    difference_points,
    failed_elements,
    final_jacobian,
)
from trueup.fitting.losses import Loss
from trueup.fitting.problem import Failures, Problem
from trueup.fitting.searches.least_squares import (
    LAST_STAGE,
    LeastSquares,
    LeastSquaresSettings,
)
from trueup.fitting.searches.saved_state import require_version
from trueup.fitting.solution import Status
from trueup.parameters import Space

STATE_VERSION = 1
"""Version of :meth:`DeviceFirst.state`."""

STEP = 1e-2
"""Step of central differences in single precision, relative to the size of an element. Measured
against double precision, differences over 1 % of an armature are 0.01 to 0.7 % off in norm, those
over 0.1 % up to 14 % (docs/how-to/graphics-card.md)."""

_AGREEMENT = 0.03
"""Relative change of a column between :data:`STEP` and half of it from which it is curved: three
quarters of the truncation error, which a quarter of the step divides by 16."""
_CURVED = 0.25
_COST_TOLERANCE = 1e-5  # relative reduction of the cost that single precision resolves
_TRIALS = 8


@dataclass(frozen=True)
class _Comparison:
    """Two steps of central differences at the start."""

    costs: np.ndarray
    """Costs of all candidates ``(n,)``."""
    change: np.ndarray
    """Relative change of each column ``(p,)``."""


def least_squares(
    problem: Problem,
    settings: LeastSquaresSettings | None = None,
    begin: np.ndarray | None = None,
) -> Any:
    """Least squares of a problem: on its device first, if its Jacobians are large enough to pay.

    Args:
      problem: the problem, with residuals.
      settings: settings of the search.
      begin: start values ``(p,)``; None: the start of the space.

    Returns:
      A :class:`LeastSquares` or a :class:`DeviceFirst`.

    Raises:
      FitError: no free element, or settings out of range.
    """
    # the comparison of steps is the smallest of the large batches
    pays = problem.quick(4 * problem.space.size + 1) is not problem
    return (DeviceFirst if pays else LeastSquares)(problem.space, settings, begin)


def rough_jacobian(problem: Problem, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, Failures]:
    """Residual and Jacobian, on the device of the problem if that pays.

    They show where a search may begin; see :func:`final_jacobian` for arguments and values.
    """
    quick = problem.quick(2 * problem.space.size + 1)
    if quick is problem:
        return final_jacobian(problem, x, central=False)
    return final_jacobian(quick, x, STEP, central=True)


class RoughSquares(LeastSquares):
    """Least squares with central differences over given steps only.

    Args:
      space: search space.
      settings: settings; their ``difference`` is not used.
      begin: start values ``(p,)``; None: the start of the space.
    """

    def __init__(
        self,
        space: Space,
        settings: LeastSquaresSettings | None = None,
        begin: np.ndarray | None = None,
    ):
        super().__init__(space, settings, begin)
        self.steps = np.full(space.size, STEP)
        """Step of each element, relative to its size ``(p,)``."""
        self._stage = LAST_STAGE  # no smaller steps follow

    @property
    def _central(self) -> bool:
        return True

    @property
    def _difference(self) -> Any:
        return self.steps


class DeviceFirst:
    """Least squares on a device, then on the CPU from its end.

    First two steps of central differences are compared: elements whose columns differ get a
    quarter of the step. A search that fails on the device, or ends above the cost at its start,
    is followed by a search from the start values.

    Args:
      space: search space.
      settings: settings of the least squares in double precision; the one in single precision has
        the same, with a larger tolerance.
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
        self.space = space
        self._begin = (space.start if begin is None else begin).copy()
        self.fine = LeastSquares(space, settings, self._begin)
        self.settings = self.fine.settings
        coarse = replace(
            self.settings,
            cost_tolerance=max(self.settings.cost_tolerance, _COST_TOLERANCE),
            trials=max(self.settings.trials, _TRIALS),
            jacobian="differences",
        )
        self.rough = RoughSquares(space, coarse, self._begin)
        self._phase = "steps"
        self._former = 0  # evaluations of the comparison of steps

    # --- results ---------------------------------------------------------------------------------

    @property
    def is_fine(self) -> bool:
        """Whether the search in double precision has begun, whose costs are exact."""
        return self._phase == "fine" and bool(np.isfinite(self.fine.cost))

    @property
    def _active(self) -> LeastSquares:
        return self.fine if self._phase == "fine" else self.rough

    @property
    def x(self) -> np.ndarray:
        """Best candidate so far ``(p,)``."""
        return self._active.x

    @property
    def cost(self) -> float:
        """Its cost; in single precision during the first search."""
        return self.fine.cost if self.is_fine else self.rough.cost

    @property
    def gram(self) -> np.ndarray | None:
        """``J' J`` ``(p, p)`` in search coordinates at the last linearisation of the CPU."""
        return self.fine.gram

    @property
    def evaluations(self) -> int:
        """Evaluated candidates of both searches."""
        return self._former + self.rough.evaluations + self.fine.evaluations

    @property
    def message(self) -> str:
        """Reason for the end of the search; '' while it runs."""
        if not self.fine.message:
            return ""
        single = self._former + self.rough.evaluations
        return f"{self.fine.message}, after {single} simulations in single precision"

    @property
    def history(self) -> list[dict[str, Any]]:
        """Records of the first search, then those of the second."""
        before = self._former + self.rough.evaluations
        return [
            *self.rough.history,
            *({**r, "evaluations": before + r["evaluations"]} for r in self.fine.history),
        ]

    # --- the protocol of a search ----------------------------------------------------------------

    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)``."""
        if self._phase != "steps":
            return self._active.ask()
        return np.vstack([self._near(STEP)[0], self._near(STEP / 2)[0][1:]])

    def _near(self, step: float) -> tuple[np.ndarray, np.ndarray]:
        flipped = np.zeros(self.space.size, bool)
        return difference_points(self.space, self._begin, step, True, flipped)

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> Any:
        """Answer of a batch for the active search, by the problem's quick form in the first."""
        if self._phase == "fine":
            return self.fine.evaluate(problem, X, failures)
        quick = problem.quick(len(X))
        if self._phase == "steps":
            return self._compared(quick, X, failures)
        return self.rough.evaluate(quick, X, failures)

    def _compared(self, problem: Problem, X: np.ndarray, failures: Failures) -> "_Comparison":
        """Relative change of each column of the Jacobian by half the step."""
        widths = [self._near(step)[1] for step in (STEP, STEP / 2)]
        half = len(X) // 2
        batches = [np.arange(half + 1), np.r_[0, half + 1 : len(X)]]
        p = self.space.size
        costs, apart, size = np.zeros(len(X)), np.zeros(p), np.zeros(p)
        for rows, values in problem.residual_blocks(X, failures):
            plain = rows.start >= problem.data_rows
            loss = Loss() if plain else self.fine.loss
            costs += loss.costs(values, problem.weights_of(rows))
            acting = problem.acting_on(rows)
            columns = np.arange(p) if acting is None else np.flatnonzero(acting)
            wide, narrow = (
                difference_jacobian(values[batch], steps, True, self.space, columns)
                for batch, steps in zip(batches, widths, strict=True)
            )
            apart[columns] += np.square(wide - narrow).sum(axis=1)
            size[columns] += np.square(narrow).sum(axis=1)
        change = np.sqrt(apart / np.where(size > 0, size, 1.0))
        for batch in batches:
            own = {place: "" for place, row in enumerate(batch) if int(row) in failures}
            # a step that fails is too long, like one over which the residual is curved
            change[failed_elements(self.space, own)] = np.inf
        costs[list(failures)] = np.inf
        return _Comparison(costs, change)

    def costs_of(self, answer: Any) -> np.ndarray:
        """Costs ``(n,)`` in an answer of :meth:`evaluate`."""
        return answer.costs if isinstance(answer, _Comparison) else self.fine.costs_of(answer)

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Process the answer for the batch of :meth:`ask`."""
        if self._phase == "steps":
            self._former = len(X)
            self.rough.steps[answer.change > _AGREEMENT] *= _CURVED
            self._phase = "rough"
            return
        self._active.tell(X, answer, failures)
        if self._phase == "rough" and self.rough.done() is not None:
            self._phase = "fine"
            if self.rough.status is not Status.START_FAILED:
                self.fine.x = self.rough.x.copy()

    def done(self) -> Status | None:
        """Final status of the search, or None while it runs."""
        return self.fine.done()

    def state(self) -> dict[str, Any]:
        """State for :meth:`from_state`: plain numbers and arrays."""
        return {
            "version": STATE_VERSION,
            "settings": asdict(self.settings),
            "begin": self._begin.copy(),
            "phase": self._phase,
            "former": self._former,
            "steps": self.rough.steps.copy(),
            "rough": self.rough.state(),
            "fine": self.fine.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], space: Space) -> "DeviceFirst":
        """Continue from :meth:`state`; identical where the device computes identically.

        Raises:
          FitError: the state was saved by another version of this search.
        """
        require_version(state, STATE_VERSION, "least-squares search on a device")
        begin = np.array(state["begin"], float)
        search = cls(space, LeastSquaresSettings(**state["settings"]), begin)
        search._phase, search._former = str(state["phase"]), int(state["former"])
        rough = RoughSquares.from_state(state["rough"], space)
        assert isinstance(rough, RoughSquares)
        rough.steps = np.array(state["steps"], float)
        search.rough = rough
        search.fine = LeastSquares.from_state(state["fine"], space)
        return search
