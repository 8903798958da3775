"""Vectorised shortest paths around cylinders, spheres, ellipsoids and tori, without MuJoCo.

A path from one point to another is pulled taut: straight to the surface, along a geodesic on it,
and straight to the end. On a cylinder it is a helix, on a sphere a great circle. On an ellipsoid it
is the shortest of the planar curves through both points, as in OpenSim. Through a torus it is that
around a cylinder in place of the nearest part of the ring, on the side of the hole, as in OpenSim.
A path with an end inside the surface is not wrapped.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.gait.opensim.model import Surface

PLANES = 72
"""Number of trial planes around an ellipsoid, before the best is refined."""


@dataclass(frozen=True)
class Wrapped:
    """A batch of paths around a surface.

    Attributes:
      touches: whether a path touches the surface ``(n,)``.
      meets: whether also its straight line intersects the surface ``(n,)``.
      first: first tangent point ``(n, 3)``, in the frame of the surface [m]; arbitrary without
          contact.
      last: second tangent point, likewise.
      arc: arc length on the surface ``(n,)`` [m].
      length: length of the whole path ``(n,)`` [m]; straight without contact.
    """

    touches: np.ndarray
    meets: np.ndarray
    first: np.ndarray
    last: np.ndarray
    arc: np.ndarray
    length: np.ndarray


def wrap(surface: Surface, start: np.ndarray, end: np.ndarray) -> Wrapped:
    """Paths around a surface.

    Args:
      surface: surface.
      start: starts ``(n, 3)`` in the frame of the surface [m].
      end: ends, likewise.
    """
    straight = np.linalg.norm(end - start, axis=1)
    around = {
        "cylinder": _cylinder, "sphere": _sphere, "ellipsoid": _ellipsoid, "torus": _torus,
    }[surface.kind]  # fmt: skip
    with np.errstate(invalid="ignore", divide="ignore"):
        found = around(surface, start, end)
    return replace(found, length=np.where(found.touches, found.length, straight))


def _nearest(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Points of the segments nearest to the origin ``(n, k)``."""
    along = end - start
    part = -np.sum(start * along, axis=1) / np.maximum(np.sum(along**2, axis=1), 1e-30)
    return start + np.clip(part, 0.0, 1.0)[:, None] * along


@dataclass(frozen=True)
class _Arcs:
    """Arcs of a circle about the origin between two tangents ``(n,)``."""

    first: np.ndarray  # angle of the first tangent point
    angle: np.ndarray  # of the arc
    lead_in: np.ndarray  # length of the first tangent
    lead_out: np.ndarray

    def faces(self, sense: float, side: np.ndarray) -> np.ndarray:
        """Sum of the positions of both tangent points along directions ``(n, 2)``: ``(n,)``."""
        ends = self.first, self.first + sense * self.angle
        places: Any = sum(np.cos(end) * side[:, 0] + np.sin(end) * side[:, 1] for end in ends)
        return places


def _arcs(start: np.ndarray, end: np.ndarray, radius: np.ndarray | float, sense: float) -> _Arcs:
    """Arcs of a circle from outside points ``(n, 2)``; ``sense`` 1 is anticlockwise."""
    far0, far1 = np.linalg.norm(start, axis=1), np.linalg.norm(end, axis=1)
    first = np.arctan2(start[:, 1], start[:, 0]) + sense * np.arccos(np.minimum(radius / far0, 1))
    last = np.arctan2(end[:, 1], end[:, 0]) - sense * np.arccos(np.minimum(radius / far1, 1))
    angle = np.mod(sense * (last - first), 2.0 * np.pi)
    return _Arcs(
        first,
        angle,
        np.sqrt(np.maximum(far0**2 - radius**2, 0.0)),
        np.sqrt(np.maximum(far1**2 - radius**2, 0.0)),
    )


@dataclass(frozen=True)
class _Bow:
    """Taut paths around a circle about the origin ``(n,)``."""

    touches: np.ndarray
    meets: np.ndarray  # whether the straight line intersects the circle
    lead_in: np.ndarray  # length of the first tangent
    arc: np.ndarray
    lead_out: np.ndarray
    first: np.ndarray  # position of the first tangent point (n, 2)
    last: np.ndarray


def _circle(start: np.ndarray, end: np.ndarray, radius: float, side: np.ndarray | None) -> _Bow:
    """Taut paths around a circle in the plane.

    Args:
      start: starts ``(n, 2)``.
      end: ends ``(n, 2)``.
      radius: radius.
      side: directions ``(n, 2)`` of the wrapping half; None for the shorter path.
    """
    near = _nearest(start, end)
    meets = np.linalg.norm(near, axis=1) < radius
    touches = meets
    both = [_arcs(start, end, radius, sense) for sense in (1.0, -1.0)]
    if side is None:
        left = both[0].angle <= both[1].angle
    else:
        touches = meets | (np.sum(near * side, axis=1) < 0.0)
        left = both[0].faces(1.0, side) >= both[1].faces(-1.0, side)
    inside = np.minimum(np.linalg.norm(start, axis=1), np.linalg.norm(end, axis=1)) < radius
    angle = np.where(left, both[0].angle, both[1].angle)
    first = np.where(left, both[0].first, both[1].first)
    last = first + np.where(left, angle, -angle)
    # beyond half a turn the straight ends of a path would intersect
    touches = touches & ~inside & (angle <= np.pi)
    first, last = (radius * np.stack([np.cos(a), np.sin(a)], axis=1) for a in (first, last))
    return _Bow(touches, meets, both[0].lead_in, radius * angle, both[0].lead_out, first, last)


def _cylinder(surface: Surface, start: np.ndarray, end: np.ndarray) -> Wrapped:
    side = None
    if surface.side is not None and np.any(surface.side[:2]):
        side = np.broadcast_to(surface.side[:2], (len(start), 2))
    bow = _circle(start[:, :2], end[:, :2], float(surface.radii[0]), side)
    flat = bow.lead_in + bow.arc + bow.lead_out
    # developed into a plane, a taut path is straight: its slope along the axis is constant
    climb = end[:, 2] - start[:, 2]
    heights = [start[:, 2] + climb * part / flat for part in (bow.lead_in, bow.lead_in + bow.arc)]
    half = 0.5 * surface.length
    past = np.all([at > half for at in heights], axis=0)
    past |= np.all([at < -half for at in heights], axis=0)
    whole = np.hypot(flat, climb)
    first, last = (
        np.column_stack([place, at])
        for place, at in zip((bow.first, bow.last), heights, strict=True)
    )
    return Wrapped(bow.touches & ~past, bow.meets, first, last, bow.arc * whole / flat, whole)


def _sphere(surface: Surface, start: np.ndarray, end: np.ndarray) -> Wrapped:
    first = start / np.linalg.norm(start, axis=1, keepdims=True)
    across = end - np.sum(end * first, axis=1, keepdims=True) * first
    second = across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-12)
    plane = np.stack([first, second], axis=1)  # (n, 2, 3)
    flat = [(plane @ point[..., None])[..., 0] for point in (start, end)]
    side = None
    if surface.side is not None:
        side = plane @ surface.side
        side = side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-12)
    bow = _circle(flat[0], flat[1], float(surface.radii[0]), side)
    # unlike a cylinder, a line without intersection is not wrapped, even on the wrong side
    meets = np.linalg.norm(_nearest(start, end), axis=1) < float(surface.radii[0])
    first, last = (np.einsum("nk,nki->ni", place, plane) for place in (bow.first, bow.last))
    whole = bow.lead_in + bow.arc + bow.lead_out
    return Wrapped(bow.touches & meets, meets, first, last, bow.arc, whole)


ALONG = 101
"""Number of trial positions along a line for its point nearest to the ring of a torus."""


def _torus(surface: Surface, start: np.ndarray, end: np.ndarray) -> Wrapped:
    ring, tube = float(surface.radii[0]), float(surface.radii[1])
    along = end - start
    rows = np.arange(len(start))
    part, step = np.full(len(start), 0.5), 0.5
    for _ in range(4):
        trial = np.clip(part[:, None] + step * np.linspace(-1.0, 1.0, ALONG), 0.0, 1.0)
        places = start[:, None] + trial[..., None] * along[:, None]
        far = np.hypot(np.linalg.norm(places[..., :2], axis=2) - ring, places[..., 2])
        part = trial[rows, np.argmin(far, axis=1)]
        step *= 2.0 / (ALONG - 1)
    near = start + part[:, None] * along
    x = np.zeros_like(start)  # from the ring to the center
    x[:, :2] = -near[:, :2] / np.maximum(np.linalg.norm(near[:, :2], axis=1, keepdims=True), 1e-12)
    y = np.broadcast_to((0.0, 0.0, 1.0), x.shape)
    turned = np.stack([x, y, np.cross(x, y)], axis=1)
    local = [(turned @ (place + ring * x)[..., None])[..., 0] for place in (start, end)]
    side = np.array([1.0, 0.0, 0.0])
    tubular = replace(surface, radii=np.full(3, tube), length=np.inf, side=side)
    found = _cylinder(tubular, *local)
    first, last = (
        np.einsum("nji,nj->ni", turned, place) - ring * x for place in (found.first, found.last)
    )
    return replace(found, first=first, last=last)


_Rule = tuple[np.ndarray, np.ndarray]
"""Nodes and weights of a quadrature."""

_COARSE, _EXACT = (np.polynomial.legendre.leggauss(count) for count in (8, 24))


def _ellipsoid(surface: Surface, start: np.ndarray, end: np.ndarray) -> Wrapped:
    radii = surface.radii
    one, two = start / radii, end / radii  # scaled to a unit sphere
    near = _nearest(one, two)
    # as for a sphere, a line without intersection is not wrapped
    meets = np.linalg.norm(near, axis=1) < 1.0
    touches = meets & (np.minimum(np.linalg.norm(one, axis=1), np.linalg.norm(two, axis=1)) > 1.0)
    length = np.linalg.norm(end - start, axis=1)
    first, last, arc = start.copy(), end.copy(), np.zeros(len(start))
    if not touches.any():
        return Wrapped(touches, meets, first, last, arc, length)
    planes = _Planes.through(one[touches], two[touches], surface)
    # every plane twice, once for each side
    step = 2.0 * np.pi / PLANES
    turns = np.broadcast_to(np.arange(PLANES) * step, (int(touches.sum()), PLANES))
    center = _best(turns, planes.lengths(turns, _COARSE))
    # to a millionth of a turn: near the minimum the error of the length is its square
    for _ in range(8):
        turns = center + step * np.linspace(-1.0, 1.0, 9)
        center = _best(turns, planes.lengths(turns))
        step /= 4.0
    length[touches] = planes.lengths(center)[:, 0]
    first[touches], last[touches] = planes.contacts(center)
    arc[touches] = planes.arcs(center)[:, 0]
    touches = touches.copy()
    touches[touches] = np.isfinite(length[touches])
    return Wrapped(touches, meets, first, last, arc, length)


def _best(turns: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The angle ``(n, 1)`` of the shortest path of each row."""
    return np.take_along_axis(turns, np.argmin(lengths, axis=1)[:, None], axis=1)


@dataclass(frozen=True)
class _Planes:
    """Planes through both points of paths, and the sections of the ellipsoid in them.

    Scaling the ellipsoid to a unit sphere preserves tangency, so tangent points are computed on the
    sphere, and only lengths on the ellipsoid. The normal of a plane is ``u`` rotated by an angle
    about the line, and the path is anticlockwise about it.
    """

    surface: Surface
    one: np.ndarray  # (n, 3), in the space of the unit sphere
    two: np.ndarray
    along: np.ndarray  # direction of the line (n, 3)
    u: np.ndarray
    v: np.ndarray

    @classmethod
    def through(cls, one: np.ndarray, two: np.ndarray, surface: Surface) -> "_Planes":
        """Planes through points ``(n, 3)`` of the scaled space."""
        along = two - one
        along = along / np.linalg.norm(along, axis=1, keepdims=True)
        u = np.cross(along, np.eye(3)[np.argmin(np.abs(along), axis=1)])
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        return cls(surface, one, two, along, u, np.cross(along, u))

    def _section(self, turns: np.ndarray) -> "_Section":
        normal = (
            np.cos(turns)[..., None] * self.u[:, None, :]
            + np.sin(turns)[..., None] * self.v[:, None, :]
        )  # (n, planes, 3)
        height = np.sum(normal * self.one[:, None, :], axis=2)
        radius = np.sqrt(np.maximum(1.0 - height**2, 1e-12))
        center = height[..., None] * normal
        e1 = np.broadcast_to(self.along[:, None, :], normal.shape)
        e2 = np.cross(normal, e1)

        def flat(points: np.ndarray) -> np.ndarray:
            away = points[:, None, :] - center
            return np.stack([np.sum(away * e1, axis=2), np.sum(away * e2, axis=2)], axis=2)

        start, end = (flat(points).reshape(-1, 2) for points in (self.one, self.two))
        arcs = _arcs(start, end, radius.reshape(-1), 1.0)
        begin, angle = arcs.first.reshape(height.shape), arcs.angle.reshape(height.shape)
        return _Section(self.surface.radii, height, radius, center, e1, e2, begin, angle)

    def lengths(self, turns: np.ndarray, rule: _Rule = _EXACT) -> np.ndarray:
        """Lengths ``(n, planes)`` of the paths, infinite where a plane misses the ellipsoid or the
        whole path is on the wrong side."""
        section, radii = self._section(turns), self.surface.radii
        length = np.linalg.norm(section.place(0.0) - self.one[:, None] * radii, axis=2)
        length += np.linalg.norm(section.place(1.0) - self.two[:, None] * radii, axis=2)
        length += section.arc(rule)
        wrong = np.abs(section.height) >= 1.0
        if self.surface.side is not None:
            # as in OpenSim, an arc that reaches the correct side counts as being
            # on it
            wrong |= np.all(
                [section.place(part) @ self.surface.side < 0.0 for part in (0.0, 0.5, 1.0)], axis=0
            )
        return np.where(wrong, np.inf, length)

    def arcs(self, turns: np.ndarray) -> np.ndarray:
        """Lengths ``(n, planes)`` on the ellipsoid."""
        return self._section(turns).arc()

    def contacts(self, turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Tangent points on the ellipsoid of the path of one plane per row, ``(n, 3)`` each."""
        section = self._section(turns)
        return section.place(0.0)[:, 0], section.place(1.0)[:, 0]


@dataclass(frozen=True)
class _Section:
    """Circles of intersection of planes with the unit sphere, and arcs of paths ``(n, planes)``."""

    radii: np.ndarray  # of the ellipsoid (3,)
    height: np.ndarray  # of a plane over the origin
    radius: np.ndarray
    center: np.ndarray  # (n, planes, 3), as the directions
    e1: np.ndarray
    e2: np.ndarray
    begin: np.ndarray
    angle: np.ndarray

    def place(self, part: float) -> np.ndarray:
        """Points of the arcs at a fraction of their angle, on the ellipsoid ``(n, planes, 3)``."""
        at = self.begin + part * self.angle
        turned = np.cos(at)[..., None] * self.e1 + np.sin(at)[..., None] * self.e2
        return (self.center + self.radius[..., None] * turned) * self.radii

    def arc(self, rule: _Rule = _EXACT) -> np.ndarray:
        """Lengths of the arcs on the ellipsoid, by Gauss-Legendre quadrature."""
        length = np.zeros_like(self.angle)
        for node, weight in zip(*rule, strict=True):
            at = self.begin + 0.5 * (node + 1.0) * self.angle
            rate = np.cos(at)[..., None] * self.e2 - np.sin(at)[..., None] * self.e1
            rate = rate * self.radius[..., None] * self.radii
            length += 0.5 * weight * self.angle * np.linalg.norm(rate, axis=2)
        return length
