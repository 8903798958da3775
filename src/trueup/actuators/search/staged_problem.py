"""Servo problem with a coarser copy, for the stages of a search that tolerate it."""

import os

import numpy as np

from trueup.actuators.bench.objective import Objective
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.search.problem import ServoProblem
from trueup.fitting.problem import Failures, Problem


class StagedProblem(ServoProblem):
    """Parameters of a servo model from logs, with a coarser simulator for derivatives.

    Args:
      simulator: simulator with the accuracy of the result.
      coarse: simulator of the same model and logs with longer steps; default: ``simulator``.
      objective: function to minimise.
    """

    def __init__(
        self,
        simulator: BenchSimulator,
        coarse: BenchSimulator | None = None,
        objective: Objective | None = None,
    ):
        super().__init__(simulator, objective)
        self.coarse = self if coarse is None else ServoProblem(coarse, objective)
        """The same problem with a faster, less accurate simulator."""

    @property
    def threads(self) -> int:
        """Number of threads that evaluate candidates."""
        return self.simulator.threads or default_threads()


class PositionAndSpeed(Problem):
    """Position and speed error of a servo model, as two objectives.

    Args:
      problem: the problem of the first objective.
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
    """Number of cores available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
