"""Passages: problems that lead step by step from one that is easy to the one that is meant.

A walk that is at home on level ground falls on a slope of five degrees at once, and so does every
candidate near it: their costs say little about where to go. On a slope of half a degree most of
them stay up. So a search that changes the ground or the speed goes through levels between, each as
soon as its candidates hold up, and keeps its distribution on the way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.gait.costs.stages import WalkObjective
from trueup.gait.search.problem import GaitProblem

STAY_UP = 0.4
"""Part of the walks of a generation that stay up before it goes on to the next level."""

PACE = 0.15
"""Distance from the target speed [m/s] that the better half of those have to keep."""


@dataclass(frozen=True)
class Level:
    """A problem on the way.

    Attributes:
      words: what is walked at it, such as "up 2.5 deg".
      make: makes its problem.
    """

    words: str
    make: Callable[[], GaitProblem]


class Passage:
    """Problems on the way to that of a stage, in order, and that one at their end.

    Args:
      target: problem of the stage.
      levels: problems before it.
    """

    def __init__(self, target: GaitProblem, levels: Sequence[Level] = ()):
        self.target = target
        self.levels = tuple(levels)
        self._made: tuple[int, GaitProblem] = len(levels), target

    def __len__(self) -> int:
        return len(self.levels) + 1

    def problem(self, level: int) -> GaitProblem:
        """The problem of a level, from 0; the last one is the target."""
        if level == len(self.levels):
            return self.target
        if self._made[0] != level:
            self._made = level, self.levels[level].make()
        return self._made[1]

    @property
    def words(self) -> tuple[str, ...]:
        """Speed or slope of each level before the last, in words."""
        return tuple(level.words for level in self.levels)


def holds_up(problem: GaitProblem) -> bool:
    """Whether the candidates that a problem walked last are ready for the next level."""

    def of_each(ending: str) -> list[np.ndarray]:
        terms = problem.terms.items()
        return [values for name, values in terms if name.rpartition(".")[2] == ending]

    down = np.sum([*of_each("fell"), *of_each("stopped")], axis=0) / len(problem.scenarios)
    if not 1.0 - np.mean(down) >= STAY_UP:
        return False
    needed = max(1, round(0.5 * STAY_UP * len(down)))
    return all(
        np.sort(values)[needed - 1] <= PACE  # NaN, of walks without a stride, come last
        for scenario, values in zip(problem.scenarios, of_each("velocity"), strict=True)
        if isinstance(scenario.objective, WalkObjective)
        and scenario.objective.weights.get("velocity")
    )
