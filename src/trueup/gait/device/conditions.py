"""Arms of a comparison: the same search with a device, with it carried but off, and without it."""

import functools
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.models.attachments import shipped_devices
from trueup.gait.models.walker import Walker
from trueup.gait.search.configuration import GaitConfiguration, make_configuration
from trueup.gait.search.shipped_walk import NOMINAL, SHIPPED

ARMS = ("with", "off", "without")
"""Arms: the device on, the device carried but off, and no device."""

ARM_WORDS = {"with": "device on", "off": "device carried but off", "without": "no device"}
"""Arms in words."""

MOST_SEEDS = 100
FASTEST = 4.0
"""Speed at which people run [m/s]: no walk is faster."""


@functools.cache
def _search() -> dict[str, Any]:
    text = Path(__file__).with_name("device_search.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


def devices() -> list[str]:
    """Names of the devices that can be compared."""
    return list(_search()["devices"])


@dataclass(frozen=True)
class DeviceSettings:
    """Settings of a comparison.

    Attributes:
      model: device.
      max_torque: its largest torque [N m].
      seeds: number of searches of each arm, with the seeds 0, 1, ...
      start: walk that all searches start from: the shipped one, a run, or a file.
      speed: speed at which the arms are compared [m/s].
      slope: slope of the ground [deg].
      popsize: candidates of a generation.
      maxiter: generations of each search.

    Raises:
      GaitError: there is no such device, it has no mass, or a value is out of its range.
    """

    model: str = "ankle"
    max_torque: float = 50.0
    seeds: int = 3
    start: str = SHIPPED
    speed: float = 1.25
    slope: float = 0.0
    popsize: int = 64
    maxiter: int = 40

    def __post_init__(self):
        known = devices()
        if self.model not in known:
            raise GaitError(
                f"there is no device {self.model!r} to compare; there are {listing(known)}."
                f"{did_you_mean(self.model, known)}"
            )
        mass = sum(part.mass for part in shipped_devices()[self.model].parts.values())
        if not mass > 0.0:
            raise GaitError(
                f"the device {self.model!r} has no mass, and carrying it would cost nothing: give "
                "its parts their masses"
            )
        most = shipped_devices()[self.model].torque
        if not 0.0 < self.max_torque <= most:
            raise GaitError(
                f"the largest torque is {self.max_torque:g} N m, and the device {self.model!r} "
                f"exerts up to {most:g} N m: give more than 0, and that at most"
            )
        if not 0.0 < self.speed <= FASTEST:
            raise GaitError(
                f"the speed of the comparison is {self.speed:g} m/s: walks are compared at a speed "
                f"above 0, and {FASTEST:g} m/s at most"
            )
        if self.start == NOMINAL:
            raise GaitError("a device is compared on a walk, and the nominal vector is none")
        if not 1 <= self.seeds <= MOST_SEEDS:
            raise GaitError(f"the seeds are {self.seeds}; give 1 to {MOST_SEEDS}")

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain data."""
        return asdict(self)

    def configuration(self, arm: str, seed: int) -> GaitConfiguration:
        """Configuration of the search of an arm.

        Raises:
          GaitError: a value does not fit.
        """
        search, own = _search(), _search()["devices"][self.model]
        on = arm == "with"
        content = {
            **search["common"],
            "says": f"Walk with the {ARM_WORDS[arm]}." if arm != "without" else "Walk.",
            "model": "baseline" if arm == "without" else self.model,
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

    def mass(self, arm: str) -> float:
        """Mass that an arm carries, the body's included [kg]."""
        device = None if arm == "without" else self.model
        return Walker.load("planar22", device=device).mass
