"""Searches that follow each other in one run: a problem with stages, and the search over them.

Each stage is a CMA-ES over a problem of its own: other weights, perturbed repeats. It begins anew
at the best candidate of the stage before, or goes on with the distribution that this has come to. A
stage ends after its generations, or where its search has converged. Costs of different stages are
not comparable, so in the history of the run every stage to come adds a constant that exceeds all
costs of walks: a candidate of a later stage is always the better one, and the best of the run is
the best of its last stage.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.errors import FitError, GaitError
from trueup.fitting import Status
from trueup.fitting.cost_search import common_state, take_common_state
from trueup.fitting.problem import Failures, Problem
from trueup.fitting.saved_state import HistoryColumns, require_version
from trueup.gait.costs.stages import WalkObjective
from trueup.gait.search.attempts import Attempts
from trueup.gait.search.configuration import GaitConfiguration, make_configuration
from trueup.gait.search.problem import GaitProblem
from trueup.gait.search.searches import make_search
from trueup.gait.search.stage_settings import ATTEMPTS, STEP
from trueup.parameters import Space

STATE_VERSION = 2
"""Version of what :meth:`StagedSearch.state` holds."""


class StagedProblem(GaitProblem):
    """A gait problem with stages, which is that of one stage at a time.

    Args:
      names: names of the stages ``(stages,)``.
      problems: their problems, with the same entries.

    Raises:
      GaitError: the cost of a stage is MyoAssist's, which has no largest value.
    """

    def __init__(self, names: Sequence[str], problems: Sequence[GaitProblem]):
        first = problems[0]
        super().__init__(
            first.scenarios,
            first.parameters,
            first.most_at_once,
            first.space.deviation,
            first.perturbations,
        )
        self.names, self.stages = tuple(names), tuple(problems)
        largest = 0.0
        for scenario in (one for problem in problems for one in problem.scenarios):
            if not isinstance(scenario.objective, WalkObjective):
                raise GaitError("costs of MyoAssist have no largest value: leave stages or compat")
            largest = max(largest, scenario.objective.cannot_start)
        self.stage_to_come = 10.0 ** np.ceil(np.log10(largest))
        """What each stage to come adds to a cost in the history."""
        self.stage = 0
        """Number of the stage whose problem this is now."""

    @property
    def deviations(self) -> list[np.ndarray]:
        """First standard deviations of each stage ``(p,)``."""
        return [np.asarray(problem.space.deviation) for problem in self.stages]

    def enter(self, stage: int) -> None:
        """Be the problem of a stage from now on."""
        own = self.stages[stage]
        self.scenarios, self.perturbations = own.scenarios, own.perturbations
        self.stage = stage

    def stages_of(self, costs: np.ndarray) -> np.ndarray:
        """Numbers of the stages that costs of the history belong to ``(n,)``; NaN counts as 0."""
        to_come = np.floor(np.nan_to_num(costs, nan=np.inf) / self.stage_to_come)
        last = len(self.stages) - 1
        return last - np.minimum(to_come, last).astype(int)

    def own_costs(self, costs: np.ndarray) -> np.ndarray:
        """Costs of the history without what the stages to come add ``(n,)``."""
        return costs - self.stage_to_come * (len(self.stages) - 1 - self.stages_of(costs))


@dataclass(frozen=True)
class Stage:
    """A stage of a search.

    Attributes:
      name: name.
      configuration: configuration that holds in it.
      deviation: first standard deviations ``(p,)``.
      step: factor of the step that the stage before has come to, with whose distribution this one
        goes on; None for a distribution of its own.
      attempts: how often it begins, and the generations of each attempt.
    """

    name: str
    configuration: GaitConfiguration
    deviation: np.ndarray
    step: float | None = None
    attempts: tuple[int, int] = (1, 1)

    @property
    def generations(self) -> int:
        """Generations at most, of the attempt that goes on."""
        assert self.configuration.maxiter is not None  # checked with the configuration
        return self.configuration.maxiter

    @property
    def all_generations(self) -> int:
        """Generations at most, those of all attempts."""
        count, each = self.attempts
        return self.generations + (count - 1) * each

    def search(self, space: Space) -> Any:
        """The search of the stage at its start."""

        def made(attempt: int) -> Any:
            own = self.configuration
            if attempt:  # the first one is what the seed says
                seeds = np.random.SeedSequence([own.seed, attempt]).generate_state(1)
                own = own.model_copy(update={"seed": int(seeds[0])})
            return make_search(own, space)

        count, generations = self.attempts
        return made(0) if count == 1 else Attempts(made, count, generations)


class StagedSearch:
    """CMA-ES in stages, one after the other.

    Args:
      space: unknowns with the start of the first stage.
      stages: stages.
      stage_to_come: what each stage to come adds to costs, see :class:`StagedProblem`.
    """

    ends_by_itself = False

    def __init__(self, space: Space, stages: Sequence[Stage], stage_to_come: float):
        self.space = space
        self.stages = tuple(stages)
        self.stage_to_come = stage_to_come
        self.stage = 0
        """Number of the present stage."""
        self.x, self.cost = space.start.copy(), np.inf
        self.evaluations = self.generation = 0
        self.status: Status | None = None
        self.message = ""
        self.history: list[dict[str, Any]] = []
        self._columns = HistoryColumns()
        # stage, start and former generations of the distribution that is searched with
        self._began, self._begun_at, self._earlier = 0, space.start.copy(), 0
        self._inner: Any = self._search()
        # of the batch that was told last, which may have ended its stage
        self._told_to_come, self._told_info = self._to_come, dict[str, Any]()

    def _search(self) -> Any:
        """The search of the present stage, at the start of its distribution."""
        deviation = self.stages[self._began].deviation
        space = dataclasses.replace(self.space, start=self._begun_at, deviation=deviation)
        return self.stages[self.stage].search(space)

    def _enter_next(self) -> None:
        """Go on to the next stage."""
        former = self._inner.search if isinstance(self._inner, Attempts) else self._inner
        self.stage += 1
        step = self.stages[self.stage].step
        if step is None or former.done() is not None:
            self._began, self._begun_at, self._earlier = self.stage, self.x.copy(), 0
            self._inner = self._search()
            return
        self._earlier = former.generation
        self._inner = self._search().from_state(former.state(), former.space)
        self._inner.forget_costs(step)

    @property
    def _to_come(self) -> float:
        return self.stage_to_come * (len(self.stages) - 1 - self.stage)

    @property
    def words(self) -> str:
        """Stage in words, for the progress."""
        attempt = self._inner.words if isinstance(self._inner, Attempts) else ""
        name = self.stages[self.stage].name
        return f"stage {self.stage + 1} of {len(self.stages)}, {name}{attempt}"

    @property
    def own_cost(self) -> float:
        """Cost of the best candidate without what the stages to come add."""
        return self.cost - self._told_to_come

    # --- ask and tell ----------------------------------------------------------------------------

    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)``."""
        return self._inner.ask()

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> np.ndarray:
        """Costs ``(n, 1)`` of candidates in the present stage.

        Raises:
          GaitError: the problem has no stages.
        """
        if not isinstance(problem, StagedProblem):
            raise GaitError("a staged search needs a gait problem with stages, in this process")
        problem.enter(self.stage)
        return self._inner.evaluate(problem, X, failures)

    def costs_of(self, answer: np.ndarray) -> np.ndarray:
        """Costs as the history holds them."""
        return np.asarray(answer, float) + self._told_to_come

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Take the costs of the batch that :meth:`ask` gave; goes on to the next stage at its
        end."""
        inner = self._inner
        inner.tell(X, answer, failures)
        self._told_to_come = self._to_come
        self._told_info = {**inner.info(), "stage": self.stage}
        self.evaluations += len(X)
        if np.isfinite(inner.cost):
            self.x, self.cost = inner.x.copy(), float(inner.cost) + self._to_come
        row = dict(inner.history[-1])
        self.history.append(
            {**row, "generation": self.generation, "evaluations": self.evaluations}
            | {"stage": self.stage}
        )
        self.generation += 1
        if isinstance(inner, Attempts):
            inner.go_on()
            if inner.attempt is not None:
                return
        stage = self.stages[self.stage]
        if inner.done() is None and inner.generation - self._earlier < stage.generations:
            return
        if self.stage + 1 < len(self.stages) and np.isfinite(inner.cost):
            self._enter_next()
            return
        converged = inner.done()
        self.status = Status.ITERATION_LIMIT if converged is None else converged
        how = f"the limit of {stage.generations} generations" if converged is None else "converged"
        self.message = f"cost {inner.cost:.6g}: {how} in {self.words}"

    def done(self) -> Status | None:
        """Why the search ended, or None."""
        return self.status

    def info(self) -> dict[str, Any]:
        """Number of the stage of the batch that was told last, and what its search says."""
        return dict(self._told_info)

    # --- state -----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything needed to go on: plain numbers and arrays."""
        return {
            "search": "StagedSearch",
            "version": STATE_VERSION,
            "stages": [[one.name, one.configuration.plain(), one.step] for one in self.stages],
            "deviations": [stage.deviation.copy() for stage in self.stages],
            "attempts": [list(stage.attempts) for stage in self.stages],
            "stage_to_come": self.stage_to_come,
            "stage": self.stage,
            "began": self._began,
            "begun_at": self._begun_at.copy(),
            "earlier": self._earlier,
            **common_state(self, self._columns),
            "inner": self._inner.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], space: Space) -> "StagedSearch":
        """Continue from :meth:`state`: the same history, bit for bit.

        Raises:
          FitError: the state is of another search, problem or version.
        """
        if state.get("search") != "StagedSearch":
            raise FitError(
                f"the saved state is one of {state.get('search', 'another search')}, not of a "
                "staged search"
            )
        require_version(state, STATE_VERSION, "staged search")
        stages = [
            Stage(
                name,
                make_configuration(plain, f"the stage {name!r}", resolved=True),
                np.array(deviation, float),
                step,
                (int(attempts[0]), int(attempts[1])),
            )
            for (name, plain, step), deviation, attempts in zip(
                state["stages"], state["deviations"], state["attempts"], strict=True
            )
        ]
        search = cls(space, stages, float(state["stage_to_come"]))
        search.stage = int(state["stage"])
        search._began, search._earlier = int(state["began"]), int(state["earlier"])
        search._begun_at = np.array(state["begun_at"], float)
        inner = search._search()
        search._inner = inner.from_state(state["inner"], inner.space)
        take_common_state(search, state)
        return search


def make_staged_search(problem: StagedProblem, configuration: GaitConfiguration) -> StagedSearch:
    """The search of a configuration with stages, at the start of its problem."""
    changes = configuration.stages or {}
    stages = [
        Stage(
            name,
            own,
            deviation,
            changes[name].get(STEP),
            tuple(changes[name].get(ATTEMPTS, (1, 1))),
        )
        for (name, own), deviation in zip(configuration.staged, problem.deviations, strict=True)
    ]
    return StagedSearch(problem.space, stages, problem.stage_to_come)
