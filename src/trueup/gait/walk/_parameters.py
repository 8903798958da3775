"""The parameter vector of a walker with its controller: gains, pose, activations, exoskeleton."""

from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.controller.exoskeleton import Profile
from trueup.gait.controller.parameter_vector import Entry, ParameterVector
from trueup.gait.controller.reflexes import ReflexController
from trueup.gait.models.anatomy import Anatomy, Pose

LEAST_ACTIVATION = 0.01
"""Activation per unit of an entry, and activation of muscles without an entry."""

FRONTAL_POSE_BASE = -5.0
"""Hip adduction and rotation at the entry 0 [deg]."""

_LOWER_IN_MYOASSIST = {"10_GLU_PG": float("-inf"), "10_VAS_PG": float("-inf")}


def walk_parameters(
    controller: ReflexController,
    anatomy: Anatomy,
    pose: str,
    *,
    frontal: bool = False,
    profile: Profile | None = None,
    per_leg: bool = False,
    compat: bool = False,
) -> ParameterVector:
    """The entries of a parameter vector, in order.

    Args:
      controller: controller, with its gains first.
      anatomy: names and poses of the walker.
      pose: key of a pose, such as "walk_left".
      frontal: whether the walker has frontal motion.
      profile: torque profile of the exoskeleton, None for a walk without one.
      per_leg: separate gains for each leg, right leg first, with the suffixes _r and _l.
      compat: bounds of MyoAssist, where two position gains may be negative.

    Raises:
      GaitError: unknown pose.
    """
    sides = ("_r", "_l") if per_leg else ("",)
    entries = [
        Entry(
            f"{gain.name}{side}",
            "gain",
            gain.scale,
            gain.offset,
            gain.unit,
            lower=_lower(gain.name, gain.lower, compat),
            free=not gain.unused or compat,
        )
        for side in sides
        for gain in controller.in_plane(frontal).gains
    ]
    entries += _pose_entries(anatomy, find_pose(anatomy, pose), frontal)
    groups = anatomy.initial_activations + (anatomy.frontal_initial_activations if frontal else ())
    entries += [
        Entry(
            f"activation_{group}_{side}",
            "activation",
            LEAST_ACTIVATION,
            lower=1.0,
            upper=50.0,
        )
        for side in ("r", "l")
        for group in groups
    ]
    if profile is not None:
        entries += profile.entries
    return ParameterVector(tuple(entries))


def find_pose(anatomy: Anatomy, pose: str) -> Pose:
    """A pose by its key.

    Raises:
      GaitError: unknown pose.
    """
    if pose not in anatomy.poses:
        raise GaitError(
            f"unknown initial pose {pose!r}; available: {listing(anatomy.poses)}."
            f"{did_you_mean(pose, anatomy.poses)}"
        )
    return anatomy.poses[pose]


def _lower(name: str, lower: float | None, compat: bool) -> float:
    if compat and name in _LOWER_IN_MYOASSIST:
        return _LOWER_IN_MYOASSIST[name]
    return float("-inf") if lower is None else lower


def _pose_entries(anatomy: Anatomy, pose: Pose, frontal: bool) -> list[Entry]:
    pitch = anatomy.pitch
    entries = [Entry(anatomy.root.pitch, "pose", pitch.scale, pitch.offset, "deg")]
    joints = {joint: anatomy.joints[joint] for joint in pose.base}
    bases = {joint: pose.base[joint] for joint in pose.base}
    if frontal:
        joints |= anatomy.frontal_joints
        bases |= {
            joint: {"right": FRONTAL_POSE_BASE, "left": FRONTAL_POSE_BASE}
            for joint in anatomy.frontal_joints
        }
    for joint, pattern in joints.items():
        for side in ("right", "left"):
            name = anatomy.named(pattern, side)
            entries.append(Entry(name, "pose", anatomy.pose_spread, bases[joint][side], "deg"))
    speed = anatomy.speed
    name = f"vel_{anatomy.root.forward}"
    entries.append(Entry(name, "pose", speed.scale, speed.offset, "m/s", speed.lower, speed.upper))
    return entries
