"""What may be recorded next on a servo bench."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueup.errors import FitError

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

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "BenchChoices":
        """Inverse of :meth:`to_dict`."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in content.items()
        }
        return cls(**values)
