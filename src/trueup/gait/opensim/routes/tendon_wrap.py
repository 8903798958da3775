"""Vectorised lengths of MuJoCo's tendons around cylinders and spheres.

MuJoCo wraps a tendon that intersects a surface, or passes it on the side away from its side site,
and takes the arc whose ends are nearest to that site (``mju_wrap`` in ``engine_util_misc.c``).
OpenSim chooses differently, so a route is evaluated here before it is written.
"""

import numpy as np

from trueup.gait.opensim.model import Surface

_TINY = 1e-15
"""Smallest value that MuJoCo divides by."""


def tendon_length(
    surface: Surface, side: np.ndarray | None, start: np.ndarray, end: np.ndarray
) -> np.ndarray:
    """Lengths of tendons around a surface ``(n,)`` [m]; straight where MuJoCo does not wrap them.

    Args:
      surface: a cylinder or sphere.
      side: direction ``(3,)`` of the side site in the frame of the surface; None without.
      start: starts ``(n, 3)`` in the frame of the surface [m].
      end: ends, likewise.
    """
    radius = float(surface.radii[0])
    straight = np.linalg.norm(end - start, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        if surface.kind == "cylinder":
            first, last = start[:, :2], end[:, :2]
            toward = None if side is None else np.broadcast_to(side[:2], first.shape)
            flat = _around_circle(first, last, radius, toward)
            # developed into a plane, a taut path is straight
            length = np.hypot(flat, end[:, 2] - start[:, 2])
        else:
            plane = _planes(start, end)
            first, last = ((plane @ point[..., None])[..., 0] for point in (start, end))
            length = _around_circle(first, last, radius, None if side is None else plane @ side)
    return np.where(np.isfinite(length), length, straight)


def _planes(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Axes ``(n, 2, 3)`` of the planes through the origin and both points."""
    one = start / np.linalg.norm(start, axis=1, keepdims=True)
    across = end - np.sum(end * one, axis=1, keepdims=True) * one
    two = across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), _TINY)
    return np.stack([one, two], axis=1)


def _around_circle(
    start: np.ndarray, end: np.ndarray, radius: float, side: np.ndarray | None
) -> np.ndarray:
    """Lengths of paths around a circle about the origin ``(n,)``, NaN where they are straight."""
    far0, far1 = np.sum(start**2, axis=1), np.sum(end**2, axis=1)
    along = end - start
    part = -np.sum(along * start, axis=1) / np.sum(along**2, axis=1)
    near = start + np.clip(part, 0.0, 1.0)[:, None] * along
    passes = np.sum(near**2, axis=1) > radius**2
    if side is not None:
        side = side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), _TINY)
        passes &= np.sum(near * side, axis=1) >= 0.0
    leads = [np.sqrt(np.maximum(far - radius**2, 0.0)) for far in (far0, far1)]
    goods, crossed, arcs = [], [], []
    for sense in (1.0, -1.0):
        first = _tangent(start, far0, leads[0], radius, sense)
        last = _tangent(end, far1, leads[1], radius, -sense)
        if side is None:
            good = -np.sum((first - last) ** 2, axis=1)
        else:
            middle = first + last
            middle /= np.maximum(np.linalg.norm(middle, axis=1, keepdims=True), _TINY)
            good = np.sum(middle * side, axis=1)
        crosses = _intersect(start, first, end, last)
        crossed.append(crosses)
        goods.append(np.where(crosses, -1e4, good))
        turned = np.arctan2(
            first[:, 0] * last[:, 1] - first[:, 1] * last[:, 0], np.sum(first * last, axis=1)
        )
        arcs.append(radius * np.mod(-sense * turned, 2.0 * np.pi))
    chosen = goods[0] > goods[1]
    straight = passes | (np.minimum(far0, far1) < radius**2)
    straight |= np.where(chosen, *crossed)
    return np.where(straight, np.nan, leads[0] + np.where(chosen, *arcs) + leads[1])


def _tangent(
    point: np.ndarray, far: np.ndarray, lead: np.ndarray, radius: float, sense: float
) -> np.ndarray:
    """Points ``(n, 2)`` where tangents from outside points touch the circle."""
    turned = np.stack([point[:, 1], -point[:, 0]], axis=1)
    return (radius**2 * point + sense * radius * lead[:, None] * turned) / far[:, None]


def _intersect(
    start: np.ndarray, first: np.ndarray, end: np.ndarray, last: np.ndarray
) -> np.ndarray:
    """Whether the straight ends of paths intersect ``(n,)``."""
    one, two, between = first - start, last - end, start - end
    size = two[:, 1] * one[:, 0] - two[:, 0] * one[:, 1]
    a = (two[:, 0] * between[:, 1] - two[:, 1] * between[:, 0]) / size
    b = (one[:, 0] * between[:, 1] - one[:, 1] * between[:, 0]) / size
    return (np.abs(size) > _TINY) & (a >= 0.0) & (a <= 1.0) & (b >= 0.0) & (b <= 1.0)
