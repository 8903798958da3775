"""Vectorised rotations and poses."""

import numpy as np


def axis_rotation(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Rotations ``(..., 3, 3)`` about a unit axis ``(3,)`` by angles ``(...)`` [rad]
    (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    angle = np.asarray(angle, dtype=float)[..., None, None]
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross)


def euler_xyz(angles: np.ndarray) -> np.ndarray:
    """Rotation ``(3, 3)`` of body-fixed angles about x, y, z, the convention of OpenSim."""
    turned = np.eye(3)
    for axis, angle in zip(np.eye(3), angles, strict=True):
        turned = turned @ axis_rotation(axis, angle)
    return turned


def pose(rotation: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Poses ``(..., 4, 4)`` from rotations ``(..., 3, 3)`` and positions ``(..., 3)``."""
    shape = np.broadcast_shapes(rotation.shape[:-2], place.shape[:-1])
    found = np.zeros((*shape, 4, 4))
    found[..., :3, :3], found[..., :3, 3], found[..., 3, 3] = rotation, place, 1.0
    return found


def inverse(pose_in: np.ndarray) -> np.ndarray:
    """Inverse of poses ``(..., 4, 4)``."""
    turned = np.swapaxes(pose_in[..., :3, :3], -1, -2)
    return pose(turned, -(turned @ pose_in[..., :3, 3, None])[..., 0])


def moved(pose_in: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points ``(..., 3)`` of a frame with poses ``(..., 4, 4)``, in the frame of the poses."""
    return (pose_in[..., :3, :3] @ points[..., None])[..., 0] + pose_in[..., :3, 3]


def quaternion(rotation: np.ndarray) -> np.ndarray:
    """Quaternion ``(4,)`` (w, x, y, z) of a rotation ``(3, 3)``."""
    import mujoco

    found = np.zeros(4)
    mujoco.mju_mat2Quat(found, np.ascontiguousarray(rotation).reshape(9))
    return found
