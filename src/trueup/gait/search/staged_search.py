"""Consecutive searches in one run.

Each stage is a CMA-ES over a separate problem, with other weights or perturbed repeats. It restarts
at the best candidate of the previous stage, or continues with its final distribution. A stage ends
after its generations, or when its search has converged.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.errors import FitError, GaitError
from trueup.fitting import Status
from trueup.fitting.problem import Failures, Problem
from trueup.fitting.searches.cost_search import common_state, take_common_state
from trueup.fitting.searches.saved_state import HistoryColumns, require_version
from trueup.gait.search.configuration import GaitConfiguration, make_configuration
from trueup.gait.search.continuation import FEW, complete_walks, is_ready
from trueup.gait.search.distribution import distribution_at
from trueup.gait.search.restarts import Restarts
from trueup.gait.search.searches import make_search
from trueup.gait.search.stage_settings import ATTEMPTS, BEGINS_AT, STEP
from trueup.gait.search.staged_problem import StagedProblem
from trueup.parameters import Space

STATE_VERSION = 5
"""Version of the format of :meth:`StagedSearch.state`."""

STAY = 2
"""Smallest number of generations at a step."""

STRIDES = 20
"""Smallest number of moves to the last step, where there are as many steps."""

LONGEST = 10**6
"""Number of steps of a move before one has failed; :data:`STRIDES` limit it."""

SMALLER = 0.7
"""Factor of the step size of a search that goes back."""


@dataclass(frozen=True)
class Stage:
    """A stage of a search.

    Attributes:
      name: name of the stage.
      configuration: configuration of the stage.
      deviation: initial standard deviations ``(p,)``.
      step_factor: factor on the final step size of the previous stage, whose distribution is
        continued; None: a new distribution.
      restarts: number of restarts, and generations of each.
      moves: whether the steps move to another speed or slope; the next stage follows as soon as the
        candidates are ready for it.
      correlation: initial correlations of the first stage ``(p, p)``; None: none.
      words: description of each step before its problem, see
        :mod:`trueup.gait.search.continuation`.
    """

    name: str
    configuration: GaitConfiguration
    deviation: np.ndarray
    step_factor: float | None = None
    restarts: tuple[int, int] = (1, 1)
    words: tuple[str, ...] = ()
    moves: bool = False
    correlation: np.ndarray | None = None

    @property
    def steps(self) -> int:
        """Number of problems of the stage."""
        return len(self.words) + 1

    @property
    def generations(self) -> int:
        """Largest number of generations of the continued restart."""
        assert self.configuration.maxiter is not None  # checked with the configuration
        return self.configuration.maxiter

    @property
    def all_generations(self) -> int:
        """Largest number of generations over all restarts."""
        count, each = self.restarts
        return self.generations + (count - 1) * each

    @property
    def work(self) -> float:
        """Simulated time of a generation without falls, relative to that of other stages."""
        own = self.configuration
        return (own.popsize or 1) * max(own.perturbed_repeats, 1) * own.sim_time

    def search(self, space: Space) -> Any:
        """The search of the stage in its initial state."""

        def made(restart: int) -> Any:
            own = self.configuration
            if restart:  # the first one uses the seed itself
                seeds = np.random.SeedSequence([own.seed, restart]).generate_state(1)
                own = own.model_copy(update={"seed": int(seeds[0])})
            return make_search(own, space)

        count, generations = self.restarts
        return made(0) if count == 1 else Restarts(made, count, generations)


class StagedSearch:
    """CMA-ES in consecutive stages.

    Args:
      space: unknowns with the initial values of the first stage.
      stages: stages.
      cost_per_step: constant that each remaining step adds to costs, see :class:`StagedProblem`.
    """

    ends_by_itself = False

    def __init__(self, space: Space, stages: Sequence[Stage], cost_per_step: float):
        self.space = space
        self.stages = tuple(stages)
        self.cost_per_step = cost_per_step
        self.stage = self.step = 0
        """Index of the current stage, and of the step in it."""
        self.x, self.cost = space.start.copy(), np.inf
        self.evaluations = self.generation = 0
        self.status: Status | None = None
        self.message = ""
        self.history: list[dict[str, Any]] = []
        self._columns = HistoryColumns()
        # stage, initial values and previous generations of the current distribution
        self._began, self._begun_at, self._earlier = 0, space.start.copy(), 0
        self._inner: Any = self._search()
        # of the last evaluated batch, which may have ended its stage or restart
        self._last_search = self.current
        self._last_to_come, self._last_info = self._to_come, dict[str, Any]()
        self._generations_at_step, self._is_ready, self._complete = 0, False, 1.0
        # number of steps of a move, and the last step whose candidates were ready
        self._stride, self._ready_at = LONGEST, 0
        self._short = ""  # text on a stage that ended before its target

    def _search(self) -> Any:
        """The search of the current stage, with its initial distribution."""
        began = self.stages[self._began]
        space = dataclasses.replace(
            self.space,
            start=self._begun_at,
            deviation=began.deviation,
            correlation=began.correlation,
        )
        return self.stages[self.stage].search(space)

    def _enter_next(self) -> None:
        """Enter the next stage."""
        former = self.current
        self.stage += 1
        self.step = self._generations_at_step = self._ready_at = 0
        self._stride = LONGEST
        factor = self.stages[self.stage].step_factor
        if factor is None or former.done() is not None:
            self._began, self._begun_at, self._earlier = self.stage, self.x.copy(), 0
            self._inner = self._search()
            return
        self._earlier = former.generation
        self._inner = self._search().from_state(former.state(), former.space)
        self._inner.forget_costs(factor)

    @property
    def _to_come(self) -> float:
        remaining = sum(stage.steps for stage in self.stages[self.stage :]) - 1 - self.step
        return self.cost_per_step * remaining

    @property
    def words(self) -> str:
        """Text of the stage for the progress."""
        stage = self.stages[self.stage]
        more = self._inner.words if isinstance(self._inner, Restarts) else ""
        if self.step < len(stage.words):
            more = f", {stage.words[self.step]}"
        return f"stage {self.stage + 1} of {len(self.stages)}, {stage.name}{more}"

    @property
    def own_cost(self) -> float:
        """Cost of the best candidate without the constants of remaining steps."""
        # the best candidate may be of an earlier step than the last batch
        return self.cost % self.cost_per_step if np.isfinite(self.cost) else self.cost

    def share(self, limit: int) -> float:
        """Finished share of the simulated time of a search of at most ``limit`` generations.

        A stage that moves ends with its last step: it is expected to go on at its pace so far.
        """
        rows = [int(row["stage"]) for row in self.history]
        finished = np.bincount(rows, minlength=len(self.stages))
        finished = finished * (self.generation / max(len(rows), 1))  # a long history has fewer rows
        done = sum(n * stage.work for n, stage in zip(finished, self.stages, strict=True))
        left, to_do = limit - self.generation, 0.0
        for stage, n in list(zip(self.stages, finished, strict=True))[self.stage :]:
            expected = stage.all_generations - n
            if stage.moves and self.step:
                expected = min(expected, round(n * (stage.steps - 1 - self.step) / self.step))
            generations = max(0, min(expected, left))
            left, to_do = left - generations, to_do + generations * stage.work
        return float(done / max(done + to_do, 1e-9))

    # --- ask and tell ----------------------------------------------------------------------------

    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)``."""
        return self._inner.ask()

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> np.ndarray:
        """Costs ``(n, 1)`` of candidates at the current step of the current stage.

        Raises:
          GaitError: the problem has no stages.
        """
        if not isinstance(problem, StagedProblem):
            raise GaitError(
                "a staged search requires a gait problem with stages, evaluated in this process"
            )
        problem.enter(self.stage, self.step)
        answer = self._inner.evaluate(problem, X, failures)
        self._is_ready, self._complete = is_ready(problem), complete_walks(problem)
        return answer

    def costs_of(self, answer: np.ndarray) -> np.ndarray:
        """Costs in the form of the history."""
        return np.asarray(answer, float) + self._last_to_come

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Accept the costs of the batch from :meth:`ask`; enters the next step where its candidates
        are ready, and the next stage at the end of one."""
        inner, self._last_search = self._inner, self.current
        inner.tell(X, answer, failures)
        self._last_to_come = self._to_come
        self._last_info = {**inner.info(), "stage": self.stage, "level": self.step}
        self.evaluations += len(X)
        if np.isfinite(inner.cost):
            self.x, self.cost = inner.x.copy(), float(inner.cost) + self._to_come
        row = dict(inner.history[-1])
        row |= {"generation": self.generation, "evaluations": self.evaluations, "stage": self.stage}
        self._columns.add(self.history, row)
        self.generation += 1
        if isinstance(inner, Restarts):
            inner.advance()
            if inner.restart is not None:
                return
        stage = self.stages[self.stage]
        self._generations_at_step += 1
        ends = inner.done() is not None or inner.generation - self._earlier >= stage.generations
        is_last = self.stage + 1 == len(self.stages)
        arrived = stage.moves and self.step + 1 == stage.steps and self._is_steady
        if not (ends or (arrived and not is_last)):
            self._move(stage.steps)
            return
        if stage.moves and self.step + 1 < stage.steps:
            self._short = (
                f"; stage {stage.name} ended {stage.words[self.step]}, before its target: a search "
                "for a condition on the way, and one from its run, reach further"
            )
        if not is_last and np.isfinite(inner.cost):
            self._enter_next()
            return
        converged = inner.done()
        self.status = Status.ITERATION_LIMIT if converged is None else converged
        how = f"the limit of {stage.generations} generations" if converged is None else "converged"
        self.message = f"cost {inner.cost:.6g}: {how} in {self.words}{self._short}"

    @property
    def _is_steady(self) -> bool:
        """Whether the candidates have been long enough at this step, and are ready."""
        return self._is_ready and self._generations_at_step >= STAY

    def _move(self, steps: int) -> None:
        """Go forwards where the candidates are ready, or back where nearly all fell: to the last
        step they were ready at, and half as far the next time."""
        factor, longest = 1.0, max(1, steps // STRIDES)
        stride = min(self._stride, longest)
        if self._complete < FEW and self.step > 0:
            factor = SMALLER if stride > 1 else 1.0
            self._stride = max(1, stride // 2)
            self.step = max(0, min(self._ready_at, self.step - 1))
        elif self._is_steady and self.step + 1 < steps:
            if self._generations_at_step == STAY and self.step > self._ready_at:
                stride *= 2  # the last move was easy
            self._stride, self._ready_at = min(stride, longest), self.step
            self.step = min(self.step + self._stride, steps - 1)
        else:
            return
        self._generations_at_step = 0
        self._inner.forget_costs(factor)

    def done(self) -> Status | None:
        """Reason for the end of the search, or None."""
        return self.status

    def info(self) -> dict[str, Any]:
        """Stage index of the last evaluated batch, and the numbers of its search."""
        return dict(self._last_info)

    # --- state -----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """State for resumption: plain numbers and arrays."""
        return {
            "search": "StagedSearch",
            "version": STATE_VERSION,
            "stages": [
                [one.name, one.configuration.to_dict(), one.step_factor] for one in self.stages
            ],
            "deviations": [stage.deviation.copy() for stage in self.stages],
            "attempts": [list(stage.restarts) for stage in self.stages],
            "words": [list(stage.words) for stage in self.stages],
            "moves": [stage.moves for stage in self.stages],
            "level_to_come": self.cost_per_step,
            "stage": self.stage,
            "level": self.step,
            "at_level": self._generations_at_step,
            "moves_by": [self._stride, self._ready_at],
            "short": self._short,
            "began": self._began,
            "begun_at": self._begun_at.copy(),
            "earlier": self._earlier,
            **common_state(self, self._columns),
            "inner": self._inner.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], space: Space) -> "StagedSearch":
        """The search restored from :meth:`state`, with the same history bit for bit.

        Raises:
          FitError: the state belongs to another search, problem or version.
        """
        if state.get("search") != "StagedSearch":
            raise FitError(
                f"the saved state belongs to {state.get('search', 'another search')}, expected a "
                "staged search"
            )
        require_version(state, STATE_VERSION, "staged search")
        stages = [
            Stage(
                name,
                make_configuration(plain, f"the stage {name!r}", resolved=True),
                np.array(deviation, float),
                factor,
                (int(restarts[0]), int(restarts[1])),
                tuple(words),
                bool(moves),
            )
            for (name, plain, factor), deviation, restarts, words, moves in zip(
                *(state[key] for key in ("stages", "deviations", "attempts", "words", "moves")),
                strict=True,
            )
        ]
        search = cls(space, stages, float(state["level_to_come"]))
        search.stage, search.step = int(state["stage"]), int(state["level"])
        search._generations_at_step = int(state["at_level"])
        search._stride, search._ready_at = map(int, state["moves_by"])
        search._short = str(state["short"])
        search._began, search._earlier = int(state["began"]), int(state["earlier"])
        search._begun_at = np.array(state["begun_at"], float)
        inner = search._search()
        search._inner = inner.from_state(state["inner"], inner.space)
        search._last_search = search.current
        take_common_state(search, state)
        return search

    @property
    def distribution(self) -> tuple[np.ndarray, np.ndarray]:
        """Current standard deviations ``(p,)`` and correlations ``(p, p)``."""
        return self.current.distribution

    @property
    def current(self) -> Any:
        """The search of the current stage, and of its current restart."""
        return self._inner.search if isinstance(self._inner, Restarts) else self._inner

    @property
    def last_search(self) -> Any:
        """The search of the last evaluated batch, which may have ended with it."""
        return self._last_search


def make_staged_search(problem: StagedProblem, configuration: GaitConfiguration) -> StagedSearch:
    """The search of a configuration with stages, in its initial state.

    Raises:
      GaitError: the distribution of the initial walk is damaged.
    """
    changes = configuration.stages or {}
    stages = [
        Stage(
            name,
            own,
            deviation,
            changes[name].get(STEP),
            tuple(changes[name].get(ATTEMPTS, (1, 1))),
            continuation.words,
            BEGINS_AT in changes[name],
        )
        for (name, own), deviation, continuation in zip(
            configuration.staged, problem.deviations, problem.continuations, strict=True
        )
    ]
    factor, former = stages[0].step_factor, distribution_at(configuration.param_path)
    if factor is not None and former is not None:
        space = dataclasses.replace(problem.space, deviation=stages[0].deviation)
        deviation, correlation = former.over(space, factor)
        stages[0] = dataclasses.replace(stages[0], deviation=deviation, correlation=correlation)
    return StagedSearch(problem.space, stages, problem.cost_per_step)
