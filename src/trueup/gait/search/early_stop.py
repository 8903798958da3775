"""Early stop of the walks of candidates that cannot be among the best.

Costs are not negative. So the cost of the finished repeats or scenarios of a candidate is a lower
bound of its cost, and where it exceeds a limit the remaining walks are stopped. The limit is fixed
before each generation. The cost of a stopped candidate is as if all its walks had fallen at that
moment and not started in later scenarios: it is above the limit, so the order relative to all
candidates below it is correct, and among stopped candidates a longer walk has a lower cost. The
costs of all others are unchanged, bit for bit. A single walk gains nothing, as its fall
ends it in any case.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from trueup.errors import GaitError
from trueup.fitting import CmaEs
from trueup.fitting.problem import Failures, Problem
from trueup.gait.walk.perturbations import Perturbations
from trueup.gait.walk.records import End, WalkRecords


class EarlyStop:
    """Criterion for stopping walks of a scenario.

    Args:
      costs: cost function of records of ended walks.
      cannot_start: cost of a walk that cannot start.
      bound: cost above which a candidate cannot be among the best.
      known: summed costs of each candidate in the previous scenarios ``(n,)``.
      scenarios: number of scenarios in the mean cost.
      perturbations: repeats of each candidate.
    """

    def __init__(
        self,
        costs: Callable[[WalkRecords], np.ndarray],
        cannot_start: float,
        bound: float,
        known: np.ndarray,
        scenarios: int,
        perturbations: Perturbations | None = None,
    ):
        self.costs = costs
        self.cannot_start = cannot_start
        self.bound = bound
        self.known = known
        self.scenarios = scenarios
        self.perturbations = perturbations
        repeats = 1 if perturbations is None else perturbations.repeats
        self._repeats = repeats
        self._rows = np.full(len(known) * repeats, np.nan)

    def least(self, records: WalkRecords) -> np.ndarray:
        """Lower bounds on the costs of candidates ``(n,)``, with walks in progress."""
        self._rows[list(records.invalid)] = self.cannot_start
        ended = (records.ended != End.running) & (records.ended != End.stopped)
        new = np.flatnonzero(ended & np.isnan(self._rows))
        if len(new):
            parts = {name: getattr(records, name)[new] for name in ("frames", "length", "ended")}
            self._rows[new] = self.costs(replace(records, **parts, invalid={}))
        rows = np.nan_to_num(self._rows, nan=0.0)
        rows = rows if self.perturbations is None else self.perturbations.together(rows)
        return (self.known + rows) / self.scenarios

    def stopped(self, records: WalkRecords) -> np.ndarray:
        """Whether each row of the records is stopped ``(rows,)`` bool."""
        return np.repeat(self.least(records) > self.bound, self._repeats)


class EarlyStoppingCmaEs(CmaEs):
    """CMA-ES with early stop of candidates that cannot be among the better half.

    The bound is the median cost of the previous generation; on resume it is in the history.
    """

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> np.ndarray:
        """Costs ``(n, 1)`` of candidates.

        Raises:
          GaitError: the problem is evaluated in other processes, or is not a gait problem.
        """
        if not hasattr(problem, "bound"):
            raise GaitError(
                "early_stop requires a gait problem evaluated in this process: remove "
                "early_stop or the workers"
            )
        former: Any = self.history[-1]["generation_median"] if self.history else None
        problem.bound = np.inf if former is None else float(former)  # pyright: ignore[reportAttributeAccessIssue]
        try:
            return super().evaluate(problem, X, failures)
        finally:
            problem.bound = np.inf  # pyright: ignore[reportAttributeAccessIssue]
