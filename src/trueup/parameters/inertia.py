"""Inertial parameters of a rigid body in coordinates that are always physically consistent.

Log-Cholesky coordinates of the pseudo-inertia, C. Rucker and P. M. Wensing, "Smooth
Parameterization of Rigid-Body Inertia", IEEE Robotics and Automation Letters 7 (2), 2022.
All functions work on batches: a leading shape ``(...)`` is kept.
"""

from enum import Enum

import numpy as np


class InertiaType(Enum):
    """Parameterisation of a body's inertia."""

    Mass = 0
    """Mass [kg], one number."""
    MassIpos = 1
    """Four numbers: mass [kg] and centre of mass in the body frame [m]."""
    Pseudo = 2
    """Ten log-Cholesky coordinates ``(alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3)``."""


def theta_from_inertial(mass, ipos, inertia_com) -> np.ndarray:
    """Log-Cholesky coordinates of a body.

    Args:
      mass: mass [kg], shape ``(...)``.
      ipos: centre of mass in the body frame [m], ``(..., 3)``.
      inertia_com: rotational inertia about the centre of mass, in the axes of the body frame
        [kg m^2], ``(..., 3, 3)``.

    Returns:
      ``(..., 10)`` coordinates ``(alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3)``.

    Raises:
      numpy.linalg.LinAlgError: the inertia is not physical (a principal moment exceeds the sum of
        the two others, or the mass is not positive).
    """
    mass, ipos, inertia_com = (np.asarray(a, float) for a in (mass, ipos, inertia_com))
    # second moments about the body origin: Sigma = tr(I)/2 1 - I about the centre of mass, shifted
    trace = np.trace(inertia_com, axis1=-2, axis2=-1)[..., None, None]
    second_moment = 0.5 * trace * np.eye(3) - inertia_com
    second_moment = second_moment + mass[..., None, None] * ipos[..., :, None] * ipos[..., None, :]
    pseudo = np.empty((*mass.shape, 4, 4))
    pseudo[..., :3, :3] = second_moment
    pseudo[..., :3, 3] = pseudo[..., 3, :3] = mass[..., None] * ipos
    pseudo[..., 3, 3] = mass
    # J = U U' with U upper triangular: the lower Cholesky factor of J with both axes reversed
    factor = np.linalg.cholesky(pseudo[..., ::-1, ::-1])[..., ::-1, ::-1]
    scaled = factor / factor[..., 3:4, 3:4]
    return np.stack(
        [
            np.log(factor[..., 3, 3]),
            np.log(scaled[..., 0, 0]),
            np.log(scaled[..., 1, 1]),
            np.log(scaled[..., 2, 2]),
            scaled[..., 0, 1],
            scaled[..., 1, 2],
            scaled[..., 0, 2],
            scaled[..., 0, 3],
            scaled[..., 1, 3],
            scaled[..., 2, 3],
        ],
        axis=-1,
    )


def inertial_from_theta(theta) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass, centre of mass and inertia of log-Cholesky coordinates: physical for any real values.

    Args:
      theta: ``(..., 10)`` coordinates ``(alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3)``.

    Returns:
      mass ``(...)`` [kg], centre of mass ``(..., 3)`` [m], and rotational inertia about the centre
      of mass in the axes of the body frame ``(..., 3, 3)`` [kg m^2].
    """
    theta = np.asarray(theta, float)
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = np.moveaxis(theta, -1, 0)
    upper = np.zeros((*alpha.shape, 4, 4))
    upper[..., 0, 0], upper[..., 1, 1], upper[..., 2, 2] = np.exp(d1), np.exp(d2), np.exp(d3)
    upper[..., 0, 1], upper[..., 1, 2], upper[..., 0, 2] = s12, s23, s13
    upper[..., 0, 3], upper[..., 1, 3], upper[..., 2, 3] = t1, t2, t3
    upper[..., 3, 3] = 1.0
    upper = upper * np.exp(alpha)[..., None, None]
    mass = upper[..., 3, 3] ** 2
    ipos = np.stack([t1, t2, t3], axis=-1)
    # about the centre of mass the last column cancels, which avoids a difference of large numbers
    block = upper[..., :3, :3]
    second_moment = block @ np.swapaxes(block, -1, -2)
    trace = np.trace(second_moment, axis1=-2, axis2=-1)[..., None, None]
    return mass, ipos, trace * np.eye(3) - second_moment


def principal_axes(inertia_com: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Principal moments and the rotation of their axes.

    Args:
      inertia_com: symmetric ``(..., 3, 3)`` [kg m^2].

    Returns:
      moments ``(..., 3)`` in falling order, and quaternions ``(..., 4)`` (w, x, y, z) of the
      principal frame in the frame of the matrix.
    """
    moments, axes = np.linalg.eigh(inertia_com)
    moments, axes = moments[..., ::-1], axes[..., ::-1].copy()
    # a rotation, not a reflection
    axes[..., :, 2] *= np.sign(np.linalg.det(axes))[..., None]
    return moments, quaternion_from_matrix(axes)


def quaternion_from_matrix(rotation: np.ndarray) -> np.ndarray:
    """Unit quaternions (w, x, y, z), w >= 0, of rotation matrices ``(..., 3, 3)``."""
    from scipy.spatial.transform import Rotation

    flat = Rotation.from_matrix(rotation.reshape(-1, 3, 3)).as_quat(canonical=True)
    return flat[:, [3, 0, 1, 2]].reshape(*rotation.shape[:-2], 4)


def inertia_matrix(quaternion: np.ndarray, moments: np.ndarray) -> np.ndarray:
    """Inertia ``(..., 3, 3)`` of principal moments in a frame rotated by a quaternion (w first)."""
    from scipy.spatial.transform import Rotation

    quaternion = np.asarray(quaternion, float)
    flat = Rotation.from_quat(quaternion.reshape(-1, 4)[:, [1, 2, 3, 0]]).as_matrix()
    rotation = flat.reshape(*quaternion.shape[:-1], 3, 3)
    return np.einsum("...ij,...j,...kj->...ik", rotation, np.asarray(moments, float), rotation)
