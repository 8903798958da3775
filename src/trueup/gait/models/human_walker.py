"""Walkers built from published numbers: planar22, and space26, which also moves sideways.

Both legs are built from the same numbers, so that they are mirror images. Muscles are straight
lines between points fixed in bodies, without additional bodies, joints or constraints. Body frames
are as in OpenSim (x forward, y up, z to the right).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from trueup.gait.models._spec_parts import (
    MIRROR,
    QUARTER_TURN,
    ROOT,
    add_ground,
    add_rod,
    add_sensor,
    add_sole,
    add_touch,
    set_mass,
)
from trueup.gait.models._straight_muscles import add_muscle
from trueup.gait.models.anatomy import LEGS, SUFFIX, Anatomy

UPRIGHT = 1.0
"""Height of the pelvis before a pose is lowered to the ground [m]."""

PIN_AXIS = (0.0, 0.0, 1.0)
"""Axis of a joint of the legs without another one: to the right, so that a positive angle moves a
part forward."""


def build_walker(numbers: Mapping[str, Any], anatomy: Anatomy) -> mujoco.MjSpec:
    """A walker from the numbers of its file.

    The trunk is one rigid body, the knee a pin joint. Contacts of the soles are explicit pairs.

    Args:
      numbers: numbers, as in ``planar22.yaml``.
      anatomy: names of its parts.
    """
    spec = mujoco.MjSpec()
    spec.modelname = numbers["name"]
    spec.compiler.degree = False
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    spec.option.timestep = numbers["timestep"]
    # implicit integrators damp muscles numerically: walks then depend more on the time step
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    # all constraints of a walker form one island: the search for islands takes 3 % of a step
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ISLAND.value)
    add_ground(spec, numbers["friction"])
    bodies = _trunk(spec, numbers)
    for side in LEGS:
        bodies |= _leg(bodies, numbers, side)
        _foot(spec, bodies, numbers, side)
    _pair_soles_with_ground(spec, numbers)
    _soften_stops(spec, numbers)
    for name, muscle in numbers["muscles"].items():
        for side in LEGS:
            letter = SUFFIX[side]
            path = [
                (
                    bodies[body if body in bodies else f"{body}_{letter}"],
                    _point(numbers, body, point, side),
                )
                for body, *point in muscle["path"]
            ]
            own = f"{name}_{letter}"
            group, _ = anatomy.muscle_groups([own])[0]
            share = anatomy.fiber_share.get(group, 1.0)
            add_muscle(spec, own, path, {**numbers["common"], **muscle}, share)
    _keyframes(spec, numbers)
    return spec


def _trunk(spec: mujoco.MjSpec, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Pelvis and torso, one rigid body."""
    parts = numbers["bodies"]
    pelvis = spec.worldbody.add_body(name="pelvis", quat=QUARTER_TURN)
    slide, hinge = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
    for name, kind, axis in ROOT:
        if name in numbers["root"]:
            pelvis.add_joint(name=name, type=slide if kind == "slide" else hinge, axis=axis)
    torso = pelvis.add_body(name="torso", pos=parts["torso"]["place"])
    for name, body in (("pelvis", pelvis), ("torso", torso)):
        set_mass(body, parts[name], np.array(parts[name]["center"]))
    add_rod(pelvis, (-0.07, -0.06, -0.07), (-0.07, -0.06, 0.07), 0.06)
    add_rod(torso, (0.0, 0.0, 0.0), (0.0, 0.42, 0.0), 0.09)
    add_rod(torso, (0.01, 0.6, 0.0), (0.01, 0.66, 0.0), 0.08)
    return {"pelvis": pelvis, "torso": torso}


def _leg(bodies: dict[str, Any], numbers: Mapping[str, Any], side: str) -> dict[str, Any]:
    """The bodies of a leg, each in its parent, with their joints."""
    leg: dict[str, Any] = {}
    for name, part in numbers["bodies"].items():
        if name in bodies:
            continue
        parent_name = part["parent"]
        parent = leg[parent_name] if parent_name in leg else bodies[parent_name]
        place = _point(numbers, parent_name, part["place"], side)
        body = parent.add_body(name=f"{name}_{SUFFIX[side]}", pos=place)
        set_mass(body, part, _point(numbers, name, part["center"], side))
        for name_of_joint in part.get("joints", ()):
            _joint(body, name_of_joint, numbers, side)
        leg[name] = body
    for name, end, radius in (("femur", "tibia", 0.05), ("tibia", "talus", 0.035)):
        place = _point(numbers, name, numbers["bodies"][end]["place"], side)
        add_rod(leg[name], (0.0, 0.0, 0.0), place, radius)
    return {f"{name}_{SUFFIX[side]}": body for name, body in leg.items()}


def _joint(body: Any, name: str, numbers: Mapping[str, Any], side: str) -> None:
    """A joint of a leg; axes of rotation are mirrored by the negative of what mirrors places."""
    joint = numbers["joints"][name]
    axis = np.array(joint.get("axis", PIN_AXIS))
    body.add_joint(
        name=f"{name}_{SUFFIX[side]}",
        axis=axis if side == LEGS[0] else -axis * MIRROR,
        range=np.deg2rad(joint["range"]),
        limited=mujoco.mjtLimited.mjLIMITED_TRUE,
        damping=np.array([joint["damping"], 0.0, 0.0]),
        stiffness=np.array([joint["stiffness"], 0.0, 0.0]),
        armature=numbers["armature"],
        margin=np.deg2rad(joint["onset"]),
    )


def _foot(
    spec: mujoco.MjSpec, bodies: dict[str, Any], numbers: Mapping[str, Any], side: str
) -> None:
    """Add soles, their touch sensors, and sensors of the limits of the joints."""
    letter = SUFFIX[side]
    for name, sphere in numbers["feet"].items():
        add_sole(
            bodies[f"{sphere['body']}_{letter}"],
            f"{name}_{letter}",
            _point(numbers, sphere["body"], sphere["center"], side),
            sphere["radius"],
            numbers["friction"],
            f"{letter}_{name}_btm",
        )
    for name, box in numbers["touch"].items():
        body = bodies[f"{box['body']}_{letter}"]
        center = _point(numbers, box["body"], box["center"], side)
        add_touch(spec, body, f"{letter}_{name}", center, box["half"])
    for joint, part in numbers["joints"].items():
        if "axis" in part:
            continue  # walks have no record of their stops
        name = f"{letter}_{joint.split('_')[0]}_sensor"
        kind = mujoco.mjtSensor.mjSENS_JOINTLIMITFRC
        add_sensor(spec, name, kind, mujoco.mjtObj.mjOBJ_JOINT, f"{joint}_{letter}")


def _pair_soles_with_ground(spec: mujoco.MjSpec, numbers: Mapping[str, Any]) -> None:
    """Explicit contact pairs of soles and ground; the collision search takes 4 % of a step.

    MuJoCo presses a sole back by ``-(b v + k d r) / R``, with the impedance ``d`` and ``R`` from
    the inverse inertia ``w`` of its body in the reference pose: ``(1 - d) w / d``. With a constant
    impedance ``k`` and ``b`` follow from the stiffness [N/m] and the damping [N s/m].

    Friction of a soft contact is viscous: as hard as the pads, it would let a toe creep by 0.3 m/s
    at push-off. Elliptic cones have a hardness of friction apart from that of the normal force.
    """
    (ground,) = (geom for geom in spec.geoms if geom.conaffinity)
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = numbers["grip"]
    weights = spec.compile().body_invweight0[:, 0]
    for sole in [geom for geom in spec.geoms if geom.contype]:
        sliding, torsion, rolling = sole.friction
        pad = numbers["feet"][sole.name.rpartition("_")[0]]
        weight, d = weights[sole.parent.id], numbers["impedance"]
        if "mass" in pad:
            d = pad["mass"] * weight / (1.0 + pad["mass"] * weight)
        resistance = (1.0 - d) * weight
        spec.add_pair(
            geomname1=ground.name,
            geomname2=sole.name,
            condim=sole.condim,
            friction=(sliding, sliding, torsion, rolling, rolling),
            # MuJoCo reads negative numbers as -k d^2 and -b d
            solref=(-pad["stiffness"] * resistance, -pad["damping"] * resistance),
            solimp=(d, d, *SHAPE),
        )
        sole.contype = 0
    ground.conaffinity = 0


SHAPE = (0.001, 0.5, 2.0)
"""Width [m], midpoint and power of the impedance of a contact; without effect on a constant one."""


def _soften_stops(spec: mujoco.MjSpec, numbers: Mapping[str, Any]) -> None:
    """Stops whose torque at the end of the range is the stated one.

    A joint held still at an angle ``x`` beyond the onset bears ``x d^2 / ((1 - d) w t^2 m^2)`` with
    the impedance ``d`` there, its largest value ``m``, the time constant ``t`` and the inverse
    inertia ``w`` of the joint in the reference pose.
    """
    model = spec.compile()
    least, most, width = numbers["ligament"]
    for name, joint in numbers["joints"].items():
        onset = np.deg2rad(joint["onset"])
        part = onset / width
        rise = 2.0 * part**2 if part < 0.5 else 1.0 - 2.0 * (1.0 - min(part, 1.0)) ** 2
        impedance = least + rise * (most - least)
        for side in SUFFIX.values():
            inverse = model.dof_invweight0[model.joint(f"{name}_{side}").dofadr[0]]
            square = onset * impedance**2 / ((1.0 - impedance) * inverse * joint["torque"])
            own = spec.joint(f"{name}_{side}")
            own.solref_limit = (np.sqrt(square) / most, 1.0)
            own.solimp_limit = (least, most, width, 0.5, 2.0)


def _keyframes(spec: mujoco.MjSpec, numbers: Mapping[str, Any]) -> None:
    """Poses, lowered so that the lowest sphere touches the ground, with joint rates if stated."""
    model = spec.compile()
    data = mujoco.MjData(model)
    spheres = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE)
    height = model.joint("pelvis_ty").qposadr[0]
    for name, pose in numbers["keyframes"].items():
        mujoco.mj_resetData(model, data)
        data.qpos[height] = UPRIGHT
        angles = {joint: value for joint, value in pose.items() if joint != "rates"}
        for joint, angle in of_legs(numbers, angles):
            data.joint(joint).qpos[0] = angle
        for joint, rate in of_legs(numbers, pose.get("rates", {})):
            data.joint(joint).qvel[0] = rate
        mujoco.mj_kinematics(model, data)
        lowest = np.min(data.geom_xpos[spheres, 2] - model.geom_size[spheres, 0])
        data.qpos[height] -= lowest
        spec.add_key(name=name, qpos=data.qpos, qvel=data.qvel)


def of_legs(numbers: Mapping[str, Any], degrees: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Name in the model and value [rad] of each joint of a pose; one number holds in both legs."""
    for joint, value in degrees.items():
        if joint not in numbers["joints"]:
            yield joint, float(np.deg2rad(value))
            continue
        both = value if isinstance(value, list) else (value, value)
        for leg, one in zip(LEGS, both, strict=True):
            yield f"{joint}_{SUFFIX[leg]}", float(np.deg2rad(one))


def _point(numbers: Mapping[str, Any], body: str, point: Sequence[float], side: str) -> np.ndarray:
    """A point from the published frame of a body, in the frame of the body of that side here."""
    place = np.array(point, dtype=float) + numbers["bodies"][body].get("shift", (0.0, 0.0, 0.0))
    return place * (1.0 if side == LEGS[0] else MIRROR)
