"""Limits of a study."""

import math
from dataclasses import dataclass

from trueup.errors import FitError
from trueup.fitting.solution import Status


@dataclass(frozen=True)
class Budget:
    """Limits of a study, counted from its start, not from a resume."""

    max_evaluations: int | None = None
    """Maximum number of evaluated candidates; a generation that would exceed it is not started."""
    max_generations: int | None = None
    """Generations."""
    max_seconds: float | None = None
    """Time limit over all sessions [s]; a generation of MuJoCo simulations is interrupted."""
    target_cost: float | None = None
    """Cost at which the search stops."""

    def __post_init__(self):
        for name in ("max_evaluations", "max_generations", "max_seconds"):
            limit = getattr(self, name)
            if limit is not None and not limit > 0:
                raise FitError(f"{name} must be positive, found {limit}")
        if self.target_cost is not None and not math.isfinite(self.target_cost):
            raise FitError(f"target_cost must be finite, found {self.target_cost}")

    def spent(
        self, evaluations: int, generations: int, seconds: float, cost: float
    ) -> tuple[Status, str] | None:
        """Status and message if a limit is reached, or None."""
        if self.target_cost is not None and cost <= self.target_cost:
            return Status.TARGET_REACHED, f"cost {cost:.6g} reached {self.target_cost:.6g}"
        if self.max_evaluations is not None and evaluations >= self.max_evaluations:
            return Status.EVALUATION_LIMIT, f"{evaluations} evaluations: cost {cost:.6g}"
        if self.max_generations is not None and generations >= self.max_generations:
            return Status.ITERATION_LIMIT, f"{generations} generations: cost {cost:.6g}"
        if self.max_seconds is not None and seconds >= self.max_seconds:
            return Status.TIME_LIMIT, f"{seconds:.1f} s: cost {cost:.6g}"
        return None

    def fraction(self, evaluations: int, generations: int, seconds: float) -> float | None:
        """Used share of the nearest limit, or None without limits."""
        used = [
            spent / limit
            for spent, limit in (
                (evaluations, self.max_evaluations),
                (generations, self.max_generations),
                (seconds, self.max_seconds),
            )
            if limit is not None
        ]
        return min(max(used), 1.0) if used else None
