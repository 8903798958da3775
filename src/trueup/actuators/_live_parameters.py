"""The parameter file while a fit is running: the best so far, never half written."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from trueup.actuators.parameter_file import model_to_dict
from trueup.actuators.problem import ServoProblem
from trueup.studies import Generation, atomic

_WAIT = 0.5  # time between two writes [s]


class LiveParameters:
    """Writes the best candidate so far, at most twice a second.

    Args:
      path: the parameter file; its folder is made where absent.
      problem: what is searched.
      origin: provenance of the run.
    """

    def __init__(self, path: Path, problem: ServoProblem, origin: dict[str, Any]):
        self.path = path
        self._problem = problem
        self._origin = origin
        self._written = -np.inf
        self._latest: np.ndarray | None = None

    def offer(self, generation: Generation) -> None:
        """Take a better candidate; write it if the last write is long enough ago."""
        self._latest = generation.x.copy()
        if time.monotonic() - self._written >= _WAIT:
            self.flush()

    def flush(self) -> None:
        """Write the best candidate so far, if it is not written yet."""
        if self._latest is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_json(self.path, self.content(self._latest))
        self._latest, self._written = None, time.monotonic()

    def content(self, x: np.ndarray) -> dict[str, Any]:
        """Content of the parameter file of a candidate ``x (p,)``."""
        model = self._problem.model_at(x)
        content = model_to_dict(model)
        cost = float(self._problem.costs(x[None, :])[0, 0])
        content["provenance"] = {
            **self._origin,
            "status": "in progress",
            "objective": {"kind": self._problem.objective.kind, "value": cost},
        }
        return content
