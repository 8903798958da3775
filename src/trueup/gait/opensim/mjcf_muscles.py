"""Muscles of an OpenSim model in MuJoCo: points, wrapping surfaces, tendons, actuators."""

from typing import Any

import mujoco
import numpy as np

from trueup.gait.opensim.comparison import tendon_of
from trueup.gait.opensim.mjcf_joints import (
    POINT_ARMATURE,
    Motion,
    Skeleton,
    follow,
    motion_of,
    set_least_inertia,
)
from trueup.gait.opensim.model import Muscle, OsimModel, PathPoint, Surface
from trueup.gait.opensim.muscle_fit import MuscleFit
from trueup.gait.opensim.rotations import quaternion
from trueup.gait.opensim.routes.moving_points import line_of
from trueup.gait.opensim.routes.plan import Route

MUSCLE_RANGE = (0.5, 1.5)
"""Fiber lengths at the ends of the length range [optimal lengths]."""


def add_muscle(
    built: Skeleton, model: OsimModel, muscle: Muscle, route: Route, fit: MuscleFit
) -> None:
    """Add a muscle with its path.

    Args:
      built: the skeleton.
      model: model.
      muscle: muscle.
      route: its path in MuJoCo.
      fit: parameters of the MuJoCo muscle.
    """
    tendon = built.spec.add_tendon(name=tendon_of(muscle.name), width=0.004)
    tendon.rgba = (0.95, 0.3, 0.3, 1.0)
    for k, point in enumerate(route.points):
        tendon.wrap_site(_add_point(built, model, muscle, point, k))
        surface = route.surfaces[k] if k < len(route.surfaces) else None
        if surface is not None:
            tendon.wrap_geom(*_add_surface(built, surface))
    low, high = MUSCLE_RANGE
    actuator = built.spec.add_actuator(
        name=muscle.name,
        target=tendon.name,
        trntype=mujoco.mjtTrn.mjTRN_TENDON,
        lengthrange=(fit.slack + low * fit.optimal, fit.slack + high * fit.optimal),
        ctrllimited=mujoco.mjtLimited.mjLIMITED_TRUE,
        ctrlrange=(0.0, 1.0),
    )
    actuator.set_to_muscle(
        timeconst=muscle.times,
        tausmooth=0.0,
        range=MUSCLE_RANGE,
        force=fit.force,
        lmin=fit.shortest,
        lmax=fit.longest,
        vmax=fit.speed,
        fpmax=fit.passive,
        fvmax=fit.lengthening,
    )


def _add_point(
    built: Skeleton, model: OsimModel, muscle: Muscle, point: PathPoint, index: int
) -> str:
    """Site of a point; a moving point has a separate body with a slide joint per component."""
    name = f"{muscle.name}-P{index + 1}"
    size = (0.003, 0.003, 0.003)
    if not point.moves:
        at = np.eye(4)
        at[:3, 3] = point.place
        at = built.placed(point.body, at)
        built.bodies[point.body].add_site(name=name, pos=at[:3, 3], size=size, group=3)
        return name
    motions = {
        k: motion_of(model, coordinate, function)
        for k, (function, coordinate) in point.moves.items()
    }
    at = np.eye(4)
    at[:3, 3] = point.place
    for k, motion in motions.items():
        at[k, 3] = 0.0 if motion.coordinate else motion.function(np.zeros(1))[0]
    line = line_of(point)
    if line is not None:
        at[:3, 3] += line.start
    at = built.placed(point.body, at)
    body = built.bodies[point.body].add_body(name=name, pos=at[:3, 3], quat=quaternion(at[:3, :3]))
    set_least_inertia(body)
    body.add_site(name=name, size=size, group=3)
    if line is not None:
        moves = motion_of(model, line.coordinate, line.function)
        _add_slide(built, model, body, f"{name}_along", line.along, moves)
        return name
    for k, motion in motions.items():
        if motion.coordinate is not None:
            _add_slide(built, model, body, f"{name}_{'xyz'[k]}", np.eye(3)[k], motion)
    return name


def _add_slide(
    built: Skeleton, model: OsimModel, body: Any, name: str, axis: np.ndarray, motion: Motion
) -> None:
    body.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_SLIDE,
        axis=axis,
        armature=POINT_ARMATURE,
        limited=mujoco.mjtLimited.mjLIMITED_FALSE,
    )
    follow(built, model, name, motion)


def _add_surface(built: Skeleton, surface: Surface) -> tuple[str, str]:
    """Geom of a surface and its side site (none if either side is allowed), created once."""
    side = "" if surface.side is None else f"{surface.name}_side"
    body, at = built.bodies[surface.body], built.placed(surface.body, surface.pose)
    radius = float(surface.radii[0])
    cylinder = surface.kind == "cylinder"
    # length for display only: MuJoCo wraps over an infinite cylinder
    half = max(0.5 * surface.length, radius) if np.isfinite(surface.length) else 0.03
    if built.spec.geom(surface.name) is None:
        body.add_geom(
            name=surface.name,
            type=mujoco.mjtGeom.mjGEOM_CYLINDER if cylinder else mujoco.mjtGeom.mjGEOM_SPHERE,
            pos=at[:3, 3],
            quat=quaternion(at[:3, :3]),
            size=(radius, half if cylinder else 0.0, 0.0),
            contype=0,
            conaffinity=0,
            group=4,
            rgba=(0.4, 0.6, 0.9, 0.3),
        )
    if surface.side is not None and built.spec.site(side) is None:
        offset = at[:3, :3] @ surface.side * 2.0 * radius
        body.add_site(name=side, pos=at[:3, 3] + offset, size=(0.002,) * 3, group=4)
    return surface.name, side
