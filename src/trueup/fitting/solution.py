"""Result of a search: parameters, status, and uncertainty."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from trueup._rich_display import RichDisplay


class Status(Enum):
    """Final status of a search, with :attr:`advice` on the next step."""

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
        """Whether the search succeeded."""
        return self in (Status.CONVERGED, Status.EXACT, Status.TARGET_REACHED)

    @property
    def advice(self) -> str:
        """Advice on the next step."""
        return _ADVICE[self]


_ADVICE = {
    Status.CONVERGED: "Check the intervals, the held-out error and the identifiability.",
    Status.EXACT: (
        "The model reproduces the data to rounding: expected of simulated data, suspicious of a "
        "real recording."
    ),
    Status.TARGET_REACHED: "The target was reached; lower it to continue.",
    Status.STALLED: (
        "No step reduces the cost although the gradient is not zero: the simulation is rough here "
        "(contact, chaos). Shorten the windows, increase the finite-difference step, or start "
        "from several points."
    ),
    Status.ITERATION_LIMIT: (
        "Increase the iteration limit and restart, preferably from the current values."
    ),
    Status.EVALUATION_LIMIT: "Increase the budget and resume the run.",
    Status.TIME_LIMIT: "Increase the time limit and resume the run.",
    Status.INTERRUPTED: "Resume the run: nothing that was computed is lost.",
    Status.START_FAILED: (
        "The simulation fails at the start values: correct the model, the start values or the "
        "initial state, or reduce the time step."
    ),
}


@dataclass(frozen=True)
class ParetoFront:
    """Non-dominated candidates of a search with several objectives."""

    x: np.ndarray
    """Candidates ``(m, p)``, by ascending first objective."""
    costs: np.ndarray
    """Their costs ``(m, k)``."""
    objectives: tuple[str, ...]
    """Names of the costs."""


@dataclass
class Solution(RichDisplay):
    """Result of a search."""

    displayed_by = "trueup.reports.displays:of_solution"

    parameters: dict[str, float]
    """Best value of each free element, by name."""
    x: np.ndarray
    """The same as a vector ``(p,)``."""
    cost: float
    """Cost at ``x``: half the sum of squared residuals, or the cost of the problem."""
    status: Status
    """Final status of the search."""
    message: str
    """The status as a sentence with numbers."""
    covariance: np.ndarray | None = None
    """Covariance of the values ``(p, p)``, if estimated."""
    intervals: np.ndarray | None = None
    """Lower and upper end of each interval ``(p, 2)``; infinite if undetermined."""
    history: list[dict[str, Any]] = field(default_factory=list)
    """One record per generation or iteration: cost, step, regularisation, evaluations."""
    stats: dict[str, Any] = field(default_factory=dict)
    """Counts and times: evaluations, iterations, seconds."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """Seed, versions, input hashes and resolved settings."""
    front: ParetoFront | None = None
    """Pareto front of a search with several objectives; ``x`` is a compromise on it."""
    jacobian: np.ndarray | None = None
    """Jacobian of the residual at ``x`` ``(m, p)``, if it fits in memory."""
    residuals: np.ndarray | None = None
    """Residual at ``x`` ``(m,)``, if it fits in memory."""

    @property
    def success(self) -> bool:
        """Whether the search found what it looked for."""
        return self.status.success
