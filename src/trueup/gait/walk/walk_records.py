"""What is kept of walks."""

from dataclasses import dataclass

import numpy as np

from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.walk._frames import FRAME


@dataclass(frozen=True)
class WalkRecords:
    """What is kept of some walks.

    Attributes:
      frames: ``(n, frames, columns)``; rows past the end of a walk are zero.
      length: frames of each walk ``(n,)``; 0 for one that could not start.
      ended: why each walk ended ``(n,)``: 0 at its full time, 1 it fell, 2 it diverged, 3 it could
        not start, 4 it was stopped.
      invalid: candidate -> why it could not start.
      period: time between frames [s].
      muscles: names of the muscles whose activations end a frame.
      mass: mass of the walker [kg].
      level: whether the ground is level; else distances are told along it.
    """

    frames: np.ndarray
    length: np.ndarray
    ended: np.ndarray
    invalid: dict[int, str]
    period: float
    muscles: tuple[str, ...]
    mass: float
    level: bool = True

    @property
    def walked(self) -> np.ndarray:
        """How far each walk went ``(n,)`` [m]."""
        x = self.column("x")
        last = np.maximum(self.length - 1, 0)
        return np.where(self.length > 0, x[np.arange(len(x)), last] - x[:, 0], 0.0)

    def column(self, name: str) -> np.ndarray:
        """A column of the frames ``(n, frames)``, by its name or that of a muscle.

        Raises:
          GaitError: there is no such column.
        """
        names = (*FRAME, *self.muscles)
        if name not in names:
            raise GaitError(
                f"a walk has no column {name!r}; it has {listing(names, 80)}."
                f"{did_you_mean(name, names)}"
            )
        return self.frames[:, :, names.index(name)]
