"""Candidates that cannot be among the best are not walked to their end.

No walk costs less than its stages (:meth:`WalkObjective.stage_costs`), and none less than nothing.
So as soon as one of a candidate's perturbed repeats or scenarios has fallen, what the candidate
costs at least is known, and where that exceeds a bound the rest of its walks are stopped. The bound
is fixed before a generation is walked. A stopped candidate is judged as if all its walks had fallen
at that moment, and not begun in scenarios that follow: that is more than the bound, so it stays
behind every candidate below it, and among those stopped the one that lasted longer is the better.
All others cost, bit for bit, what they would have cost. A single walk gains nothing: its fall ends
it in any case.
"""

from typing import Any

import numpy as np

from trueup.errors import GaitError
from trueup.fitting import CmaEs
from trueup.fitting.problem import Failures, Problem
from trueup.gait.costs import WalkObjective
from trueup.gait.perturbations import Perturbations
from trueup.gait.walk_records import WalkRecords


class EarlyStop:
    """Tells which walks of a scenario need not go on.

    Args:
      objective: what walks are judged by.
      bound: cost above which a candidate cannot be among the best.
      known: summed costs of each candidate in the scenarios before ``(n,)``.
      scenarios: how many scenarios a cost is the mean of.
      duration: how long walks are to last [s].
      perturbations: repeats of each candidate.
    """

    def __init__(
        self,
        objective: WalkObjective,
        bound: float,
        known: np.ndarray,
        scenarios: int,
        duration: float,
        perturbations: Perturbations | None = None,
    ):
        self.objective = objective
        self.bound = bound
        self.known = known
        self.scenarios = scenarios
        self.duration = duration
        self.perturbations = perturbations

    def least(self, records: WalkRecords) -> np.ndarray:
        """What each candidate costs at least ``(n,)``, of walks that may be in progress."""
        rows = np.zeros(len(records.length))
        ended = np.flatnonzero(records.ended)
        stages, _ = self.objective.stage_costs(
            records.length[ended] * records.period, records.walked[ended], self.duration
        )
        rows[ended] = stages
        rows[list(records.invalid)] = self.objective.cannot_start
        rows = rows if self.perturbations is None else self.perturbations.together(rows)
        return (self.known + rows) / self.scenarios

    def stopped(self, records: WalkRecords) -> np.ndarray:
        """Rows of the records that need not go on ``(rows,)`` bool."""
        beyond = self.least(records) > self.bound
        repeats = len(records.length) // len(beyond)
        return np.repeat(beyond, repeats)


class EarlyStoppingCmaEs(CmaEs):
    """CMA-ES that stops the walks of candidates that cannot be among the better half.

    The bound is the median cost of the generation before; a resumed search has it from its history.
    """

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> np.ndarray:
        """Costs ``(n, 1)`` of candidates.

        Raises:
          GaitError: the problem is evaluated in other processes, or is none of walks.
        """
        if not hasattr(problem, "bound"):
            raise GaitError(
                "an early stop needs a gait problem that is evaluated in this process: leave "
                "early_stop or the workers out"
            )
        former: Any = self.history[-1]["generation_median"] if self.history else None
        problem.bound = np.inf if former is None else float(former)  # pyright: ignore[reportAttributeAccessIssue]
        try:
            return super().evaluate(problem, X, failures)
        finally:
            problem.bound = np.inf  # pyright: ignore[reportAttributeAccessIssue]
