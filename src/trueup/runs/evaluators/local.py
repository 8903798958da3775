"""Evaluation in this process, for a problem that evaluates batches on all cores."""

import contextlib
from collections.abc import Iterator
from typing import Any


class LocalEvaluator:
    """Evaluate in this process: the whole population in one call."""

    @contextlib.contextmanager
    def over(self, problem: Any) -> Iterator[Any]:
        """The problem itself."""
        yield problem
