"""Noisy costs: uncertainty measurement and treatment, and selection of the best candidate."""

from typing import Any

import numpy as np

_THETA = 0.5  # tolerated share of a random rank change
_SMOOTHING = 0.3
_VARIANCE_SMOOTHING = 0.1
_REEVALUATED = 2
_REEVALUATED_SHARE = 0.1
_FEWEST, _PATIENCE = 3, 10  # evaluations before a decision on a challenger
_CLEAR = 3.0  # difference in standard errors for an immediate decision


class NoiseTreatment:
    """Number of evaluations of a candidate, and increase of the step size, for noisy costs.

    Part of each generation is reevaluated. If the ranks change by more than the tolerance,
    candidates are evaluated more often and averaged; once that is at its limit, the step size is
    increased instead.

    Hansen, Niederberger, Guzzella and Koumoutsakos, "A method for handling uncertainty in
    evolutionary optimization with an application to feedback control of combustion", IEEE
    Transactions on Evolutionary Computation 13(1), 2009: uncertainty measurement and treatment,
    with the tolerance and smoothing that ``cma`` uses since.

    Args:
      size: number of elements.
      max_repeats: maximum number of evaluations of a candidate.
    """

    def __init__(self, size: int, max_repeats: int):
        self.max_repeats = max_repeats
        self.growth = 1.0 + 2.0 / (size + 10.0)
        self.level = 0.0
        """Smoothed uncertainty measure; positive if noise dominates the ranking."""
        self.wanted = 1.0
        self.variance = np.nan
        """Variance of one evaluation, NaN before its first estimate."""

    @property
    def repeats(self) -> int:
        """Evaluations of each candidate of the next generation."""
        return max(int(self.wanted), 1)

    def reevaluated(self, population: int) -> int:
        """Number of candidates of a generation, the first ones, to reevaluate."""
        return min(_REEVALUATED + int(_REEVALUATED_SHARE * population), population)

    def measure(self, first: np.ndarray, second: np.ndarray, repeats: int) -> float:
        """Process the costs ``(n,)`` of a generation and the reevaluated ones ``(m,)``.

        Both are means of ``repeats`` evaluations.

        Returns:
          Factor on the step size.
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
        """State for :meth:`take_state`, as plain numbers."""
        return {"level": self.level, "wanted": self.wanted, "variance": self.variance}

    def take_state(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`."""
        self.level, self.wanted = float(state["level"]), float(state["wanted"])
        self.variance = float(state["variance"])


def rank_change(first: np.ndarray, second: np.ndarray) -> float:
    """Mean rank change less the tolerance; negative for small rank changes.

    Args:
      first: costs of all candidates ``(n,)``.
      second: reevaluated costs of the first ``m`` of them ``(m,)``.
    """
    size, count = len(first), len(second)
    both = np.concatenate([first, second, first[count:]])
    ranks = np.argsort(np.argsort(both, kind="stable"), kind="stable").reshape(2, size)
    before, after = ranks[0, :count], ranks[1, :count]
    change = np.abs(before - after - np.sign(before - after))
    # rank among the others only, counted from 1
    places = np.stack([before + 1 - (before > after), after + 1 - (after > before)])
    others = np.arange(1, 2 * size)
    reach = np.percentile(np.abs(others - places[..., None]), 50 * _THETA, axis=-1)
    return float(np.mean(change - np.maximum(reach.mean(axis=0), 1.0)))


class Contender:
    """A candidate and its reevaluations, made after it was selected.

    The cost for which a candidate was selected is biased towards low values, so it is excluded.

    Args:
      x: the candidate ``(p,)``.
      expected: cost used before the first reevaluation.
    """

    def __init__(self, x: np.ndarray, expected: float = np.inf):
        self.x, self.expected = x.copy(), expected
        self.total, self.count = 0.0, 0

    @property
    def cost(self) -> float:
        """Mean of the reevaluations."""
        return self.total / self.count if self.count else self.expected

    def take(self, costs: np.ndarray) -> None:
        """Add reevaluations ``(n,)``."""
        self.total += float(np.sum(costs))
        self.count += len(costs)

    def state(self) -> dict[str, Any]:
        """Plain values to resume from."""
        numbers = {"expected": self.expected, "total": self.total, "count": self.count}
        return {"x": self.x.copy(), **numbers}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Contender":
        """Go on from :meth:`state`."""
        out = cls(np.array(state["x"], float), float(state["expected"]))
        out.total, out.count = float(state["total"]), int(state["count"])
        return out


class Contenders:
    """An incumbent and its challenger, both reevaluated in every generation."""

    def __init__(self) -> None:
        self.incumbent: Contender | None = None
        self.challenger: Contender | None = None

    def to_evaluate(self) -> list[Contender]:
        """Contenders to reevaluate with the next generation."""
        return [c for c in (self.incumbent, self.challenger) if c is not None]

    def propose(self, x: np.ndarray, expected: float) -> None:
        """Make a candidate the challenger, unless one is being evaluated.

        Args:
          x: the candidate ``(p,)``.
          expected: its current cost.
        """
        if self.incumbent is None:
            self.incumbent = Contender(x, expected)
        elif self.challenger is None and not np.array_equal(x, self.incumbent.x):
            self.challenger = Contender(x)

    def settle(self, variance: float) -> None:
        """Replace the incumbent by a better challenger, drop a worse one, or wait.

        Args:
          variance: of one evaluation; NaN if unknown, which requires more evaluations.
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
        """Keep the contender with the lower mean."""
        there = self.to_evaluate()
        self.incumbent = min(there, key=lambda one: one.cost) if there else None
        self.challenger = None

    def drop_invalid(self, contender: Contender) -> None:
        """Remove an invalid contender."""
        if contender is self.challenger:
            self.challenger = None
        elif contender is self.incumbent:
            self.incumbent, self.challenger = self.challenger, None

    def state(self) -> dict[str, Any]:
        """Plain values to resume from."""
        return {
            name: None if one is None else one.state()
            for name, one in (("incumbent", self.incumbent), ("challenger", self.challenger))
        }

    def take_state(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`."""
        made = {k: None if v is None else Contender.from_state(v) for k, v in state.items()}
        self.incumbent, self.challenger = made["incumbent"], made["challenger"]
