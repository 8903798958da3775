"""Settings of exported draws, light to import."""

from dataclasses import dataclass
from typing import Annotated

from trueup._options import Option


@dataclass(frozen=True)
class DrawSettings:
    """Settings of draws of what a run leaves open."""

    draws: int = 4096
    """Number of draws."""
    seed: Annotated[int, Option("INT")] = 0
    """Seed of the draws."""
    joints: int | None = None
    """Number of joints of an environment that the networks of an ensemble drive."""
