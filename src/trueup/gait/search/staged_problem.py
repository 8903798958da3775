"""A gait problem with stages, of which one is active at a time."""

from collections.abc import Sequence

import numpy as np

from trueup.errors import GaitError
from trueup.gait.costs.stages import WalkObjective
from trueup.gait.search.continuation import Continuation
from trueup.gait.search.problem import GaitProblem


class StagedProblem(GaitProblem):
    """A gait problem with stages, of which one is active at a time.

    Costs of different stages, and of the steps of a stage, are not comparable. So in the history of
    a run each remaining step adds a constant that exceeds all costs of walks: a candidate of a
    later step is always better, and the best of the run is the best of its last stage.

    Args:
      names: names of the stages ``(stages,)``.
      continuations: problems of the stages, with the same entries.

    Raises:
      GaitError: a stage has a cost of MyoAssist, which is unbounded.
    """

    def __init__(self, names: Sequence[str], continuations: Sequence[Continuation]):
        targets = [continuation.target for continuation in continuations]
        first = targets[0]
        super().__init__(
            first.scenarios,
            first.parameters,
            first.most_at_once,
            first.space.deviation,
            first.perturbations,
        )
        self.names, self.continuations = tuple(names), tuple(continuations)
        largest = 0.0
        for scenario in (one for problem in targets for one in problem.scenarios):
            if not isinstance(scenario.objective, WalkObjective):
                raise GaitError(
                    "stages are not supported with compat=myoassist; remove one of them"
                )
            largest = max(largest, scenario.objective.cannot_start)
        self.cost_per_step = 10.0 ** np.ceil(np.log10(largest))
        """Constant that each remaining step adds to a cost in the history."""
        self._first = np.cumsum([0, *map(len, continuations)])
        self.stage = 0
        """Index of the active stage."""

    @property
    def deviations(self) -> list[np.ndarray]:
        """Initial standard deviations of each stage ``(p,)``."""
        return [np.asarray(one.target.space.deviation) for one in self.continuations]

    def enter(self, stage: int, step: int | None = None) -> None:
        """Activate a stage, at its target or at a step before."""
        continuation = self.continuations[stage]
        own = continuation.target if step is None else continuation.problem(step)
        self.scenarios, self.perturbations = own.scenarios, own.perturbations
        self.stage = stage

    def is_of_target(self, cost: float) -> bool:
        """Whether a cost of the history belongs to the target of a stage, not to a step before."""
        return int(self.steps_of(np.array([cost]))[0]) + 1 in self._first

    def steps_of(self, costs: np.ndarray) -> np.ndarray:
        """Step indices of costs of the history ``(n,)``, counted through all stages; NaN
        counts as 0."""
        to_come = np.floor(np.nan_to_num(costs, nan=np.inf) / self.cost_per_step)
        last = self._first[-1] - 1
        return last - np.minimum(to_come, last).astype(int)

    def stages_of(self, costs: np.ndarray) -> np.ndarray:
        """Stage indices of costs of the history ``(n,)``; NaN counts as 0."""
        return np.searchsorted(self._first, self.steps_of(costs), "right") - 1

    def own_costs(self, costs: np.ndarray) -> np.ndarray:
        """Costs of the history without the constants of remaining steps ``(n,)``."""
        return costs - self.cost_per_step * (self._first[-1] - 1 - self.steps_of(costs))
