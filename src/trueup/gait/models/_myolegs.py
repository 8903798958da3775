"""3D walkers: the legs of MyoSim with 26 and with 80 muscles, prepared for walking.

The legs are from the package ``myo-sim``; changes and additions are in ``myolegs.yaml``.
Body frames are as in OpenSim: x forward, y up, z to the right.
"""

import functools
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

from trueup.errors import MissingExtraError
from trueup.gait.models._couplings import couple_joints
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
from trueup.gait.models.anatomy import LEGS, SUFFIX, Anatomy, load_anatomy

LIMITED = {"hip": "hip_flexion", "knee": "knee_angle", "ankle": "ankle_angle"}
"""Joints with limit sensors."""

UPRIGHT = 1.0
"""Height of the pelvis before a pose is lowered to the ground [m]."""


@functools.cache
def _numbers() -> dict[str, Any]:
    path = Path(__file__).with_name("myolegs.yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@functools.cache
def myolegs_anatomy(name: str = "myolegs26") -> Anatomy:
    """Names of the parts of :func:`myolegs26` or :func:`myolegs`."""
    return load_anatomy(Path(__file__).with_name(f"anatomy_{name}.yaml"))


def myolegs26() -> mujoco.MjSpec:
    """The 3D walker with 26 muscles and 18 degrees of freedom, six of them of the pelvis.

    Its legs are ``myolegs26`` of the package myo-sim. The left leg is the mirror image of the right
    one, muscle points are fixed, the knee is a pin joint, the feet are spheres, and a rigid trunk
    includes head and arms; keyframes are walk_left, walk_right, stand and squat.

    Raises:
      MissingExtraError: myo-sim is not installed.
    """
    return _prepared("myolegs26")


def myolegs() -> mujoco.MjSpec:
    """The 3D walker with 80 muscles, prepared as :func:`myolegs26`.

    Its legs are ``myolegs`` of the package myo-sim. Muscles wrap around the bones, and the knee
    translates and rotates as it flexes.

    Raises:
      MissingExtraError: myo-sim is not installed.
    """
    return _prepared("myolegs")


def _prepared(name: str) -> mujoco.MjSpec:
    numbers = _numbers()
    model = numbers["models"][name]
    spec = _legs(model["fragment"])
    spec.modelname = name
    spec.option.timestep = numbers["timestep"]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    _write_down(spec)
    _strip(spec)
    if "fixed" in model:
        _fix_points(spec, model)
        _add_passive(spec, numbers)
    for joint in model.get("turned", ()):
        _turn(spec, f"{joint}_{SUFFIX[LEGS[0]]}")
    _mirror(spec)
    _root(spec)
    _trunk(spec, numbers)
    add_ground(spec, numbers["friction"])
    for side in LEGS:
        _foot(spec, numbers, side)
        for place, joint in LIMITED.items():
            letter = SUFFIX[side]
            kind, of = mujoco.mjtSensor.mjSENS_JOINTLIMITFRC, mujoco.mjtObj.mjOBJ_JOINT
            add_sensor(spec, f"{letter}_{place}_sensor", kind, of, f"{joint}_{letter}")
    _keyframes(spec, numbers)
    return spec


def _legs(fragment: str) -> mujoco.MjSpec:
    try:
        import myo_sim
    except ImportError as error:
        raise MissingExtraError("a 3D walker", "gait", "myo-sim") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return myo_sim.FRAGMENT_SPEC_BUILDERS[fragment]()  # type: ignore[operator]


def _write_down(spec: mujoco.MjSpec) -> None:
    """Write out values derived from meshes and from alternative forms of orientation.

    A left part can then be computed from its right one.
    """
    model = spec.compile()
    plain = mujoco.mjtOrientation.mjORIENTATION_QUAT
    for body in spec.bodies[1:]:
        compiled = model.body(body.name)
        body.mass, body.inertia = float(compiled.mass[0]), compiled.inertia
        body.ipos, body.iquat = compiled.ipos, compiled.iquat
        body.pos, body.quat = compiled.pos, compiled.quat
        body.alt.type = body.ialt.type = plain
        body.explicitinertial = True
    for site in spec.sites:
        site.quat, site.alt.type = model.site(site.name).quat, plain
    for geom in spec.geoms:
        if geom.type != mujoco.mjtGeom.mjGEOM_MESH:
            compiled = model.geom(geom.name)
            geom.pos, geom.quat, geom.size = compiled.pos, compiled.quat, compiled.size
            geom.fromto, geom.alt.type = np.full(6, np.nan), plain


def _strip(spec: mujoco.MjSpec) -> None:
    """Remove visual geoms, contacts and sensors, but not wrapping surfaces."""
    for part in (*spec.pairs, *spec.excludes, *spec.sensors):
        spec.delete(part)
    for geom in list(spec.geoms):
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
            spec.delete(geom)
        else:
            geom.contype = geom.conaffinity = 0
            geom.group = 4
    for site in list(spec.sites):
        if site.name.endswith("_btm") or "_touch" in site.name:
            spec.delete(site)
    for mesh in list(spec.meshes):
        spec.delete(mesh)


def _fix_points(spec: mujoco.MjSpec, model: Mapping[str, Any]) -> None:
    """Fix the muscle points that move with a joint angle, and the axis of the knee."""
    for equality in list(spec.equalities):
        spec.delete(equality)
    for joint in list(spec.joints):
        if joint.type == mujoco.mjtJoint.mjJNT_SLIDE:
            spec.delete(joint)
    right = SUFFIX[LEGS[0]]
    for pattern, place in model["fixed"].items():
        name = pattern.format(side=right)
        # a moving point has a separate body, which is fixed at its position
        body = spec.body(name)
        if body is None:
            spec.site(name).pos = place
        else:
            body.pos, body.mass, body.inertia = place, 0.0, (0.0, 0.0, 0.0)
            spec.site(name).pos = (0.0, 0.0, 0.0)
    spec.joint(f"knee_angle_{right}").pos = model["pin"]


def _add_passive(spec: mujoco.MjSpec, numbers: Mapping[str, Any]) -> None:
    """Stiffness and damping of joints that muscles alone do not stabilise."""
    for name, passive in numbers["passive"].items():
        joint = spec.joint(f"{name}_{SUFFIX[LEGS[0]]}")
        joint.damping = np.array([passive["damping"], 0.0, 0.0])
        joint.stiffness = np.array([passive.get("stiffness", 0.0), 0.0, 0.0])
        joint.armature = numbers["armature"]


def _turn(spec: mujoco.MjSpec, name: str) -> None:
    """Invert the sign of a joint coordinate, with its couplings adapted."""
    joint = spec.joint(name)
    low, high = joint.range
    joint.axis, joint.range = -joint.axis, (-high, -low)
    for equality in spec.equalities:
        if equality.name2 == name:
            signs = np.ones(len(equality.data))
            signs[1:5:2] = -1.0
            equality.data = equality.data * signs


def _mirror(spec: mujoco.MjSpec) -> None:
    """Make the left leg the mirror image of the right one."""
    for body in spec.bodies:
        if (left := spec.body(_left(body.name))) is not None:
            left.pos, left.quat = body.pos * MIRROR, _mirrored(body.quat)
            left.mass, left.inertia = body.mass, body.inertia
            left.ipos, left.iquat = body.ipos * MIRROR, _mirrored(body.iquat)
    for site in spec.sites:
        if (left := spec.site(_left(site.name))) is not None:
            left.pos, left.quat = site.pos * MIRROR, _mirrored(site.quat)
    for geom in spec.geoms:
        if (left := spec.geom(_left(geom.name))) is not None:
            left.pos, left.quat, left.size = geom.pos * MIRROR, _mirrored(geom.quat), geom.size
    for joint in spec.joints:
        if (left := spec.joint(_left(joint.name))) is not None:
            sense = 1.0 if joint.type == mujoco.mjtJoint.mjJNT_SLIDE else -1.0
            left.pos, left.axis = joint.pos * MIRROR, sense * joint.axis * MIRROR
            left.range, left.damping, left.stiffness = joint.range, joint.damping, joint.stiffness
            left.armature = joint.armature
    couplings = {(e.name1, e.name2): e for e in spec.equalities}
    for (one, other), equality in couplings.items():
        if (left := couplings.get((_left(one), _left(other)))) is not None:
            left.data = equality.data
    for actuator in spec.actuators:
        if (left := spec.actuator(_left(actuator.name))) is not None:
            left.gainprm, left.biasprm, left.dynprm = (
                actuator.gainprm, actuator.biasprm, actuator.dynprm,
            )  # fmt: skip
            left.lengthrange = actuator.lengthrange


def _left(name: str) -> str:
    """Name of the left counterpart of a right part; otherwise a name that does not exist."""
    left = re.sub(r"(?<![A-Za-z0-9])r(?![A-Za-z0-9])", "l", name)
    return left if left != name else "no left part"


def _mirrored(quat: np.ndarray) -> np.ndarray:
    return quat * (1.0, -1.0, -1.0, 1.0)


def _root(spec: mujoco.MjSpec) -> None:
    """Set the pelvis upright, with six joints for free motion."""
    pelvis = spec.body("pelvis")
    above = pelvis.parent
    while above.name != "world":
        above.pos, above.quat = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
        above = above.parent
    pelvis.pos, pelvis.quat = (0.0, 0.0, 0.0), QUARTER_TURN
    for name, kind, axis in ROOT:
        slides = kind == "slide"
        pelvis.add_joint(
            name=name,
            type=mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE,
            axis=axis,
            limited=mujoco.mjtLimited.mjLIMITED_FALSE,
            damping=np.zeros(3),
            armature=0.0,
        )


def _trunk(spec: mujoco.MjSpec, numbers: Mapping[str, Any]) -> None:
    """Rigid trunk with head and arms, with the remaining mass of the walker; rods for the bones."""
    part = numbers["torso"]
    lacking = numbers["weighs"] - sum(body.mass for body in spec.bodies if body.name != "world")
    factor = lacking / part["mass"]
    heavy = {"mass": lacking, "inertia": [factor * value for value in part["inertia"]]}
    pelvis = spec.body("pelvis")
    torso = pelvis.add_body(name="torso", pos=part["place"])
    set_mass(torso, heavy, part["center"])
    add_rod(pelvis, (-0.07, -0.06, -0.07), (-0.07, -0.06, 0.07), 0.06)
    add_rod(torso, (0.0, 0.0, 0.0), (0.0, 0.42, 0.0), 0.09)
    add_rod(torso, (0.01, 0.6, 0.0), (0.01, 0.66, 0.0), 0.08)
    for side in LEGS:
        letter = SUFFIX[side]
        for name, end, radius in (("femur", "tibia", 0.05), ("tibia", "talus", 0.035)):
            place = spec.body(f"{end}_{letter}").pos
            add_rod(spec.body(f"{name}_{letter}"), (0.0, 0.0, 0.0), place, radius)


def _foot(spec: mujoco.MjSpec, numbers: Mapping[str, Any], side: str) -> None:
    """Contact spheres and touch sensors of a foot."""
    letter = SUFFIX[side]
    mirror = np.ones(3) if side == LEGS[0] else MIRROR
    for name, sphere in numbers["feet"].items():
        body = spec.body(f"{sphere['body']}_{letter}")
        center = np.array(sphere["center"]) * mirror
        site = f"{letter}_{name}_btm"
        friction = numbers["friction"]
        add_sole(body, f"{name}_{letter}", center, sphere["radius"], friction, site)
    for name, box in numbers["touch"].items():
        body = spec.body(f"{box['body']}_{letter}")
        add_touch(spec, body, f"{letter}_{name}", np.array(box["center"]) * mirror, box["half"])


def _keyframes(spec: mujoco.MjSpec, numbers: Mapping[str, Any]) -> None:
    """Poses, lowered so that the lowest sphere touches the ground."""
    model = spec.compile()
    data = mujoco.MjData(model)
    height = model.joint("pelvis_ty").qposadr[0]
    spheres = [model.geom(f"{name}_{s}").id for name in numbers["feet"] for s in SUFFIX.values()]
    for name, angles in numbers["keyframes"].items():
        mujoco.mj_resetData(model, data)
        data.qpos[height] = UPRIGHT
        for joint, degrees in angles.items():
            if joint in (name for name, _, _ in ROOT):
                data.joint(joint).qpos[0] = np.deg2rad(degrees)
                continue
            both = degrees if isinstance(degrees, list) else (degrees, degrees)
            for leg, angle in zip(LEGS, both, strict=True):
                data.joint(f"{joint}_{SUFFIX[leg]}").qpos[0] = np.deg2rad(angle)
        couple_joints(model, data.qpos[None])
        mujoco.mj_kinematics(model, data)
        data.qpos[height] -= np.min(data.geom_xpos[spheres, 2] - model.geom_size[spheres, 0])
        spec.add_key(name=name, qpos=data.qpos)
