"""Markers, motors, springs and meshes of an OpenSim model in MuJoCo."""

from pathlib import PurePosixPath

import mujoco
import numpy as np
from scipy.optimize import nnls

from trueup.errors import listing
from trueup.gait.opensim.mjcf_joints import Skeleton
from trueup.gait.opensim.model import OsimModel, Remark
from trueup.gait.opensim.parts.content import JointSpring, LimitSpring, Motor, PointSpring
from trueup.gait.opensim.pose_samples import coordinate_range
from trueup.gait.opensim.rotations import quaternion

_UNLIMITED = 1e6
"""Control in place of a missing limit, where the other one exists."""

_FAR = 1e3
"""End of a spring range that no coordinate reaches [rad or m]."""


def add_parts(built: Skeleton, model: OsimModel) -> None:
    """Add markers, motors and springs to a skeleton.

    Args:
      built: skeleton.
      model: model.
    """
    _add_markers(built, model)
    for motor in model.parts.motors:
        _add_motor(built, model, motor)
    for spring in model.parts.springs:
        if isinstance(spring, PointSpring):
            _add_point_spring(built, spring)
        elif spring.coordinate not in model.free:
            words = f"a spring of {spring.coordinate}, which is locked or coupled; it is omitted"
            built.remarks.append(Remark("left out", spring.name, words))
        elif isinstance(spring, JointSpring):
            _add_joint_spring(built, spring)
        else:
            _add_limit_spring(built, model, spring)


def _add_markers(built: Skeleton, model: OsimModel) -> None:
    for marker in model.parts.markers:
        at = np.eye(4)
        at[:3, 3] = marker.place
        name = marker.name
        while built.spec.site(name) is not None:  # a point of a muscle, or another marker
            name += "_marker"
        built.bodies[marker.body].add_site(
            name=name,
            pos=built.placed(marker.body, at)[:3, 3],
            size=(0.008,) * 3,
            rgba=(1.0, 0.6, 0.8, 1.0),
            group=2,
        )
    if count := len(model.parts.markers):
        words = f"{count} {'marker' if count == 1 else 'markers'}: sites of these names, in group 2"
        built.remarks.append(Remark("added", "MarkerSet", words))


def _add_motor(built: Skeleton, model: OsimModel, motor: Motor) -> None:
    if motor.coordinate not in model.free:
        words = f"a motor of {motor.coordinate}, which is locked or coupled; it is omitted"
        built.remarks.append(Remark("left out", motor.name, words))
        return
    limited = bool(np.isfinite(motor.limits).any())
    actuator = built.spec.add_actuator(
        name=motor.name,
        target=motor.coordinate,
        trntype=mujoco.mjtTrn.mjTRN_JOINT,
        gear=[built.sense(motor.coordinate) * motor.force, 0.0, 0.0, 0.0, 0.0, 0.0],
    )
    if limited:
        actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_TRUE
        actuator.ctrlrange = np.clip(motor.limits, -_UNLIMITED, _UNLIMITED)
    if motor.delay > 0.0:
        actuator.dyntype = mujoco.mjtDyn.mjDYN_FILTEREXACT
        actuator.dynprm[0] = motor.delay
    unit = "N m" if model.coordinates[motor.coordinate].turns else "N"
    controls = f"controls {motor.limits[0]:g} to {motor.limits[1]:g}" if limited else "unlimited"
    words = f"a motor of {motor.coordinate}, {motor.force:g} {unit} at a control of 1, {controls}"
    built.remarks.append(Remark("added", motor.name, words))


def _add_joint_spring(built: Skeleton, spring: JointSpring) -> None:
    joint, sense = built.spec.joint(spring.coordinate), built.sense(spring.coordinate)
    joint.stiffness = np.array([joint.stiffness[0] + spring.stiffness, 0.0, 0.0])
    joint.damping = np.array([joint.damping[0] + spring.damping, 0.0, 0.0])
    joint.springref = sense * spring.rest
    words = f"a spring of the joint {spring.coordinate}, {spring.stiffness:g} per rad or m"
    built.remarks.append(Remark("added", spring.name, words))


def _fitted_spring(spring: LimitSpring, reach: float) -> tuple[float, np.ndarray, float]:
    """Spring of a tendon in place of one whose stiffness rises.

    Args:
      spring: spring.
      reach: distance beyond its limit up to which it is fitted.

    Returns:
      Distance beyond the limit at which it begins, coefficients of its stiffness, and the largest
      difference of the force.
    """
    beyond = np.linspace(0.0, reach, 101)
    wanted, powers = spring.force(beyond), np.arange(1, 4)

    def fit(start: float) -> tuple[float, np.ndarray, float]:
        columns = np.maximum(beyond - start, 0.0)[:, None] ** powers / reach**powers
        # not negative, so that the force rises at all distances
        found, _ = nnls(columns, wanted)
        return start, found / reach**powers, float(np.abs(columns @ found - wanted).max())

    starts = np.linspace(0.0, 0.9 * min(spring.transition, reach), 19)
    return min(map(fit, starts.tolist()), key=lambda found: found[2])


def _add_limit_spring(built: Skeleton, model: OsimModel, spring: LimitSpring) -> None:
    """Tendon of one joint whose spring acts beyond its range of lengths."""
    low, high = coordinate_range(model, spring.coordinate)
    reach = high - spring.limit if spring.side == "above" else spring.limit - low
    if not reach > 0.0:  # the range of the coordinate ends before the limit
        reach = max(spring.transition, 0.1)
    start, stiffness, error = _fitted_spring(spring, reach)
    sign = built.sense(spring.coordinate) * (1.0 if spring.side == "above" else -1.0)
    end = spring.limit if spring.side == "above" else -spring.limit
    name = f"{spring.name}_{spring.side}"
    tendon = built.spec.add_tendon(
        name=name, stiffness=stiffness.tolist(), springlength=[-_FAR, end + start]
    )
    tendon.wrap_joint(spring.coordinate, sign)
    unit = "N m" if model.coordinates[spring.coordinate].turns else "N"
    words = (
        f"a spring {spring.side} {spring.limit:.4g} of {spring.coordinate}, up to "
        f"{spring.force(np.array(reach)):.3g} {unit} within {error:.2g} {unit}, without damping"
    )
    built.remarks.append(Remark("approximated", spring.name, words))


def _add_point_spring(built: Skeleton, spring: PointSpring) -> None:
    tendon = built.spec.add_tendon(
        name=spring.name, stiffness=[spring.stiffness, 0.0, 0.0], springlength=[spring.rest] * 2
    )
    for k, (body, place) in enumerate(zip(spring.bodies, spring.places, strict=True)):
        at = np.eye(4)
        at[:3, 3] = place
        site = f"{spring.name}-P{k + 1}"
        built.bodies[body].add_site(name=site, pos=built.placed(body, at)[:3, 3], group=3)
        tendon.wrap_site(site)
    words = f"a tendon with a spring of {spring.stiffness:g} N/m, at rest at {spring.rest:g} m"
    built.remarks.append(Remark("added", spring.name, words))


def add_meshes(built: Skeleton, model: OsimModel, files: dict[str, tuple[str, bytes]]) -> None:
    """Add the meshes whose files were found, as geoms without mass and contact.

    Args:
      built: skeleton.
      model: model.
      files: name of a file in the model -> name and content of the file to write.
    """
    lacks = list(dict.fromkeys(one.file for one in model.parts.meshes if one.file not in files))
    if lacks:
        words = f"meshes that are absent or unreadable, not shown: {listing(lacks, 6)}"
        built.remarks.append(Remark("left out", "geometry", words))
    assets: dict[tuple[str, tuple[float, ...]], str] = {}
    for k, one in enumerate(model.parts.meshes):
        if one.file not in files:
            continue
        file, content = files[one.file]
        built.spec.assets[file] = content
        key = (file, tuple(one.scale.tolist()))
        if key not in assets:
            assets[key] = f"{PurePosixPath(file).stem}_{len(assets)}"
            mesh = built.spec.add_mesh(name=assets[key], file=file, scale=one.scale)
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        at = built.placed(one.body, one.pose)
        built.bodies[one.body].add_geom(
            name=f"mesh_{k}",
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=assets[key],
            pos=at[:3, 3],
            quat=quaternion(at[:3, :3]),
            contype=0,
            conaffinity=0,
            density=0.0,
            group=2,
            rgba=one.colour,
        )
