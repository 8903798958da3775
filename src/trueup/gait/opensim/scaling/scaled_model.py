"""An OpenSim model scaled to a person, by the rules of OpenSim's scale tool."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from trueup.errors import GaitError
from trueup.gait.opensim.functions import Function, Polynomial
from trueup.gait.opensim.kinematics import all_values, body_poses
from trueup.gait.opensim.model import (
    GROUND,
    Axis,
    Body,
    Frame,
    Joint,
    Muscle,
    OsimModel,
    PathPoint,
    Remark,
    Surface,
)
from trueup.gait.opensim.parts.content import PointSpring
from trueup.gait.opensim.paths import route
from trueup.gait.opensim.rotations import moved

Factors = Mapping[str, np.ndarray]
"""Scale factors ``(3,)`` along the axes of its frame by body; 1 for others."""


def scaled_model(
    model: OsimModel,
    factors: Factors,
    mass: float | None = None,
    *,
    keeps_distribution: bool = True,
) -> OsimModel:
    """The model with scaled bodies.

    Points, frames of joints, markers and meshes are scaled along the axes of their body, radii of
    surfaces along their own axes. Optimal fiber and tendon slack length of a muscle grow with the
    length of its path in the default pose. Forces are not changed.

    Args:
      model: model.
      factors: scale factors of bodies.
      mass: total mass [kg]; None keeps the masses, or their density.
      keeps_distribution: whether masses keep their ratios; otherwise they grow with the volume.

    Raises:
      GaitError: a mass that is not positive.
    """
    if mass is not None and not mass > 0.0:
        raise GaitError(f"the mass of a person must be above 0 kg; found {mass:g}")
    every = {name: np.asarray(factors.get(name, np.ones(3)), float) for name in model.bodies}
    every[GROUND] = np.ones(3)
    volume = {name: 1.0 if keeps_distribution else float(np.prod(f)) for name, f in every.items()}
    total = sum(volume[name] * body.mass for name, body in model.bodies.items())
    if mass is not None and total <= 0.0:
        raise GaitError(f"the bodies of {model.name} have no mass, which cannot be scaled")
    ratio = 1.0 if mass is None else mass / total
    bodies = {
        name: _scaled_body(body, every[name], ratio * volume[name])
        for name, body in model.bodies.items()
    }
    joints = tuple(_scaled_joint(joint, every) for joint in model.joints)
    surfaces = {name: _scaled_surface(one, every[one.body]) for name, one in model.surfaces.items()}
    distance = {
        axis.coordinate: (joint, axis)
        for joint in model.joints
        for axis in joint.axes
        if not axis.turns and axis.coordinate is not None and _is_coordinate(axis.function)
    }
    couplers = {
        name: replace(one, function=one.function.scaled(_along(*distance[name], every)))
        if name in distance
        else one
        for name, one in model.couplers.items()
    }
    coordinates = dict(model.coordinates)
    for name, (joint, axis) in distance.items():
        if joint.parent.body == GROUND:  # the height above the ground grows with the person
            direction = joint.child.pose[:3, :3] @ axis.axis
            factor = float(np.linalg.norm(every[joint.child.body] * direction))
            coordinates[name] = replace(
                coordinates[name], default=factor * coordinates[name].default
            )
    parts = model.parts
    found = replace(
        model,
        bodies=bodies,
        joints=joints,
        surfaces=surfaces,
        couplers=couplers,
        coordinates=coordinates,
        factors=every,
        muscles=tuple(
            replace(one, points=tuple(_scaled_point(point, every) for point in one.points))
            for one in model.muscles
        ),
        parts=replace(
            parts,
            markers=tuple(replace(m, place=every[m.body] * m.place) for m in parts.markers),
            meshes=tuple(
                replace(
                    m,
                    pose=_scaled_frame(Frame(m.body, m.pose), every).pose,
                    scale=m.scale * _along_axes(m.pose, every[m.body]),
                )
                for m in parts.meshes
            ),
        ),
    )
    muscles = tuple(
        _with_lengths(model, old, found, new)
        for old, new in zip(model.muscles, found.muscles, strict=True)
    )
    springs = tuple(
        _scaled_spring(model, found, one, every) if isinstance(one, PointSpring) else one
        for one in parts.springs
    )
    found = replace(found, muscles=muscles, parts=replace(found.parts, springs=springs))
    return replace(found, remarks=(*model.remarks, *_remarks(model, found, every)))


def _remarks(model: OsimModel, scaled: OsimModel, every: Factors) -> list[Remark]:
    remarks = []
    for name, factor in every.items():
        before = model.bodies[name].mass if name in model.bodies else 0.0
        after = scaled.bodies[name].mass if name in scaled.bodies else 0.0
        if not np.allclose(factor, 1.0) or not np.isclose(before, after):
            sizes = " ".join(f"{one:.4g}" for one in factor)
            words = f"size times {sizes} along x, y, z; {before:.4g} to {after:.4g} kg"
            remarks.append(Remark("scaled", name, words))
    total = [sum(body.mass for body in one.bodies.values()) for one in (model, scaled)]
    words = f"{total[0]:.5g} to {total[1]:.5g} kg; inertia as the masses move with their body"
    remarks.append(Remark("scaled", "mass", words))
    ratios = [new.fiber / old.fiber for old, new in zip(model.muscles, scaled.muscles, strict=True)]
    if ratios:
        words = (
            f"fibers and tendons times {min(ratios):.4g} to {max(ratios):.4g}, the ratio of the "
            "lengths of the path in the default pose; strengths as in the file"
        )
        remarks.append(Remark("scaled", "muscles", words))
    return remarks


def _is_coordinate(function: Function) -> bool:
    """Whether a motion is its coordinate, up to sign and origin."""
    return function.line is not None and abs(abs(function.line[0]) - 1.0) < 1e-12


def _scaled_body(body: Body, factors: np.ndarray, mass: float) -> Body:
    """A body whose matter moves with the scaled frame: exact for any factors."""
    # second moments of the mass: the inertia is their trace times the identity, minus them
    moments = 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia
    moments = mass * np.outer(factors, factors) * moments
    inertia = np.trace(moments) * np.eye(3) - moments
    return Body(body.name, mass * body.mass, factors * body.center, inertia)


def _scaled_frame(frame: Frame, every: Factors) -> Frame:
    pose = frame.pose.copy()
    pose[:3, 3] *= every[frame.body]
    return Frame(frame.body, pose)


def _along(joint: Joint, axis: Axis, every: Factors) -> float:
    """Scale factor of a translation of a joint, along its axis in the parent body."""
    direction = joint.parent.pose[:3, :3] @ axis.axis
    return float(np.linalg.norm(every[joint.parent.body] * direction))


def _along_axes(pose: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Scale factors ``(3,)`` along the axes of a frame with a pose in a body."""
    return np.linalg.norm(factors[:, None] * pose[:3, :3], axis=0)


def _scaled_joint(joint: Joint, every: Factors) -> Joint:
    axes = []
    for axis in joint.axes:
        function: Function = axis.function
        if not axis.turns:
            factor = _along(joint, axis, every)
            if axis.coordinate is not None and _is_coordinate(function):
                assert function.line is not None
                slope, offset = function.line
                function = Polynomial((factor * offset, slope))
            else:
                function = function.scaled(factor)
        axes.append(replace(axis, function=function))
    return replace(
        joint,
        parent=_scaled_frame(joint.parent, every),
        child=_scaled_frame(joint.child, every),
        axes=tuple(axes),
    )


def _scaled_surface(surface: Surface, factors: np.ndarray) -> Surface:
    pose = surface.pose.copy()
    pose[:3, 3] *= factors
    along = _along_axes(surface.pose, factors)
    # a round surface stays round: the mean of all factors, or of those across the axis
    if surface.kind == "ellipsoid":
        radii = surface.radii * along
    elif surface.kind == "sphere":
        radii = surface.radii * along.mean()
    else:
        radii = surface.radii * 0.5 * (along[0] + along[1])
    return replace(surface, pose=pose, radii=radii, length=surface.length * float(along[2]))


def _scaled_point(point: PathPoint, every: Factors) -> PathPoint:
    factors = every[point.body]
    moves = {
        k: (function.scaled(float(factors[k])), coordinate)
        for k, (function, coordinate) in point.moves.items()
    }
    return replace(point, place=factors * point.place, moves=moves)


def _with_lengths(model: OsimModel, old: Muscle, scaled: OsimModel, new: Muscle) -> Muscle:
    """The muscle with fiber and tendon scaled by the length of its path."""
    before, after = (
        float(route(each, muscle, {}).length[0]) for each, muscle in ((model, old), (scaled, new))
    )
    ratio = after / before
    return replace(new, fiber=ratio * old.fiber, tendon=ratio * old.tendon)


def _scaled_spring(
    model: OsimModel, scaled: OsimModel, spring: PointSpring, every: Factors
) -> PointSpring:
    """A spring between scaled points, whose rest length is scaled by their distance."""
    places = [every[b] * p for b, p in zip(spring.bodies, spring.places, strict=True)]
    distances = []
    for each, points in ((model, spring.places), (scaled, places)):
        poses = body_poses(each, all_values(each, {}))
        ends = [moved(poses[b], p)[0] for b, p in zip(spring.bodies, points, strict=True)]
        distances.append(float(np.linalg.norm(ends[1] - ends[0])))
    ratio = distances[1] / distances[0] if distances[0] > 0.0 else 1.0
    return replace(spring, places=(places[0], places[1]), rest=ratio * spring.rest)
