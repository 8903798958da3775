"""Records of walks: their frames, and why they ended."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.walk.frames import FRAME


class End(IntEnum):
    """Why a walk ended; a walk that lasts to its full time stays running."""

    running = 0
    fell = 1
    diverged = 2
    could_not_start = 3
    stopped = 4


@dataclass(frozen=True)
class WalkRecords:
    """Frames of some walks.

    Attributes:
      frames: frames ``(n, frames, columns)``; rows past the end of a walk are zero.
      length: number of frames of each walk ``(n,)``; 0 for one that could not start.
      ended: why each walk ended ``(n,)``: 0 at its full time, 1 it fell, 2 it diverged, 3 it could
        not start, 4 it was stopped.
      invalid: candidate -> why it could not start.
      period: time between frames [s].
      muscles: names of the muscles whose activations end a frame.
      mass: mass of the walker [kg].
      level: whether the ground is level; otherwise distances count along it.
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
        """Distance of each walk ``(n,)`` [m]."""
        x = self.column("x")
        last = np.maximum(self.length - 1, 0)
        return np.where(self.length > 0, x[np.arange(len(x)), last] - x[:, 0], 0.0)

    def column(self, name: str) -> np.ndarray:
        """Column of the frames ``(n, frames)``, a view, by its name or that of a muscle.

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
