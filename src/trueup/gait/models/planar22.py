"""The planar walker planar22 with 22 muscles, built from the numbers in ``planar22.yaml``.

Both legs are built from the same numbers, so that they are mirror images. Muscles are straight
lines between points fixed in bodies, without additional bodies, joints or constraints. Body frames
are as in OpenSim (x forward, y up, z to the right).
"""

import functools
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

from trueup.gait.models._spec_parts import (
    QUARTER_TURN,
    add_ground,
    add_rod,
    add_sensor,
    add_sole,
    add_touch,
    set_mass,
)
from trueup.gait.models.anatomy import LEGS, SUFFIX, Anatomy, load_anatomy
from trueup.gait.models.attachments import attach_exoskeleton

UPRIGHT = 1.0
"""Height of the pelvis before a pose is lowered to the ground [m]."""

PIN_AXIS = (0.0, 0.0, 1.0)
"""Axis of all joints of the legs: to the right, so that a positive angle moves a part forward."""


@functools.cache
def planar22_anatomy() -> Anatomy:
    """Names of the parts of :func:`planar22`."""
    return load_anatomy(Path(__file__).with_name("anatomy_planar22.yaml"))


@functools.cache
def planar22_numbers() -> dict[str, Any]:
    """Parameters of :func:`planar22`, from ``planar22.yaml``."""
    path = Path(__file__).with_name("planar22.yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def planar22(exoskeleton: bool = False) -> mujoco.MjSpec:
    """The planar walker: 11 degrees of freedom, 22 muscles, feet of spheres, four keyframes.

    Its parameters are those of published OpenSim models: gait14dof22musc, and gait2392 for the long
    muscles of the toes; each block of ``planar22.yaml`` names its source, and NOTICE credits them.
    The trunk is one rigid body, the knee a pin joint. Contacts of the soles are explicit pairs: an
    additional geom requires a pair with each geom that it can touch.

    Args:
      exoskeleton: attach the device ``ankle`` of :func:`attach_exoskeleton`, a plantarflexion
        torque at each ankle, with its mass.
    """
    numbers = planar22_numbers()
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
    bodies = _trunk(spec, numbers["bodies"])
    for side in LEGS:
        bodies |= _leg(bodies, numbers, side)
        _foot(spec, bodies, numbers, side)
    _pair_soles_with_ground(spec, numbers)
    _soften_stops(spec, numbers)
    for name, muscle in numbers["muscles"].items():
        for side in LEGS:
            _muscle(spec, bodies, name, numbers["common"] | muscle, side)
    _keyframes(spec, numbers)
    return attach_exoskeleton(spec, "ankle", planar22_anatomy()) if exoskeleton else spec


def _trunk(spec: mujoco.MjSpec, numbers: dict[str, Any]) -> dict[str, Any]:
    """Pelvis and torso, one rigid body."""
    pelvis = spec.worldbody.add_body(name="pelvis", quat=QUARTER_TURN)
    slide, hinge = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
    pelvis.add_joint(name="pelvis_tx", type=slide, axis=(1.0, 0.0, 0.0))
    pelvis.add_joint(name="pelvis_ty", type=slide, axis=(0.0, 1.0, 0.0))
    pelvis.add_joint(name="pelvis_tilt", type=hinge, axis=PIN_AXIS)
    torso = pelvis.add_body(name="torso", pos=numbers["torso"]["place"])
    for name, body in (("pelvis", pelvis), ("torso", torso)):
        set_mass(body, numbers[name], np.array(numbers[name]["center"]))
    add_rod(pelvis, (-0.07, -0.06, -0.07), (-0.07, -0.06, 0.07), 0.06)
    add_rod(torso, (0.0, 0.0, 0.0), (0.0, 0.42, 0.0), 0.09)
    add_rod(torso, (0.01, 0.6, 0.0), (0.01, 0.66, 0.0), 0.08)
    return {"pelvis": pelvis, "torso": torso}


def _leg(bodies: dict[str, Any], numbers: dict[str, Any], side: str) -> dict[str, Any]:
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
        if "joint" in part:
            joint = numbers["joints"][part["joint"]]
            body.add_joint(
                name=f"{part['joint']}_{SUFFIX[side]}",
                axis=PIN_AXIS,
                range=np.deg2rad(joint["range"]),
                limited=mujoco.mjtLimited.mjLIMITED_TRUE,
                damping=np.array([joint["damping"], 0.0, 0.0]),
                stiffness=np.array([joint["stiffness"], 0.0, 0.0]),
                armature=numbers["armature"],
                margin=np.deg2rad(joint["onset"]),
            )
        leg[name] = body
    for name, end, radius in (("femur", "tibia", 0.05), ("tibia", "talus", 0.035)):
        place = _point(numbers, name, numbers["bodies"][end]["place"], side)
        add_rod(leg[name], (0.0, 0.0, 0.0), place, radius)
    return {f"{name}_{SUFFIX[side]}": body for name, body in leg.items()}


def _foot(spec: mujoco.MjSpec, bodies: dict[str, Any], numbers: dict[str, Any], side: str) -> None:
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
    for joint in numbers["joints"]:
        name = f"{letter}_{joint.split('_')[0]}_sensor"
        kind = mujoco.mjtSensor.mjSENS_JOINTLIMITFRC
        add_sensor(spec, name, kind, mujoco.mjtObj.mjOBJ_JOINT, f"{joint}_{letter}")


def _pair_soles_with_ground(spec: mujoco.MjSpec, numbers: dict[str, Any]) -> None:
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
    d = numbers["impedance"]
    for sole in [geom for geom in spec.geoms if geom.contype]:
        sliding, torsion, rolling = sole.friction
        pad = numbers["feet"][sole.name.split("_")[0]]
        resistance = (1.0 - d) * weights[sole.parent.id]
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


def _soften_stops(spec: mujoco.MjSpec, numbers: dict[str, Any]) -> None:
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


def _muscle(
    spec: mujoco.MjSpec, bodies: dict[str, Any], name: str, muscle: dict[str, Any], side: str
) -> None:
    """A muscle: its path, and a MuJoCo muscle with the published strength and lengths.

    The path includes only the points on which its length depends; the constant length of the others
    is subtracted from the slack length of the tendon.

    The tendon of MuJoCo is rigid: its length is that of the published tendon at half of its largest
    strain, reached at about a third of its largest force. Force and fiber length are projected onto
    the tendon with the pennation at the optimal length. Where the fibers have a share of the length
    change (:attr:`Anatomy.fiber_share`), their length is divided by it, about the optimal length:
    the curves of force over length and velocity are then those of the whole unit, which ends where
    the fibers and half of the tendon's stretch are used up.
    """
    numbers, letter = planar22_numbers(), SUFFIX[side]
    group, _ = planar22_anatomy().muscle_groups([f"{name}_{letter}"])[0]
    share = planar22_anatomy().fiber_share.get(group, 1.0)
    tendon = spec.add_tendon(name=f"{name}_{letter}_tendon", width=0.004)
    tendon.rgba = (0.95, 0.3, 0.3, 1.0)
    points, constant = _moving_part(
        [(body, _point(numbers, body, point, side)) for body, *point in muscle["path"]]
    )
    for k, (body, place) in enumerate(points, 1):
        key = body if body in bodies else f"{body}_{letter}"
        site = f"{name}_{letter}-P{k}"
        bodies[key].add_site(name=site, pos=place, size=(0.003, 0.003, 0.003), group=3)
        tendon.wrap_site(site)
    projection = np.cos(np.deg2rad(muscle["pennation"]))
    optimum = muscle["fiber"] * projection
    optimal_unit = muscle["tendon"] * (1.0 + 0.5 * muscle["stretch"]) - constant + optimum
    fiber = optimum / share
    slack = optimal_unit - fiber
    stretch = 0.0 if share == 1.0 else 0.5 * muscle["stretch"] * muscle["tendon"] / optimum
    shortest, longest = 1.0 - share * (1.0 + stretch), 1.0 + share * (LONGEST - 1.0 + stretch)
    actuator = spec.add_actuator(
        name=f"{name}_{letter}",
        target=tendon.name,
        trntype=mujoco.mjtTrn.mjTRN_TENDON,
        lengthrange=(slack + 0.5 * fiber, slack + 1.5 * fiber),
        ctrllimited=mujoco.mjtLimited.mjLIMITED_TRUE,
        ctrlrange=(0.0, 1.0),
    )
    actuator.set_to_muscle(
        timeconst=muscle["times"],
        tausmooth=0.0,
        range=(0.5, 1.5),
        force=muscle["force"] * projection,
        lmin=shortest,
        lmax=longest,
        vmax=muscle["speed"],
        fpmax=_passive_force(*muscle["passive"]),
        fvmax=muscle["lengthening"],
    )


def _moving_part(
    path: list[tuple[str, np.ndarray]],
) -> tuple[list[tuple[str, np.ndarray]], float]:
    """The points on which the length of a path depends, and the constant length of the others [m].

    Segments within one body before the first or after the last crossed joint have constant length,
    and between two joints only the first and the last point of a body matter.
    """
    stretches = [list(group) for _, group in itertools.groupby(path, key=lambda point: point[0])]
    kept: list[tuple[str, np.ndarray]] = []
    constant = 0.0
    for k, stretch in enumerate(stretches):
        places = np.stack([place for _, place in stretch])
        own = [stretch[0]] if k else []
        if k < len(stretches) - 1 and (not own or len(stretch) > 1):
            own.append(stretch[-1])
        straight = np.linalg.norm(own[-1][1] - own[0][1])
        constant += np.linalg.norm(np.diff(places, axis=0), axis=1).sum() - straight
        kept += own
    return kept, float(constant)


LONGEST = 2.1
"""Fiber length without active force [optimal lengths]; the force is one half at 1.55, as in the
Gaussian curve of Thelen 2003."""


def _passive_force(strain: float, shape: float) -> float:
    """MuJoCo's ``fpmax`` for the passive force of Thelen 2003 at half of ``strain``.

    Thelen's curve is ``(exp(shape e / strain) - 1) / (exp(shape) - 1)`` (equation 3), MuJoCo's is
    ``fpmax x^2 / 2`` with ``x = e / b`` up to ``b``, half of the way to the longest fiber.
    """
    published = np.expm1(0.5 * shape) / np.expm1(shape)
    x = 0.5 * strain / (0.5 * (LONGEST - 1.0))
    return float(published / (0.5 * x**2))


def _keyframes(spec: mujoco.MjSpec, numbers: dict[str, Any]) -> None:
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


def of_legs(numbers: dict[str, Any], degrees: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Name in the model and value [rad] of each joint of a pose; one number holds in both legs."""
    for joint, value in degrees.items():
        if joint not in numbers["joints"]:
            yield joint, float(np.deg2rad(value))
            continue
        both = value if isinstance(value, list) else (value, value)
        for leg, one in zip(LEGS, both, strict=True):
            yield f"{joint}_{SUFFIX[leg]}", float(np.deg2rad(one))


def _point(numbers: dict[str, Any], body: str, point: Sequence[float], side: str) -> np.ndarray:
    """A point from the published frame of a body, in the frame of the body of that side here."""
    place = np.array(point, dtype=float) + numbers["bodies"][body].get("shift", (0.0, 0.0, 0.0))
    return place * (1.0, 1.0, 1.0 if side == LEGS[0] else -1.0)
