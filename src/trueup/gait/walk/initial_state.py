"""Initial state of a walk: pose, speed and activations of a parameter vector."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import mujoco
import numpy as np
from mujoco.batch import Batch

from trueup.errors import GaitError
from trueup.gait.controller.parameter_vector import ParameterVector
from trueup.gait.models._couplings import couple_joints
from trueup.gait.models.anatomy import LEGS
from trueup.gait.models.body_map import BodyMap
from trueup.gait.models.walker import Walker
from trueup.gait.walk._parameters import LEAST_ACTIVATION

LOWEST_BODY = 0.005
"""Smallest initial height of a body [m]."""

STEEPEST_START = np.deg2rad(45.0)
"""Largest initial lean of the pelvis [rad]."""


class InitialState(NamedTuple):
    """Initial activations, and walks that cannot start.

    Attributes:
      activation: activation of each muscle group ``(n, 2, groups)``.
      invalid: candidate -> reason why its pose is impossible.
    """

    activation: np.ndarray
    invalid: dict[int, str]


def set_initial_state(
    batch: Batch,
    walker: Walker,
    body: BodyMap,
    parameters: ParameterVector,
    groups: tuple[str, ...],
    X: np.ndarray,
    pose: str,
    compat: bool = False,
    joint_speeds: Mapping[str, float] | None = None,
) -> InitialState:
    """Set the initial state of each simulation of a batch from its parameter vector.

    Other values are those of the keyframe of the pose. The walker is lowered so that the lowest
    point of its soles touches the ground and no body is below it.

    Args:
      batch: batch with one simulation per candidate.
      walker: walker.
      body: parts of the walker.
      parameters: entries of the vectors.
      groups: muscle groups of the controller, in order.
      X: vectors ``(n, size)``.
      pose: name of the keyframe.
      compat: refuse the same poses as MyoAssist: with a body below the ground, or without weight
        on either foot.
      joint_speeds: joint speeds in place of those of the keyframe [rad/s, m/s], by name.
    """
    key = walker.keyframe(pose)
    model = walker.model
    batch.reset(stage=mujoco.mjtStage.mjSTAGE_NONE.value)
    batch.warning[...] = 0
    qpos, qvel = batch.bind("qpos"), batch.bind("qvel")
    qpos[:] = model.key_qpos[key]
    qvel[:] = model.key_qvel[key]
    for name, speed in (joint_speeds or {}).items():
        qvel[:, model.joint(name).dofadr[0]] = speed
    values = parameters.values(X, "pose")
    entries = parameters.entries[parameters.group("pose")]
    for entry, value in zip(entries, values.T, strict=True):
        joint = model.joint(entry.name.removeprefix("vel_"))
        if entry.name.startswith("vel_"):
            qvel[:, joint.dofadr[0]] = value
        else:
            qpos[:, joint.qposadr[0]] = value
    if not compat:
        couple_joints(model, qpos)
    asked = qpos.copy()  # MuJoCo resets extreme values
    activation = _activations(parameters, groups, X)
    act = batch.bind("act")
    act[:] = LEAST_ACTIVATION
    muscles = body.muscles
    act[:, muscles["act"]] = activation[:, muscles["leg"], muscles["group"]]
    ctrl = batch.bind("ctrl")
    ctrl[:] = 0.0
    ctrl[:, walker.other_muscles] = LEAST_ACTIVATION
    sites, upward = batch.bind("site_xpos"), model.joint(walker.anatomy.root.upward).qposadr[0]
    batch.forward()
    soles = np.asarray(sites)[:, body.soles.ravel()]
    down = (soles[:, :, 2] - walker.ground(soles[:, :, 0])).min(axis=1)
    if not compat:
        down = np.minimum(down, _heights(batch, walker).min(axis=1) - LOWEST_BODY)
    qpos[:, upward] -= down
    batch.forward()
    return InitialState(activation, _impossible(batch, walker, body, asked, compat))


def free_joints(model: mujoco.MjModel, parameters: ParameterVector) -> list[str]:
    """Joints of one degree of freedom without an initial speed in a vector."""
    kinds = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    names = [model.joint(j).name for j in range(model.njnt) if int(model.jnt_type[j]) in kinds]
    return [name for name in names if f"vel_{name}" not in parameters.names]


def _moving_bodies(model: mujoco.MjModel) -> list[int]:
    return [i for i in range(1, model.nbody) if model.body_weldid[i] != 0]


def _heights(batch: Batch, walker: Walker) -> np.ndarray:
    """Heights of the origins of the bodies above the ground ``(n, bodies)`` [m]."""
    places = np.asarray(batch.bind("xpos"))[:, _moving_bodies(walker.model)]
    return places[:, :, 2] - walker.ground(places[:, :, 0])


def _activations(parameters: ParameterVector, groups: tuple[str, ...], X: np.ndarray) -> np.ndarray:
    activation = np.full((len(X), 2, len(groups)), LEAST_ACTIVATION)
    values = parameters.values(X, "activation")
    entries = parameters.entries[parameters.group("activation")]
    for entry, value in zip(entries, values.T, strict=True):
        _, group, side = entry.name.split("_")
        if group not in groups:
            raise GaitError(
                f"the parameter vector contains {entry.name!r}, but the controller has no muscle "
                f"group {group!r}"
            )
        activation[:, "rl".index(side), groups.index(group)] = value
    return activation


def _impossible(
    batch: Batch, walker: Walker, body: BodyMap, qpos: np.ndarray, compat: bool
) -> dict[int, str]:
    """Candidates with an impossible pose, with the reason; ``qpos`` is the pose of the vector."""
    model = walker.model
    reasons: dict[int, str] = {}
    part = body.parts[0]

    def refuse(which: Any, words: Callable[[int], str]) -> None:
        for i in np.flatnonzero(which):
            reasons.setdefault(int(i), words(int(i)))

    patterns = [walker.anatomy.joints[joint] for joint in ("hip", "knee", "ankle")]
    if walker.frontal:
        patterns += walker.anatomy.frontal_joints.values()
    for pattern in patterns:
        for side in LEGS:
            joint = model.joint(walker.anatomy.named(pattern, side))
            name, (low, high) = joint.name, joint.range
            angle = qpos[:, joint.qposadr[0]]
            refuse(
                (angle < low) | (angle > high),
                lambda i, angle=angle, name=name, low=low, high=high: (
                    f"{name} of the pose is {angle[i]:.4g} rad; it must be from {low:.4g} to "
                    f"{high:.4g}"
                ),
            )
    w, x, y, z = np.asarray(batch.bind("xquat"))[:, part["pelvis"]].T
    pitch = np.arcsin(np.clip(2.0 * (w * y - z * x), -1.0, 1.0))
    refuse(
        np.abs(pitch) > STEEPEST_START,
        lambda i: (
            f"the lean of the pose is {np.rad2deg(pitch[i]):.4g} deg; at most 45 deg is possible"
        ),
    )
    if not compat:
        return reasons
    bodies, heights = _moving_bodies(model), _heights(batch, walker)
    refuse(
        (heights < LOWEST_BODY).any(axis=1),
        lambda i: (
            f"the body {model.body(bodies[int(heights[i].argmin())]).name!r} of the pose is "
            "below the ground"
        ),
    )
    touch = np.asarray(batch.bind("sensordata"))[:, part["touch"].ravel()] / part["weight"]
    refuse(
        (touch <= 0.1).all(axis=1),
        lambda i: "neither foot of the pose carries a tenth of the weight",
    )
    return reasons
