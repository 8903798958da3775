"""States of joints that were not measured, from the loops that they close with measured ones.

Positions solve the equality constraints by Newton's method at all samples at once, velocities and
accelerations by their Jacobian: ``J v = 0`` and ``J a = -dJ/dt v``. A loop has several assemblies.
The one of the model is followed from its pose along the recorded motion, in steps that are short
enough for Newton's method to stay on it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from trueup.errors import SignalError, listing
from trueup.simulation.loops.equalities import (
    EqualityRows,
    equality_dofs,
    equality_name,
    equality_rows,
    solvable_equalities,
)

OPEN = 0.01
"""Gap of a closed loop as a share of the model's extent, or [rad], far above encoder noise."""
_SINGULAR = 0.01
"""Sine of the angle between directions of unmeasured joints below which a pose is a dead point."""
_STEP = 0.1  # step along the recorded motion [rad], or as a share of the model's extent
_ITERATIONS = 25
_CONVERGED = 1e-9  # change of a position in the last iteration [rad, m]; convergence is quadratic
_LARGEST = 0.3  # largest change of a position in one iteration [rad, m]
_RIDGE = 1e-13  # relative regularisation of normal equations, for singular ones
_MOVED = 0.05  # random displacement of a pose to tell a dead point from a loop that is too loose
_HINGE = int(mujoco.mjtJoint.mjJNT_HINGE)


@dataclass(frozen=True)
class Loop:
    """Joints that equality constraints connect, some of them measured."""

    model: mujoco.MjModel
    equalities: tuple[int, ...]
    known: tuple[int, ...]
    """Measured degrees of freedom."""
    unknown: tuple[int, ...]
    """Degrees of freedom that the constraints determine."""
    reference: np.ndarray
    """A pose of the assembly ``(nq,)``."""

    @property
    def addresses(self) -> tuple[int, ...]:
        """Indices into qpos of the unmeasured joints."""
        return tuple(_addresses(self.model, self.unknown))

    def __str__(self) -> str:
        return " and ".join(equality_name(self.model, i) for i in self.equalities)

    def follow(
        self,
        qpos: np.ndarray,
        qvel: np.ndarray,
        qacc: np.ndarray | None = None,
        times: np.ndarray | None = None,
    ) -> None:
        """Set positions, velocities and accelerations of the unmeasured joints, in place.

        Args:
          qpos: positions ``(T, nq)``, along a motion.
          qvel: velocities ``(T, nv)``.
          qacc: accelerations ``(T, nv)``; None: not needed.
          times: ``(T,)`` [s], for messages; None: without a time.

        Raises:
          SignalError: the loop cannot be closed, or does not determine a joint at a dead point.
        """
        qpos[:, list(self.addresses)] = self._starts(qpos)
        self.settle(qpos, qvel, qacc, times)

    def settle(
        self,
        qpos: np.ndarray,
        qvel: np.ndarray,
        qacc: np.ndarray | None = None,
        times: np.ndarray | None = None,
    ) -> None:
        """Set unmeasured states as :meth:`follow` does, from positions near a closed loop."""
        self._close(qpos)
        known, unknown = list(self.known), list(self.unknown)
        rows = equality_rows(self.model, self.equalities, qpos)
        self._check(rows, qpos, times)
        own = rows.jacobian[:, :, unknown]
        qvel[:, unknown] = -_solved(own, _times(rows.jacobian[:, :, known], qvel[:, known]))
        if qacc is not None:
            bias = equality_rows(self.model, self.equalities, qpos, qvel).bias
            driven = _times(rows.jacobian[:, :, known], qacc[:, known])
            qacc[:, unknown] = -_solved(own, driven + bias)

    def of(self, model: mujoco.MjModel) -> "Loop":
        """The loop in a model with other values."""
        return self if model is self.model else replace(self, model=model)

    def nearest(self, qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Close the loop near positions ``(T, nq)`` as far as possible, in place."""
        self._close(qpos)
        unknown = list(self.unknown)
        qvel[:, unknown] = _times(self.slopes(qpos), qvel[:, list(self.known)])

    def slopes(self, qpos: np.ndarray) -> np.ndarray:
        """Velocity of each unmeasured joint per velocity of each measured one ``(T, n, k)``."""
        jacobian = equality_rows(self.model, self.equalities, qpos).jacobian
        return -_solved(jacobian[:, :, list(self.unknown)], jacobian[:, :, list(self.known)])

    def check_regular(self, qpos: np.ndarray, times: np.ndarray | None = None) -> None:
        """Raise SignalError if the loop is at a dead point at a position of ``qpos (T, nq)``."""
        rows = equality_rows(self.model, self.equalities, qpos)
        self._check(replace(rows, gap=np.zeros_like(rows.gap)), qpos, times)

    def _check(self, rows: EqualityRows, qpos: np.ndarray, times: np.ndarray | None) -> None:
        """Raise SignalError at the first sample where the loop is open or at a dead point."""
        own = rows.jacobian[:, :, list(self.unknown)]
        gap = np.abs(rows.gap).max(axis=1)
        least = _least_singular(own, np.linalg.norm(own, axis=1).max(axis=0))
        is_open = np.logical_not(gap <= tolerance(self.model))
        bad = np.flatnonzero(is_open | (least < _SINGULAR))
        if not bad.size:
            return
        first = int(bad[0])
        known, unknown = (names_of(self.model, dofs) for dofs in (self.known, self.unknown))
        when = "" if times is None else f" at {times[first]:.6g} s"
        values = qpos[first, _addresses(self.model, self.known)]
        places = [f"{name!r} at {value:.4g}" for name, value in zip(known, values, strict=True)]
        where = f"{when}, with {', '.join(places)}" if places else when
        if is_open[first]:
            raise SignalError(
                f"{self} cannot be closed{where}: it stays open by {gap[first]:.3g}. Lengths of "
                "the model, or zeros, signs or units of these joints, differ from the robot"
            )
        raise SignalError(
            f"{self} is at a dead point{where}, where {listing(known)} does not determine "
            f"{listing(unknown)}: record one more of these, or remove this part (trim)"
        )

    def _close(self, qpos: np.ndarray) -> np.ndarray:
        return close(self.model, self.equalities, self.unknown, qpos)

    def _starts(self, qpos: np.ndarray) -> np.ndarray:
        """Positions of the unmeasured joints ``(T, n)`` near those of the assembly of the model.

        The motion, from the reference pose on, visits cells of the space of the measured joints. A
        first pose in each is solved from that of a neighbouring cell, all of one distance from the
        reference at once.
        """
        model, known = self.model, _addresses(self.model, self.known)
        unknown = list(self.addresses)
        if not known:
            return np.tile(self.reference[unknown], (len(qpos), 1))
        size = np.array([_size(model, dof) for dof in self.known])
        path = np.concatenate([self.reference[None, known], qpos[:, known]])
        steps = np.abs(np.diff(path, axis=0) / size).max(axis=1, initial=0.0)
        parts = np.maximum(np.ceil(steps / _STEP), 1).astype(int)
        ends = np.cumsum(parts)
        owner = np.repeat(np.arange(len(parts)), parts)
        share = (np.arange(ends[-1]) - (ends - parts)[owner] + 1) / parts[owner]
        fine = path[:-1][owner] + share[:, None] * np.diff(path, axis=0)[owner]
        fine = np.concatenate([path[:1], fine])
        cells = np.round((fine - fine[0]) / (size * _STEP)).astype(int)
        _, first, cell = np.unique(cells, axis=0, return_index=True, return_inverse=True)
        cell = cell.reshape(-1)
        poses = np.tile(self.reference, (len(first), 1))
        poses[:, known] = fine[first]
        closed = np.ones(len(first), bool)
        for now, before in _levels(cell, int(cell[0])):
            guess = poses[now]
            guess[:, unknown] = poses[before][:, unknown]
            base = guess.copy()
            base[:, known] = poses[before][:, known]
            guess[:, unknown] += _times(self.slopes(base), guess[:, known] - base[:, known])
            poses[now] = guess
            # nothing follows a pose in which the loop is open
            solved = now[closed[before]]
            closed[now[np.logical_not(closed[before])]] = False
            guess = poses[solved]
            closed[solved[self._close(guess)]] = False
            poses[solved] = guess
        near = poses[cell[ends]]
        moved = qpos[:, known] - near[:, known]
        slopes = self.slopes(poses)[cell[ends]]
        return near[:, unknown] + _times(slopes, moved)


@dataclass(frozen=True)
class LooseLoop:
    """Joints that equality constraints connect without determining all that were not measured."""

    equalities: tuple[int, ...]
    known: tuple[int, ...]
    unknown: tuple[int, ...]
    reason: str
    """Why, as a sentence."""


def closed_loops(
    model: mujoco.MjModel, known: Collection[int]
) -> tuple[list[Loop], list[LooseLoop]]:
    """Loops that determine joints that were not measured, and those that do not.

    Joints of which none was measured are in neither, unless the constraints fix them.

    Args:
      model: the model.
      known: measured degrees of freedom.
    """
    found: list[Loop] = []
    loose: list[LooseLoop] = []
    for equalities, dofs in components(model):
        measured = tuple(d for d in dofs if d in known)
        unknown = tuple(d for d in dofs if d not in known)
        if not unknown:
            continue
        reference = reference_pose(model, equalities, unknown)
        if reference is not None:
            found.append(Loop(model, equalities, measured, unknown, reference))
        elif measured:
            reason = _loose(model, equalities, measured, unknown)
            loose.append(LooseLoop(equalities, measured, unknown, reason))
    return found, loose


def components(model: mujoco.MjModel) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Equality constraints that share joints, with their degrees of freedom."""
    groups: list[tuple[list[int], set[int]]] = []
    for i in solvable_equalities(model):
        dofs = set(equality_dofs(model, i))
        if not dofs:
            continue
        equalities = [i]
        apart = []
        for group in groups:
            if group[1] & dofs:
                equalities, dofs = group[0] + equalities, dofs | group[1]
            else:
                apart.append(group)
        groups = [*apart, (equalities, dofs)]
    return [(tuple(sorted(e)), tuple(sorted(d))) for e, d in groups]


def reference_pose(
    model: mujoco.MjModel, equalities: Sequence[int], unknown: Sequence[int]
) -> np.ndarray | None:
    """A pose ``(nq,)`` that closes loops and is not at a dead point; None without any.

    The first of ``qpos0`` and the keyframes that is closed, else the first that can be closed.

    Args:
      model: the model.
      equalities: constraints of the loops.
      unknown: degrees of freedom that they are to determine.
    """
    dofs = sorted(set().union(*(equality_dofs(model, i) for i in equalities)))
    poses = np.concatenate([model.qpos0[None], np.reshape(model.key_qpos, (-1, model.nq))])
    gaps = np.abs(equality_rows(model, equalities, poses).gap).max(axis=1)
    far = gaps > tolerance(model)
    for pose in poses[np.argsort(far, kind="stable")]:
        row = pose[None].copy()
        # with the measured joints as they are where possible
        for moving in (unknown, dofs):
            close(model, equalities, moving, row)
            rows = equality_rows(model, equalities, row)
            if np.abs(rows.gap).max() < 1e-3 * tolerance(model):
                break
        else:
            continue
        own = rows.jacobian[:, :, list(unknown)]
        if _least_singular(own, np.linalg.norm(own, axis=1)[0])[0] >= _SINGULAR:
            return row[0]
    return None


def close(
    model: mujoco.MjModel, equalities: Sequence[int], moving: Sequence[int], qpos: np.ndarray
) -> np.ndarray:
    """Close loops at all samples by moving some joints, in place, with Newton's method.

    Args:
      model: the model.
      equalities: constraints of the loops.
      moving: degrees of freedom that are changed.
      qpos: positions ``(T, nq)``.

    Returns:
      Samples at which it did not converge.
    """
    addresses, left = _addresses(model, moving), np.arange(len(qpos))
    for _ in range(_ITERATIONS):
        rows = equality_rows(model, equalities, qpos[left])
        change = _solved(rows.jacobian[:, :, list(moving)], rows.gap)
        size = np.abs(change).max(axis=1, keepdims=True)
        change *= np.minimum(1.0, _LARGEST / np.maximum(size, 1e-300))
        qpos[np.ix_(left, np.array(addresses, int))] -= change
        left = left[size[:, 0] > _CONVERGED]
        if not left.size:
            break
    return left


def tolerance(model: mujoco.MjModel) -> float:
    """Gap of a closed loop [m, rad]."""
    return OPEN * max(float(model.stat.extent), 1e-9)


def names_of(model: mujoco.MjModel, dofs: Sequence[int]) -> list[str]:
    """Names of the joints of degrees of freedom."""
    joints = [int(model.dof_jntid[dof]) for dof in dofs]
    return [model.joint(j).name or f"joint {j}" for j in joints]


def _loose(
    model: mujoco.MjModel,
    equalities: Sequence[int],
    known: Sequence[int],
    unknown: Sequence[int],
) -> str:
    """Why loops do not determine the unmeasured joints, as a sentence."""
    what = " and ".join(equality_name(model, i) for i in equalities)
    joints = listing(names_of(model, unknown))
    rng = np.random.default_rng(0)
    poses = np.tile(model.qpos0, (8, 1))
    addresses = _addresses(model, [*known, *unknown])
    poses[:, addresses] += _MOVED * rng.normal(size=(len(poses), len(addresses)))
    rows = equality_rows(model, equalities, poses)
    own = rows.jacobian[:, :, list(unknown)]
    if _least_singular(own, np.linalg.norm(own, axis=1).max(axis=0)).max() < 1e-6:
        return (
            f"{what} does not determine {joints} from {listing(names_of(model, known))}: "
            f"record one more of {joints}"
        )
    return (
        f"{what} is open or at a dead point in every pose of the model (qpos0 and keyframes), so "
        f"that the assembly of {joints} is not known: add a keyframe of the robot, assembled"
    )


def _levels(cell: np.ndarray, start: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Cells by their distance from the first, each with a neighbour that is closer to it.

    Args:
      cell: cell of each point of a path ``(n,)``.
      start: cell of the reference.
    """
    count = int(cell.max()) + 1
    steps = cell[:-1] != cell[1:]
    pairs = (cell[:-1][steps], cell[1:][steps])
    graph = coo_array((np.ones(len(pairs[0])), pairs), (count, count)).tocsr()
    order, before = breadth_first_order(graph, start, directed=False)
    depth = np.zeros(count, int)
    for node in order[1:]:
        depth[node] = depth[before[node]] + 1
    levels = [np.flatnonzero(depth == k) for k in range(1, int(depth.max()) + 1)]
    return [(now, before[now]) for now in levels]


def _least_singular(jacobian: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Smallest singular value of each Jacobian ``(T,)`` with columns in units of ``scale``."""
    if jacobian.shape[1] < jacobian.shape[2] or not np.all(scale > 0):
        return np.zeros(len(jacobian))
    scaled = jacobian / scale
    squares = np.linalg.eigvalsh(scaled.transpose(0, 2, 1) @ scaled)[:, 0]
    return np.sqrt(np.maximum(squares, 0.0))


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Least squares of ``matrix @ x = right`` at each sample.

    Args:
      matrix: ``(T, m, n)``.
      right: ``(T, m)`` or ``(T, m, k)``.
    """
    turned = matrix.transpose(0, 2, 1)
    square = turned @ matrix
    trace = np.trace(square, axis1=1, axis2=2) + 1e-300
    square = square + _RIDGE * trace[:, None, None] * np.eye(square.shape[1])
    if right.ndim == 2:
        return np.linalg.solve(square, turned @ right[:, :, None])[:, :, 0]
    return np.linalg.solve(square, turned @ right)


def _times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return np.einsum("tij,tj->ti", matrix, vector)


def _addresses(model: mujoco.MjModel, dofs: Sequence[int]) -> list[int]:
    return [int(model.jnt_qposadr[int(model.dof_jntid[dof])]) for dof in dofs]


def _size(model: mujoco.MjModel, dof: int) -> float:
    """Unit of the motion of a joint: 1 rad, or the size of the model [m]."""
    turns = int(model.jnt_type[int(model.dof_jntid[dof])]) == _HINGE
    return 1.0 if turns else max(float(model.stat.extent), 1e-9)
