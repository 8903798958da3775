"""A gait problem with stages, which is that of one stage at a time."""

from collections.abc import Sequence

import numpy as np

from trueup.errors import GaitError
from trueup.gait.costs.stages import WalkObjective
from trueup.gait.search.passage import Passage
from trueup.gait.search.problem import GaitProblem


class StagedProblem(GaitProblem):
    """A gait problem with stages, which is that of one stage at a time.

    Costs of different stages, and of the levels of a stage, are not comparable. So in the history
    of a run each level to come adds a constant that exceeds all costs of walks: a candidate of a
    later one is always better, and the best of the run is the best of its last stage.

    Args:
      names: names of the stages ``(stages,)``.
      passages: their problems, with the same entries.

    Raises:
      GaitError: the cost of a stage is MyoAssist's, which has no largest value.
    """

    def __init__(self, names: Sequence[str], passages: Sequence[Passage]):
        targets = [passage.target for passage in passages]
        first = targets[0]
        super().__init__(
            first.scenarios,
            first.parameters,
            first.most_at_once,
            first.space.deviation,
            first.perturbations,
        )
        self.names, self.passages = tuple(names), tuple(passages)
        largest = 0.0
        for scenario in (one for problem in targets for one in problem.scenarios):
            if not isinstance(scenario.objective, WalkObjective):
                raise GaitError("costs of MyoAssist have no largest value: leave stages or compat")
            largest = max(largest, scenario.objective.cannot_start)
        self.level_to_come = 10.0 ** np.ceil(np.log10(largest))
        """Constant that each level to come adds to a cost in the history."""
        self._first = np.cumsum([0, *map(len, passages)])
        self.stage = 0
        """Number of the stage whose problem this is now."""

    @property
    def deviations(self) -> list[np.ndarray]:
        """First standard deviations of each stage ``(p,)``."""
        return [np.asarray(one.target.space.deviation) for one in self.passages]

    def enter(self, stage: int, level: int | None = None) -> None:
        """Be the problem of a stage from now on, at its target or a level before."""
        passage = self.passages[stage]
        own = passage.target if level is None else passage.problem(level)
        self.scenarios, self.perturbations = own.scenarios, own.perturbations
        self.stage = stage

    def is_of_target(self, cost: float) -> bool:
        """Whether a cost of the history is of a stage's own problem, not of a level before it."""
        return int(self.levels_of(np.array([cost]))[0]) + 1 in self._first

    def levels_of(self, costs: np.ndarray) -> np.ndarray:
        """Numbers of the levels that costs of the history belong to ``(n,)``, counted through all
        stages; NaN counts as 0."""
        to_come = np.floor(np.nan_to_num(costs, nan=np.inf) / self.level_to_come)
        last = self._first[-1] - 1
        return last - np.minimum(to_come, last).astype(int)

    def stages_of(self, costs: np.ndarray) -> np.ndarray:
        """Numbers of the stages that costs of the history belong to ``(n,)``; NaN counts as 0."""
        return np.searchsorted(self._first, self.levels_of(costs), "right") - 1

    def own_costs(self, costs: np.ndarray) -> np.ndarray:
        """Costs of the history without what the levels to come add ``(n,)``."""
        return costs - self.level_to_come * (self._first[-1] - 1 - self.levels_of(costs))
