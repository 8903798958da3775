"""Candidates that cannot be among the best are not walked to their end.

No walk costs less than nothing. So as soon as one of a candidate's perturbed repeats or scenarios
has fallen, and costs what it costs, what the candidate costs at least is known, and where that
exceeds a bound the rest of its walks are stopped. The bound is fixed before a generation is walked.
A stopped candidate is judged as if all its walks had fallen at that moment, and not begun in
scenarios that follow: that is more than the bound, so it stays behind every candidate below it, and
among those stopped the one that lasted longer is the better. All others cost, bit for bit, what
they would have cost. A single walk gains nothing: its fall ends it in any case.
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
    """Decides which walks of a scenario are stopped.

    Args:
      costs: costs of records whose walks have ended.
      cannot_start: cost of a walk that cannot start.
      bound: cost above which a candidate cannot be among the best.
      known: summed costs of each candidate in the scenarios before ``(n,)``.
      scenarios: how many scenarios a cost is the mean of.
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
        """Lower bounds on the costs of candidates ``(n,)`` whose walks may be in progress."""
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
        """Rows of the records that are stopped ``(rows,)`` bool."""
        return np.repeat(self.least(records) > self.bound, self._repeats)


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
