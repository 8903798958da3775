"""Search of a servo model through its nested sub-models, simplest first."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from trueup.actuators.search.nested_models import SubModel, SubModelProblem, nested_sub_models
from trueup.actuators.search.servo_search import ServoSearch, ServoSearchSettings
from trueup.actuators.search.warm_starts import with_switching_terms
from trueup.errors import FitError
from trueup.fitting.problem import Failures, Problem
from trueup.fitting.searches.saved_state import require_version
from trueup.fitting.solution import Status
from trueup.parameters import Space

_LEAST_SHARE = 100  # fewest evaluations of a sub-model that make a search useful

STATE_VERSION = 1
"""Version of the content of :meth:`NestedServoSearch.state`."""


class NestedServoSearch:
    """Search of M1, then of each richer model from the optima of its sub-models.

    M1 is M2 with some parameters on their bounds, and so on up to M6. Each sub-model is searched by
    :class:`ServoSearch`, which starts from a scan of its box and from the optima of its own
    sub-models. The search of a simpler model thus is the first part of that of a richer one, which
    ends with no higher cost, and does not depend on lucky points in a wide box.

    Args:
      space: the unknowns; bounds must be finite.
      settings: settings of the search of each sub-model; half as many descents from the scan if
        there are optima to descend from, and additional ones from values of the switching terms.
      seed: random seed.
      limit: evaluations that all sub-models together may use, None for no limit;
        if they are too few, only the full model is searched.

    Raises:
      FitError: no free element, an infinite bound, or settings out of range.
    """

    ends_by_itself = True
    """Whether the search usually converges well before its limits, so that they predict no
    remaining time."""

    def __init__(
        self,
        space: Space,
        settings: ServoSearchSettings | None = None,
        seed: int = 0,
        limit: int | None = None,
    ):
        self.space = space
        self.settings = settings or ServoSearchSettings()
        self.seed = seed
        self.limit = limit
        self.x, self.cost = space.start.copy(), np.inf
        self.evaluations = 0
        self.generation = 0
        self.status: Status | None = None
        self.message = ""
        self.history: list[dict[str, Any]] = []
        sub_models = nested_sub_models(space)
        enough = limit is None or limit >= _LEAST_SHARE * (len(sub_models) - 1)
        self._sub_models = sub_models if enough else sub_models[-1:]
        self._found: list[tuple[np.ndarray, float]] = []
        self._search = self._next_search()

    @property
    def sub_model(self) -> SubModel:
        """The sub-model of the current search."""
        return self._sub_models[min(len(self._found), len(self._sub_models) - 1)]

    @property
    def stage(self) -> str:
        """Current stage of that search."""
        return self._search.stage

    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)``."""
        return self.sub_model.to_full(self._search.ask())

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> Any:
        """Evaluation of a batch for the current stage.

        Raises:
          FitError: the problem has several objectives.
        """
        sub_model = self.sub_model
        narrow = (
            problem if sub_model is self._sub_models[-1] else SubModelProblem(problem, sub_model)
        )
        return self._search.evaluate(narrow, sub_model.from_full(X), failures)

    def costs_of(self, answer: Any) -> np.ndarray:
        """Objective ``(n,)`` in a result of :meth:`evaluate`."""
        return self._search.costs_of(answer)

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Process the results for the batch from :meth:`ask`."""
        sub_model, search = self.sub_model, self._search
        search.tell(sub_model.from_full(X), answer, failures)
        self.evaluations += len(X)
        if search.cost < self.cost:
            self.x, self.cost = sub_model.to_full(search.x), search.cost
        self.history.append(
            {
                **search.history[-1],
                "generation": self.generation,
                "evaluations": self.evaluations,
                "cost": float(self.cost),
                "model": sub_model.name,
            }
        )
        self.generation += 1
        last = sub_model is self._sub_models[-1]
        if last:
            if search.done() is not None:
                self._finish()
        elif search.done() is not None or self._spent(search):
            self._found.append((sub_model.to_full(search.x), search.cost))
            self._search = self._next_search()

    def done(self) -> Status | None:
        """Reason for the end of the search, or None."""
        return self.status

    def info(self) -> dict[str, Any]:
        """Numbers from 0 of the stage, as in :class:`ServoSearch`, and of the sub-model."""
        return {**self._search.info(), "model": len(self._found)}

    def state(self) -> dict[str, Any]:
        """State for resuming: plain numbers and arrays."""
        return {
            "version": STATE_VERSION,
            "settings": asdict(self.settings),
            "seed": self.seed,
            "limit": self.limit,
            "x": self.x.copy(),
            "cost": self.cost,
            "evaluations": self.evaluations,
            "generation": self.generation,
            "status": self.status.value if self.status else None,
            "message": self.message,
            "history": [dict(record) for record in self.history],
            "found": [{"x": x.copy(), "cost": cost} for x, cost in self._found],
            "search": self._search.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], space: Space) -> "NestedServoSearch":
        """Search resumed from :meth:`state`, with the same history bit for bit.

        Raises:
          FitError: the state was saved by another version of this search.
        """
        require_version(state, STATE_VERSION, "servo search")
        limit = None if state["limit"] is None else int(state["limit"])
        settings = ServoSearchSettings(**state["settings"])
        search = cls(space, settings, int(state["seed"]), limit)
        search.x, search.cost = np.array(state["x"], float), float(state["cost"])
        search.evaluations, search.generation = int(state["evaluations"]), int(state["generation"])
        search.status = Status(state["status"]) if state["status"] else None
        search.message = str(state["message"])
        search.history = [dict(record) for record in state["history"]]
        search._found = [(np.array(f["x"], float), float(f["cost"])) for f in state["found"]]
        if len(search._found) >= len(search._sub_models):
            raise FitError("the saved servo search is of another model: it has more sub-models")
        search._search = ServoSearch.from_state(state["search"], search.sub_model.space)
        return search

    def _next_search(self) -> ServoSearch:
        """Search of the next sub-model, from the optima of its own sub-models."""
        sub_model = self.sub_model
        if len(self._sub_models) == 1:
            return ServoSearch(sub_model.space, self.settings, self.seed)
        within = [x for x, cost in self._found if np.isfinite(cost) and sub_model.contains(x)]
        known = np.array([sub_model.from_full(x) for x in within]).reshape(-1, sub_model.space.size)
        settings = self.settings
        if len(known):
            best = sub_model.from_full(min(self._found, key=lambda entry: entry[1])[0])
            switched = with_switching_terms(best, sub_model.space)
            known = np.vstack([known, switched])
            descents = max(1, settings.descents // 2) + len(switched)
            settings = replace(settings, descents=descents)
        return ServoSearch(sub_model.space, settings, self.seed, known)

    def _spent(self, search: ServoSearch) -> bool:
        """Whether a sub-model has used its share of the evaluations."""
        share = len(self._sub_models) - 1
        return self.limit is not None and search.evaluations * share >= self.limit

    def _finish(self) -> None:
        self.status, self.message = self._search.status, self._search.message
        if self.status is Status.CONVERGED and self._found:
            self.message = (
                f"{len(self._found)} simpler models first, then: {self.message}; "
                f"{self.evaluations} evaluations in all"
            )
