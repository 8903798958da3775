"""Markers, motors, springs and meshes of an OpenSim file, of versions 3 and 4."""

from collections.abc import Callable
from typing import Literal
from xml.etree.ElementTree import Element

import numpy as np

from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.opensim.joints import Refuse
from trueup.gait.opensim.model import GROUND, Coordinate
from trueup.gait.opensim.parts.content import (
    JointSpring,
    LimitSpring,
    Marker,
    Mesh,
    Motor,
    Parts,
    PointSpring,
)
from trueup.gait.opensim.parts.frames import Frames
from trueup.gait.opensim.rotations import euler_xyz, moved, pose
from trueup.gait.opensim.xml import (
    flag,
    named,
    number,
    numbers,
    objects,
    path_of,
    reference,
    text_of,
)

WITHOUT_EFFECT = {
    "HuntCrossleyForce": "contact; feet of walkers have spherical soles instead",
    "ElasticFoundationForce": "contact; feet of walkers have spherical soles instead",
    "SmoothSphereHalfSpaceForce": "contact; feet of walkers have spherical soles instead",
    "BushingForce": "a bushing; MuJoCo has no spring between frames, its force is absent",
    "ExpressionBasedBushingForce": "a bushing; MuJoCo has no spring between frames, its force is "
    "absent",
    "FunctionBasedBushingForce": "a bushing; MuJoCo has no spring between frames, its force is "
    "absent",
}
"""Forces that are listed and omitted, by kind."""

_DEGREE = np.pi / 180.0
_BONE = (0.9, 0.87, 0.78, 1.0)


def read_parts(
    model: Element,
    frames: Frames,
    coordinates: dict[str, Coordinate],
    muscles: tuple[str, ...],
    refuse: Refuse,
    mention: Callable[[str, str], None],
) -> Parts:
    """Parts of a model other than bodies, joints and muscles.

    Args:
      model: element of the model.
      frames: its frames.
      coordinates: its coordinates.
      muscles: kinds of forces that are muscles, which are not read here.
      refuse: called with a part that cannot be represented, and why.
      mention: called with a part that is omitted, and why.

    Raises:
      GaitError: invalid numbers or names.
    """
    motors: list[Motor] = []
    springs: list[JointSpring | LimitSpring | PointSpring] = []
    names: set[str] = set()
    for element in objects(model, "ForceSet"):
        name, kind = named(element), element.tag
        off = not flag(element, "appliesForce", True) or flag(element, "isDisabled")
        if off:
            continue
        if name in names:
            raise GaitError(f"two forces have the same name {name!r}")
        names.add(name)
        if kind in muscles:
            continue
        if kind in ("CoordinateActuator", "ActivationCoordinateActuator"):
            motors.append(_motor(element, coordinates))
        elif kind == "SpringGeneralizedForce":
            coordinate = _coordinate(element, coordinates)
            springs.append(
                JointSpring(
                    name,
                    coordinate,
                    number(element, "stiffness", 0.0),
                    number(element, "viscosity", 0.0),
                    number(element, "rest_length", 0.0),
                )
            )
        elif kind == "CoordinateLimitForce":
            springs += _limit_springs(element, coordinates)
        elif kind == "PointToPointSpring":
            springs.append(_point_spring(element, frames))
        elif kind in WITHOUT_EFFECT:
            mention(name, WITHOUT_EFFECT[kind])
        else:
            refuse(name, f"a force of the kind {kind}")
    markers = [_marker(element, frames) for element in objects(model, "MarkerSet")]
    return Parts(tuple(markers), tuple(motors), tuple(springs), tuple(_meshes(model, frames)))


def _coordinate(element: Element, coordinates: dict[str, Coordinate]) -> str:
    name = reference(element, "coordinate") or ""
    if name not in coordinates:
        raise GaitError(
            f"{named(element)!r} acts on the unknown coordinate {name!r}; available: "
            f"{listing(coordinates)}.{did_you_mean(name, coordinates)}"
        )
    return name


def _motor(element: Element, coordinates: dict[str, Coordinate]) -> Motor:
    limits = []
    for tag, default in (("min_control", -np.inf), ("max_control", np.inf)):
        text = (text_of(element, tag) or "").lower().lstrip("+-")
        limits.append(default if text in ("", "inf", "infinity") else number(element, tag))
    if not limits[0] < limits[1]:
        raise GaitError(
            f"the controls of {named(element)!r} must be increasing; found {limits[0]:g} to "
            f"{limits[1]:g}"
        )
    activates = element.tag == "ActivationCoordinateActuator"
    return Motor(
        named(element),
        _coordinate(element, coordinates),
        number(element, "optimal_force", 1.0),
        (float(limits[0]), float(limits[1])),
        number(element, "activation_time_constant", 0.01) if activates else 0.0,
    )


def _limit_springs(element: Element, coordinates: dict[str, Coordinate]) -> list[LimitSpring]:
    coordinate = _coordinate(element, coordinates)
    # angles of this force are in degrees, and its stiffness per degree
    unit = _DEGREE if coordinates[coordinate].turns else 1.0
    transition = number(element, "transition", 0.1) * unit
    if transition < 0.0:
        raise GaitError(f"the transition of {named(element)!r} must not be negative")
    found = []
    sides: tuple[tuple[Literal["above", "below"], str], ...]
    sides = (("above", "upper"), ("below", "lower"))
    for side, word in sides:
        stiffness = number(element, f"{word}_stiffness", 1.0) / unit
        limit = number(element, f"{word}_limit", 0.0) * unit
        if stiffness > 0.0:
            found.append(
                LimitSpring(named(element), coordinate, side, limit, stiffness, transition)
            )
    return found


def _point_spring(element: Element, frames: Frames) -> PointSpring:
    bodies, places = [], []
    for k, letter in ((1, "A"), (2, "B")):
        body = path_of(element, f"body{letter}", f"body_{letter.lower()}", f"body{k}")
        frame = frames.find(body or GROUND)
        place = numbers(element, f"point{letter}", 3, numbers(element, f"point{k}", 3, (0.0,) * 3))
        bodies.append(frame.body)
        places.append(moved(frame.pose, place))
    return PointSpring(
        named(element),
        (bodies[0], bodies[1]),
        (places[0], places[1]),
        number(element, "rest_length", 0.0),
        number(element, "stiffness", 0.0),
    )


def _marker(element: Element, frames: Frames) -> Marker:
    body = path_of(element, "parent_frame", "body")
    if body is None:
        raise GaitError(f"the marker {named(element)!r} has no body")
    frame = frames.find(body)
    place = numbers(element, "location", 3, (0.0, 0.0, 0.0))
    return Marker(named(element), frame.body, moved(frame.pose, place))


def _meshes(model: Element, frames: Frames) -> list[Mesh]:
    found = []
    holders = [*objects(model, "BodySet"), *model.findall("Ground")]
    for holder in holders:
        body = GROUND if holder.tag == "Ground" else named(holder)
        owners = [(frames.find(body), holder)]
        owners += [(frames.fixed(one), one) for one in holder.iter("PhysicalOffsetFrame")]
        for frame, owner in owners:
            for attached in owner.findall("attached_geometry"):
                for element in attached.findall("Mesh"):
                    found.append(_mesh(element, "mesh_file", frame.body, frame.pose, np.ones(3)))
        for visible in holder.findall("VisibleObject"):  # version 3
            outer = numbers(visible, "scale_factors", 3, (1.0, 1.0, 1.0))
            base = _transform(visible)
            for element in objects(visible, "GeometrySet"):
                own = base @ _transform(element)
                found.append(_mesh(element, "geometry_file", body, own, outer))
    return [one for one in found if one.file]


def _mesh(element: Element, tag: str, body: str, base: np.ndarray, scale: np.ndarray) -> Mesh:
    appearance = element.find("Appearance")
    holder = element if appearance is None else appearance
    red, green, blue = numbers(holder, "color", 3, _BONE[:3])
    return Mesh(
        text_of(element, tag) or "",
        body,
        base,
        scale * numbers(element, "scale_factors", 3, (1.0, 1.0, 1.0)),
        (float(red), float(green), float(blue), number(holder, "opacity", 1.0)),
    )


def _transform(element: Element) -> np.ndarray:
    """Pose of a geometry of version 3: three angles and three distances."""
    six = numbers(element, "transform", 6, (0.0,) * 6)
    return pose(euler_xyz(six[:3]), six[3:])
