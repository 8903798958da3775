"""Routes of muscles of one side from those of the other side."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from trueup.gait.opensim.model import Muscle, OsimModel, PathPoint, Remark, Surface
from trueup.gait.opensim.paths import route
from trueup.gait.opensim.pose_samples import PoseSamples, muscle_coordinates
from trueup.gait.opensim.rotations import pose
from trueup.gait.opensim.routes.plan import Route, plan_route

SIDES = {"_r": "_l", "_l": "_r"}
"""Suffixes of names of both sides."""

MIRROR = np.diag([1.0, 1.0, -1.0])
"""Reflection at the plane between both sides: z points to the right in OpenSim."""

ALIKE = 1e-6
"""Difference of lengths in mirrored poses up to which muscles are mirrored [m]."""

_POSES = 40
"""Number of poses for the comparison of both sides."""


def plan_routes(
    model: OsimModel,
    samples: PoseSamples,
    show: Callable[[str, float | None], None] = lambda text, share: None,
) -> dict[str, Route]:
    """Routes of all muscles by name: the mirrored muscle has the mirrored route.

    Args:
      model: model.
      samples: poses of the fits.
      show: called with the state, and the share of the muscles done.
    """
    routes: dict[str, Route] = {}
    muscles = {muscle.name: muscle for muscle in model.muscles}
    for k, (name, muscle) in enumerate(muscles.items()):
        show(f"path of {name}", k / len(muscles))
        other = other_side(name)
        found = None
        if other in routes and mirrored(model, muscle, muscles[other], samples):
            found = _reflected(model, muscle, routes[other])
        routes[name] = plan_route(model, muscle, samples) if found is None else found
    return routes


def other_side(name: str) -> str:
    """The name on the other side; the same name without a side."""
    return name[:-2] + SIDES[name[-2:]] if name[-2:] in SIDES else name


def mirrored(model: OsimModel, muscle: Muscle, other: Muscle, samples: PoseSamples) -> bool:
    """Whether a muscle has the lengths of another one in mirrored poses."""
    own, across = (muscle_coordinates(model, one) for one in (muscle, other))
    if sorted(map(other_side, across)) != sorted(own) or any(map(_middle, own)):
        return False
    if [(one.body, bool(one.moves)) for one in muscle.points] != [
        (other_side(one.body), bool(one.moves)) for one in other.points
    ]:
        return False
    rows = samples.rows(own)[-_POSES:]
    values = {name: value[rows] for name, value in samples.values.items() if name in own}
    swapped = {other_side(name): value for name, value in values.items()}
    lengths = route(model, muscle, values).length, route(model, other, swapped).length
    return bool(np.abs(lengths[0] - lengths[1]).max() < ALIKE)


def _middle(coordinate: str) -> bool:
    """Whether a coordinate is of no side, so that its mirrored value may have another sign."""
    return other_side(coordinate) == coordinate


def _reflected(model: OsimModel, muscle: Muscle, route_: Route) -> Route | None:
    """A route on the other side; None where a surface has no counterpart there."""
    surfaces = [None if one is None else _surface(model, one) for one in route_.surfaces]
    if any(
        new is None and old is not None for new, old in zip(surfaces, route_.surfaces, strict=True)
    ):
        return None
    remarks = tuple(
        Remark(one.kind, muscle.name, f"as {one.part}: {one.words}") for one in route_.remarks
    )
    return Route(tuple(map(_point, route_.points)), tuple(surfaces), remarks)


def _point(point: PathPoint) -> PathPoint:
    moves = {}
    for k, (function, coordinate) in point.moves.items():
        moved_by = function.scaled(-1.0) if k == 2 else function
        moves[k] = moved_by, other_side(coordinate)
    name = other_side(point.name)
    return replace(
        point, name=name, body=other_side(point.body), place=MIRROR @ point.place, moves=moves
    )


def _surface(model: OsimModel, surface: Surface) -> Surface | None:
    across = pose(MIRROR @ surface.pose[:3, :3] @ MIRROR, MIRROR @ surface.pose[:3, 3])
    side = None if surface.side is None else MIRROR @ surface.side
    fitted = surface.name not in model.surfaces
    if fitted:
        name = f"{surface.name}-mirrored"
        return replace(surface, name=name, body=other_side(surface.body), pose=across, side=side)
    own = model.surfaces.get(other_side(surface.name))
    if own is None or own.kind != surface.kind or own.body != other_side(surface.body):
        return None
    if side is not None:
        # the frames of both surfaces may differ by a turn about the axis of symmetry
        side = own.pose[:3, :3].T @ across[:3, :3] @ side
    return replace(own, side=side)
