"""Parallel least squares from several starts, with candidates also scored by an objective."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.fitting.linearisation import Linearisation
from trueup.fitting.problem import Failures, Problem
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.parameters import Space


@dataclass(frozen=True)
class DescentAnswers:
    """Answers of a batch for the descents."""

    costs: np.ndarray
    """Objective of each candidate ``(n,)``."""
    parts: list[Any]
    """Answer for each active descent: a linearisation, or costs."""
    failures: list[Failures]
    """Failures in each of them."""


class ParallelDescents:
    """Descents that advance together: one batch contains the candidates of all.

    They minimise a robust sum of squares with exact derivatives, a smooth approximation of the
    objective, which scores all candidates.

    Args:
      space: search space.
      starts: start values of the descents ``(n, p)``.
      settings: settings of each.
    """

    def __init__(self, space: Space, starts: np.ndarray, settings: LeastSquaresSettings):
        self.space = space
        self.descents = [LeastSquares(replace(space, start=x.copy()), settings) for x in starts]
        self.x = np.array(starts, float)
        """Best candidate of each descent, by the objective ``(n, p)``."""
        self.costs = np.full(len(starts), np.inf)
        """Its objective ``(n,)``."""
        self.grams: list[np.ndarray | None] = [None] * len(starts)
        """Latest ``J' J`` of each descent in search coordinates ``(p, p)``."""

    @property
    def at_work(self) -> list[int]:
        """Indices of the active descents."""
        return [i for i, descent in enumerate(self.descents) if descent.done() is None]

    def ask(self) -> np.ndarray:
        """Candidates of all active descents ``(n, p)``."""
        asked = [self.descents[i].ask() for i in self.at_work]
        self._lengths = [len(X) for X in asked]
        return np.vstack(asked)

    def evaluate(
        self, smooth: Problem, problem: Problem, X: np.ndarray, failures: Failures, threads: int
    ) -> DescentAnswers:
        """Answers of ``smooth`` for the descents, and the objective of ``problem``."""
        asked = list(zip(self.at_work, self._parts(X), strict=True))
        failed: list[Failures] = [{} for _ in asked]

        def answer(number: int) -> Any:
            index, part = asked[number]
            return self.descents[index].evaluate(smooth, part, failed[number])

        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(answer, range(len(asked))))
        return DescentAnswers(problem.costs(X, failures)[:, 0], parts, failed)

    def tell(self, X: np.ndarray, answers: DescentAnswers) -> None:
        """Take the answers for the batch that :meth:`ask` gave."""
        first = 0
        for index, part, answer, failed in zip(
            self.at_work, self._parts(X), answers.parts, answers.failures, strict=True
        ):
            costs = answers.costs[first : first + len(part)]
            first += len(part)
            best = int(np.argmin(costs))
            if costs[best] < self.costs[index]:
                self.x[index], self.costs[index] = part[best], costs[best]
            if isinstance(answer, Linearisation):
                self.grams[index] = answer.gram
            self.descents[index].tell(part, answer, failed)

    def best(self, count: int) -> np.ndarray:
        """Indices of the best descents, best first."""
        order = np.argsort(self.costs, kind="stable")
        return order[np.isfinite(self.costs[order])][:count]

    def state(self) -> dict[str, Any]:
        """State for :meth:`from_state`: plain numbers and arrays."""
        return {
            "descents": [descent.state() for descent in self.descents],
            "x": self.x.copy(),
            "costs": self.costs.copy(),
            "grams": [None if gram is None else gram.copy() for gram in self.grams],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], space: Space) -> "ParallelDescents":
        """Continue from :meth:`state`."""
        descents = cls(space, np.empty((0, space.size)), LeastSquaresSettings())
        descents.descents = [LeastSquares.from_state(s, space) for s in state["descents"]]
        descents.x = np.array(state["x"], float).reshape(-1, space.size)
        descents.costs = np.array(state["costs"], float)
        descents.grams = [None if g is None else np.array(g, float) for g in state["grams"]]
        return descents

    def _parts(self, X: np.ndarray) -> Sequence[np.ndarray]:
        return np.split(X, np.cumsum(self._lengths)[:-1])
