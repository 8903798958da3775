"""Tilt of gravity as an unknown in place of its components."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from trueup.fitting.problem import Failures, Problem

_MOST = 3.3  # largest tilt [rad]: a base may hang from a ceiling


class TiltedGravity(Problem):
    """A gray-box problem with two tilts of gravity, of constant size, in place of its components.

    The elements of the components become the tilts about both axes across gravity, and an element
    without effect.

    Args:
      whole: problem with the components of gravity as three elements.
      columns: these elements ``(3,)``.
    """

    def __init__(self, whole: Any, columns: np.ndarray):
        self.whole, self._columns = whole, columns
        self._gravity = whole.space.start[columns]
        self.axes = tilt_axes(self._gravity)
        lower, upper, start = (
            np.array(v) for v in (whole.space.lower, whole.space.upper, whole.space.start)
        )
        lower[columns], upper[columns], start[columns] = -_MOST, _MOST, 0.0
        self.space = replace(whole.space, lower=lower, upper=upper, start=start)
        self.groups, self.data_rows = whole.groups, whole.data_rows
        self.noise_scale, self.sequences = whole.noise_scale, whole.sequences
        self.sequence_names, self.variants = whole.sequence_names, whole.variants

    def quick(self, candidates: int) -> "TiltedGravity":
        """The same problem on the device of the whole one, if that pays."""
        whole = self.whole.quick(candidates)
        if whole is self.whole:
            return self
        twin = copy.copy(self)
        twin.whole = whole
        return twin

    @property
    def device_notes(self) -> tuple[str, ...]:
        """Sentences on the device."""
        return self.whole.device_notes

    @property
    def residual_size(self) -> int:
        """Rows of the data and of the priors."""
        return self.whole.residual_size

    def acting_on(self, rows: slice) -> np.ndarray | None:
        """Elements that act on a block of rows."""
        return self.whole.acting_on(rows)

    def with_components(self, X: np.ndarray) -> np.ndarray:
        """Candidates with components of gravity ``(n, p)`` for candidates with tilts."""
        out = np.array(np.atleast_2d(X), float)
        out[:, self._columns] = tilted(self._gravity, self.axes, out[:, self._columns[:2]])
        return out

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of residuals; see :meth:`trueup.fitting.Problem.residual_blocks`."""
        yield from self.whole.residual_blocks(self.with_components(X), failures)

    def predictions(
        self, X: np.ndarray, failures: Failures | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Measured and predicted signals of each sequence."""
        return self.whole.predictions(self.with_components(X), failures)


def tilt_axes(gravity: np.ndarray) -> tuple[int, int]:
    """The two axes of the world across gravity."""
    down = int(np.argmax(np.abs(gravity)))
    first, second = (axis for axis in range(3) if axis != down)
    return first, second


def tilted(gravity: np.ndarray, axes: tuple[int, int], tilts: np.ndarray) -> np.ndarray:
    """Gravity rotated by vectors with two components about two axes (Rodrigues' formula).

    Args:
      gravity: components ``(3,)`` [m/s^2].
      axes: the axes.
      tilts: components of the rotations about them ``(n, 2)`` [rad].

    Returns:
      Components ``(n, 3)`` [m/s^2].
    """
    angle = np.hypot(tilts[:, 0], tilts[:, 1])[:, None]
    axis = np.zeros((len(tilts), 3))
    axis[:, list(axes)] = tilts / np.where(angle > 0, angle, 1.0)
    across, along = np.cross(axis, gravity), axis * (axis @ gravity)[:, None]
    return np.cos(angle) * gravity + np.sin(angle) * across + (1.0 - np.cos(angle)) * along
