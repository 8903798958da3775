"""Loads and gains of a servo bench that the next logs may have."""

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueup.actuators.bench.loads import GRAVITY
from trueup.actuators.catalogue.greatest_torque import greatest_torque
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.record import standard_gains
from trueup.design.bench.family import BenchCondition
from trueup.errors import FitError
from trueup.knowledge.servo_run import ServoRun

_HOLDS = 0.6  # share of the greatest torque that a load may need
_MOST = 100  # logs, and seconds of a log [s]
_SHORTEST = 2.0  # [s]


@dataclass(frozen=True)
class BenchChoices:
    """What may be recorded next on a servo bench."""

    logs: int = 3
    """Logs to record."""
    seconds: float = 24.0
    """Length of all logs together [s]."""
    masses: tuple[float, ...] = ()
    """Masses at hand [kg]; those of the former logs where empty."""
    lengths: tuple[float, ...] = ()
    """Lengths of the arm at hand [m]; those of the former logs where empty."""
    gains: tuple[float, ...] = ()
    """Firmware gains; the standard ones of the servo and those of the former logs where empty."""
    rate: float = 200.0
    """Samples a second."""

    def __post_init__(self) -> None:
        if not 1 <= self.logs <= _MOST:
            raise FitError(f"{self.logs} logs are asked for; give 1 to {_MOST}")
        if not _SHORTEST <= self.seconds / self.logs <= _MOST:
            raise FitError(
                f"{self.seconds:g} s for {self.logs} logs are {self.seconds / self.logs:.3g} s "
                f"each; give {_SHORTEST:g} to {_MOST} s a log"
            )
        for what, given in (("mass", self.masses), ("length", self.lengths), ("gain", self.gains)):
            for value in given:
                if not 0 < value < np.inf:
                    raise FitError(f"the {what} {value:g} is not positive")

    def plain(self) -> dict[str, Any]:
        """Plain data."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "BenchChoices":
        """Inverse of :meth:`plain`."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in plain.items()
        }
        return cls(**values)


def usual_condition(logs: Sequence[ServoLog]) -> BenchCondition:
    """Load and gain that most of the former logs have."""
    found = [BenchCondition(log.mass, log.length, log.kp) for log in logs]
    return max(found, key=found.count)


def conditions_at_hand(source: ServoRun, choices: BenchChoices) -> list[BenchCondition]:
    """Every load that the servo can hold, at every gain.

    Raises:
      FitError: no load is known, or none is light enough for the servo.
    """
    former = source.job.prepared.training_logs
    heavy = choices.masses or _of(log.mass for log in former)
    long = choices.lengths or _of(log.length for log in former)
    stiff = choices.gains or _of([*standard_gains(source.model.servo), *(log.kp for log in former)])
    if not heavy or not long:
        raise FitError(
            "the former logs have no pendulum: say which masses and lengths there are, with "
            "--masses and --lengths"
        )
    limit = _HOLDS * greatest_torque(source.model, former[0].vin)
    arm = former[0].arm_mass
    loads = [
        (m, length)
        for m, length in itertools.product(heavy, long)
        if (m + 0.5 * arm) * GRAVITY * length <= limit
    ]
    if not loads:
        raise FitError(
            f"the servo holds {limit / _HOLDS:.3g} N m at most, and the lightest load needs "
            f"{(min(heavy) + 0.5 * arm) * GRAVITY * min(long):.3g} N m: give lighter masses or "
            f"shorter lengths, up to {limit:.3g} N m"
        )
    return [BenchCondition(m, length, kp) for (m, length), kp in itertools.product(loads, stiff)]


def _of(values) -> tuple[float, ...]:
    return tuple(sorted({float(value) for value in values if value > 0}))
