"""The parameter vector of a walker with its controller: gains, pose, activations, exoskeleton."""

from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.controller.exoskeleton import Profile
from trueup.gait.controller.parameter_vector import Entry, ParameterVector
from trueup.gait.controller.reflexes import Gain, ReflexController
from trueup.gait.models.anatomy import Anatomy, Pose, Side

SIDES: tuple[tuple[Side, str], ...] = (("right", "r"), ("left", "l"))
"""Legs and the endings of their entries, in the order of a vector."""

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
            free=not gain.unused or compat,
            **_range(anatomy, gain, compat),
        )
        for side in sides
        for gain in controller.in_plane(frontal).gains
    ]
    entries += _pose_entries(anatomy, find_pose(anatomy, pose), frontal)
    groups = anatomy.initial_activations + (anatomy.frontal_initial_activations if frontal else ())
    nominal = find_pose(anatomy, pose).activation
    entries += [
        Entry(
            f"activation_{group}_{side}",
            "activation",
            LEAST_ACTIVATION,
            lower=1.0,
            upper=50.0,
            start=nominal.get(group, {}).get(leg, 1.0),
        )
        for leg, side in SIDES
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


def _range(anatomy: Anatomy, gain: Gain, compat: bool) -> dict[str, float]:
    """Bounds of the entry of a gain, and its nominal value where it is not 1."""
    if compat and gain.name in _LOWER_IN_MYOASSIST:
        return {"lower": _LOWER_IN_MYOASSIST[gain.name]}
    own = anatomy.gains.get(gain.name, anatomy.other_gains)
    if own is not None and not compat:
        return own.model_dump()
    return {"lower": float("-inf") if gain.lower is None else gain.lower}


def _pose_entries(anatomy: Anatomy, pose: Pose, frontal: bool) -> list[Entry]:
    pitch = anatomy.pitch
    entries = [Entry(anatomy.root.pitch, "pose", pitch.scale, pitch.offset, "deg")]
    joints = {joint: anatomy.joints[joint] for joint in pose.base}
    bases = {joint: pose.base[joint] for joint in pose.base}
    if frontal:
        joints |= anatomy.frontal_joints
        same: dict[Side, float] = {"right": FRONTAL_POSE_BASE, "left": FRONTAL_POSE_BASE}
        bases |= {joint: pose.frontal_base.get(joint, same) for joint in anatomy.frontal_joints}
    for joint, pattern in joints.items():
        for side in ("right", "left"):
            name = anatomy.named(pattern, side)
            entries.append(Entry(name, "pose", anatomy.pose_spread, bases[joint][side], "deg"))
    more = {f"vel_{anatomy.root.forward}": anatomy.speed, **(pose.sideways if frontal else {})}
    for name, one in more.items():
        unit = "m/s" if name.startswith("vel_") else "deg"
        entries.append(Entry(name, "pose", one.scale, one.offset, unit, one.lower, one.upper))
    return entries
