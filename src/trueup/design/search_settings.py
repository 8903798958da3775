"""Settings of the search of a design, without heavy imports."""

from dataclasses import dataclass
from typing import Annotated

from trueup._options import Option

SECONDS = 240.0
"""Default time of the search [s]."""


@dataclass(frozen=True)
class DesignSearchSettings:
    """Settings of the search of a design, of a robot or of a servo on its bench."""

    max_seconds: Annotated[float, Option("S", name="seconds")] = SECONDS
    """Maximum time of the search [s]."""
    max_evaluations: Annotated[int | None, Option("INT", name="evaluations")] = None
    """Maximum number of evaluated designs; if library is given too, the result does not depend on
    the time."""
    seed: Annotated[int | None, Option("INT")] = None
    """Seed of all random numbers; by default that of the experiment, 0 for a servo fit."""
    library: int | None = None
    """Number of random motions to choose from; by default as many as the time allows."""
