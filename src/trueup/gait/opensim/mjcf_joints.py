"""Bodies and joints of an OpenSim model in MuJoCo.

Each motion of a joint becomes a MuJoCo joint, translations first, as they are in the parent frame
in OpenSim. A motion that equals its coordinate has its name and its values; the other motions are
coupled to it by polynomials of the fourth degree, the joint equality of MuJoCo.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np

from trueup.errors import GaitError
from trueup.gait.opensim.functions import Function
from trueup.gait.opensim.model import GROUND, Axis, Body, Joint, OsimModel, Remark
from trueup.gait.opensim.pose_samples import coordinate_range
from trueup.gait.opensim.rotations import axis_rotation, inverse, pose, quaternion

LEAST_MASS, LEAST_INERTIA = 1e-4, 1e-7
"""Mass [kg] and moments of inertia [kg m2] of a moving body without mass."""

CARRIER_ARMATURE = 1e-3
"""Armature of a coordinate without an equal motion of a body [kg m2]."""

POINT_ARMATURE = 0.1
"""Armature of a sliding point [kg]; muscle forces would displace a lighter one."""

STIFF = {"solref": (0.004, 1.0), "solimp": (0.9999, 0.9999, 0.001, 0.5, 2.0)}
"""Solver parameters of joint equalities, as stiff as steps of 2 ms allow."""

UP_FROM_Y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Rotation from y up (OpenSim) to z up."""


@dataclass
class Skeleton:
    """An ``MjSpec`` under construction.

    Attributes:
      spec: spec.
      bodies: bodies by their name in OpenSim; the ground is the world.
      ground: pose ``(4, 4)`` of the ground of OpenSim in the world.
      references: coordinate -> reference position of its joint.
      turned: coordinates with an inverted joint.
      remarks: approximated and added parts.
    """

    spec: mujoco.MjSpec
    bodies: dict[str, Any]
    ground: np.ndarray
    turned: frozenset[str]
    references: dict[str, float] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)

    def sense(self, coordinate: str) -> float:
        """Position of the joint of a coordinate, per value of the coordinate: 1 or -1."""
        return -1.0 if coordinate in self.turned else 1.0

    def placed(self, body: str, pose_in: np.ndarray) -> np.ndarray:
        """Pose in the frame of the MuJoCo body, from that in OpenSim."""
        return self.ground @ pose_in if body == GROUND else pose_in


@dataclass(frozen=True)
class Motion:
    """A function of a free coordinate; constant where the coordinate is None.

    Attributes:
      coordinate: name of the coordinate.
      function: value as a function of the coordinate.
      line: slope and value at zero of a linear function, else None.
    """

    coordinate: str | None
    function: Callable[[np.ndarray], np.ndarray]
    line: tuple[float, float] | None

    @property
    def is_coordinate(self) -> bool:
        """Whether it equals the coordinate, up to sign and origin."""
        return self.line is not None and abs(abs(self.line[0]) - 1.0) < 1e-12


def motion_of(model: OsimModel, coordinate: str | None, function: Function) -> Motion:
    """A function of a coordinate, expressed by the free coordinate that drives it."""
    leader, before = (None, ()) if coordinate is None else model.leader(coordinate)
    if leader is None or model.coordinates[leader].locked:
        at = 0.0 if leader is None else model.coordinates[leader].default
        value = _chained((*before, function), np.array([at]))[0]
        return Motion(None, lambda x: np.full_like(x, value), (0.0, float(value)))
    slope, offset = 1.0, 0.0
    for one in (*before, function):
        if one.line is None:
            return Motion(leader, lambda x: _chained((*before, function), x), None)
        slope, offset = slope * one.line[0], offset * one.line[0] + one.line[1]
    if slope == 0.0:
        return Motion(None, lambda x: np.full_like(x, offset), (0.0, offset))
    return Motion(leader, lambda x: slope * x + offset, (slope, offset))


def _chained(functions: tuple[Function, ...], x: np.ndarray) -> np.ndarray:
    for function in functions:
        x = function(x)
    return x


def build_skeleton(model: OsimModel, turned: frozenset[str] = frozenset()) -> Skeleton:
    """Bodies and joints of a model.

    Args:
      model: model.
      turned: coordinates with joints to invert.
    """
    spec = mujoco.MjSpec()
    spec.modelname = model.name
    spec.compiler.degree = False
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    spec.compiler.balanceinertia = True
    spec.option.timestep = 0.001
    upward = -model.gravity / max(np.linalg.norm(model.gravity), 1e-12)
    y_is_up = bool(np.allclose(upward, (0.0, 1.0, 0.0)))
    ground = pose(UP_FROM_Y if y_is_up else np.eye(3), np.zeros(3))
    spec.option.gravity = ground[:3, :3] @ model.gravity
    built = Skeleton(spec, {GROUND: spec.worldbody}, ground, turned)
    motions = {
        (joint.name, axis.name): motion_of(model, axis.coordinate, axis.function)
        for joint in model.joints
        for axis in joint.axes
    }
    owners: dict[str, tuple[str, str]] = {}
    for key, motion in motions.items():
        if motion.is_coordinate and motion.coordinate is not None:
            owners.setdefault(motion.coordinate, key)
    for joint in model.joints:
        _add_body(built, model, joint, motions, owners)
    for name in model.free:
        if name not in owners:
            _add_carrier(built, model, name)
    for joint in model.joints:
        for axis in joint.axes:
            motion = motions[joint.name, axis.name]
            key = (joint.name, axis.name)
            if motion.coordinate is not None and owners.get(motion.coordinate) != key:
                follow(built, model, follower_name(joint, axis), motion)
    for name, one in model.coordinates.items():
        if one.locked:
            words = f"locked, fixed at {one.default:.6g}"
            built.remarks.append(Remark("approximated", name, words))
    return built


def follower_name(joint: Joint, axis: Axis) -> str:
    """Name of the joint of a motion coupled to a coordinate."""
    return f"{joint.name}_{axis.name}"


def _add_body(
    built: Skeleton,
    model: OsimModel,
    joint: Joint,
    motions: dict[tuple[str, str], Motion],
    owners: dict[str, tuple[str, str]],
) -> None:
    place, turned = np.zeros(3), np.eye(3)
    moving: list[tuple[Axis, np.ndarray]] = []
    for axis in joint.axes:
        motion = motions[joint.name, axis.name]
        if motion.coordinate is None:
            value = motion.function(np.zeros(1))
            if axis.turns:
                turned = turned @ axis_rotation(axis.axis, value)[0]
            else:
                place = place + value * axis.axis
        else:
            # a constant rotation before a motion rotates its axis
            moving.append((axis, turned @ axis.axis if axis.turns else axis.axis))
    base = pose(turned, place)
    at_rest = joint.parent.pose @ base @ inverse(joint.child.pose)
    at_rest = built.placed(joint.parent.body, at_rest)
    parent = built.bodies[joint.parent.body]
    body = parent.add_body(
        name=joint.child.body, pos=at_rest[:3, 3], quat=quaternion(at_rest[:3, :3])
    )
    _set_inertia(built, body, model.bodies[joint.child.body], bool(moving))
    in_body = joint.child.pose[:3, :3] @ turned.T
    for axis, direction in sorted(moving, key=lambda one: one[0].turns):
        motion = motions[joint.name, axis.name]
        owns = motion.coordinate is not None and owners.get(motion.coordinate) == (
            joint.name,
            axis.name,
        )
        name = motion.coordinate if owns else follower_name(joint, axis)
        slope, offset = motion.line if owns and motion.line is not None else (1.0, 0.0)
        sense = np.sign(slope) * (built.sense(str(motion.coordinate)) if owns else 1.0)
        kind = mujoco.mjtJoint.mjJNT_HINGE if axis.turns else mujoco.mjtJoint.mjJNT_SLIDE
        added = body.add_joint(
            name=name,
            type=kind,
            axis=sense * (in_body @ direction),
            pos=joint.child.pose[:3, 3],
            ref=-sense * offset,
            limited=mujoco.mjtLimited.mjLIMITED_FALSE,
        )
        if owns and motion.coordinate is not None:
            built.references[motion.coordinate] = float(-sense * offset)
            _limit(added, built, model, motion.coordinate)
    built.bodies[joint.child.body] = body


def _limit(joint: Any, built: Skeleton, model: OsimModel, coordinate: str) -> None:
    one = model.coordinates[coordinate]
    if np.isfinite(one.range).all():
        joint.range = np.sort(built.sense(coordinate) * np.array(one.range))
        if one.clamped:
            joint.limited = mujoco.mjtLimited.mjLIMITED_TRUE


def _set_inertia(built: Skeleton, body: Any, given: Body, moves: bool) -> None:
    mass, inertia = given.mass, given.inertia
    main = np.linalg.eigvalsh(inertia)
    if main[0] < -1e-9 * max(main[2], 1.0):
        raise GaitError(
            f"the inertia of the body {given.name!r} has a negative moment of {main[0]:.3g} kg m2: "
            "correct it in the file"
        )
    light = mass < LEAST_MASS or main[0] < LEAST_INERTIA
    if light and (moves or mass > 0.0):
        mass = max(mass, LEAST_MASS) if moves else mass
        inertia = inertia + LEAST_INERTIA * np.eye(3)
        words = f"{given.mass:g} kg with a smallest moment of inertia of {main[0]:.2g} kg m2: "
        words += f"MuJoCo requires more: at least {LEAST_MASS if moves else 0:g} kg, and "
        words += f"{LEAST_INERTIA:g} kg m2 are added"
        built.remarks.append(Remark("added", given.name, words))
        main = np.linalg.eigvalsh(inertia)
    if main[2] > main[0] + main[1] + 1e-9:
        words = "the moments of inertia violate the triangle inequality: replaced by their mean"
        built.remarks.append(Remark("approximated", given.name, words))
    if mass > 0.0:
        body.mass, body.ipos = mass, given.center
        body.fullinertia = (
            inertia[0, 0], inertia[1, 1], inertia[2, 2],
            inertia[0, 1], inertia[0, 2], inertia[1, 2],
        )  # fmt: skip
        body.explicitinertial = True


def set_least_inertia(body: Any) -> None:
    """Set the smallest mass and inertia that MuJoCo requires for a moving body."""
    body.mass, body.inertia = LEAST_MASS, np.full(3, LEAST_INERTIA)
    # without a position MuJoCo writes no inertia, and then cannot read the file
    body.ipos = np.zeros(3)
    body.explicitinertial = True


def _add_carrier(built: Skeleton, model: OsimModel, name: str) -> None:
    """Separate hinge for a coordinate without an equal motion."""
    body = built.spec.worldbody.add_body(name=f"coordinate_{name}")
    set_least_inertia(body)
    joint = body.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_HINGE,
        axis=(0.0, 0.0, 1.0),
        armature=CARRIER_ARMATURE,
        limited=mujoco.mjtLimited.mjLIMITED_FALSE,
    )
    _limit(joint, built, model, name)
    built.references[name] = 0.0
    words = f"no motion equals it: a separate hinge, with an armature of {CARRIER_ARMATURE:g}"
    built.remarks.append(Remark("added", name, words))


def follow(built: Skeleton, model: OsimModel, name: str, motion: Motion) -> None:
    """Couple a joint to a coordinate by a joint equality."""
    assert motion.coordinate is not None
    reference, sense = built.references[motion.coordinate], built.sense(motion.coordinate)
    low, high = coordinate_range(model, motion.coordinate)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    x = middle + half * np.cos(np.linspace(0.0, np.pi, 101))
    wanted = motion.function(x)
    moved_by = sense * x - reference
    fit = np.polynomial.Polynomial.fit(moved_by, wanted, 4).convert()
    coefficients = np.zeros(5)
    coefficients[: len(fit.coef)] = fit.coef
    worst = float(np.abs(fit(moved_by) - wanted).max())
    data = np.zeros(mujoco.mjNEQDATA)
    data[:5] = coefficients
    built.spec.add_equality(
        type=mujoco.mjtEq.mjEQ_JOINT,
        objtype=mujoco.mjtObj.mjOBJ_JOINT,
        name=f"{name}_follows",
        name1=name,
        name2=motion.coordinate,
        data=data,
        **STIFF,
    )
    if worst > 1e-9:
        unit = "rad" if built.spec.joint(name).type == mujoco.mjtJoint.mjJNT_HINGE else "mm"
        shown = worst if unit == "rad" else 1e3 * worst
        words = f"a polynomial of the fourth degree of {motion.coordinate}, within {shown:.2g} "
        built.remarks.append(Remark("approximated", name, words + unit))
