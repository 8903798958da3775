"""Limits of a study."""

import math
from dataclasses import dataclass
from typing import Annotated

from trueup._options import Option, settings_of
from trueup.errors import FitError
from trueup.fitting.solution import Status


@dataclass(frozen=True)
class Budget:
    """Limits of a study.

    The library counts them from the begin of the study; :func:`trueup.runs.start` and
    :func:`trueup.runs.resume` convert a time that is counted from a resume.
    """

    max_evaluations: Annotated[int | None, Option("INT", name="evaluations")] = None
    """Maximum number of evaluated candidates; a generation that would exceed it is not started."""
    max_generations: Annotated[int | None, Option("INT", name="generations")] = None
    """Maximum number of generations."""
    max_seconds: Annotated[float | None, Option("S", name="seconds")] = None
    """Maximum time [s]; a command that resumes a run counts it from the resume. The generation in
    progress is completed, except simulations in MuJoCo, which stop."""
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
        self,
        evaluations: int,
        generations: int,
        seconds: float,
        cost: float,
        shown: float | None = None,
    ) -> tuple[Status, str] | None:
        """Status and message if a limit is reached, or None.

        Args:
          evaluations: evaluated candidates.
          generations: finished generations.
          seconds: spent time [s].
          cost: cost of the best candidate, compared with ``target_cost``.
          shown: cost for the message; by default ``cost``.
        """
        said = cost if shown is None else shown
        if self.target_cost is not None and cost <= self.target_cost:
            return Status.TARGET_REACHED, f"cost {said:.6g} reached {self.target_cost:.6g}"
        if self.max_evaluations is not None and evaluations >= self.max_evaluations:
            return Status.EVALUATION_LIMIT, f"{evaluations} evaluations: cost {said:.6g}"
        if self.max_generations is not None and generations >= self.max_generations:
            return Status.ITERATION_LIMIT, f"{generations} generations: cost {said:.6g}"
        if self.max_seconds is not None and seconds >= self.max_seconds:
            return Status.TIME_LIMIT, f"{seconds:.1f} s: cost {said:.6g}"
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


def limit_in_words(name: str) -> str:
    """A limit as a command takes it: ``--evaluations``, or ``target_cost``, which is a key."""
    option = settings_of(Budget)[name].option
    return name if option is None else f"--{option.name}"
