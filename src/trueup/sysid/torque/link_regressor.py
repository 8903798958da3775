"""Joint torques as a linear map of the inertial parameters of all links.

Newton-Euler equations in the frame of each link: C. G. Atkeson, C. H. An and J. M. Hollerbach,
"Estimation of Inertial Parameters of Manipulator Loads and Links", Int. J. Robotics Research 5(3),
1986. About the origin of the body rather than its centre of mass, force and moment are linear in
mass, first moments and moments of inertia. Motions are propagated outward along the tree, as in the
recursion of J. Y. S. Luh, M. W. Walker and R. P. C. Paul, "On-Line Computational Scheme for
Mechanical Manipulators", J. Dyn. Sys. Meas. Control 102, 1980. Frames and the order of joints in a
body are MuJoCo's. Every step works on all samples at once; the only loop runs over links.
"""

import mujoco
import numpy as np

from trueup.errors import ModelError
from trueup.parameters.inertia import inertia_matrix
from trueup.simulation.loops.frames import Frame, link_motion, skew

LINK_PARAMETERS = ("m", "mcx", "mcy", "mcz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
"""Mass [kg], first moments [kg m] and moments of inertia about the origin of the body [kg m^2]."""

_HINGE, _SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)


def link_regressor(
    model: mujoco.MjModel,
    qpos: np.ndarray,
    qvel: np.ndarray,
    qacc: np.ndarray,
    qpos0: np.ndarray | None = None,
) -> np.ndarray:
    """Torques of rigid links, linear in their parameters: ``tau = Y @ link_parameters(model)``.

    Armature, friction, springs and actuators are not included.

    Args:
      model: a model whose joints are hinges and slides.
      qpos: positions ``(T, nq)`` [rad, m].
      qvel: velocities ``(T, nv)``.
      qacc: accelerations ``(T, nv)``.
      qpos0: zeros of the joints ``(nq,)``; None: those of the model.

    Returns:
      ``(T, nv, 10 nbody)``, links in the order of the model, each with
      :data:`LINK_PARAMETERS`.

    Raises:
      ModelError: the model has a free or a ball joint.
    """
    check_joints(model)
    if qpos0 is not None:
        qpos = qpos - (qpos0 - model.qpos0)  # only the displacement from qpos0 enters
    full = _newton_euler(model, qpos, qvel, qacc)
    compensated = np.flatnonzero(model.body_gravcomp)
    if compensated.size:
        # Gravity compensation carries this share of a body's weight by a force on the body itself
        # (MuJoCo's qfrc_gravcomp), so the same share of its static gravity torque is subtracted
        still = np.zeros_like(qvel)
        weight = _newton_euler(model, qpos, still, still)
        for body in compensated:
            columns = slice(10 * body, 10 * body + 10)
            full[:, :, columns] -= model.body_gravcomp[body] * weight[:, :, columns]
    return full


def check_joints(model: mujoco.MjModel) -> None:
    """Raise ModelError if a joint is neither a hinge nor a slide."""
    for joint in range(model.njnt):
        if int(model.jnt_type[joint]) not in (_HINGE, _SLIDE):
            raise ModelError(
                "inverse dynamics supports hinge and slide joints only; the model has a free or "
                "ball joint "
                f"on {model.body(int(model.jnt_bodyid[joint])).name!r}. For a suspended or clamped "
                "robot, give model: {base: fixed}"
            )


def link_parameters(
    mass: np.ndarray, ipos: np.ndarray, iquat: np.ndarray, moments: np.ndarray
) -> np.ndarray:
    """Parameters of all links from the fields of a model, batched over candidates.

    Args:
      mass: ``body_mass (n, nbody)`` [kg].
      ipos: ``body_ipos (n, nbody, 3)`` [m].
      iquat: ``body_iquat (n, nbody, 4)``.
      moments: ``body_inertia (n, nbody, 3)`` [kg m^2].

    Returns:
      ``(n, 10 nbody)``, see :data:`LINK_PARAMETERS`.
    """
    about_com = inertia_matrix(iquat, moments)
    # parallel axis theorem (Huygens, Steiner): I_origin = I_com + m (c.c E - c c^T)
    square = np.einsum("...i,...i->...", ipos, ipos)[..., None, None] * np.eye(3)
    steiner = mass[..., None, None] * (square - ipos[..., :, None] * ipos[..., None, :])
    inertia = about_com + steiner
    rows, columns = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]
    parts = [mass[..., None], mass[..., None] * ipos, inertia[..., rows, columns]]
    return np.concatenate(parts, axis=-1).reshape(len(mass), -1)


def parameters_of(model: mujoco.MjModel) -> np.ndarray:
    """Parameters of all links of one model ``(10 nbody,)``."""
    return link_parameters(
        model.body_mass[None],
        model.body_ipos[None],
        model.body_iquat[None],
        model.body_inertia[None],
    )[0]


def _newton_euler(
    model: mujoco.MjModel, qpos: np.ndarray, qvel: np.ndarray, qacc: np.ndarray
) -> np.ndarray:
    count = len(qpos)
    out = np.zeros((count, model.nv, 10 * model.nbody))
    motion = link_motion(model, qpos, qvel, qacc)
    for body in range(1, model.nbody):
        # only the torques of dofs between the world and this body depend on its parameters
        chain, frame = motion.chains[body], motion.frames[body]
        if not chain:
            continue  # fixed to the world: no joint carries it
        force, moment = _wrench(frame)
        for dof in chain:
            axis, anchor = motion.axes[dof]
            # Principle of virtual work: a slide carries the force along its axis, z.f; a hinge
            # the moment about its axis, z.(n + r x f) with r from the anchor to the origin, where
            # z.(r x f) = (z x r).f
            own = np.einsum("tji,tj->ti", frame.rotation, axis)
            if anchor is None:
                rows = np.einsum("ti,tik->tk", own, force)
            else:
                arm = np.einsum("tji,tj->ti", frame.rotation, frame.origin - anchor)
                rows = np.einsum("ti,tik->tk", own, moment)
                rows += np.einsum("ti,tik->tk", np.cross(own, arm), force)
            out[:, dof, 10 * body : 10 * body + 10] = rows
    return out


def _by_inertia(vector: np.ndarray) -> np.ndarray:
    """``I @ vector`` as a linear map of (Ixx, Iyy, Izz, Ixy, Ixz, Iyz): ``(T, 3, 6)``."""
    out = np.zeros((*vector.shape[:-1], 3, 6))
    x, y, z = np.moveaxis(vector, -1, 0)
    out[..., 0, 0], out[..., 0, 3], out[..., 0, 4] = x, y, z
    out[..., 1, 1], out[..., 1, 3], out[..., 1, 5] = y, x, z
    out[..., 2, 2], out[..., 2, 4], out[..., 2, 5] = z, x, y
    return out


def _wrench(frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Force and moment about the origin in the frame's own axes, each ``(T, 3, 10)``."""
    # in the axes of the body the inertial parameters are constant
    rate, spin, acceleration = (
        np.einsum("tji,tj->ti", frame.rotation, v)
        for v in (frame.rate, frame.spin, frame.acceleration)
    )
    turning = skew(rate)
    force = np.zeros((len(rate), 3, 10))
    moment = np.zeros((len(rate), 3, 10))
    # Newton for the centre of mass, f = m a + (S(dw/dt) + S(w) S(w)) m c (Atkeson et al. 1986)
    force[:, :, 0] = acceleration
    force[:, :, 1:4] = skew(spin) + turning @ turning
    # Euler about the origin, n = m c x a + I dw/dt + w x (I w) (Atkeson et al. 1986); the mass
    # itself has no moment about it
    moment[:, :, 1:4] = -skew(acceleration)
    moment[:, :, 4:] = _by_inertia(spin) + turning @ _by_inertia(rate)
    return force, moment
