"""Settings of exported draws, without heavy imports."""

from dataclasses import dataclass
from typing import Annotated

from trueup._options import Option
from trueup.simulation.warp.devices import DeviceName


@dataclass(frozen=True)
class DrawSettings:
    """Settings of draws from the remaining uncertainty of a run."""

    draws: int = 4096
    """Number of draws."""
    seed: Annotated[int, Option("INT")] = 0
    """Seed of the draws."""
    joints: int | None = None
    """Number of joints per environment that are driven by the networks of an ensemble."""
    device: Annotated[DeviceName | None, Option()] = None
    """Device that simulates the draws of a model; by default that of its experiment."""
