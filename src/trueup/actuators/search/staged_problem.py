"""A servo problem with a coarser copy of itself, for the steps of a search that can do with one."""

import os

import numpy as np

from trueup.actuators.bench.objective import Objective
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.search.problem import ServoProblem
from trueup.fitting.problem import Failures, Problem


class StagedProblem(ServoProblem):
    """Parameters of a servo model from logs, with a coarser simulator for derivatives.

    Args:
      simulator: as fine as the result has to be.
      coarse: of the same model and logs, with longer steps; absent: the same.
      objective: what to minimise.
    """

    def __init__(
        self,
        simulator: BenchSimulator,
        coarse: BenchSimulator | None = None,
        objective: Objective | None = None,
    ):
        super().__init__(simulator, objective)
        self.coarse = self if coarse is None else ServoProblem(coarse, objective)
        """The same problem, cheaper and a little off."""

    @property
    def threads(self) -> int:
        """Threads that evaluate candidates."""
        return self.simulator.threads or default_threads()


class PositionAndSpeed(Problem):
    """Position and speed error of a servo model, as two objectives.

    Args:
      problem: the problem with one objective, which is the first.
    """

    def __init__(self, problem: ServoProblem):
        self.problem = problem
        self.simulator = problem.simulator
        self.space = problem.space
        kind = problem.objective.kind
        self.objectives = (kind, f"speed {kind}")
        self._speed = Objective(kind, 0.0, 1.0, speed_width=problem.objective.speed_width)

    def costs(self, X: np.ndarray, failures: Failures | None = None) -> np.ndarray:
        """Objective and speed error [rad/s] of candidates ``(n, 2)``."""
        first = self.simulator.costs(X, self.problem.objective, failures)
        return np.column_stack([first, self.simulator.costs(X, self._speed)])


def default_threads() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
