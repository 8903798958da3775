"""Vectorised forward kinematics of an OpenSim model, without MuJoCo."""

from collections.abc import Iterable, Mapping

import numpy as np

from trueup.gait.opensim.model import GROUND, OsimModel
from trueup.gait.opensim.rotations import axis_rotation, inverse, pose

Values = Mapping[str, np.ndarray]
"""Values ``(n,)`` of coordinates by name [rad or m]."""


def all_values(model: OsimModel, values: Values) -> dict[str, np.ndarray]:
    """Values of all coordinates: given ones, else defaults, with couplers and locks applied.

    Args:
      model: model.
      values: values of a subset of the coordinates.
    """
    count = max((len(one) for one in values.values()), default=1)
    found = {
        name: np.full(count, one.default)
        if one.locked or name not in values
        else np.asarray(values[name], dtype=float)
        for name, one in model.coordinates.items()
    }
    for name in model.couplers:
        leader, functions = model.leader(name)
        followed = found[leader]
        for function in functions:
            followed = function(followed)
        found[name] = followed
    return found


def body_poses(
    model: OsimModel, values: Values, bodies: Iterable[str] | None = None
) -> dict[str, np.ndarray]:
    """Poses ``(n, 4, 4)`` of bodies in the ground.

    Args:
      model: model.
      values: values of all coordinates, see :func:`all_values`.
      bodies: requested bodies, including their ancestors; None for all.
    """
    needed = None if bodies is None else {name for body in bodies for name in model.chain(body)}
    count = max((len(one) for one in values.values()), default=1)
    poses = {GROUND: np.broadcast_to(np.eye(4), (count, 4, 4))}
    for joint in model.joints:
        if needed is not None and joint.child.body not in needed:
            continue
        turned, place = np.broadcast_to(np.eye(3), (count, 3, 3)), np.zeros((count, 3))
        for axis in joint.axes:
            at = np.zeros(count) if axis.coordinate is None else values[axis.coordinate]
            moved_by = axis.function(at)
            if axis.turns:
                turned = turned @ axis_rotation(axis.axis, moved_by)
            else:
                place = place + moved_by[:, None] * axis.axis
        base = poses[joint.parent.body] @ joint.parent.pose
        poses[joint.child.body] = base @ pose(turned, place) @ inverse(joint.child.pose)
    return poses
