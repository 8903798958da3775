"""Equality constraints of a model, at all samples of a recording at once.

Residuals are those of MuJoCo's ``mj_instantiateEqual``: distances of two points [m], rotations of
two frames [rad], and polynomials of joints and tendons. Not included are flexible bodies, tendons
that wrap around geoms, and joints other than hinges and slides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.simulation.loops.frames import LinkMotion, cross, link_motion

_EQ = mujoco.mjtEq
CONNECT, WELD = int(_EQ.mjEQ_CONNECT), int(_EQ.mjEQ_WELD)
JOINT, TENDON = int(_EQ.mjEQ_JOINT), int(_EQ.mjEQ_TENDON)
_NAMES = {CONNECT: "connect", WELD: "weld", JOINT: "joint", TENDON: "tendon"}
_SITE = int(mujoco.mjtObj.mjOBJ_SITE)
_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
_POWERS = 5  # number of coefficients of the polynomial of a joint or tendon equality


@dataclass(frozen=True)
class EqualityRows:
    """Equality constraints at all samples, linearised: ``acceleration = J qacc + bias = 0``."""

    gap: np.ndarray
    """Gap of each constraint ``(T, m)`` [m, rad]."""
    jacobian: np.ndarray
    """``(T, m, nv)``."""
    bias: np.ndarray
    """Acceleration of the gap without accelerations of joints ``(T, m)``."""


def equality_rows(
    model: mujoco.MjModel,
    equalities: Sequence[int],
    qpos: np.ndarray,
    qvel: np.ndarray | None = None,
) -> EqualityRows:
    """Rows of some equality constraints.

    Args:
      model: the model.
      equalities: those of :func:`solvable_equalities`, by index.
      qpos: positions ``(T, nq)``.
      qvel: velocities ``(T, nv)``; None: zero.
    """
    motion = link_motion(model, qpos, qvel)
    qvel = np.zeros((len(qpos), model.nv)) if qvel is None else qvel
    parts = [part for i in equalities for part in _rows(model, i, motion, qpos, qvel)]
    gap, jacobian, bias = (np.concatenate(each, axis=1) for each in zip(*parts, strict=True))
    return EqualityRows(gap, jacobian, bias)


def is_active(model: mujoco.MjModel, equality: int) -> bool:
    """Whether a simulation of the model enforces an equality constraint."""
    off = int(mujoco.mjtDisableBit.mjDSBL_EQUALITY) | int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    return bool(model.eq_active0[equality]) and not int(model.opt.disableflags) & off


def equality_dofs(model: mujoco.MjModel, equality: int) -> frozenset[int]:
    """Degrees of freedom that an equality constraint acts on, of joints of any type."""
    kind = int(model.eq_type[equality])
    ends = [int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])]
    if kind in (CONNECT, WELD):
        if int(model.eq_objtype[equality]) == _SITE:
            ends = [int(model.site_bodyid[s]) for s in ends]
        # forces on both ends cancel at the joints that carry both
        return between(model, ends)
    if kind == JOINT:
        return frozenset(int(model.jnt_dofadr[j]) for j in ends if j >= 0)
    if kind == TENDON:
        both = [tendon_dofs(model, t) for t in ends if t >= 0]
        return frozenset().union(*both)
    return frozenset(range(model.nv))


def solvable_equalities(model: mujoco.MjModel) -> list[int]:
    """Active equality constraints between hinges and slides, by index."""
    return [i for i in range(model.neq) if is_active(model, i) and not unsolvable_reason(model, i)]


def equality_name(model: mujoco.MjModel, equality: int) -> str:
    """Description of an equality constraint: ``the equality 'loop' (connect)``."""
    kind = _NAMES.get(int(model.eq_type[equality]), "flex")
    name = model.equality(equality).name
    return f"the equality {name!r} ({kind})" if name else f"the {kind} equality {equality}"


def unsolvable_reason(model: mujoco.MjModel, equality: int) -> str:
    """Part of an equality constraint that is not solved; empty for none."""
    kind = int(model.eq_type[equality])
    if kind not in (CONNECT, WELD, JOINT, TENDON):
        return "flexible bodies"
    if kind == TENDON:
        ends = [int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])]
        if any(t >= 0 and _wraps(model, t) for t in ends):
            return "a tendon that wraps around a geom"
    for dof in sorted(equality_dofs(model, equality)):
        joint = int(model.dof_jntid[dof])
        if int(model.jnt_type[joint]) not in _SCALAR:
            return f"the free or ball joint {model.joint(joint).name or joint!r}"
    return ""


def chain(model: mujoco.MjModel, body: int) -> set[int]:
    """Degrees of freedom that carry a body."""
    out: set[int] = set()
    while body > 0:
        first = int(model.body_dofadr[body])
        out.update(range(first, first + int(model.body_dofnum[body])) if first >= 0 else ())
        body = int(model.body_parentid[body])
    return out


def between(model: mujoco.MjModel, bodies: Sequence[int]) -> frozenset[int]:
    """Degrees of freedom that carry some but not all of several bodies; all of a single one."""
    chains = [chain(model, body) for body in bodies]
    every = set().union(*chains)
    return frozenset(every - set.intersection(*chains) if len(chains) > 1 else every)


def tendon_dofs(model: mujoco.MjModel, tendon: int) -> frozenset[int]:
    """Degrees of freedom that change the length of a tendon."""
    dofs: set[int] = set()
    bodies = []
    for kind, element in _path(model, tendon):
        if kind == int(mujoco.mjtWrap.mjWRAP_JOINT):
            dofs.add(int(model.jnt_dofadr[element]))
        elif kind == int(mujoco.mjtWrap.mjWRAP_SITE):
            bodies.append(int(model.site_bodyid[element]))
        elif kind != int(mujoco.mjtWrap.mjWRAP_PULLEY):
            bodies.append(int(model.geom_bodyid[element]))
    return frozenset(dofs | (between(model, bodies) if bodies else set()))


def _path(model: mujoco.MjModel, tendon: int) -> list[tuple[int, int]]:
    first = int(model.tendon_adr[tendon])
    numbers = range(first, first + int(model.tendon_num[tendon]))
    return [(int(model.wrap_type[k]), int(model.wrap_objid[k])) for k in numbers]


def _wraps(model: mujoco.MjModel, tendon: int) -> bool:
    kinds = mujoco.mjtWrap
    geoms = (int(kinds.mjWRAP_SPHERE), int(kinds.mjWRAP_CYLINDER))
    return any(kind in geoms for kind, _ in _path(model, tendon))


_Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Gap ``(T, m)``, Jacobian ``(T, m, nv)`` and bias ``(T, m)``."""


def _rows(
    model: mujoco.MjModel,
    equality: int,
    motion: LinkMotion,
    qpos: np.ndarray,
    qvel: np.ndarray,
) -> Iterator[_Rows]:
    kind, data = int(model.eq_type[equality]), np.asarray(model.eq_data[equality])
    ends = [int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])]
    if kind in (CONNECT, WELD):
        bodies = ends
        if int(model.eq_objtype[equality]) == _SITE:
            bodies = [int(model.site_bodyid[s]) for s in ends]
            points = [model.site_pos[s] for s in ends]
            turns = [model.site_quat[s] for s in ends]
        elif kind == CONNECT:
            points, turns = [data[0:3], data[3:6]], []
        else:
            points, turns = [data[3:6], data[0:3]], [data[6:10], np.array([1.0, 0, 0, 0])]
        first, second = (
            _point(model, motion, body, place) for body, place in zip(bodies, points, strict=True)
        )
        yield first[0] - second[0], first[1] - second[1], first[2] - second[2]
        if kind == WELD:
            yield _turned(model, motion, bodies, turns, float(data[10]))
        return
    if kind == JOINT:
        values = [_of_joint(model, j, qpos) for j in ends if j >= 0]
    else:
        values = [_of_tendon(model, t, motion, qpos, qvel) for t in ends if t >= 0]
    gap, jacobian, bias = values[0]
    polynomial = np.polynomial.Polynomial(data[:_POWERS])
    if len(values) == 1:
        yield (gap - polynomial.coef[0])[:, None], jacobian[:, None], bias[:, None]
        return
    other, slope, acceleration = values[1]
    first, second = polynomial.deriv(), polynomial.deriv(2)
    speed = np.einsum("tv,tv->t", slope, qvel)
    yield (
        (gap - polynomial(other))[:, None],
        (jacobian - first(other)[:, None] * slope)[:, None],
        (bias - first(other) * acceleration - second(other) * speed**2)[:, None],
    )


def _point(model: mujoco.MjModel, motion: LinkMotion, body: int, local: np.ndarray) -> _Rows:
    """Place, Jacobian and acceleration minus gravity of a point of a body."""
    place, acceleration = motion.frames[body].point(local)
    jacobian = np.zeros((len(place), 3, model.nv))
    for dof in motion.chains[body]:
        axis, anchor = motion.axes[dof]
        jacobian[:, :, dof] = axis if anchor is None else cross(axis, place - anchor)
    return place, jacobian, acceleration


def _turned(
    model: mujoco.MjModel,
    motion: LinkMotion,
    bodies: Sequence[int],
    turns: Sequence[np.ndarray],
    scale: float,
) -> _Rows:
    """Rotation between frames of two bodies, with the axes of the world, for small angles."""
    frames = [motion.frames[body] for body in bodies]
    matrices = []
    for frame, quaternion in zip(frames, turns, strict=True):
        turn = np.empty(9)
        mujoco.mju_quat2Mat(turn, quaternion)
        matrices.append(frame.rotation @ turn.reshape(3, 3))
    between_them = matrices[0] @ matrices[1].transpose(0, 2, 1)
    skewed = 0.5 * (between_them - between_them.transpose(0, 2, 1))
    angle = skewed[:, [2, 0, 1], [1, 2, 0]]
    jacobian = np.zeros((len(angle), 3, model.nv))
    for body, sign in zip(bodies, (1.0, -1.0), strict=True):
        for dof in motion.chains[body]:
            axis, anchor = motion.axes[dof]
            if anchor is not None:
                jacobian[:, :, dof] += sign * axis
    return scale * angle, scale * jacobian, scale * (frames[0].spin - frames[1].spin)


def _of_joint(model: mujoco.MjModel, joint: int, qpos: np.ndarray) -> _Rows:
    """Displacement ``(T,)`` of a joint, its Jacobian ``(T, nv)`` and acceleration ``(T,)``."""
    address = int(model.jnt_qposadr[joint])
    jacobian = np.zeros((len(qpos), model.nv))
    jacobian[:, int(model.jnt_dofadr[joint])] = 1.0
    return qpos[:, address] - model.qpos0[address], jacobian, np.zeros(len(qpos))


def tendon_lengths(
    model: mujoco.MjModel, tendon: int, qpos: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Length ``(T,)`` [m, rad] of a tendon that does not wrap, and its Jacobian ``(T, nv)``."""
    qvel = np.zeros((len(qpos), model.nv))
    motion = link_motion(model, qpos)
    stretch, jacobian, _ = _of_tendon(model, tendon, motion, qpos, qvel)
    return stretch + model.tendon_length0[tendon], jacobian


def _of_tendon(
    model: mujoco.MjModel, tendon: int, motion: LinkMotion, qpos: np.ndarray, qvel: np.ndarray
) -> _Rows:
    """Stretch ``(T,)`` of a tendon since ``qpos0``, Jacobian ``(T, nv)``, acceleration ``(T,)``."""
    length, bias = np.zeros(len(qpos)), np.zeros(len(qpos))
    jacobian = np.zeros((len(qpos), model.nv))
    first = int(model.tendon_adr[tendon])
    divisor, before = 1.0, None
    for number, (kind, element) in enumerate(_path(model, tendon), first):
        if kind == int(mujoco.mjtWrap.mjWRAP_JOINT):
            share, dof = float(model.wrap_prm[number]), int(model.jnt_dofadr[element])
            length += share * qpos[:, int(model.jnt_qposadr[element])]
            jacobian[:, dof] += share
        elif kind == int(mujoco.mjtWrap.mjWRAP_PULLEY):
            divisor, before = float(model.wrap_prm[number]), None
        else:
            body = int(model.site_bodyid[element])
            point = _point(model, motion, body, model.site_pos[element])
            if before is not None:
                step, moved, sped = (p - b for p, b in zip(point, before, strict=True))
                size = np.maximum(np.linalg.norm(step, axis=1), 1e-12)
                along = step / size[:, None]
                speed = np.einsum("tkv,tv->tk", moved, qvel)
                across = speed - along * np.sum(along * speed, axis=1, keepdims=True)
                length += size / divisor
                jacobian += np.einsum("tk,tkv->tv", along, moved) / divisor
                curved = np.sum(np.square(across), axis=1) / size
                bias += (np.sum(along * sped, axis=1) + curved) / divisor
            before = point
    return length - model.tendon_length0[tendon], jacobian, bias
