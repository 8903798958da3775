"""Lengths and moment arms of the muscles of an OpenSim model, without MuJoCo."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from trueup.gait.opensim.kinematics import Values, all_values, body_poses
from trueup.gait.opensim.model import Muscle, OsimModel, PathPoint
from trueup.gait.opensim.rotations import moved
from trueup.gait.opensim.taut_paths import Wrapping, taut_paths

STEP = 1e-5
"""Step of the finite differences for moment arms [rad or m]."""

LARGEST_ARM = 1.1
"""Moment arm above which the length jumps within the step [m, or 1 for a distance]: no muscle is a
metre away from a joint, and its length changes by at most the change of a distance."""

OWN_JUMP = 0.003
"""Smallest jump of a length in the file [m] beyond which lengths are not compared."""

EDGE = 1e-4
"""Distance of the poses on both sides of a jump of the file [rad or m]."""


@dataclass
class Route:
    """Paths of a muscle in a batch of poses.

    Attributes:
      segments: lengths from each point to the next active one ``(n, points - 1)`` [m]; zero after a
        point that is not active.
      touched: surface and section, by the indices of its points -> poses in which the path touches
        the surface there ``(n,)``.
      contacts: likewise, its first and last point on the surface ``(n, 2, 3)`` in the ground [m];
        arbitrary in poses without contact.
    """

    segments: np.ndarray
    touched: dict[tuple[str, int, int], np.ndarray] = field(default_factory=dict)
    contacts: dict[tuple[str, int, int], np.ndarray] = field(default_factory=dict)

    @cached_property
    def length(self) -> np.ndarray:
        """Lengths ``(n,)`` [m]."""
        return self.segments.sum(axis=1)


def point_places(point: PathPoint, values: Values, count: int) -> np.ndarray:
    """Positions of a point in its body ``(n, 3)`` [m]."""
    place = np.broadcast_to(point.place, (count, 3)).copy()
    for k, (function, coordinate) in point.moves.items():
        place[:, k] = function(values[coordinate])
    return place


def point_active(point: PathPoint, values: Values, count: int) -> np.ndarray:
    """Whether a point is active in each pose ``(n,)``."""
    if point.active is None:
        return np.ones(count, dtype=bool)
    coordinate, low, high = point.active
    # tolerance of OpenSim: a range equal to the limits of a coordinate includes them
    return (values[coordinate] >= low - 1e-5) & (values[coordinate] <= high + 1e-5)


def route(model: OsimModel, muscle: Muscle, values: Values) -> Route:
    """Path of a muscle, wrapped over its surfaces: see :mod:`trueup.gait.opensim.taut_paths`.

    Args:
      model: model.
      muscle: one of its muscles.
      values: values of some coordinates ``(n,)``; others have their default.
    """
    every = all_values(model, values)
    surfaces = [model.surfaces[one.surface] for one in muscle.wraps]
    bodies = [one.body for one in (*muscle.points, *surfaces)]
    poses = body_poses(model, every, bodies)
    count = max((len(one) for one in every.values()), default=1)
    places = np.stack(
        [moved(poses[p.body], point_places(p, every, count)) for p in muscle.points], axis=1
    )
    active = np.stack([point_active(p, every, count) for p in muscle.points], axis=1)
    frames = [poses[surface.body] @ surface.pose for surface in surfaces]
    found = Route(np.zeros((count, len(muscle.points) - 1)))
    for points, rows in _patterns(active):
        wraps = [
            Wrapping(
                surface,
                frame[rows],
                int(np.searchsorted(points, one.first)),
                int(np.searchsorted(points, one.last, side="right")) - 1,
            )
            for one, surface, frame in zip(muscle.wraps, surfaces, frames, strict=True)
        ]
        taut = taut_paths(places[rows][:, points], wraps)
        found.segments[rows[:, None], points[:-1]] = taut.segments
        for k, surface in enumerate(surfaces):
            for stretch in np.unique(taut.stretch[taut.stretch[:, k] >= 0, k]):
                key = (surface.name, int(points[stretch]), int(points[stretch + 1]))
                touched = found.touched.setdefault(key, np.zeros(count, dtype=bool))
                here = taut.stretch[:, k] == stretch
                touched[rows] |= here
                contacts = found.contacts.setdefault(key, np.zeros((count, 2, 3)))
                contacts[rows[here]] = taut.contacts[here, k]
    return found


def _patterns(active: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Patterns of active points, and the poses of each."""
    kinds, which = np.unique(active, axis=0, return_inverse=True)
    for k, kind in enumerate(kinds):
        yield np.flatnonzero(kind), np.flatnonzero(which.reshape(-1) == k)


def moment_arm(model: OsimModel, muscle: Muscle, coordinate: str, values: Values) -> np.ndarray:
    """Moment arms ``(n,)`` of a muscle about a free coordinate, including couplers: minus the
    derivative of the length, by central differences [m, or 1 for a distance].

    Where the length jumps, as possible at the activation of a point, it is the one-sided derivative
    on the side of the pose.

    Args:
      model: model.
      muscle: one of its muscles.
      coordinate: a free coordinate.
      values: values of some coordinates ``(n,)``; others have their default.
    """
    at = all_values(model, values)[coordinate]
    after, before = (
        route(model, muscle, {**values, coordinate: at + sign * STEP}).length
        for sign in (1.0, -1.0)
    )
    arms = -(after - before) / (2.0 * STEP)
    jumps = np.flatnonzero(np.abs(arms) > LARGEST_ARM)
    if jumps.size:
        here = route(model, muscle, {name: value[jumps] for name, value in values.items()}).length
        sides = np.stack([here - after[jumps], before[jumps] - here]) / STEP
        arms[jumps] = sides[np.argmin(np.abs(sides), axis=0), np.arange(len(jumps))]
    return arms


def own_jumps(
    model: OsimModel, muscle: Muscle, values: Values
) -> list[tuple[str, float, np.ndarray]]:
    """Jumps of the length in the file, where a point becomes active far from the straight path:
    free coordinate, its value there [rad or m], and sizes ``(n,)`` [m].

    Args:
      model: model.
      muscle: one of its muscles.
      values: values of the other free coordinates ``(n,)``.
    """
    found = []
    for point in muscle.points:
        if point.active is None or point.active[0] not in model.free:
            continue
        name, low, high = point.active
        first, last = model.coordinates[name].range
        for edge in (low, high):
            if first < edge < last:
                count = max((len(one) for one in values.values()), default=1)
                after, before = (
                    route(model, muscle, {**values, name: np.full(count, edge + step)}).length
                    for step in (EDGE, -EDGE)
                )
                found.append((name, edge, np.abs(after - before)))
    return found


def steady_poses(model: OsimModel, muscle: Muscle, values: Values) -> np.ndarray:
    """Whether the file has no jump of the length between a pose and that with the coordinate of
    the jump at its default ``(n,)``.

    A continuous path cannot follow a jump, so poses beyond are not compared.

    Args:
      model: model.
      muscle: one of its muscles.
      values: values of the free coordinates ``(n,)``.
    """
    steady = np.ones(max((len(one) for one in values.values()), default=1), dtype=bool)
    for name, edge, sizes in own_jumps(model, muscle, values):
        beyond = (values[name] > edge) != (model.coordinates[name].default > edge)
        steady &= ~(beyond & (sizes > OWN_JUMP))
    return steady
