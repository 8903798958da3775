"""Proxy of a problem with answers computed by workers."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from trueup.fitting.problem import Failures, Problem
from trueup.runs.evaluators.answers import (
    Outcome,
    merge_blocks,
    merge_costs,
    merge_failures,
)
from trueup.runs.evaluators.chunks import Chunks


class Workers(Protocol):
    """Processes that hold a problem and evaluate chunks of candidates."""

    chunks: Chunks

    @property
    def count(self) -> int:
        """Current number of workers."""
        ...

    def evaluate(self, kind: str, X: np.ndarray, rows: list[slice]) -> list[Outcome]:
        """Evaluate slices of a batch; the outcomes cover it, in any order and division.

        Args:
          kind: ``"costs"`` or ``"residuals"``.
          X: candidates ``(n, p)``.
          rows: slices of the batch, each of them a chunk.

        Raises:
          EvaluationError: the workers are permanently lost.
        """
        ...


class RemoteProblem(Problem):
    """Proxy of a problem for a search, of :meth:`Evaluator.over`.

    All other attributes are those of the problem itself.

    Args:
      problem: the problem.
      workers: the workers, which hold a copy of it.
    """

    def __init__(self, problem: Any, workers: Workers):
        self._problem = problem
        self._workers = workers
        self.space = problem.space
        self.groups = getattr(problem, "groups", ())
        self.data_rows = getattr(problem, "data_rows", 0)
        self.objectives = tuple(getattr(problem, "objectives", ("cost",)))
        self.noisy = bool(getattr(problem, "noisy", False))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._problem, name)

    @property
    def has_residuals(self) -> bool:
        """Whether least-squares searches support the problem."""
        there = hasattr(self._problem, "residual_blocks")
        return bool(getattr(self._problem, "has_residuals", there))

    @property
    def residual_size(self) -> int:
        """Number of rows of the residual."""
        return getattr(self._problem, "residual_size", self.data_rows)

    def acting_on(self, rows: slice) -> np.ndarray | None:
        """Elements that affect a block of rows ``(p,)`` bool; None if all may."""
        acting_on = getattr(self._problem, "acting_on", None)
        return None if acting_on is None else acting_on(rows)

    def costs(self, X: np.ndarray, failures: Failures | None = None) -> np.ndarray:
        """Costs ``(n, k)`` of candidates ``X (n, p)``, computed by the workers."""
        X = np.atleast_2d(np.asarray(X, float))
        outcomes = self._evaluate("costs", X, {} if failures is None else failures)
        return merge_costs(outcomes, self, len(X))

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of residuals, computed by the workers, all in memory at once."""
        X = np.atleast_2d(np.asarray(X, float))
        if not self.has_residuals:
            yield from super().residual_blocks(X, failures)
            return
        yield from merge_blocks(self._evaluate("residuals", X, failures), self, len(X))

    def _evaluate(self, kind: str, X: np.ndarray, failures: Failures) -> list[Outcome]:
        workers = self._workers
        outcomes = workers.evaluate(kind, X, workers.chunks.cut(len(X), workers.count))
        outcomes.sort(key=lambda outcome: outcome.rows.start)
        done = [o for o in outcomes if o.answer is not None]
        workers.chunks.measured(
            sum(o.rows.stop - o.rows.start for o in done),
            sum(o.answer.seconds for o in done if o.answer is not None),
        )
        merge_failures(outcomes, failures)
        return outcomes
