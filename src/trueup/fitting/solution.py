"""What a search returns: the parameters, how it ended, and how far to trust it."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np


class Status(Enum):
    """How a search ended; :attr:`advice` says what to do next."""

    CONVERGED = "converged"
    EXACT = "exact"
    TARGET_REACHED = "target reached"
    STALLED = "stalled"
    ITERATION_LIMIT = "iteration limit"
    EVALUATION_LIMIT = "evaluation limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    START_FAILED = "start failed"

    @property
    def success(self) -> bool:
        """Whether the search found what it looked for."""
        return self in (Status.CONVERGED, Status.EXACT, Status.TARGET_REACHED)

    @property
    def advice(self) -> str:
        """What to do next, in words."""
        return _ADVICE[self]


_ADVICE = {
    Status.CONVERGED: "Look at the intervals, the held-out error and the identifiability.",
    Status.EXACT: (
        "The model reproduces the data to rounding: expected of simulated data, suspicious of a "
        "real recording."
    ),
    Status.TARGET_REACHED: "The target was met; lower it to go on.",
    Status.STALLED: (
        "No step lowers the cost, yet the gradient is not zero: the simulation is rough here "
        "(contact, chaos). Shorten the windows, raise the finite-difference step, or start from "
        "several points."
    ),
    Status.ITERATION_LIMIT: (
        "Raise the iteration limit and start again, best from the values found so far."
    ),
    Status.EVALUATION_LIMIT: "Raise the budget and resume the run.",
    Status.TIME_LIMIT: "Raise the time limit and resume the run.",
    Status.INTERRUPTED: "Resume the run: nothing that was computed is lost.",
    Status.START_FAILED: (
        "The simulation fails at the start values: correct the model, the start values or the "
        "initial state, or shorten the time step."
    ),
}


@dataclass(frozen=True)
class ParetoFront:
    """Candidates of which none is better than another in every objective."""

    x: np.ndarray
    """Candidates ``(m, p)``, by ascending first objective."""
    costs: np.ndarray
    """Their costs ``(m, k)``."""
    objectives: tuple[str, ...]
    """Names of the costs."""


@dataclass
class Solution:
    """Result of a search."""

    parameters: dict[str, float]
    """Best value of each free element, by name."""
    x: np.ndarray
    """The same as a vector ``(p,)``."""
    cost: float
    """Cost at ``x``: half the sum of squared residuals, or what the problem defines."""
    status: Status
    """How the search ended."""
    message: str
    """The same in a sentence with numbers."""
    covariance: np.ndarray | None = None
    """Covariance of the values ``(p, p)``, where it was estimated."""
    intervals: np.ndarray | None = None
    """Lower and upper end of each interval ``(p, 2)``; infinite where the data say nothing."""
    history: list[dict[str, Any]] = field(default_factory=list)
    """One record a generation or iteration: cost, step, regularisation, evaluations."""
    stats: dict[str, Any] = field(default_factory=dict)
    """Counts and times: evaluations, iterations, seconds."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """Seed, versions, input hashes and resolved settings."""
    front: ParetoFront | None = None
    """The Pareto front, of a search with several objectives; ``x`` is a compromise on it."""
    jacobian: np.ndarray | None = None
    """Jacobian of the residual at ``x`` ``(m, p)``, where it fits in memory."""
    residuals: np.ndarray | None = None
    """Residual at ``x`` ``(m,)``, likewise."""

    @property
    def success(self) -> bool:
        """Whether the search found what it looked for."""
        return self.status.success
