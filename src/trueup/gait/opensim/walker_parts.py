"""Parts of a walker in addition to bodies and muscles: soles, sensors, poses, anatomy."""

import functools
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

from trueup.errors import GaitError
from trueup.gait.models._couplings import couple_joints
from trueup.gait.models._spec_parts import add_ground, add_sensor, add_sole, add_touch
from trueup.gait.models.anatomy import LEGS, SUFFIX, Anatomy
from trueup.gait.models.human_walker import UPRIGHT, of_legs
from trueup.gait.models.planar22 import planar22_anatomy, planar22_numbers
from trueup.gait.opensim.mjcf_joints import Skeleton
from trueup.gait.opensim.model import OsimModel, Remark

ROOT = {"forward": "pelvis_tx", "upward": "pelvis_ty", "pitch": "pelvis_tilt"}
JOINTS = {"hip": "hip_flexion", "knee": "knee_angle", "ankle": "ankle_angle", "mtp": "mtp_angle"}
FRONTAL = {"hip_adduction": "hip_adduction", "hip_rotation": "hip_rotation"}
BODIES = ("femur", "tibia", "talus", "calcn", "toes")
LIMITED = ("hip", "knee", "ankle")
_STEP = 1e-6  # interval over which rates of coupled joints are found [s]


@functools.cache
def _groups() -> dict[str, list[str]]:
    path = Path(__file__).with_name("muscle_groups.yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _sides(name: str) -> tuple[str, ...]:
    return tuple(f"{name}_{SUFFIX[side]}" for side in LEGS)


def missing_parts(model: OsimModel) -> list[str]:
    """Missing parts of a walker; empty for a complete one."""
    free = set(model.free)
    needed = dict.fromkeys(ROOT.values(), free)
    needed |= {name: free for one in ("hip", "knee", "ankle") for name in _sides(JOINTS[one])}
    needed |= {name: set(model.bodies) for one in BODIES for name in _sides(one)}
    needed["pelvis"] = set(model.bodies)
    lacking = [name for name, known in needed.items() if name not in known]
    # a toe joint is added where the toes are welded, not where they are coupled
    lacking += [name for name in _sides(JOINTS["mtp"]) if name in model.couplers]
    return lacking


def turned_coordinates(model: OsimModel) -> frozenset[str]:
    """Knee coordinates with positive flexion, to be inverted: in walkers flexion is negative."""
    knees = (name for name in _sides(JOINTS["knee"]) if name in model.coordinates)
    return frozenset(name for name in knees if sum(model.coordinates[name].range) > 0.0)


def add_walker_parts(built: Skeleton, model: OsimModel) -> Anatomy:
    """Add ground, soles, sensors and poses to a model with the parts of a walker.

    Returns:
      The anatomy with the names of its parts.
    """
    numbers, spec = planar22_numbers(), built.spec
    add_ground(spec, numbers["friction"])
    for side in LEGS:
        letter = SUFFIX[side]
        _toe_joint(built, model, letter)
        for name, sphere in numbers["feet"].items():
            body = built.bodies[f"{sphere['body']}_{letter}"]
            factor = model.factors.get(body.name, np.ones(3))
            place, site = factor * sphere["center"], f"{letter}_{name}_btm"
            radius = float(factor.mean()) * sphere["radius"]
            add_sole(body, f"{name}_{letter}", place, radius, numbers["friction"], site)
        for name, box in numbers["touch"].items():
            body = built.bodies[f"{box['body']}_{letter}"]
            factor = model.factors.get(body.name, np.ones(3))
            half = (factor * box["half"]).tolist()
            add_touch(spec, body, f"{letter}_{name}", factor * box["center"], half)
        for name in LIMITED:
            _limit(built, model, f"{JOINTS[name]}_{letter}")
            kind, of = mujoco.mjtSensor.mjSENS_JOINTLIMITFRC, mujoco.mjtObj.mjOBJ_JOINT
            add_sensor(spec, f"{letter}_{name}_sensor", kind, of, f"{JOINTS[name]}_{letter}")
    words = "three spherical soles per foot, their sensors and the initial poses of planar22"
    built.remarks.append(Remark("added", "feet", words))
    for name in sorted(built.turned):
        words = "its joint is inverted: knee flexion of walkers is negative"
        built.remarks.append(Remark("added", name, words))
    _keyframes(built, numbers)
    return _anatomy(built, model)


def _limit(built: Skeleton, model: OsimModel, name: str) -> None:
    """Limit a coordinate to its range, as the reflexes of walkers use the limit torque."""
    if model.coordinates[name].clamped:
        return
    joint = built.spec.joint(name)
    if not joint.range[0] < joint.range[1]:
        raise GaitError(f"the coordinate {name!r} has no range; a walker requires its limits")
    joint.limited = mujoco.mjtLimited.mjLIMITED_TRUE
    words = "its range is not clamped in the file; limited here, as reflexes use the limit torque"
    built.remarks.append(Remark("added", name, words))


def _toe_joint(built: Skeleton, model: OsimModel, letter: str) -> None:
    """Hinge joint for welded toes."""
    name = f"{JOINTS['mtp']}_{letter}"
    if name in model.free:
        return
    if (welded := built.spec.joint(name)) is not None:
        built.spec.delete(welded)
    joint = planar22_numbers()["joints"][JOINTS["mtp"]]
    toes = built.bodies[f"toes_{letter}"]
    toes.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_HINGE,
        axis=(0.0, 0.0, 1.0),
        range=np.deg2rad(joint["range"]),
        limited=mujoco.mjtLimited.mjLIMITED_TRUE,
        damping=np.array([joint["damping"], 0.0, 0.0]),
        stiffness=np.array([joint["stiffness"], 0.0, 0.0]),
        armature=planar22_numbers()["armature"],
    )
    words = f"the toes are welded: replaced by a hinge {name} of {joint['stiffness']} N m/rad"
    built.remarks.append(Remark("added", f"toes_{letter}", words))


def _keyframes(built: Skeleton, numbers: dict[str, Any]) -> None:
    """Poses, lowered so that the lowest sphere touches the ground."""
    model = built.spec.compile()
    data = mujoco.MjData(model)
    spheres = [model.geom(name).id for one in numbers["feet"] for name in _sides(one)]
    height = model.joint(ROOT["upward"]).qposadr[0]
    for name, pose in numbers["keyframes"].items():
        mujoco.mj_resetData(model, data)
        data.qpos[height] = UPRIGHT
        angles = {joint: value for joint, value in pose.items() if joint != "rates"}
        for joint, angle in of_legs(numbers, angles):
            data.joint(joint).qpos[0] = angle
        for joint, rate in of_legs(numbers, pose.get("rates", {})):
            data.joint(joint).qvel[0] = rate
        later = data.qpos.copy()
        mujoco.mj_integratePos(model, later, data.qvel, _STEP)
        couple_joints(model, data.qpos[None])
        couple_joints(model, later[None])
        # coupled joints move with those that they follow
        mujoco.mj_differentiatePos(model, data.qvel, _STEP, data.qpos, later)
        mujoco.mj_kinematics(model, data)
        data.qpos[height] -= np.min(data.geom_xpos[spheres, 2] - model.geom_size[spheres, 0])
        built.spec.add_key(name=name, qpos=data.qpos, qvel=data.qvel)


def _anatomy(built: Skeleton, model: OsimModel) -> Anatomy:
    names = {muscle.name for muscle in model.muscles}
    muscles = {
        group: [f"{one}_{{side}}" for one in known if names.issuperset(_sides(one))]
        for group, known in _groups().items()
    }
    muscles = {group: found for group, found in muscles.items() if found}
    driven = {name for found in muscles.values() for one in found for name in _sides(one[:-7])}
    if others := sorted(names - driven):
        words = "muscles without a group, not driven by reflexes:  " + ", ".join(others)
        built.remarks.append(Remark("added", "anatomy", words))
    content = planar22_anatomy().model_dump()
    frontal = all(name in model.free for one in FRONTAL.values() for name in _sides(one))
    content |= {
        "name": model.name,
        "torso": "torso" if "torso" in model.bodies else "pelvis",
        "muscles": muscles,
        "initial_activations": [
            group for group in content["initial_activations"] if group in muscles
        ],
    }
    if frontal:
        content["frontal_joints"] = {key: f"{one}_{{side}}" for key, one in FRONTAL.items()}
        content["frontal_initial_activations"] = [
            group for group in ("HAB", "HAD") if group in muscles
        ]
    return Anatomy.model_validate(content)
