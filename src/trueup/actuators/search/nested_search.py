"""The search of a servo model from the simplest one that it contains up to itself."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from trueup.actuators.search.nested_models import FaceProblem, ModelFace, model_faces
from trueup.actuators.search.servo_search import ServoSearch, ServoSearchSettings
from trueup.actuators.search.warm_starts import with_switching_terms
from trueup.errors import FitError
from trueup.fitting.problem import Failures, Problem
from trueup.fitting.searches.saved_state import require_version
from trueup.fitting.solution import Status
from trueup.parameters import Space

_LEAST_SHARE = 100  # evaluations of a simpler model below which it is not worth a search

STATE_VERSION = 1
"""Version of what :meth:`NestedServoSearch.state` holds."""


class NestedServoSearch:
    """Search of M1, then of each richer model from the best of those that it contains.

    M1 is a face of the box of M2, and so on up to M6. Each face is searched by
    :class:`ServoSearch`, which starts from a scan of the face and from the optima of the faces
    within it. So the search of a simpler model is the beginning of that of a richer one, which
    therefore ends no higher; and few points of a wide box have to be lucky.

    Args:
      space: the unknowns; bounds have to be finite.
      settings: settings of the search of each face; half as many descents from the scan where there
        are optima to descend from, and further ones from values of the terms that switch.
      seed: seed of everything random.
      limit: evaluations that the faces below the whole box may take together, None for any number;
        where they are too few, the whole box is searched alone.

    Raises:
      FitError: no free element, an infinite bound, or settings out of range.
    """

    ends_by_itself = True
    """End by convergence, long before usual limits, which say nothing of the time left."""

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
        faces = model_faces(space)
        enough = limit is None or limit >= _LEAST_SHARE * (len(faces) - 1)
        self._faces = faces if enough else faces[-1:]
        self._found: list[tuple[np.ndarray, float]] = []
        self._search = self._next_search()

    @property
    def face(self) -> ModelFace:
        """The model at work."""
        return self._faces[min(len(self._found), len(self._faces) - 1)]

    @property
    def stage(self) -> str:
        """What is at work on it."""
        return self._search.stage

    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)``."""
        return self.face.widened(self._search.ask())

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> Any:
        """What the stage at work needs of a batch.

        Raises:
          FitError: the problem has several objectives.
        """
        face = self.face
        narrow = problem if face is self._faces[-1] else FaceProblem(problem, face)
        return self._search.evaluate(narrow, face.narrowed(X), failures)

    def costs_of(self, answer: Any) -> np.ndarray:
        """Objective ``(n,)`` in an answer of :meth:`evaluate`."""
        return self._search.costs_of(answer)

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Take the answer for the batch that :meth:`ask` gave."""
        face, search = self.face, self._search
        search.tell(face.narrowed(X), answer, failures)
        self.evaluations += len(X)
        if search.cost < self.cost:
            self.x, self.cost = face.widened(search.x), search.cost
        self.history.append(
            {
                **search.history[-1],
                "generation": self.generation,
                "evaluations": self.evaluations,
                "cost": float(self.cost),
                "model": face.name,
            }
        )
        self.generation += 1
        last = face is self._faces[-1]
        if last:
            if search.done() is not None:
                self._finish()
        elif search.done() is not None or self._spent(search):
            self._found.append((face.widened(search.x), search.cost))
            self._search = self._next_search()

    def done(self) -> Status | None:
        """Why the search ended, or None."""
        return self.status

    def info(self) -> dict[str, Any]:
        """Number of the stage, as of :class:`ServoSearch`, and of the model, from 0."""
        return {**self._search.info(), "model": len(self._found)}

    def state(self) -> dict[str, Any]:
        """Everything needed to go on: plain numbers and arrays."""
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
        """Continue from :meth:`state`: the same history, bit for bit.

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
        if len(search._found) >= len(search._faces):
            raise FitError("the saved servo search is of another model: it has more faces")
        search._search = ServoSearch.from_state(state["search"], search.face.space)
        return search

    def _next_search(self) -> ServoSearch:
        """Search of the next face, from the optima of those within it."""
        face = self.face
        if len(self._faces) == 1:
            return ServoSearch(face.space, self.settings, self.seed)
        within = [x for x, cost in self._found if np.isfinite(cost) and face.holds(x)]
        known = np.array([face.narrowed(x) for x in within]).reshape(-1, face.space.size)
        settings = self.settings
        if len(known):
            best = face.narrowed(min(self._found, key=lambda entry: entry[1])[0])
            switched = with_switching_terms(best, face.space)
            known = np.vstack([known, switched])
            descents = max(1, settings.descents // 2) + len(switched)
            settings = replace(settings, descents=descents)
        return ServoSearch(face.space, settings, self.seed, known)

    def _spent(self, search: ServoSearch) -> bool:
        """Whether a simpler model has had its share of the evaluations."""
        share = len(self._faces) - 1
        return self.limit is not None and search.evaluations * share >= self.limit

    def _finish(self) -> None:
        self.status, self.message = self._search.status, self._search.message
        if self.status is Status.CONVERGED and self._found:
            self.message = (
                f"{len(self._found)} simpler models first, then: {self.message}; "
                f"{self.evaluations} evaluations in all"
            )
