"""The best candidate of a noisy cost, judged by evaluations that did not choose it."""

from typing import Any

import numpy as np

_FEWEST, _PATIENCE = 3, 10  # evaluations before a challenger is judged
_CLEAR = 3.0  # standard errors by which it is judged at once


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
