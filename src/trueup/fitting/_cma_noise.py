"""Uncertainty of a noisy cost: measured by rank changes, treated by averaging and wider steps."""

from typing import Any

import numpy as np

_THETA = 0.5  # share of a random rank change that is tolerated
_SMOOTHING = 0.3
_VARIANCE_SMOOTHING = 0.1
_REEVALUATED = 2
_REEVALUATED_SHARE = 0.1


class NoiseTreatment:
    """How often a candidate is evaluated, and by how much steps grow, where costs are noisy.

    Part of each generation is evaluated a second time. Where that changes its ranks by more than
    ranks change without noise, candidates are evaluated more often and averaged; once that is at
    its limit, the steps grow instead.

    Hansen, Niederberger, Guzzella and Koumoutsakos, "A method for handling uncertainty in
    evolutionary optimization with an application to feedback control of combustion", IEEE
    Transactions on Evolutionary Computation 13(1), 2009: uncertainty measurement and treatment,
    with the tolerance and smoothing that ``cma`` uses since.

    Args:
      size: number of elements.
      max_repeats: evaluations of a candidate at most.
    """

    def __init__(self, size: int, max_repeats: int):
        self.max_repeats = max_repeats
        self.growth = 1.0 + 2.0 / (size + 10.0)
        self.level = 0.0
        """Smoothed measure; positive where noise rules the ranking."""
        self.wanted = 1.0
        self.variance = np.nan
        """Variance of one evaluation, NaN before it is known."""

    @property
    def repeats(self) -> int:
        """Evaluations of each candidate of the next generation."""
        return max(int(self.wanted), 1)

    def reevaluated(self, population: int) -> int:
        """How many candidates of a generation, the first ones, are evaluated a second time."""
        return min(_REEVALUATED + int(_REEVALUATED_SHARE * population), population)

    def measure(self, first: np.ndarray, second: np.ndarray, repeats: int) -> float:
        """Take a generation's costs ``(n,)`` and second costs ``(m,)`` of its first candidates.

        Both are means of ``repeats`` evaluations.

        Returns:
          Factor by which the steps have to grow.
        """
        count = len(second)
        variance = 0.5 * repeats * float(np.mean((second - first[:count]) ** 2))
        if np.isnan(self.variance):
            self.variance = variance
        self.variance += _VARIANCE_SMOOTHING * (variance - self.variance)
        change = rank_change(first, second)
        self.level += _SMOOTHING * (change - self.level)
        if self.level <= 0.0:
            self.wanted = max(self.wanted * self.growth**-0.25, 1.0)
            return 1.0
        if self.wanted < self.max_repeats:
            self.wanted = min(self.wanted * self.growth, float(self.max_repeats))
            return 1.0
        return self.growth

    def state(self) -> dict[str, Any]:
        """Plain numbers to go on from."""
        return {"level": self.level, "wanted": self.wanted, "variance": self.variance}

    def take_state(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`."""
        self.level, self.wanted = float(state["level"]), float(state["wanted"])
        self.variance = float(state["variance"])


def rank_change(first: np.ndarray, second: np.ndarray) -> float:
    """Mean rank change beyond what is tolerated; negative where ranks hardly change.

    Args:
      first: costs of all candidates ``(n,)``.
      second: costs of the first ``m`` of them, evaluated again ``(m,)``.
    """
    size, count = len(first), len(second)
    both = np.concatenate([first, second, first[count:]])
    ranks = np.argsort(np.argsort(both, kind="stable"), kind="stable").reshape(2, size)
    before, after = ranks[0, :count], ranks[1, :count]
    change = np.abs(before - after - np.sign(before - after))
    # a rank among the others only, counted from 1
    places = np.stack([before + 1 - (before > after), after + 1 - (after > before)])
    others = np.arange(1, 2 * size)
    reach = np.percentile(np.abs(others - places[..., None]), 50 * _THETA, axis=-1)
    return float(np.mean(change - np.maximum(reach.mean(axis=0), 1.0)))
