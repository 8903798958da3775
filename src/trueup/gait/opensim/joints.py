"""Bodies, joints and coordinates of an OpenSim file, of versions 3 and 4."""

from collections.abc import Callable
from xml.etree.ElementTree import Element

import numpy as np

from trueup.errors import GaitError, listing
from trueup.gait.opensim.functions import (
    CONSTANT_ZERO,
    IDENTITY,
    Function,
    Polynomial,
    Spline,
)
from trueup.gait.opensim.model import GROUND, Axis, Body, Coordinate, Frame, Joint
from trueup.gait.opensim.parts.frames import Frames, offset_pose
from trueup.gait.opensim.xml import (
    flag,
    last_name,
    named,
    number,
    numbers,
    objects,
    path_of,
    text_of,
)

NAMES = (
    "rotation1", "rotation2", "rotation3", "translation1", "translation2", "translation3",
)  # fmt: skip
"""Motions of a joint, in order."""

SIMPLE_JOINTS: dict[str, tuple[str, ...]] = {
    "WeldJoint": (),
    "PinJoint": ("rotation3",),
    "SliderJoint": ("translation1",),
    "UniversalJoint": ("rotation1", "rotation2"),
    "BallJoint": ("rotation1", "rotation2", "rotation3"),
    "GimbalJoint": ("rotation1", "rotation2", "rotation3"),
    "PlanarJoint": ("rotation3", "translation1", "translation2"),
    "FreeJoint": NAMES,
}
"""Joints whose coordinates are motions about and along the axes of their frame, in order."""

CLOSE_BY = 1e-7
"""Distance of two points of a spline that OpenSim takes for equal ones."""

Refuse = Callable[[str, str], None]
"""Function of the name of a part and the reason why it cannot be represented."""


class UnknownFunctionError(GaitError):
    """A function of an unsupported kind."""


def read_function(element: Element) -> Function:
    """A function of an element such as ``SimmSpline``.

    Raises:
      UnknownFunctionError: the function is of another kind.
      GaitError: invalid numbers.
    """
    kind = element.tag
    if kind == "Constant":
        return Polynomial((number(element, "value", 0.0),))
    if kind == "LinearFunction":
        slope, offset = numbers(element, "coefficients", 2, (1.0, 0.0))
        return Polynomial((float(offset), float(slope)))
    if kind == "PolynomialFunction":
        count = len((text_of(element, "coefficients") or "").split())
        return Polynomial(tuple(numbers(element, "coefficients", max(count, 1))[::-1].tolist()))
    if kind == "MultiplierFunction":
        inner = element.find("function")
        if inner is not None and len(inner):
            return read_function(inner[0]).scaled(number(element, "scale", 1.0))
        for child in element:
            if child.tag != "scale":
                return read_function(child).scaled(number(element, "scale", 1.0))
        raise GaitError(f"the MultiplierFunction {named(element)!r} contains no function")
    if kind in ("SimmSpline", "NaturalCubicSpline", "PiecewiseLinearFunction"):
        count = max(len((text_of(element, "x") or "").split()), 2)
        x, y = numbers(element, "x", count), numbers(element, "y", count)
        # published files repeat points, which bends the spline of OpenSim like a point close by
        for k in np.flatnonzero((np.diff(x) == 0.0) & (np.diff(y) == 0.0)):
            x[k + 1] = x[k] + CLOSE_BY
        if (np.diff(x) <= 0.0).any():
            raise GaitError(f"<x> of the {kind} {named(element)!r} is not increasing")
        return Spline(tuple(x.tolist()), tuple(y.tolist()), kind != "PiecewiseLinearFunction")
    raise UnknownFunctionError(f"the function {kind}")


def find_function(element: Element, name: str = "function") -> Function:
    """Function of an element: in a child of that name, or itself named so.

    Raises:
      UnknownFunctionError: the function is of another kind.
      GaitError: there is none.
    """
    child = element.find(name)
    if child is not None and len(child):
        return read_function(child[0])
    for inner in element:
        if inner.get("name") == name:
            return read_function(inner)
    # version 4 names a function by its property; hand-written files may omit the name
    for inner in element:
        if inner.tag.endswith(("Function", "Spline")) or inner.tag == "Constant":
            return read_function(inner)
    raise GaitError(f"{named(element)!r} has no <{name}>")


def read_bodies(model: Element, refuse: Refuse) -> dict[str, Body]:
    """Bodies by name, without the ground.

    Raises:
      GaitError: invalid numbers, or two bodies with the same name.
    """
    bodies: dict[str, Body] = {}
    for element in objects(model, "BodySet"):
        name = named(element)
        if name == GROUND:
            continue
        if element.tag != "Body":
            refuse(name, f"a body of the kind {element.tag}")
            continue
        if name in bodies:
            raise GaitError(f"two bodies have the same name {name!r}")
        if element.find("inertia") is not None:
            xx, yy, zz, xy, xz, yz = numbers(element, "inertia", 6)
        else:
            xx, yy, zz, xy, xz, yz = (
                number(element, f"inertia_{axes}", 0.0)
                for axes in ("xx", "yy", "zz", "xy", "xz", "yz")
            )
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        mass = number(element, "mass")
        if mass < 0.0:
            raise GaitError(f"the mass of {name!r} is {mass:g} kg; it must not be negative")
        bodies[name] = Body(name, mass, numbers(element, "mass_center", 3, (0.0,) * 3), inertia)
    if not bodies:
        raise GaitError("the model has no bodies")
    return bodies


def read_joints(
    model: Element, bodies: dict[str, Body], frames: Frames, refuse: Refuse
) -> tuple[tuple[Joint, ...], dict[str, Coordinate]]:
    """Joints, parents first, and coordinates by name.

    Raises:
      GaitError: invalid numbers or names, or the joints do not form a tree.
    """
    joints: list[Joint] = []
    coordinates: dict[str, Coordinate] = {}

    def take(element: Element, parent: Frame, child: Frame) -> None:
        if flag(element, "reverse"):
            refuse(named(element), "a reversed joint")
        axes = _axes(element, coordinates, refuse)
        joints.append(Joint(named(element), parent, child, axes))

    for element in objects(model, "JointSet"):  # version 4
        ends = []
        for end in ("parent_frame", "child_frame"):
            path = path_of(element, end)
            if path is None:
                raise GaitError(f"the joint {named(element)!r} has no <socket_{end}>")
            ends.append(frames.find(path, ("jointset", named(element))))
        take(element, *ends)
    for body in objects(model, "BodySet"):  # version 3
        for holder in body.findall("Joint"):
            for element in holder:
                parent = last_name(text_of(element, "parent_body") or GROUND)
                inner = offset_pose(element, "location_in_parent", "orientation_in_parent")
                base = frames.find(parent)
                own_pose = offset_pose(element, "location", "orientation")
                take(element, Frame(base.body, base.pose @ inner), Frame(named(body), own_pose))
    return _ordered(joints, bodies), coordinates


def _axes(element: Element, coordinates: dict[str, Coordinate], refuse: Refuse) -> tuple[Axis, ...]:
    """Motions of a joint; its coordinates are added to ``coordinates``."""
    own = [
        one
        for holder in (element, *element.findall("CoordinateSet"))
        for group in ("coordinates", "objects")
        for one in holder.findall(f"{group}/Coordinate")
    ]
    names = [named(one) for one in own]
    kind = element.tag
    if kind == "CustomJoint":
        axes = _spatial_transform(element, names, refuse)
    elif kind in SIMPLE_JOINTS:
        motions = SIMPLE_JOINTS[kind]
        if len(names) != len(motions):
            raise GaitError(
                f"the {kind} {named(element)!r} has {len(names)} coordinates; expected "
                f"{len(motions)}"
            )
        axes = tuple(
            Axis(motion, np.eye(3)[int(motion[-1]) - 1], name, IDENTITY)
            for motion, name in zip(motions, names, strict=True)
        )
    else:
        refuse(named(element), f"a joint of the kind {kind}, which is welded instead")
        return ()
    moves = {axis.coordinate: axis.turns for axis in reversed(axes)}
    for one, name in zip(own, names, strict=True):
        if name in coordinates:
            raise GaitError(f"two coordinates have the same name {name!r}")
        coordinates[name] = _coordinate(one, moves.get(name, True), refuse)
    return axes


def _coordinate(element: Element, turns: bool, refuse: Refuse) -> Coordinate:
    low, high = numbers(element, "range", 2, (-np.pi, np.pi) if turns else (-1.0, 1.0))
    if low > high:
        raise GaitError(
            f"<range> of {named(element)!r} must be increasing; found {low:g} to {high:g}"
        )
    if flag(element, "prescribed"):
        refuse(named(element), "a coordinate with prescribed motion; it moves freely instead")
    return Coordinate(
        named(element),
        number(element, "default_value", 0.0),
        (float(low), float(high)),
        flag(element, "clamped"),
        flag(element, "locked") or low == high,
        turns,
    )


def _spatial_transform(element: Element, names: list[str], refuse: Refuse) -> tuple[Axis, ...]:
    transform = element.find("SpatialTransform")
    if transform is None:
        raise GaitError(f"the CustomJoint {named(element)!r} has no <SpatialTransform>")
    axes = []
    for one in transform.findall("TransformAxis"):
        motion = named(one)
        if motion not in NAMES:
            raise GaitError(
                f"{named(element)!r} has a TransformAxis {motion!r}; expected {listing(NAMES)}"
            )
        direction = numbers(one, "axis", 3, np.eye(3)[int(motion[-1]) - 1])
        length = float(np.linalg.norm(direction))
        if length < 1e-9:
            raise GaitError(f"<axis> of {motion} of {named(element)!r} is zero")
        drivers = (text_of(one, "coordinates") or "").split()
        part = f"{named(element)}/{motion}"
        try:
            function = find_function(one) if len(one) else CONSTANT_ZERO
        except UnknownFunctionError as error:
            refuse(part, f"{error}; zero instead")
            drivers, function = [], CONSTANT_ZERO
        if len(drivers) > 1:
            refuse(part, "a function of several coordinates; zero instead")
            drivers, function = [], CONSTANT_ZERO
        if drivers and drivers[0] not in names:
            raise GaitError(
                f"{part} refers to the coordinate {drivers[0]!r}; the joint has {listing(names)}"
            )
        coordinate = drivers[0] if drivers else None
        if coordinate is None and function.line is not None:
            function = Polynomial((function.line[1],))
        axes.append(Axis(motion, direction / length, coordinate, function))
    return tuple(sorted(axes, key=lambda axis: NAMES.index(axis.name)))


def _ordered(joints: list[Joint], bodies: dict[str, Body]) -> tuple[Joint, ...]:
    """Joints ordered with parents first."""
    moved: dict[str, Joint] = {}
    for joint in joints:
        if joint.child.body in moved or joint.child.body == GROUND:
            raise GaitError(
                f"the child of the joint {joint.name!r} is {joint.child.body!r}, which has another "
                "joint or is the ground: bodies must form a tree"
            )
        moved[joint.child.body] = joint
    for name in bodies:
        if name not in moved:
            raise GaitError(f"the body {name!r} has no joint: weld it to its parent body")
    ordered, known, waiting = [], {GROUND}, list(joints)
    while waiting:
        ready = [joint for joint in waiting if joint.parent.body in known]
        if not ready:
            raise GaitError(
                f"the joints {listing(joint.name for joint in waiting)} form a cycle or have a "
                "missing parent: bodies must form a tree"
            )
        ordered += ready
        known |= {joint.child.body for joint in ready}
        waiting = [joint for joint in waiting if joint.child.body not in known]
    return tuple(ordered)
