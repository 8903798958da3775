"""Surfaces and muscles of an OpenSim file, of versions 3 and 4."""

from dataclasses import fields
from itertools import pairwise
from xml.etree.ElementTree import Element

import numpy as np

from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.opensim.forces.schutte_curves import SchutteCurves
from trueup.gait.opensim.joints import Refuse, UnknownFunctionError, find_function
from trueup.gait.opensim.model import (
    GROUND,
    Body,
    Coordinate,
    Muscle,
    PathPoint,
    PathWrap,
    Surface,
)
from trueup.gait.opensim.muscle_curves import MillardCurves, MuscleCurves, ThelenCurves
from trueup.gait.opensim.parts.frames import Frames, offset_pose
from trueup.gait.opensim.rotations import moved
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

THELEN = ("Thelen2003Muscle", "Thelen2003Muscle_Deprecated")
SCHUTTE = "Schutte1993Muscle_Deprecated"
MILLARD = ("Millard2012EquilibriumMuscle", "Millard2012AccelerationMuscle")
RIGID = "RigidTendonMuscle"
MUSCLES = (*THELEN, SCHUTTE, *MILLARD, RIGID)

THELEN_TIMES, MILLARD_TIMES = (0.015, 0.05), (0.01, 0.04)
"""Time constants of activation and deactivation in OpenSim, where a file has none [s]."""

SIDES = {"x": 0, "y": 1, "z": 2}


def read_surfaces(
    model: Element, bodies: dict[str, Body], refuse: Refuse
) -> dict[str, Surface | None]:
    """Surfaces by name; None for those that are not active.

    Raises:
      GaitError: invalid numbers.
    """
    holders = [*objects(model, "BodySet"), *model.findall("Ground")]
    surfaces: dict[str, Surface | None] = {}
    for holder in holders:
        body = GROUND if holder.tag == "Ground" else named(holder)
        if body not in bodies and body != GROUND:
            continue
        for element in objects(holder, "WrapObjectSet"):
            name = named(element)
            if name in surfaces:
                raise GaitError(f"two surfaces have the same name {name!r}")
            if not flag(element, "active", True):
                surfaces[name] = None
            elif (surface := _surface(element, name, body)) is None:
                refuse(name, f"a surface of the kind {element.tag}; it is ignored")
            else:
                surfaces[name] = surface
    return surfaces


def _surface(element: Element, name: str, body: str) -> Surface | None:
    length = 0.0
    if element.tag == "WrapCylinder":
        kind, radii = "cylinder", np.full(3, number(element, "radius"))
        length = number(element, "length", 1.0)
    elif element.tag == "WrapSphere":
        kind, radii = "sphere", np.full(3, number(element, "radius"))
    elif element.tag == "WrapEllipsoid":
        kind, radii = "ellipsoid", numbers(element, "dimensions", 3)
    elif element.tag == "WrapTorus":
        kind, tube = "torus", number(element, "inner_radius")
        radii = np.array([number(element, "outer_radius"), tube, tube])
    else:
        return None
    if not (radii > 0.0).all():
        raise GaitError(
            f"the radius of the surface {name!r} is {radii.min():g} m; it must be positive"
        )
    quadrant = (text_of(element, "quadrant") or "all").lower()
    side = None
    if quadrant.lstrip("+-") in SIDES:
        side = np.zeros(3)
        side[SIDES[quadrant.lstrip("+-")]] = -1.0 if quadrant.startswith("-") else 1.0
    elif quadrant not in ("all", "unassigned"):
        raise GaitError(f"<quadrant> of {name!r} is {quadrant!r}; expected all, x, -x, +y, ...")
    pose = offset_pose(element, "translation", "xyz_body_rotation")
    return Surface(name, body, kind, pose, radii, length, side)  # type: ignore[arg-type]


def read_muscles(
    model: Element,
    frames: Frames,
    coordinates: dict[str, Coordinate],
    surfaces: dict[str, Surface | None],
    refuse: Refuse,
) -> tuple[Muscle, ...]:
    """Muscles in the order of the file.

    Raises:
      GaitError: invalid numbers or names.
    """
    muscles: list[Muscle] = []
    for element in objects(model, "ForceSet"):
        name, kind = named(element), element.tag
        if not flag(element, "appliesForce", True) or flag(element, "isDisabled"):
            continue
        if kind not in MUSCLES:
            continue
        if name in (muscle.name for muscle in muscles):
            raise GaitError(f"two muscles have the same name {name!r}")
        muscles.append(_muscle(element, frames, coordinates, surfaces, refuse))
    return tuple(muscles)


def _muscle(
    element: Element,
    frames: Frames,
    coordinates: dict[str, Coordinate],
    surfaces: dict[str, Surface | None],
    refuse: Refuse,
) -> Muscle:
    name = named(element)
    path = element.find("GeometryPath")
    if path is None:
        raise GaitError(f"the muscle {name!r} has no <GeometryPath>")
    points = [
        point
        for one in objects(path, "PathPointSet")
        if (point := _point(one, name, frames, coordinates, refuse)) is not None
    ]
    if len(points) < 2:
        raise GaitError(f"the path of {name!r} has fewer than the two required points")
    wraps = []
    for one in objects(path, "PathWrapSet"):
        surface = reference(one, "wrap_object") or ""
        if surface not in surfaces:
            refuse(f"{name}/{surface}", "a missing surface, or one of an unsupported kind")
            continue
        if surfaces[surface] is None:
            continue
        first, last = numbers(one, "range", 2, (-1.0, -1.0)).astype(int)
        last_index = len(points) - 1
        wraps.append(
            PathWrap(
                surface,
                0 if first < 1 else min(first - 1, last_index),
                last_index if last < 1 else min(last - 1, last_index),
            )
        )
    sizes = {
        key: number(element, tag)
        for key, tag in (
            ("force", "max_isometric_force"),
            ("fiber", "optimal_fiber_length"),
            ("tendon", "tendon_slack_length"),
        )
    }
    for key, value in sizes.items():
        if not value > 0.0:
            raise GaitError(f"the {key} of the muscle {name!r} is {value:g}; it must be positive")
    speed, times = _speed_and_times(element)
    pennation = number(element, "pennation_angle_at_optimal", number(element, "pennation_angle", 0))
    if not 0.0 <= pennation < 1.5:
        raise GaitError(f"the pennation angle of {name!r} is {pennation:g} rad; expected 0 to 1.5")
    return Muscle(
        name,
        tuple(points),
        tuple(wraps),
        pennation=pennation,
        speed=speed,
        times=times,
        curves=_curves(element),
        rigid=element.tag == RIGID or flag(element, "ignore_tendon_compliance"),
        **sizes,
    )


def _positive(element: Element, defaults: dict[str, float]) -> list[float]:
    """Positive numbers of a muscle, by their names and defaults.

    Raises:
      GaitError: one is not positive.
    """
    found = []
    for tag, default in defaults.items():
        found.append(number(element, tag, default))
        if not found[-1] > 0.0:
            raise GaitError(
                f"<{tag}> of the muscle {named(element)!r} is {found[-1]:g}; it must be positive"
            )
    return found


def _speed_and_times(element: Element) -> tuple[float, tuple[float, float]]:
    """Largest shortening speed [optimal lengths/s], and time constants of activation and
    deactivation [s]."""
    if element.tag == SCHUTTE:
        # lengths per time scale; rates of activation at full excitation, and at none
        defaults = {"time_scale": 0.1, "activation1": 7.667, "activation2": 1.459854}
        scale, rise, fall = _positive(element, defaults)
        return 1.0 / scale, (scale / (rise + fall), scale / fall)
    activation, deactivation = THELEN_TIMES if element.tag in THELEN else MILLARD_TIMES
    defaults = {
        "max_contraction_velocity": 10.0,
        "activation_time_constant": activation,
        "deactivation_time_constant": deactivation,
    }
    speed, *times = _positive(element, defaults)
    return speed, (times[0], times[1])


def _curves(element: Element) -> MuscleCurves:
    if element.tag == SCHUTTE:
        curves = {
            f"{part}_curve": find_function_of(element, name)
            for part in ("active", "passive", "tendon")
            if has_function(element, name := f"{part}_force_length_curve")
        }
        return SchutteCurves(**curves, damping=number(element, "damping", 0.1))
    if element.tag in THELEN:
        given = {field.name: text_of(element, field.name) for field in fields(ThelenCurves)}
        values = {key: number(element, key) for key, text in given.items() if text is not None}
        for key, value in values.items():
            least = 1.0 if key == "Flen" else 0.0
            if not value > least:
                raise GaitError(
                    f"{key} of {named(element)!r} is {value:g}; it must be above {least:g}"
                )
        return ThelenCurves(**values)
    properties: dict[str, dict[str, float]] = {}
    for curve, known in MillardCurves.PROPERTIES.items():
        found = next(element.iter(curve), None)
        if found is not None:
            properties[curve] = {
                key: number(found, key) for key in known if text_of(found, key) is not None
            }
            _check_curve(curve, known | properties[curve], named(element))
    return MillardCurves(properties, damping=number(element, "fiber_damping", 0.1))


def _check_curve(curve: str, values: dict[str, float], muscle: str) -> None:
    """Raise GaitError for invalid numbers of a curve."""
    rising = {
        "ActiveForceLengthCurve": [
            0.0, values.get("min_norm_active_fiber_length"),
            values.get("transition_norm_fiber_length"), 1.0,
            values.get("max_norm_active_fiber_length"),
        ],
        "FiberForceLengthCurve": [
            -1.0, values.get("strain_at_zero_force"), values.get("strain_at_one_norm_force"),
        ],
        "TendonForceLengthCurve": [0.0, values.get("strain_at_one_norm_force")],
        "ForceVelocityCurve": [1.0, values.get("max_eccentric_velocity_force_multiplier")],
    }[curve]  # fmt: skip
    if not all(low < high for low, high in pairwise(rising)):
        raise GaitError(f"these numbers of the {curve} of {muscle!r} must be increasing: {rising}")


def _point(
    element: Element,
    muscle: str,
    frames: Frames,
    coordinates: dict[str, Coordinate],
    refuse: Refuse,
) -> PathPoint | None:
    name, kind = named(element), element.tag
    body = path_of(element, "parent_frame", "body")
    if body is None:
        raise GaitError(f"the point {name!r} of {muscle!r} has no body")
    frame = frames.find(body)
    place = numbers(element, "location", 3, (0.0, 0.0, 0.0))
    if kind == "PathPoint":
        return PathPoint(name, frame.body, moved(frame.pose, place))
    if kind == "ConditionalPathPoint":
        low, high = numbers(element, "range", 2)
        driver = _driver(element, name, muscle, coordinates, "coordinate")
        return PathPoint(
            name, frame.body, moved(frame.pose, place), (driver, float(low), float(high))
        )
    if kind != "MovingPathPoint":
        refuse(f"{muscle}/{name}", f"a point of the kind {kind}")
        return None
    if not np.allclose(frame.pose, np.eye(4)):
        raise GaitError(
            f"the parent frame of the moving point {name!r} of {muscle!r} must be a body"
        )
    moves = {}
    for k, axis in enumerate("xyz"):
        try:
            function = find_function_of(element, f"{axis}_location")
        except UnknownFunctionError as error:
            refuse(f"{muscle}/{name}", f"{error}; the component {axis} is fixed instead")
            continue
        line = function.line
        driver = reference(element, f"{axis}_coordinate")
        if line is not None and line[0] == 0.0:
            place[k] = line[1]
        elif driver is None:
            place[k] = float(function(np.zeros(1))[0])
        else:
            checked = _driver(element, name, muscle, coordinates, f"{axis}_coordinate")
            moves[k] = (function, checked)
    return PathPoint(name, frame.body, place, None, moves)


def find_function_of(element: Element, name: str):
    """Function in a property of that name; see
    :func:`~trueup.gait.opensim.joints.find_function`.

    Raises:
      GaitError: there is none.
    """
    if not has_function(element, name):
        raise GaitError(f"the point {named(element)!r} has no <{name}>")
    return find_function(element, name)


def has_function(element: Element, name: str) -> bool:
    """Whether there is a function in a property of that name."""
    child = element.find(name)
    return (child is not None and len(child) > 0) or any(one.get("name") == name for one in element)


def _driver(
    element: Element, name: str, muscle: str, coordinates: dict[str, Coordinate], tag: str
) -> str:
    """Coordinate that drives a point."""
    driver = reference(element, tag) or ""
    if driver not in coordinates:
        raise GaitError(
            f"the point {name!r} of {muscle!r} has the unknown coordinate {driver!r}; available: "
            f"{listing(coordinates)}.{did_you_mean(driver, coordinates)}"
        )
    return driver
