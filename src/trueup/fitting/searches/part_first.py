"""Least squares of the first part of each recording, then of all of it with few simulations.

A quarter of the recordings costs a quarter of the simulations, and its optimum is mostly a few
standard errors from that of the whole, where steps with one stored Jacobian suffice
(:mod:`trueup.fitting.searches.stored_jacobian`). Wherever that does not hold, the usual search
begins at the best point so far.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from trueup.fitting.linearisation import fits_in_memory
from trueup.fitting.problem import Failures, Problem
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.searches.stored_jacobian import StoredJacobian
from trueup.fitting.solution import Status

SHARE = 0.25
"""First share of each recording."""

_ROWS = 20  # of residuals per unknown, at least, in the part
_OFFSET = 0.1  # share of an excess of one standard error in each element, which ends the first fit
_COLLINEAR = 1e-8  # eigenvalue of the scaled J'J below which elements are not determined


class PartFirst:
    """Least squares in up to three phases; its interface is that of a search.

    Args:
      problem: the problem, with residuals.
      part: the same problem with the first :data:`SHARE` of each recording.
      settings: settings of the usual search.
      start_cost: cost of the start values.
    """

    def __init__(
        self,
        problem: Problem,
        part: Problem,
        settings: LeastSquaresSettings,
        start_cost: float,
    ):
        self.space = problem.space
        self.settings = settings
        self.start_cost = start_cost
        excess = _OFFSET * self.space.size / part.residual_size
        self._part = part
        self._first = LeastSquares(
            self.space, replace(settings, cost_tolerance=max(settings.cost_tolerance, excess))
        )
        self._near: StoredJacobian | None = None
        self._whole: LeastSquares | None = None

    # --- results ---------------------------------------------------------------------------------

    @property
    def _active(self) -> Any:
        return self._whole or self._near or self._first

    @property
    def x(self) -> np.ndarray:
        """Best candidate so far by the whole recordings ``(p,)``."""
        return self.space.start if self._active is self._first else self._active.x

    @property
    def cost(self) -> float:
        """Its cost."""
        return self.start_cost if self._active is self._first else self._active.cost

    @property
    def evaluations(self) -> int:
        """Evaluated candidates; those of the part count by its share."""
        return self._before + sum(s.evaluations for s in (self._near, self._whole) if s)

    @property
    def _before(self) -> int:
        return int(np.ceil(SHARE * self._first.evaluations))

    @property
    def message(self) -> str:
        """Reason for the end of the search; '' while it runs."""
        if self.done() is None:
            return ""
        message = self._active.message.partition(" (")[0]
        iterations = self.history[-1]["iteration"]
        steps = "1 iteration" if iterations == 1 else f"{iterations} iterations"
        return f"{message} ({steps}, {self.evaluations} simulations)"

    @property
    def history(self) -> list[dict[str, Any]]:
        """Records of the steps on the whole recordings, the first of them the part's."""
        near = self._near
        records: list[dict[str, Any]] = []
        if near is not None and near.residual is not None:
            records = [
                {
                    "iteration": 0,
                    "cost": self.start_cost,
                    "reduction": self.start_cost - near.begin_cost,
                    "mu": 0.0,
                    "ratio": 0.0,
                    "step": 0.0,
                    "evaluations": 0,
                    "x": self.space.start.tolist(),
                }
            ]
        evaluations = self._before
        for search in (near, self._whole):
            if search is None:
                continue
            first = len(records)
            for record in search.history:  # none of a search that found no better point
                own = {"iteration": first + record["iteration"]}
                own["evaluations"] = evaluations + record["evaluations"]
                records.append({**record, **own})
            evaluations += search.evaluations
        return records

    @property
    def linear(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Residual ``(m,)`` and Jacobian ``(m, p)`` at the optimum, in search coordinates, if the
        search ended with a stored one."""
        near = self._near
        if self._whole is not None or near is None or near.done() is None:
            return None
        assert near.residual is not None and near.jacobian is not None
        return near.residual, near.jacobian

    # --- the protocol of a search ----------------------------------------------------------------

    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)``."""
        return self._active.ask()

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> Any:
        """Answer of a batch for the active search, by the part in the first phase."""
        search = self._active
        return search.evaluate(self._part if search is self._first else problem, X, failures)

    def costs_of(self, answer: Any) -> np.ndarray:
        """Costs in an answer of :meth:`evaluate`."""
        return self._active.costs_of(answer)

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Process the answer for the batch of :meth:`ask`."""
        self._active.tell(X, answer, failures)
        if self._whole is not None:
            return
        if self._near is not None:
            if self._near.done() is Status.STALLED:
                is_better = self._near.residual is not None
                begin = self._near.x if is_better else self.space.start
                self._whole = LeastSquares(self.space, self.settings, begin)
            return
        status = self._first.done()
        if status is None:
            return
        if status.success and self._is_determined():
            self._near = StoredJacobian(
                self.space, self._first.x, self.settings.cost_tolerance, self.start_cost
            )
        else:
            self._whole = LeastSquares(self.space, self.settings)

    def done(self) -> Status | None:
        """Final status of the search, or None while it runs."""
        if self._whole is not None:
            return self._whole.done()
        near = self._near.done() if self._near is not None else None
        return near if near is not Status.STALLED else None

    def _is_determined(self) -> bool:
        """Whether the part determines every element, up to rounding."""
        gram = self._first.gram
        if gram is None or not np.all(np.diag(gram) > 0):
            return False
        size = np.sqrt(np.diag(gram))
        smallest = np.linalg.eigvalsh(gram / np.outer(size, size))[0]
        return bool(smallest > _COLLINEAR)


def part_first(
    problem: Problem, settings: LeastSquaresSettings, start_cost: float
) -> PartFirst | None:
    """Search that fits a part of the recordings first; None where that does not apply.

    It needs recordings that can be shortened, enough rows in the part, a squared loss and the
    default steps and scales.

    Args:
      problem: the problem, with residuals.
      settings: settings of the usual search.
      start_cost: cost of the start values.
    """
    plain = LeastSquaresSettings(cost_tolerance=settings.cost_tolerance, trials=settings.trials)
    if settings != plain or not fits_in_memory(problem):
        return None
    part = problem.part(SHARE)
    if part is None or part.residual_size < _ROWS * problem.space.size:
        return None
    return PartFirst(problem, part, settings, start_cost)
