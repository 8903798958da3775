"""Records of walks: their frames, and the reasons of their ends."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.walk.frames import FRAME


class End(IntEnum):
    """Reason for the end of a walk; a complete walk remains running."""

    running = 0
    fell = 1
    diverged = 2
    could_not_start = 3
    stopped = 4


@dataclass(frozen=True)
class WalkRecords:
    """Frames of a batch of walks.

    Attributes:
      frames: frames ``(n, frames, columns)``; rows past the end of a walk are zero.
      length: number of frames of each walk ``(n,)``; 0 for one that could not start.
      ended: reason for the end of each walk ``(n,)``: 0 complete, 1 fall, 2 divergence, 3 cannot
        start, 4 stopped.
      invalid: candidate -> reason why it cannot start.
      period: time between frames [s].
      muscles: names of the muscles, in the order of the activations at the end of a frame.
      mass: mass of the walker [kg].
      level: whether the ground is level; otherwise distances are along it.
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
          GaitError: unknown column.
        """
        names = (*FRAME, *self.muscles)
        if name not in names:
            raise GaitError(
                f"unknown column {name!r} of a walk; available: {listing(names, 80)}."
                f"{did_you_mean(name, names)}"
            )
        return self.frames[:, :, names.index(name)]
