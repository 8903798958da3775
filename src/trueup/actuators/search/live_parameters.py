"""Parameter file of a running fit: the best candidate so far, written atomically."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from trueup.actuators.catalogue.parameter_file import model_to_dict
from trueup.actuators.search.problem import ServoProblem
from trueup.fitting import Grade
from trueup.fitting.problem import LARGE_COST
from trueup.runs.loop.generation import Generation
from trueup.runs.store import atomic

_WAIT = 0.5  # shortest interval between writes [s]


class LiveParameters:
    """Writer of the best candidate so far, at most twice a second.

    Args:
      path: the parameter file; its folder is created if missing.
      problem: problem of the search.
      origin: provenance of the run.
      begun: whether the run already wrote the file before it was resumed.
    """

    def __init__(
        self, path: Path, problem: ServoProblem, origin: dict[str, Any], begun: bool = False
    ):
        self.path = path
        self._problem = problem
        self._origin = origin
        self._written = -np.inf
        self._latest: np.ndarray | None = None
        self._begun = begun

    def offer(self, generation: Generation) -> None:
        """Accept a better candidate; write it if the last write is long enough ago.

        Start values and candidates with a failed simulation are not written.
        """
        if not generation.cost < LARGE_COST:
            return
        if np.array_equal(generation.x, self._problem.space.start):
            return
        self._latest = generation.x.copy()
        if time.monotonic() - self._written >= _WAIT:
            self.flush()

    def flush(self) -> None:
        """Write the best candidate so far, if it is not written yet."""
        if self._latest is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_json(self.path, self.content(self._latest))
        self._latest, self._written, self._begun = None, time.monotonic(), True

    def withdraw(self) -> None:
        """Remove the file if this run wrote it, because the fit failed."""
        self._latest = None
        if self._begun:
            self.path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def withdrawn_on_error(self) -> Iterator[None]:
        """Context that removes the file if the fit fails, because its values would be mistaken for
        a result."""
        try:
            yield
        except Exception:
            self.withdraw()
            raise

    def content(self, x: np.ndarray) -> dict[str, Any]:
        """Content of the parameter file of a candidate ``x (p,)``."""
        model = self._problem.model_at(x)
        content = model_to_dict(model)
        cost = float(self._problem.costs(x[None, :])[0, 0])
        content["provenance"] = {
            **self._origin,
            "status": "in progress",
            "grade": Grade.LOOK.value,  # not judged yet
            "objective": {"kind": self._problem.objective.kind, "value": cost},
        }
        return content
