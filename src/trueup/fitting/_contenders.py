"""The best candidate of a noisy cost, judged by evaluations that did not choose it."""

from typing import Any

import numpy as np

_MAX_COUNT = 100
_PATIENCE = 10


class Contender:
    """A candidate and its fresh evaluations: those made after it was chosen.

    The cost that made a candidate the best of its generation is a lucky draw more often than not,
    so it does not count.

    Args:
      x: the candidate ``(p,)``.
    """

    def __init__(self, x: np.ndarray):
        self.x = x.copy()
        self.total, self.count = 0.0, 0

    @property
    def cost(self) -> float:
        """Mean of the fresh evaluations; infinite before the first."""
        return self.total / self.count if self.count else np.inf

    def take(self, costs: np.ndarray) -> None:
        """Take fresh evaluations ``(n,)``."""
        self.total += float(np.sum(costs))
        self.count += len(costs)

    def state(self) -> dict[str, Any]:
        """Plain values to go on from."""
        return {"x": self.x.copy(), "total": self.total, "count": self.count}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Contender":
        """Go on from :meth:`state`."""
        out = cls(np.array(state["x"], float))
        out.total, out.count = float(state["total"]), int(state["count"])
        return out


class Contenders:
    """An incumbent and its challenger, both evaluated again in every generation."""

    def __init__(self) -> None:
        self.incumbent: Contender | None = None
        self.challenger: Contender | None = None

    def to_evaluate(self) -> list[Contender]:
        """Those that the next generation evaluates again."""
        there = [c for c in (self.incumbent, self.challenger) if c is not None]
        return [c for c in there if c.count < _MAX_COUNT]

    def propose(self, x: np.ndarray) -> None:
        """Make a candidate the challenger, unless one is being judged."""
        if self.incumbent is None:
            self.incumbent = Contender(x)
        elif self.challenger is None and not np.array_equal(x, self.incumbent.x):
            self.challenger = Contender(x)

    def settle(self, variance: float, now: bool = False) -> None:
        """Replace the incumbent by a better challenger, drop a worse one, or wait.

        Args:
          variance: of one evaluation.
          now: decide by what is known.
        """
        old, new = self.incumbent, self.challenger
        if old is None or new is None or not ((new.count and old.count) or now):
            return
        gap = new.cost - old.cost
        error = np.sqrt(max(variance, 0.0) * (1.0 / max(new.count, 1) + 1.0 / max(old.count, 1)))
        if abs(gap) > error or new.count >= _PATIENCE or now:
            if gap < 0:
                self.incumbent = new
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
