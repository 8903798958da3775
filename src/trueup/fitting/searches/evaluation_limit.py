"""Limit on the number of evaluations of a search, including its last batch."""

from typing import Any

import numpy as np

from trueup.errors import FitError

_NEAR = 16
"""Number of batches of the largest size within which the limit counts as near."""


class EvaluationLimit:
    """Batches of a search within a limited number of evaluations.

    A batch that would exceed the limit is not evaluated. :attr:`state` is then the state of the
    search before that batch, so that it resumes under a higher limit without a trace of this one.

    Args:
      most: maximum number of evaluations; None: no limit.
    """

    def __init__(self, most: int | None):
        self.most = most
        self.state: dict[str, Any] | None = None
        """State of the search before the batch that exceeded the limit; None if none did."""
        self._largest = 0

    def ask(self, search: Any, used: int) -> np.ndarray | None:
        """The next batch ``(n, p)``; None if it would exceed the limit.

        Args:
          search: the search; its state must be saveable for :attr:`state`. A search with batches
            of any size has ``ask_at_most(n)``, and uses the limit exactly.
          used: evaluations so far.

        Raises:
          FitError: the limit is below the size of the first batch.
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
                f"the limit of {self.most} evaluations is below the first batch of this search, "
                f"{len(batch)} candidates: increase the limit"
            )
        self.state = state
        return None

    def message(self, used: int, cost: float) -> str:
        """Message of a search that ended at the limit."""
        return f"{used} of {self.most} evaluations: cost {cost:.6g}"
