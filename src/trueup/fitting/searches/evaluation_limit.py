"""A number of evaluations that a search does not pass, not even with its last batch."""

from typing import Any

import numpy as np

from trueup.errors import FitError

_NEAR = 16
"""Batches of the largest size so far, within which the limit counts as near."""


class EvaluationLimit:
    """Batches of a search as far as they stay within a number of evaluations.

    A batch that would pass the limit is not evaluated. :attr:`state` is then the search as it was
    before it was asked, so that it goes on under a higher limit as if there had been none.

    Args:
      most: evaluations at most; None for any number.
    """

    def __init__(self, most: int | None):
        self.most = most
        self.state: dict[str, Any] | None = None
        """State of the search before the batch that was refused; None where none was."""
        self._largest = 0

    def ask(self, search: Any, used: int) -> np.ndarray | None:
        """The next batch ``(n, p)``; None where it would pass the limit.

        Args:
          search: the search; one whose state can be saved, for :attr:`state`. One that takes
            batches of any size offers ``ask_at_most(n)``, and uses the limit up.
          used: evaluations so far.

        Raises:
          FitError: the limit is below the first batch, so that nothing could be evaluated.
        """
        if self.most is None:
            return search.ask()
        left = self.most - used
        if used and left <= 0:
            return None
        if hasattr(search, "ask_at_most"):
            return search.ask_at_most(left)
        near = left <= _NEAR * max(1, self._largest)
        state = search.state() if near and hasattr(search, "state") else None
        batch = search.ask()
        self._largest = max(self._largest, len(batch))
        if len(batch) <= left:
            return batch
        if used == 0:
            raise FitError(
                f"{self.most} evaluations are allowed, and the first batch of this search has "
                f"{len(batch)} candidates: allow at least as many"
            )
        self.state = state
        return None

    def message(self, used: int, cost: float) -> str:
        """Why the search ended, in words."""
        return f"{used} of {self.most} evaluations: cost {cost:.6g}"
