"""Continuation: intermediate problems between an easy condition and the target condition.

A walk found on level ground falls at once on a slope of five degrees, as do all candidates near it:
their costs give little information. On a slope of half a degree most of them do not fall. So a
search that changes the ground or the speed proceeds in steps, each as soon as enough candidates
complete the previous one at its speed, and keeps its distribution. A move to a step at which nearly
all of them fall was too long: the search goes back, and then moves half as far. A search over
perturbed repeats of a walk that survives only small perturbations does the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.gait.costs.stages import WalkObjective
from trueup.gait.search.problem import GaitProblem

STAY_UP = 0.4
"""Fraction of the walks of a generation without a fall that is required for the next step."""

FEW = 0.1
"""Fraction of the walks of a generation without a fall below which the search goes back."""

PACE = 0.03
"""Largest cost of the speed of the better half of these walks above the speed tolerance [m/s]."""


@dataclass(frozen=True)
class Step:
    """An intermediate problem.

    Attributes:
      words: description of its condition, such as "up 2.5 deg".
      make: creates its problem.
    """

    words: str
    make: Callable[[], GaitProblem]


class Continuation:
    """Sequence of intermediate problems that ends with the problem of a stage.

    Args:
      target: problem of the stage.
      steps: intermediate problems.
    """

    def __init__(self, target: GaitProblem, steps: Sequence[Step] = ()):
        self.target = target
        self.steps = tuple(steps)
        self._made: tuple[int, GaitProblem] = len(steps), target

    def __len__(self) -> int:
        return len(self.steps) + 1

    def problem(self, step: int) -> GaitProblem:
        """The problem of a step, counted from 0; the last one is the target."""
        if step == len(self.steps):
            return self.target
        if self._made[0] != step:
            self._made = step, self.steps[step].make()
        return self._made[1]

    @property
    def words(self) -> tuple[str, ...]:
        """Text with speed or slope of each step before the last."""
        return tuple(step.words for step in self.steps)


def is_ready(problem: GaitProblem) -> bool:
    """Whether the last candidates of a problem are ready for the next step."""
    complete = complete_walks(problem)
    if not complete >= STAY_UP:
        return False
    needed = max(1, round(0.5 * complete * len(_of_each(problem, "fell")[0])))
    return all(
        # NaN of walks without a stride are sorted last
        np.sort(values)[needed - 1] <= scenario.objective.speed_tolerance + PACE
        for scenario, values in zip(problem.scenarios, _of_each(problem, "velocity"), strict=True)
        if isinstance(scenario.objective, WalkObjective)
        and scenario.objective.weights.get("velocity")
    )


def complete_walks(problem: GaitProblem) -> float:
    """Fraction of the last walks of a problem without a fall."""
    ends = [*_of_each(problem, "fell"), *_of_each(problem, "stopped")]
    return 1.0 - float(np.mean(np.sum(ends, axis=0))) / len(problem.scenarios)


def _of_each(problem: GaitProblem, ending: str) -> list[np.ndarray]:
    """Values of a term in each scenario, ``(n,)`` each."""
    terms = problem.terms.items()
    return [values for name, values in terms if name.rpartition(".")[2] == ending]
