"""Lengths and moment arms of the muscles of an OpenSim model, without MuJoCo."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from trueup.gait.opensim.osim_kinematics import Values, all_values, body_poses
from trueup.gait.opensim.osim_model import Muscle, OsimModel, PathPoint
from trueup.gait.opensim.osim_wrapping import wrap
from trueup.gait.opensim.rotations import inverse, moved

STEP = 1e-5
"""Step of the differences that moment arms are taken from [rad or m]."""


@dataclass
class Route:
    """Paths of a muscle in several poses.

    Attributes:
      length: lengths ``(n,)`` [m].
      touched: surface and stretch, by the indices of its points -> poses in which the path touches
        the surface there ``(n,)``.
      contested: surfaces that would touch a stretch that another one touches already.
    """

    length: np.ndarray
    touched: dict[tuple[str, int, int], np.ndarray] = field(default_factory=dict)
    contested: set[str] = field(default_factory=set)


def point_places(point: PathPoint, values: Values, count: int) -> np.ndarray:
    """Places of a point in its body ``(n, 3)`` [m]."""
    place = np.broadcast_to(point.place, (count, 3)).copy()
    for k, (function, coordinate) in point.moves.items():
        place[:, k] = function(values[coordinate])
    return place


def point_active(point: PathPoint, values: Values, count: int) -> np.ndarray:
    """Poses in which the path goes through a point ``(n,)``."""
    if point.active is None:
        return np.ones(count, dtype=bool)
    coordinate, low, high = point.active
    # OpenSim's own tolerance: a range of exactly the limits of a coordinate holds there
    return (values[coordinate] >= low - 1e-5) & (values[coordinate] <= high + 1e-5)


def route(model: OsimModel, muscle: Muscle, values: Values) -> Route:
    """Path of a muscle.

    A surface is touched by the first of the stretches between two points that meets it, and a
    stretch touches one surface, the first of those that it meets.

    Args:
      model: model.
      muscle: one of its muscles.
      values: values of some coordinates ``(n,)``; others keep their default.
    """
    every = all_values(model, values)
    poses = body_poses(model, every)
    count = max((len(one) for one in every.values()), default=1)
    places = np.stack(
        [moved(poses[p.body], point_places(p, every, count)) for p in muscle.points], axis=1
    )
    active = np.stack([point_active(p, every, count) for p in muscle.points], axis=1)
    found = Route(np.zeros(count))
    for stretches, rows in _patterns(active):
        lengths = {
            (i, j): np.linalg.norm(places[rows, j] - places[rows, i], axis=1) for i, j in stretches
        }
        taken = {stretch: np.zeros(len(rows), dtype=bool) for stretch in stretches}
        for one in muscle.wraps:
            surface = model.surfaces[one.surface]
            to_surface = inverse(poses[surface.body][rows] @ surface.pose)
            free = np.ones(len(rows), dtype=bool)
            for i, j in stretches:
                if i < one.first or j > one.last:
                    continue
                ends = [moved(to_surface, places[rows, k]) for k in (i, j)]
                path = wrap(surface, *ends)
                if (path.touches & free & taken[i, j]).any():
                    found.contested.add(surface.name)
                here = path.touches & free & ~taken[i, j]
                if not here.any():
                    continue
                free, taken[i, j] = free & ~here, taken[i, j] | here
                lengths[i, j] = np.where(here, path.length, lengths[i, j])
                key = (surface.name, i, j)
                found.touched.setdefault(key, np.zeros(count, dtype=bool))[rows] |= here
        found.length[rows] = sum(lengths.values())
    return found


def _patterns(active: np.ndarray) -> Iterator[tuple[list[tuple[int, int]], np.ndarray]]:
    """Stretches between consecutive active points, and the poses that have them."""
    kinds, which = np.unique(active, axis=0, return_inverse=True)
    for k, kind in enumerate(kinds):
        points = np.flatnonzero(kind)
        stretches = [(int(i), int(j)) for i, j in itertools.pairwise(points)]
        yield stretches, np.flatnonzero(which.reshape(-1) == k)


def moment_arm(model: OsimModel, muscle: Muscle, coordinate: str, values: Values) -> np.ndarray:
    """Moment arms ``(n,)`` of a muscle about a free coordinate, others following their couplers:
    minus the derivative of the length, by central differences [m, or 1 of a distance].

    Args:
      model: model.
      muscle: one of its muscles.
      coordinate: a free coordinate.
      values: values of some coordinates ``(n,)``; others keep their default.
    """
    at = all_values(model, values)[coordinate]
    ends = [
        route(model, muscle, {**values, coordinate: at + sign * STEP}).length
        for sign in (1.0, -1.0)
    ]
    return -(ends[0] - ends[1]) / (2.0 * STEP)
