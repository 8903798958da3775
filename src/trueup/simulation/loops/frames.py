"""Motion of the links of a model, at all samples of a recording at once.

Motions are propagated outward along the tree, as in the recursion of J. Y. S. Luh, M. W. Walker and
R. P. C. Paul, "On-Line Computational Scheme for Mechanical Manipulators", J. Dyn. Sys. Meas.
Control 102, 1980. Frames and the order of joints in a body are MuJoCo's. Every step works on all
samples; the only loop runs over links.
"""

from dataclasses import dataclass, replace

import mujoco
import numpy as np

_HINGE, _SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)


@dataclass
class Frame:
    """Motion of a frame at all samples, in world axes."""

    origin: np.ndarray
    """``(T, 3)`` [m]."""
    rotation: np.ndarray
    """``(T, 3, 3)``."""
    rate: np.ndarray
    """Angular velocity ``(T, 3)`` [rad/s]."""
    spin: np.ndarray
    """Angular acceleration ``(T, 3)`` [rad/s^2]."""
    acceleration: np.ndarray
    """Acceleration of the origin minus gravity ``(T, 3)`` [m/s^2]."""

    def point(self, local: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Position and acceleration minus gravity of a fixed point, each ``(T, 3)``.

        Args:
          local: the point in the frame ``(3,)`` [m].
        """
        arm = self.rotation @ local
        return self.origin + arm, self.acceleration + _swung(self, arm)


@dataclass(frozen=True)
class LinkMotion:
    """Motion of all links at all samples."""

    frames: tuple[Frame, ...]
    """Frame of each body."""
    axes: dict[int, tuple[np.ndarray, np.ndarray | None]]
    """Axis of each scalar joint ``(T, 3)`` and the anchor of a hinge ``(T, 3)``, in world axes, by
    degree of freedom."""
    chains: tuple[tuple[int, ...], ...]
    """Scalar degrees of freedom between the world and each body."""


def link_motion(
    model: mujoco.MjModel,
    qpos: np.ndarray,
    qvel: np.ndarray | None = None,
    qacc: np.ndarray | None = None,
) -> LinkMotion:
    """Motion of the links of a model whose free and ball joints stay as in ``qpos0``.

    Args:
      model: the model.
      qpos: positions ``(T, nq)`` [rad, m].
      qvel: velocities ``(T, nv)``; None: places only, with the motion of a model at rest.
      qacc: accelerations ``(T, nv)``; None: zero.
    """
    count = len(qpos)
    rest = np.zeros((count, 3))
    # The world accelerates with -g, so that the inertial forces m (a - g) include every weight and
    # no link needs a separate gravity term (Luh, Walker and Paul 1980)
    eye = np.broadcast_to(np.eye(3), (count, 3, 3))
    off = int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    gravity = np.zeros(3) if off else np.asarray(model.opt.gravity)
    frames = [Frame(rest, eye, rest, rest, rest - gravity)]
    axes: dict[int, tuple[np.ndarray, np.ndarray | None]] = {}
    chains: list[tuple[int, ...]] = [()]
    for body in range(1, model.nbody):
        parent = int(model.body_parentid[body])
        place, quaternion = model.body_pos[body], model.body_quat[body]
        frame = _attached(frames[parent], place, quaternion, qvel is None)
        chain = list(chains[parent])
        first = int(model.body_jntadr[body])
        for joint in range(first, first + int(model.body_jntnum[body])):
            if int(model.jnt_type[joint]) not in (_HINGE, _SLIDE):
                continue
            dof, address = int(model.jnt_dofadr[joint]), int(model.jnt_qposadr[joint])
            # body_pos and body_quat are the pose at qpos0: a joint moves by q - qpos0
            moved = qpos[:, address] - model.qpos0[address]
            rates = None
            if qvel is not None:
                rates = (qvel[:, dof], rest[:, 0] if qacc is None else qacc[:, dof])
            frame, axes[dof] = _moved(model, joint, frame, moved, rates)
            chain.append(dof)
        frames.append(frame)
        chains.append(tuple(chain))
    return LinkMotion(tuple(frames), axes, tuple(chains))


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross products ``(T, 3)``, several times as fast as those of numpy."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    out[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    out[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    out[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return out


def _attached(frame: Frame, position: np.ndarray, quaternion: np.ndarray, is_still: bool) -> Frame:
    """A frame fixed to another, with the same angular velocity and acceleration."""
    turn = np.empty(9)
    mujoco.mju_quat2Mat(turn, quaternion)
    arm = frame.rotation @ position
    return Frame(
        frame.origin + arm,
        frame.rotation @ turn.reshape(3, 3),
        frame.rate,
        frame.spin,
        frame.acceleration if is_still else frame.acceleration + _swung(frame, arm),
    )


def _swung(frame: Frame, arm: np.ndarray) -> np.ndarray:
    """Acceleration of a fixed point of a frame relative to its origin: the tangential
    part ``dw/dt x r`` and the centripetal one ``w x (w x r)``."""
    return cross(frame.spin, arm) + cross(frame.rate, cross(frame.rate, arm))


def _moved(
    model: mujoco.MjModel,
    joint: int,
    frame: Frame,
    moved: np.ndarray,
    rates: tuple[np.ndarray, np.ndarray] | None,
) -> tuple[Frame, tuple[np.ndarray, np.ndarray | None]]:
    """The frame after a joint; the joint's axis and, of a hinge, its anchor, in world axes.

    ``rates`` are velocity and acceleration of the joint; None: places only.
    """
    axis = frame.rotation @ model.jnt_axis[joint]
    if rates is None:
        return _displaced(model, joint, frame, axis, moved)
    speed, acceleration = rates
    if int(model.jnt_type[joint]) == _SLIDE:
        # A slide: r = q z in a frame that rotates with w. To the acceleration of the fixed point at
        # r, add 2 w x (dq/dt z) (Coriolis) and d2q/dt2 z. A translation is the same for all points,
        # so jnt_pos does not enter
        arm = axis * moved[:, None]
        along = axis * acceleration[:, None]
        coriolis = 2 * cross(frame.rate, axis * speed[:, None])
        placed = Frame(
            frame.origin + arm,
            frame.rotation,
            frame.rate,
            frame.spin,
            frame.acceleration + _swung(frame, arm) + coriolis + along,
        )
        return placed, (axis, None)
    # A hinge: move to the anchor, common to both frames, in the frame before the joint; there the
    # new one has w' = w + dq/dt z and dw'/dt = dw/dt + d2q/dt2 z + w x (dq/dt z), since z rotates
    # with w (Luh, Walker and Paul 1980); then move back to the origin in the rotated frame
    lever = frame.rotation @ model.jnt_pos[joint]
    anchor = frame.origin + lever
    at_anchor = frame.acceleration + _swung(frame, lever)
    turned = Frame(
        anchor,
        frame.rotation @ _rotations(model.jnt_axis[joint], moved),
        frame.rate + axis * speed[:, None],
        frame.spin + axis * acceleration[:, None] + cross(frame.rate, axis * speed[:, None]),
        at_anchor,
    )
    back = -(turned.rotation @ model.jnt_pos[joint])
    turned.acceleration = at_anchor + _swung(turned, back)
    turned.origin = anchor + back
    return turned, (axis, anchor)


def _displaced(
    model: mujoco.MjModel, joint: int, frame: Frame, axis: np.ndarray, moved: np.ndarray
) -> tuple[Frame, tuple[np.ndarray, np.ndarray | None]]:
    """Motion as of :func:`_moved`, for a model at rest."""
    if int(model.jnt_type[joint]) == _SLIDE:
        return replace(frame, origin=frame.origin + axis * moved[:, None]), (axis, None)
    anchor = frame.origin + frame.rotation @ model.jnt_pos[joint]
    rotation = frame.rotation @ _rotations(model.jnt_axis[joint], moved)
    origin = anchor - rotation @ model.jnt_pos[joint]
    return replace(frame, origin=origin, rotation=rotation), (axis, anchor)


def _rotations(axis: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Rotation matrices ``(T, 3, 3)`` about an axis, ``E + sin(q) S + (1 - cos(q)) S S``
    (Rodrigues)."""
    turn = skew(axis)
    sine, cosine = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    return np.eye(3) + sine * turn + (1 - cosine) * (turn @ turn)


def skew(vector: np.ndarray) -> np.ndarray:
    """``skew(a) @ b = a x b`` for vectors ``(..., 3)``."""
    out = np.zeros((*vector.shape[:-1], 3, 3))
    x, y, z = np.moveaxis(vector, -1, 0)
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -z, y, -x
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = z, -y, x
    return out
