"""Settings of the search of a design, light to import."""

from dataclasses import dataclass
from typing import Annotated

from trueup._options import Option

SECONDS = 240.0
"""Time of the search [s] unless another is given."""


@dataclass(frozen=True)
class DesignSearchSettings:
    """Settings of the search of a design, of a robot or of a servo on its bench."""

    max_seconds: Annotated[float, Option("S", name="seconds")] = SECONDS
    """Maximum time of the search [s]."""
    max_evaluations: Annotated[int | None, Option("INT", name="evaluations")] = None
    """Maximum number of evaluated designs; with library the result does not depend on time."""
    seed: Annotated[int | None, Option("INT")] = None
    """Seed of everything random; by default that of the experiment, 0 for a servo fit."""
    library: int | None = None
    """Number of random pieces to choose from; by default as many as the time allows."""
