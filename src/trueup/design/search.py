"""Search for the pieces of a design: library, exchange of pieces, polish of each piece.

1. Random pieces of every family, each evaluated alone.
2. Greedy exchange over the library: each slot in turn gets the best piece, first for the
   volume of all intervals (D-optimality), then, for the parameters that these pieces identify,
   for the largest interval, until no exchange helps (Fedorov, "Theory of Optimal Experiments",
   1972).
3. CMA-ES changes the numbers of one piece at a time, with the others fixed, in rounds.
"""

from typing import Any

import numpy as np

from trueup.design.criterion import Criterion
from trueup.design.problem import DesignProblem
from trueup.fitting.cma_es import CmaEs
from trueup.fitting.cma_es.settings import CmaEsSettings
from trueup.fitting.problem import LARGE_COST, Failures
from trueup.fitting.searches.saved_state import require_version
from trueup.fitting.solution import Status
from trueup.parameters import Space

STATE_VERSION = 2

IDENTIFIABLE = 0.5
"""Relative interval above which a parameter counts as unidentifiable."""

EXCEEDS = 10.0
"""Smallest cost of a design that exceeds limits; above all logarithms of relative intervals."""

_MOST_SWEEPS = 6
_WELL_BELOW = 0.9  # fraction of the target: the prediction of the whole recording differs slightly


class DesignSearch:
    """Search over designs, see above, with the protocol of searches of :mod:`trueup.runs`.

    Args:
      space: the numbers of all pieces.
      library: random pieces ``(k, size)``.
      slots: number of pieces of a design.
      weights: fraction of each slot that counts ``(slots,)``.
      batch: number of pieces per batch.
      shape: numbers of draws and parameters in a result.
      polish: evaluations of CMA-ES per piece.
      rounds: number of rounds over all pieces.
      target: largest relative interval at which the search ends; None: no such end.
      seed: seed of CMA-ES.
      fixed: number of leading elements of a piece that the polish keeps, such as its family.
    """

    def __init__(
        self,
        space: Space,
        library: np.ndarray,
        slots: int,
        weights: np.ndarray,
        batch: int,
        shape: tuple[int, int],
        polish: int = 60,
        rounds: int = 20,
        target: float | None = None,
        seed: int = 0,
        fixed: int = 1,
    ):
        self.space, self.slots, self.batch = space, slots, batch
        self.weights = np.asarray(weights, float)
        self.size = space.size // slots
        self.library = np.array(library, float)
        self.shape, self.polish, self.rounds, self.seed = tuple(shape), polish, rounds, seed
        self.fixed = fixed
        self.phase, self.index, self.sweep, self.changed = "library", 0, 0, False
        self.usable = np.zeros(len(self.library), bool)
        self.counted = np.ones(self.shape[1], bool)
        self.x, self.cost = space.start.copy(), np.inf
        self.target = target
        self.message, self.status = "", None
        self.history: list[dict[str, Any]] = []
        self.evaluations = 0
        self._cma: CmaEs | None = None

    # --- the protocol of a search --------------------------------------------------------------

    @property
    def words(self) -> str:
        """Name of the current step."""
        return {"library": "library", "exchange": "choice of pieces", "polish": "polish"}[
            self.phase
        ]

    def ask(self) -> np.ndarray:
        """Next designs ``(n, slots * size)``."""
        if self.phase == "library":
            rows = self.library[self.index : self.index + self.batch]
            return self._with(np.tile(self._still, (len(rows), 1)), self._first_slot, rows)
        if self.phase == "exchange":
            rows = self.library[self.usable]
            return self._with(np.tile(self.x, (len(rows), 1)), self.index, rows)
        rows = self._polisher().ask()
        held = self._row(self.x, self._slot)[: self.fixed]
        full = np.column_stack([np.tile(held, (len(rows), 1)), rows])
        return self._with(np.tile(self.x, (len(rows), 1)), self._slot, full)

    def evaluate(self, problem: DesignProblem, X: np.ndarray, failures: Failures) -> np.ndarray:
        """Relative intervals and excess of designs."""
        return problem.answer(X, failures)

    def costs_of(self, answer: np.ndarray) -> np.ndarray:
        """Costs ``(n,)`` of a result."""
        intervals = answer[:, :-1].reshape(len(answer), *self.shape)
        if self.phase == "library" or (self.phase == "exchange" and self.sweep == 0):
            costs = Criterion.volume(intervals)
        else:
            costs = Criterion.largest(intervals, self.counted)
        return np.where(answer[:, -1] > 0, EXCEEDS + answer[:, -1], costs)

    def tell(self, X: np.ndarray, answer: np.ndarray, failures: Failures) -> None:
        """Process the results for the designs from :meth:`ask`."""
        self.evaluations += len(X)
        costs = self.costs_of(answer)
        best = int(np.argmin(costs))
        phase = self.phase
        if phase == "library":
            self._process_library(X, answer, costs, best)
        elif phase == "exchange":
            self._process_exchange(X, answer, costs, best)
        else:
            self._process_polish(X, costs, best)
        if phase != "library" and (self.sweep > 1 or phase == "polish"):
            self._check_target(answer[best], costs[best])
        self.history.append({"evaluations": self.evaluations, "cost": self.cost, "phase": phase})

    def done(self) -> Status | None:
        """Reason for the end of the search, or None."""
        return self.status

    # --- phases --------------------------------------------------------------------------------

    def _process_library(
        self, X: np.ndarray, answer: np.ndarray, costs: np.ndarray, best: int
    ) -> None:
        self.usable[self.index : self.index + len(X)] = answer[:, -1] == 0
        if answer[best, -1] == 0 and costs[best] < self.cost:
            self.x, self.cost = X[best].copy(), float(costs[best])
        self.index += len(X)
        if self.index < len(self.library):
            return
        if not self.usable.any():
            self.status = Status.START_FAILED
            self.message = "no motion of the library is within the limits"
            return
        self.phase, self.index, self.sweep = "exchange", 0, 0
        self.x, self.cost = self._still.copy(), np.inf

    def _process_exchange(
        self, X: np.ndarray, answer: np.ndarray, costs: np.ndarray, best: int
    ) -> None:
        if costs[best] < self.cost - 1e-9 or not np.isfinite(self.cost):
            self.changed |= not np.array_equal(self.x, X[best])
            self.x, self.cost = X[best].copy(), float(costs[best])
        self.index += 1
        if self.index < self.slots:
            return
        if self.sweep == 0:
            # parameters that even the best of these pieces do not identify are excluded from it
            intervals = answer[best, :-1].reshape(self.shape).mean(axis=0)
            self.counted = intervals < IDENTIFIABLE
            if not self.counted.any():
                self.counted = intervals <= intervals.min()
            self.cost = np.inf
        elif not self.changed or self.sweep >= _MOST_SWEEPS:
            self.phase = "polish"
        self.sweep, self.index, self.changed = self.sweep + 1, 0, False

    def _process_polish(self, X: np.ndarray, costs: np.ndarray, best: int) -> None:
        cma = self._polisher()
        rows = self._rows(X, self._slot)[:, self.fixed :]
        cma.tell(rows, np.minimum(costs, LARGE_COST)[:, None], {})
        if costs[best] < self.cost:
            self.x, self.cost = X[best].copy(), float(costs[best])
        if cma.done() is not None:
            self._cma = None
            self.index += 1
            if self.index >= self.rounds * len(self._order):
                self.status = Status.CONVERGED
                self.message = f"{self.rounds} rounds of polish over {len(self._order)} pieces"

    def _check_target(self, answer: np.ndarray, cost: float) -> None:
        """End if the best design reaches the target interval."""
        if self.target is None or self.status is not None or cost > self.cost:
            return
        intervals = answer[:-1].reshape(self.shape).mean(axis=0)
        largest = float(intervals[self.counted].max())
        if answer[-1] == 0 and largest <= _WELL_BELOW * self.target:
            self.status = Status.TARGET_REACHED
            self.message = f"the largest interval is {100 * largest:.3g} %, within the target"

    def _polisher(self) -> CmaEs:
        if self._cma is None:
            box = self._box(self._row(self.x, self._slot)[self.fixed :])
            width = 0.06 / (1 + self.index // len(self._order))
            settings = CmaEsSettings(
                population=max(self.batch, 8), deviation=width, max_evaluations=self.polish
            )
            self._cma = CmaEs(box, settings, seed=self.seed + self.index)
        return self._cma

    def _box(self, start: np.ndarray) -> Space:
        """Free elements of one piece, starting from that of the best design."""
        part = slice(self.fixed, self.size)
        low, high = (b[part] for b in (self.space.lower, self.space.upper))
        names = self.space.names[part]
        return Space(names, low, high, np.clip(start, low, high), np.zeros(len(names), bool))

    # --- rows ----------------------------------------------------------------------------------

    @property
    def _order(self) -> np.ndarray:
        """Slots that are used for training, in order of decreasing weight."""
        return np.flatnonzero(self.weights > 0)

    @property
    def _first_slot(self) -> int:
        return int(np.argmax(self.weights))

    @property
    def _slot(self) -> int:
        return int(self._order[self.index % len(self._order)])

    @property
    def _still(self) -> np.ndarray:
        return self.space.start

    def _rows(self, X: np.ndarray, slot: int) -> np.ndarray:
        return X[:, slot * self.size : (slot + 1) * self.size]

    def _row(self, x: np.ndarray, slot: int) -> np.ndarray:
        return x[slot * self.size : (slot + 1) * self.size]

    def _with(self, X: np.ndarray, slot: int, rows: np.ndarray) -> np.ndarray:
        X[:, slot * self.size : (slot + 1) * self.size] = rows
        return X

    # --- state ---------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """State for resuming: plain numbers and arrays."""
        return {
            "version": STATE_VERSION,
            "library": self.library,
            "slots": self.slots,
            "weights": self.weights,
            "batch": self.batch,
            "shape": list(self.shape),
            "polish": self.polish,
            "rounds": self.rounds,
            "target": self.target,
            "seed": self.seed,
            "fixed": self.fixed,
            "phase": self.phase,
            "index": self.index,
            "sweep": self.sweep,
            "changed": self.changed,
            "usable": self.usable,
            "counted": self.counted,
            "x": self.x,
            "cost": self.cost,
            "message": self.message,
            "status": self.status.value if self.status else None,
            "history": self.history,
            "evaluations": self.evaluations,
            "cma": None if self._cma is None else self._cma.state(),
            "cma_start": None if self._cma is None else self._cma.space.start,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], space: Space) -> "DesignSearch":
        """Search resumed from :meth:`state`, with the same history bit for bit.

        Raises:
          FitError: the state was saved by another version of this search.
        """
        require_version(state, STATE_VERSION, "search of a design")
        search = cls(
            space,
            np.array(state["library"], float),
            int(state["slots"]),
            np.array(state["weights"], float),
            int(state["batch"]),
            (int(state["shape"][0]), int(state["shape"][1])),
            int(state["polish"]),
            int(state["rounds"]),
            state["target"],
            int(state["seed"]),
            int(state["fixed"]),
        )
        search.phase, search.index = str(state["phase"]), int(state["index"])
        search.sweep, search.changed = int(state["sweep"]), bool(state["changed"])
        search.usable = np.array(state["usable"], bool)
        search.counted = np.array(state["counted"], bool)
        search.x, search.cost = np.array(state["x"], float), float(state["cost"])
        search.message = str(state["message"])
        search.status = Status(state["status"]) if state["status"] else None
        search.history = list(state["history"])
        search.evaluations = int(state["evaluations"])
        if state["cma"] is not None:
            box = search._box(np.array(state["cma_start"], float))
            search._cma = CmaEs.from_state(state["cma"], box)
        return search
