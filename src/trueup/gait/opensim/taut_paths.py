"""Taut paths through points and over surfaces, by the algorithm of OpenSim's GeometryPath.

Surfaces are processed in order, each with the path as wrapped over the others: the first segment
that intersects the surface is wrapped, otherwise the one that a wrap lengthens least, such as a
segment on the wrong side of a cylinder. The tangent points become points of the path, so that a
surface can act on the straight segments of another one, but not on its arcs. With several surfaces
this is repeated until the lengths converge (OpenSim: at most 8 times, until they change by less
than 0.5 mm, which causes steps in its lengths that are not reproduced here).
"""

from dataclasses import dataclass

import numpy as np

from trueup.gait.opensim.model import Surface
from trueup.gait.opensim.rotations import inverse, moved
from trueup.gait.opensim.wrapping import wrap

ROUNDS = 50
"""Largest number of iterations for paths over several surfaces."""

TAUT = 1e-10
"""Convergence tolerance of the length [m], small since moment arms are differences of lengths."""


@dataclass(frozen=True)
class Wrapping:
    """A wrapping surface of a path.

    Attributes:
      surface: surface.
      pose: poses of the surface ``(n, 4, 4)``.
      first: index of the first point of its section.
      last: index of the last point of its section.
    """

    surface: Surface
    pose: np.ndarray
    first: int
    last: int


@dataclass(frozen=True)
class TautPaths:
    """A batch of taut paths.

    Attributes:
      segments: lengths from each point to the next, over the surfaces between ``(n, points - 1)``
        [m].
      stretch: for each surface the index of the point before it, -1 where the path does not touch
        it ``(n, surfaces)``.
      contacts: first and last point of the path on each surface ``(n, surfaces, 2, 3)`` [m];
        arbitrary where the path does not touch it.
    """

    segments: np.ndarray
    stretch: np.ndarray
    contacts: np.ndarray


def taut_paths(places: np.ndarray, wraps: list[Wrapping]) -> TautPaths:
    """Taut paths through points, over surfaces.

    Args:
      places: positions of the points ``(n, points, 3)`` [m].
      wraps: surfaces in the order of processing.
    """
    count = len(places)
    paths = _Paths(places, wraps)
    length = paths.lengths(np.arange(count))
    rows = np.arange(count) if wraps else np.arange(0)
    for _ in range(ROUNDS if len(wraps) > 1 else 1):
        for k in range(len(wraps)):
            paths.bend(k, rows)
        new = paths.lengths(rows)
        moving = np.abs(new - length[rows]) > TAUT
        length[rows], rows = new, rows[moving]
        if not rows.size:
            break
    contacts = paths.place[:, paths.points :].reshape(count, len(wraps), 2, 3)
    return TautPaths(paths.segments(), paths.stretches(), contacts)


class _Paths:
    """Paths as lists of nodes: the points, then two for each surface."""

    def __init__(self, places: np.ndarray, wraps: list[Wrapping]):
        count, self.points, _ = places.shape
        self.wraps = wraps
        nodes = self.points + 2 * len(wraps)
        self.place = np.zeros((count, nodes, 3))
        self.place[:, : self.points] = places
        self.order = np.full((count, nodes), -1)
        """Nodes of the paths in order, padded with -1."""
        self.order[:, : self.points] = np.arange(self.points)
        self.arc = np.zeros((count, len(wraps)))
        self.to_surface = [inverse(one.pose) for one in wraps]

    def _node(self, k: int) -> int:
        """The node of the first tangent point of a surface, followed by that of the second."""
        return self.points + 2 * k

    def bend(self, k: int, rows: np.ndarray) -> None:
        """Remove a surface from the given paths, and wrap them over it again."""
        own, one = self._node(k), self.wraps[k]
        order = self.order[rows]
        gone = (order == own) | (order == own + 1)
        order = np.take_along_axis(order, np.argsort(gone, axis=1, kind="stable"), axis=1)
        order[np.cumsum(np.ones_like(order), axis=1) > (~gone).sum(axis=1)[:, None]] = -1
        first, last = (np.argmax(order == at, axis=1) for at in (one.first, one.last))
        seat = np.full(len(rows), -1)  # the wrapped segment
        least, met = np.full(len(rows), np.inf), np.zeros(len(rows), dtype=bool)
        for segment in range(int(first.min()), int(last.max())):
            nodes = order[:, segment : segment + 2]
            on_surface = (nodes[:, 0] >= self.points) & (nodes[:, 1] == nodes[:, 0] + 1)
            on_surface &= (nodes[:, 0] - self.points) % 2 == 0
            here = np.flatnonzero((first <= segment) & (segment < last) & ~met & ~on_surface)
            if not here.size:
                continue
            at = rows[here]
            ends = self.place[at[:, None], nodes[here]]
            start, end = (moved(self.to_surface[k][at], ends[:, j]) for j in (0, 1))
            path = wrap(one.surface, start, end)
            longer = path.length - np.linalg.norm(end - start, axis=1)
            better = path.touches & (path.meets | (longer < least[here]))
            chosen, at = here[better], at[better]
            seat[chosen], least[chosen] = segment, longer[better]
            met[chosen] |= path.meets[better]
            self.arc[at, k] = path.arc[better]
            for j, contact in enumerate((path.first, path.last)):
                self.place[at, own + j] = moved(one.pose[at], contact[better])
        taken = np.flatnonzero(seat >= 0)
        slots = np.arange(order.shape[1])
        after = slots > seat[taken, None]
        shifted = np.where(slots > seat[taken, None] + 2, slots - 2, slots)
        bent = np.take_along_axis(order[taken], shifted, axis=1)
        bent[after & (slots == seat[taken, None] + 1)] = own
        bent[after & (slots == seat[taken, None] + 2)] = own + 1
        order[taken] = bent
        self.order[rows] = order

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """Lengths of the given paths ``(rows,)`` [m]."""
        return self._steps(rows).sum(axis=1)

    def segments(self) -> np.ndarray:
        """Lengths from each point to the next ``(n, points - 1)`` [m]."""
        steps = self._steps(np.arange(len(self.order)))
        before = np.where(self.order < self.points, self.order, -1)
        before = np.maximum.accumulate(before, axis=1)[:, :-1]
        found = [np.where(before == k, steps, 0.0).sum(axis=1) for k in range(self.points - 1)]
        return np.stack(found, axis=1)

    def _steps(self, rows: np.ndarray) -> np.ndarray:
        """Lengths between the nodes of the given paths ``(rows, nodes - 1)`` [m]."""
        order = self.order[rows]
        places = self.place[rows[:, None], np.maximum(order, 0)]
        steps = np.linalg.norm(np.diff(places, axis=1), axis=2)
        steps[order[:, 1:] < 0] = 0.0
        for k in range(len(self.wraps)):
            row, slot = np.nonzero(order[:, :-1] == self._node(k))
            steps[row, slot] = self.arc[rows[row], k]
        return steps

    def stretches(self) -> np.ndarray:
        """Index of the point before each surface, -1 where a path does not touch it."""
        found = np.full((len(self.order), len(self.wraps)), -1)
        for k in range(len(self.wraps)):
            row, slot = np.nonzero(self.order == self._node(k))
            before = np.where(
                (np.arange(self.order.shape[1]) < slot[:, None]) & (self.order[row] < self.points),
                self.order[row],
                -1,
            )
            found[row, k] = before.max(axis=1)
        return found
