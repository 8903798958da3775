"""Generalised forces of a model with loops, without the forces that close them.

Forces of a constraint do no work along the motions ``v = N u`` that it allows, so that ``N^T tau``
of the applied torques equals that of the inverse dynamics of the tree (F. Aghili, "A Unified
Approach for Inverse and Direct Dynamics of Constrained Multibody Systems", IEEE Trans. Robotics 21,
2005). The coordinates ``u`` are the velocities of some of the joints themselves.
"""

from collections.abc import Callable, Sequence

import mujoco
import numpy as np

from trueup.simulation.loops.closure import Loop, close, components, tolerance
from trueup.simulation.loops.equalities import equality_rows

_MOVED = 0.1  # length of a random motion along which loops are looked at [rad, m]
_POSES = 6  # number of poses after such motions
_RANK = 1e-6  # relative singular value below which constraints depend on each other
_APART = 0.02  # length of a unit column beyond others, for a joint that follows well


def coordinate_loops(model: mujoco.MjModel, preference: Callable[[int], int]) -> list[Loop]:
    """Loops of a model with the joints that are chosen as their coordinates, and the others.

    Args:
      model: the model.
      preference: how little a degree of freedom is wanted as a coordinate; equal ones are taken in
        the order of the model.
    """
    out = []
    for equalities, dofs in components(model):
        pose, jacobian = _regular_pose(model, equalities, dofs)
        rank = int(np.linalg.matrix_rank(jacobian[:, dofs], tol=_tolerance(jacobian)))
        following: list[int] = []
        basis = np.zeros((len(jacobian), 0))
        order = sorted(dofs, key=lambda d: (-preference(d), -d))
        for least in (_APART, _RANK):
            for dof in order:
                column = jacobian[:, dof]
                left = column - basis @ (basis.T @ column)
                size = float(np.linalg.norm(left))
                enough = size > least * float(np.linalg.norm(column)) and size > 0
                if dof not in following and len(following) < rank and enough:
                    basis = np.column_stack([basis, left / size])
                    following.append(dof)
        free = tuple(d for d in dofs if d not in following)
        out.append(Loop(model, equalities, free, tuple(sorted(following)), pose))
    return out


def velocity_shares(
    loops: Sequence[Loop],
    qpos: np.ndarray,
    acting: Sequence[int],
    rows: Sequence[int],
    times: np.ndarray | None = None,
) -> np.ndarray:
    """Columns of ``N``: velocity of joints per velocity of coordinates ``(T, acting, rows)``.

    Args:
      loops: from :func:`coordinate_loops`.
      qpos: positions ``(T, nq)``, of closed loops.
      acting: degrees of freedom with forces.
      rows: degrees of freedom that are coordinates.
      times: ``(T,)`` [s], for messages.

    Raises:
      SignalError: a loop is at a dead point of its coordinates.
    """
    out = np.zeros((len(qpos), len(acting), len(rows)))
    for a, dof in enumerate(acting):
        for k, row in enumerate(rows):
            out[:, a, k] = float(dof == row)
    for loop in loops:
        if not set(loop.known) & set(rows):
            continue
        loop.check_regular(qpos, times)
        slopes = loop.slopes(qpos)
        for i, dof in enumerate(loop.unknown):
            for j, row in enumerate(loop.known):
                if dof in acting and row in rows:
                    out[:, list(acting).index(dof), list(rows).index(row)] = slopes[:, i, j]
    return out


def _regular_pose(
    model: mujoco.MjModel, equalities: Sequence[int], dofs: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """A pose ``(nq,)`` with closed loops and the most independent constraints, and its Jacobian."""
    poses = np.concatenate([model.qpos0[None], np.reshape(model.key_qpos, (-1, model.nq))])
    close(model, equalities, dofs, poses)
    rows = equality_rows(model, equalities, poses)
    closed = np.abs(rows.gap).max(axis=1) < tolerance(model)
    first = int(np.argmax(closed))
    rng = np.random.default_rng(0)
    jacobian = rows.jacobian[first][:, list(dofs)]
    _, sizes, directions = np.linalg.svd(jacobian)
    rank = int((sizes > _tolerance(jacobian)).sum())
    null = directions[rank:]
    moves = rng.normal(size=(_POSES, len(null)))
    moved = np.tile(poses[first], (_POSES + 1, 1))
    addresses = [int(model.jnt_qposadr[int(model.dof_jntid[dof])]) for dof in dofs]
    moved[1:, addresses] += _MOVED * moves @ null
    close(model, equalities, dofs, moved)
    rows = equality_rows(model, equalities, moved)
    gaps = np.abs(rows.gap).max(axis=1)
    ranks = [
        int(np.linalg.matrix_rank(each, tol=_tolerance(each))) if gap < tolerance(model) else -1
        for each, gap in zip(rows.jacobian, gaps, strict=True)
    ]
    best = int(np.argmax(ranks))
    return moved[best], rows.jacobian[best]


def _tolerance(jacobian: np.ndarray) -> float:
    return _RANK * max(float(np.abs(jacobian).max(initial=0.0)), 1e-300)
