"""Default search without prior knowledge of the problem: a scan of the bounds, then CMA-ES."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.fitting.cma_es import CmaEs, CmaEsSettings
from trueup.fitting.problem import Failures, Problem
from trueup.fitting.searches.cost_search import CostSearch
from trueup.fitting.searches.random import SobolSearch
from trueup.fitting.searches.saved_state import require_version
from trueup.fitting.searches.unit_box import search_bounds
from trueup.fitting.solution import Status
from trueup.parameters import Space

STATE_VERSION = 1
"""Version of :meth:`AutoSearch.state`."""

_BATCH = 32
_FROM_STAGE = ("cost", "generation_best", "generation_median", "invalid")


class AutoSearch(CostSearch):
    """Sobol points, then CMA-ES from the best of them; for one cost.

    With an infinite bound, or without a valid scanned candidate, CMA-ES starts directly from the
    given start.

    Args:
      space: search space.
      settings: settings of CMA-ES.
      scanned: scanned points, including the given start; None: 16 for each parameter, at most 512.
      seed: seed of both.

    Raises:
      FitError: fewer than one scanned point, or an error of :class:`CmaEs`.
    """

    settings_class = CmaEsSettings
    """Settings that the constructor takes."""

    def __init__(
        self,
        space: Space,
        settings: CmaEsSettings | None = None,
        scanned: int | None = None,
        seed: int = 0,
    ):
        super().__init__(space)
        if scanned is not None and scanned < 1:
            raise FitError(f"scanned must be at least 1, found {scanned}")
        self.settings = settings or CmaEsSettings()
        self.scanned = min(16 * space.size + 1, 512) if scanned is None else scanned
        self.seed = int(seed)
        bounded = all(np.isfinite(bound).all() for bound in search_bounds(space))
        # report errors of CMA-ES before the scan, not after it
        self._stage: SobolSearch | CmaEs = CmaEs(space, self.settings, self.seed)
        if bounded:
            self._stage = SobolSearch(space, _BATCH, self.scanned, self.seed)

    def ask(self) -> np.ndarray:
        """The next batch of candidates ``(n, p)``."""
        return self._stage.ask()

    def evaluate(self, problem: Problem, X: np.ndarray, failures: Failures) -> np.ndarray:
        """Costs ``(n, 1)`` of a batch.

        Raises:
          FitError: the problem has several objectives.
        """
        if len(problem.objectives) > 1:
            raise FitError(
                f"this search minimises one cost, the problem has {len(problem.objectives)}: "
                f"{', '.join(problem.objectives)}. Use 'nsgaii'"
            )
        return self._stage.evaluate(problem, X, failures)

    def tell(self, X: np.ndarray, answer: Any, failures: Failures) -> None:
        """Process the costs of a batch, its rows in any order; rows in ``failures`` are invalid."""
        stage = self._stage
        former = stage.evaluations
        stage.tell(X, answer, failures)
        self.evaluations += stage.evaluations - former
        if np.isfinite(stage.cost):
            self.x, self.cost = stage.x.copy(), stage.cost
        record = {key: stage.history[-1][key] for key in _FROM_STAGE}
        self.history.append(
            {
                "generation": self.generation,
                "evaluations": self.evaluations,
                **record,
                **self.info(),
            }
        )
        self.generation += 1
        if stage.done() is None:
            return
        if isinstance(stage, SobolSearch):
            start = stage.x if np.isfinite(stage.cost) else self.space.start
            self._stage = CmaEs(replace(self.space, start=start.copy()), self.settings, self.seed)
        else:
            found = np.isfinite(self.cost)
            self.status = stage.status if found else Status.START_FAILED
            self.message = stage.message

    def _learn(self, X: np.ndarray, costs: np.ndarray, valid: np.ndarray) -> None:
        """Update the active stage."""

    def info(self) -> dict[str, Any]:
        """Step size of CMA-ES; None during the scan."""
        scanning = isinstance(self._stage, SobolSearch)
        return {"scan": int(scanning), "step": None if scanning else self._stage.info()["step"]}

    def state(self) -> dict[str, Any]:
        """State for :meth:`from_state`: plain numbers and arrays."""
        return {
            "version": STATE_VERSION,
            "settings": asdict(self.settings),
            "scanned": self.scanned,
            "seed": self.seed,
            "scanning": isinstance(self._stage, SobolSearch),
            "start": self._stage.space.start.copy(),
            "stage": self._stage.state(),
            **self._common_state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], space: Space) -> "AutoSearch":
        """Continue from :meth:`state` with a bitwise identical history.

        Raises:
          FitError: the state was saved by another version of this search.
        """
        require_version(state, STATE_VERSION, "search")
        search = cls(space, CmaEsSettings(**state["settings"]), state["scanned"], state["seed"])
        search._take_common_state(state)
        kind = SobolSearch if state["scanning"] else CmaEs
        start = np.array(state["start"], float)
        search._stage = kind.from_state(state["stage"], replace(space, start=start))
        return search
