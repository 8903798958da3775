"""Noisy costs: their uncertainty, its treatment, and the best candidate in spite of it."""

from typing import Any

import numpy as np

_THETA = 0.5  # share of a random rank change that is tolerated
_SMOOTHING = 0.3
_VARIANCE_SMOOTHING = 0.1
_REEVALUATED = 2
_REEVALUATED_SHARE = 0.1
_FEWEST, _PATIENCE = 3, 10  # evaluations before a challenger is judged
_CLEAR = 3.0  # standard errors by which it is judged at once


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


class Contender:
    """A candidate and its fresh evaluations: those made after it was chosen.

    The cost that made a candidate the best of its generation is a lucky draw more often than not,
    so it does not count.

    Args:
      x: the candidate ``(p,)``.
      expected: cost to go by before the first fresh evaluation.
    """

    def __init__(self, x: np.ndarray, expected: float = np.inf):
        self.x, self.expected = x.copy(), expected
        self.total, self.count = 0.0, 0

    @property
    def cost(self) -> float:
        """Mean of the fresh evaluations."""
        return self.total / self.count if self.count else self.expected

    def take(self, costs: np.ndarray) -> None:
        """Take fresh evaluations ``(n,)``."""
        self.total += float(np.sum(costs))
        self.count += len(costs)

    def state(self) -> dict[str, Any]:
        """Plain values to go on from."""
        numbers = {"expected": self.expected, "total": self.total, "count": self.count}
        return {"x": self.x.copy(), **numbers}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Contender":
        """Go on from :meth:`state`."""
        out = cls(np.array(state["x"], float), float(state["expected"]))
        out.total, out.count = float(state["total"]), int(state["count"])
        return out


class Contenders:
    """An incumbent and its challenger, both evaluated again in every generation."""

    def __init__(self) -> None:
        self.incumbent: Contender | None = None
        self.challenger: Contender | None = None

    def to_evaluate(self) -> list[Contender]:
        """Those that the next generation evaluates again."""
        return [c for c in (self.incumbent, self.challenger) if c is not None]

    def propose(self, x: np.ndarray, expected: float) -> None:
        """Make a candidate the challenger, unless one is being judged.

        Args:
          x: the candidate ``(p,)``.
          expected: its cost so far.
        """
        if self.incumbent is None:
            self.incumbent = Contender(x, expected)
        elif self.challenger is None and not np.array_equal(x, self.incumbent.x):
            self.challenger = Contender(x)

    def settle(self, variance: float) -> None:
        """Replace the incumbent by a better challenger, drop a worse one, or wait.

        Args:
          variance: of one evaluation; NaN where it is not known, and only many decide.
        """
        old, new = self.incumbent, self.challenger
        if old is None or new is None or not (new.count and old.count):
            return
        gap = new.cost - old.cost
        variance = np.inf if np.isnan(variance) else max(variance, 0.0)
        error = np.sqrt(variance * (1.0 / new.count + 1.0 / old.count))
        enough = new.count >= _FEWEST or abs(gap) > _CLEAR * error
        if enough and (abs(gap) > error or new.count >= _PATIENCE):
            if gap < 0:
                self.incumbent = new
            self.challenger = None

    def settle_finally(self) -> None:
        """Keep the one with the lower mean."""
        there = self.to_evaluate()
        self.incumbent = min(there, key=lambda one: one.cost) if there else None
        self.challenger = None

    def drop_invalid(self, contender: Contender) -> None:
        """Forget a contender that turned out to be invalid."""
        if contender is self.challenger:
            self.challenger = None
        elif contender is self.incumbent:
            self.incumbent, self.challenger = self.challenger, None

    def state(self) -> dict[str, Any]:
        """Plain values to go on from."""
        return {
            name: None if one is None else one.state()
            for name, one in (("incumbent", self.incumbent), ("challenger", self.challenger))
        }

    def take_state(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`."""
        made = {k: None if v is None else Contender.from_state(v) for k, v in state.items()}
        self.incumbent, self.challenger = made["incumbent"], made["challenger"]
