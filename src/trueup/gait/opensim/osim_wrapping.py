"""Shortest paths around cylinders, spheres and ellipsoids, many at once, without MuJoCo.

A path from one point to another is pulled taut: straight to the surface, along a geodesic on it,
and straight to the end. On a cylinder it is a helix, on a sphere a great circle. On an ellipsoid it
is the shortest of the curves in planes through both points, which is what OpenSim takes too.
A point within a surface is not wrapped.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.gait.opensim.osim_model import Surface

PLANES = 72
"""Planes through both points that are tried around an ellipsoid, before the best is refined."""


@dataclass(frozen=True)
class Wrapped:
    """Paths around a surface.

    Attributes:
      touches: which paths touch the surface ``(n,)``.
      length: length of the whole path ``(n,)`` [m]; straight where it does not touch.
    """

    touches: np.ndarray
    length: np.ndarray


def wrap(surface: Surface, start: np.ndarray, end: np.ndarray) -> Wrapped:
    """Paths around a surface.

    Args:
      surface: surface.
      start: starts ``(n, 3)`` in the frame of the surface [m].
      end: ends, likewise.
    """
    straight = np.linalg.norm(end - start, axis=1)
    around = {"cylinder": _cylinder, "sphere": _sphere, "ellipsoid": _ellipsoid}[surface.kind]
    with np.errstate(invalid="ignore", divide="ignore"):
        touches, length = around(surface, start, end)
    return Wrapped(touches, np.where(touches, length, straight))


def _nearest(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Points of the segments that are nearest to the origin ``(n, k)``."""
    along = end - start
    part = -np.sum(start * along, axis=1) / np.maximum(np.sum(along**2, axis=1), 1e-30)
    return start + np.clip(part, 0.0, 1.0)[:, None] * along


@dataclass(frozen=True)
class _Arcs:
    """Arcs of a circle about the origin between two tangents ``(n,)``."""

    first: np.ndarray  # angle of the first tangent point
    angle: np.ndarray  # of the arc
    leave: np.ndarray  # length of the first tangent
    arrive: np.ndarray

    def faces(self, sense: float, side: np.ndarray) -> np.ndarray:
        """Sum of the places of the two tangent points along directions ``(n, 2)``: ``(n,)``."""
        ends = self.first, self.first + sense * self.angle
        places: Any = sum(np.cos(end) * side[:, 0] + np.sin(end) * side[:, 1] for end in ends)
        return places


def _arcs(start: np.ndarray, end: np.ndarray, radius: np.ndarray | float, sense: float) -> _Arcs:
    """Arcs of a circle from points ``(n, 2)`` outside of it; ``sense`` 1 is anticlockwise."""
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


def _circle(
    start: np.ndarray, end: np.ndarray, radius: float, side: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Taut paths around a circle in the plane.

    Args:
      start: starts ``(n, 2)``.
      end: ends ``(n, 2)``.
      radius: radius.
      side: directions ``(n, 2)`` of the half that they go around; None for the shorter way.

    Returns:
      Which paths touch, and the lengths of first tangent, arc and second tangent ``(n,)``.
    """
    near = _nearest(start, end)
    touches = np.linalg.norm(near, axis=1) < radius
    both = [_arcs(start, end, radius, sense) for sense in (1.0, -1.0)]
    if side is None:
        left = both[0].angle <= both[1].angle
    else:
        touches |= np.sum(near * side, axis=1) < 0.0
        left = both[0].faces(1.0, side) >= both[1].faces(-1.0, side)
    inside = np.minimum(np.linalg.norm(start, axis=1), np.linalg.norm(end, axis=1)) < radius
    angle = np.where(left, both[0].angle, both[1].angle)
    # beyond half a turn the ends of a path would cross each other
    touches &= ~inside & (angle <= np.pi)
    return touches, both[0].leave, radius * angle, both[0].arrive


def _cylinder(
    surface: Surface, start: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    side = None
    if surface.side is not None and np.any(surface.side[:2]):
        side = np.broadcast_to(surface.side[:2], (len(start), 2))
    touches, leave, arc, arrive = _circle(start[:, :2], end[:, :2], float(surface.radii[0]), side)
    flat = leave + arc + arrive
    # developed into a plane, a taut path is straight: it climbs evenly
    climb = end[:, 2] - start[:, 2]
    heights = np.stack(
        [start[:, 2] + climb * leave / flat, start[:, 2] + climb * (leave + arc) / flat]
    )
    half = 0.5 * surface.length
    past = (heights > half).all(axis=0) | (heights < -half).all(axis=0)
    return touches & ~past, np.hypot(flat, climb)


def _sphere(surface: Surface, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first = start / np.linalg.norm(start, axis=1, keepdims=True)
    across = end - np.sum(end * first, axis=1, keepdims=True) * first
    second = across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-12)
    plane = np.stack([first, second], axis=1)  # (n, 2, 3)
    flat = [(plane @ point[..., None])[..., 0] for point in (start, end)]
    side = None
    if surface.side is not None:
        side = plane @ surface.side
        side = side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-12)
    radius = float(surface.radii[0])
    touches, leave, arc, arrive = _circle(flat[0], flat[1], radius, side)
    # unlike a cylinder it is not met by a line that passes it, even on the wrong side
    meets = np.linalg.norm(_nearest(start, end), axis=1) < radius
    return touches & meets, leave + arc + arrive


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def _ellipsoid(
    surface: Surface, start: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    radii = surface.radii
    one, two = start / radii, end / radii  # of a sphere of radius 1
    near = _nearest(one, two)
    # as a sphere, it is not met by a line that passes it
    touches = np.linalg.norm(near, axis=1) < 1.0
    touches &= np.minimum(np.linalg.norm(one, axis=1), np.linalg.norm(two, axis=1)) > 1.0
    length = np.linalg.norm(end - start, axis=1)
    if not touches.any():
        return touches, length
    one, two = one[touches], two[touches]
    along = two - one
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    least = np.argmin(np.abs(along), axis=1)
    u = np.cross(along, np.eye(3)[least])
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    v = np.cross(along, u)

    def best(turns: np.ndarray) -> np.ndarray:
        return _plane_lengths(one, two, along, u, v, turns, surface)

    # every plane twice, once for each side that a path goes around
    step = 2.0 * np.pi / PLANES
    turns = np.broadcast_to(np.arange(PLANES) * step, (len(one), PLANES))
    found = best(turns)
    center = np.take_along_axis(turns, np.argmin(found, axis=1)[:, None], axis=1)
    shortest = found.min(axis=1)
    for _ in range(11):
        fine = center + step * np.linspace(-1.0, 1.0, 9)
        found = best(fine)
        center = np.take_along_axis(fine, np.argmin(found, axis=1)[:, None], axis=1)
        shortest, step = np.minimum(shortest, found.min(axis=1)), step / 4.0
    length[touches] = shortest
    touches = touches.copy()
    touches[touches] = np.isfinite(shortest)
    return touches, length


def _plane_lengths(
    one: np.ndarray,
    two: np.ndarray,
    along: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    turns: np.ndarray,
    surface: Surface,
) -> np.ndarray:
    """Lengths ``(n, planes)`` of paths in planes through both points, infinite where a plane
    misses the ellipsoid or the path lies on the wrong side.

    Tangents stay tangents where the ellipsoid is stretched into a sphere, so that they are found
    there, and only lengths are taken on the ellipsoid. The normal of a plane is ``u`` turned by
    ``turns`` about the line, and the path goes anticlockwise about it.
    """
    normal = (
        np.cos(turns)[..., None] * u[:, None, :] + np.sin(turns)[..., None] * v[:, None, :]
    )  # (n, planes, 3)
    height = np.sum(normal * one[:, None, :], axis=2)
    radius = np.sqrt(np.maximum(1.0 - height**2, 1e-12))
    center = height[..., None] * normal
    e1 = np.broadcast_to(along[:, None, :], normal.shape)
    e2 = np.cross(normal, e1)
    shape = height.shape

    def flat(points: np.ndarray) -> np.ndarray:
        away = points[:, None, :] - center
        return np.stack([np.sum(away * e1, axis=2), np.sum(away * e2, axis=2)], axis=2)

    first, last = flat(one).reshape(-1, 2), flat(two).reshape(-1, 2)
    arcs = _arcs(first, last, radius.reshape(-1), 1.0)
    begin, angle = arcs.first.reshape(shape), arcs.angle.reshape(shape)

    def place(at: np.ndarray) -> np.ndarray:
        """Points of the circles at angles, on the ellipsoid."""
        turned = np.cos(at)[..., None] * e1 + np.sin(at)[..., None] * e2
        return (center + radius[..., None] * turned) * surface.radii

    length = np.linalg.norm(place(begin) - one[:, None] * surface.radii, axis=2)
    length += np.linalg.norm(place(begin + angle) - two[:, None] * surface.radii, axis=2)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        at = begin + 0.5 * (node + 1.0) * angle
        rate = (np.cos(at)[..., None] * e2 - np.sin(at)[..., None] * e1) * radius[..., None]
        length += 0.5 * weight * angle * np.linalg.norm(rate * surface.radii, axis=2)
    wrong = np.abs(height) >= 1.0
    if surface.side is not None:
        wrong |= place(begin + 0.5 * angle) @ surface.side < 0.0
    return np.where(wrong, np.inf, length)
