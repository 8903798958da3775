"""Available conditions of the next logs on a servo bench."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueup.errors import FitError

_MOST = 100  # greatest number of logs, and longest duration of a log [s]
_SHORTEST = 2.0  # shortest duration of a log [s]


@dataclass(frozen=True)
class BenchChoices:
    """Available conditions of the next logs on a servo bench."""

    logs: int = 3
    """Servo bench: number of logs to record."""
    seconds: float = 24.0
    """Total duration of all logs [s]."""
    masses: tuple[float, ...] = ()
    """Servo bench: available masses [kg]; by default those of the former logs."""
    lengths: tuple[float, ...] = ()
    """Servo bench: available arm lengths [m]; by default those of the former logs."""
    gains: tuple[float, ...] = ()
    """Servo bench: firmware gains; by default the standard ones of the servo and those of the
    former logs."""
    rate: float = 200.0
    """Sampling rate [Hz]."""

    def __post_init__(self) -> None:
        if not 1 <= self.logs <= _MOST:
            raise FitError(f"the number of logs must be 1 to {_MOST}, got {self.logs}")
        if not _SHORTEST <= self.seconds / self.logs <= _MOST:
            raise FitError(
                f"{self.seconds:g} s for {self.logs} logs are {self.seconds / self.logs:.3g} s "
                f"each: a log must have {_SHORTEST:g} to {_MOST} s"
            )
        for what, given in (("mass", self.masses), ("length", self.lengths), ("gain", self.gains)):
            for value in given:
                if not 0 < value < np.inf:
                    raise FitError(f"the {what} must be positive, got {value:g}")

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
