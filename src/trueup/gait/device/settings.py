"""Settings of a comparison of walks with and without a device; without heavy imports."""

import functools
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml

from trueup._options import Option
from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.device.conditions import CONDITION_NAMES
from trueup.gait.search.configuration import GaitConfiguration, make_configuration
from trueup.gait.search.shipped_walk import NOMINAL, SHIPPED

MOST_SEEDS = 100
"""Largest number of searches of each condition."""

FASTEST = 4.0
"""Transition speed from walking to running [m/s], the limit of a walk."""


@functools.cache
def _search() -> dict[str, Any]:
    text = Path(__file__).with_name("device_search.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


def devices() -> list[str]:
    """Names of the devices available for a comparison."""
    return list(_search()["devices"])


@dataclass(frozen=True)
class DeviceSettings:
    """Settings of a comparison.

    Raises:
      GaitError: unknown device, a device without mass, or a value outside its range.
    """

    model: Annotated[str, Option("DEVICE")] = "ankle"
    """Device: ankle, hip or hip_extension."""
    max_torque: Annotated[float, Option("NM")] = 50.0
    """Maximum torque of the device [N m]."""
    seeds: Annotated[int, Option("INT")] = 3
    """Searches of each condition, with the seeds 0, 1, ...; a standard error requires 2, a useful
    one 3 or more."""
    start: str = SHIPPED
    """Initial walk of all searches: a run directory, a vector file, or shipped."""
    speed: float = 1.25
    """Speed at which the conditions are compared [m/s]."""
    slope: float = 0.0
    """Slope of the ground [deg]; the initial walk must not fall on it."""
    popsize: int = 64
    """Candidates in a generation."""
    maxiter: int = 40
    """Number of generations of each search."""

    def __post_init__(self):
        from trueup.gait.models.attachments import shipped_devices

        known = devices()
        if self.model not in known:
            raise GaitError(
                f"unknown device {self.model!r}; available: {listing(known)}."
                f"{did_you_mean(self.model, known)}"
            )
        device = shipped_devices()[self.model]
        mass = sum(part.mass for part in device.parts.values())
        if not mass > 0.0:
            raise GaitError(
                f"the device {self.model!r} has no mass, so that carrying it has no cost: set "
                "the masses of its parts"
            )
        if not 0.0 < self.max_torque <= device.torque:
            raise GaitError(
                f"max_torque is {self.max_torque:g} N m; for the device {self.model!r} it must be "
                f"above 0 and at most {device.torque:g} N m"
            )
        if not 0.0 < self.speed <= FASTEST:
            raise GaitError(
                f"the speed of the comparison is {self.speed:g} m/s; it must be above 0 and at "
                f"most {FASTEST:g} m/s"
            )
        if self.start == NOMINAL:
            raise GaitError(
                "a comparison requires an initial walk; the nominal vector does not walk"
            )
        if not 1 <= self.seeds <= MOST_SEEDS:
            raise GaitError(f"seeds is {self.seeds}; it must be from 1 to {MOST_SEEDS}")

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON values."""
        return asdict(self)

    def configuration(self, condition: str, seed: int) -> GaitConfiguration:
        """Configuration of the search of a condition.

        Raises:
          GaitError: an invalid value.
        """
        search, own = _search(), _search()["devices"][self.model]
        on = condition == "with"
        content = {
            **search["common"],
            "says": f"Walk with the {CONDITION_NAMES[condition]}."
            if condition != "without"
            else "Walk.",
            "model": "baseline" if condition == "without" else self.model,
            "ExoOn": on,
            "max_torque": self.max_torque,
            "moved": [*own["moved"], *(["exoskeleton"] if on else [])],
            "start_values": own["start_values"] if on else None,
            "param_path": self.start,
            "tgt_vel": self.speed,
            "tgt_slope": self.slope,
            "popsize": self.popsize,
            "maxiter": self.maxiter,
            "seed": seed,
        }
        return make_configuration(content, "the comparison")

    def mass(self, condition: str) -> float:
        """Total mass of a condition, body and device [kg]."""
        from trueup.gait.models.walker import Walker

        device = None if condition == "without" else self.model
        return Walker.load("planar22", device=device).mass
