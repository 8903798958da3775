"""Linear least squares on inverse dynamics: all parameters, base parameters, and their intervals.

Base parameters are the combinations that the motion determines, by a rank-revealing QR
factorisation: M. Gautier, "Numerical calculation of the base inertial parameters of robots" (1991).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_toeplitz, solve_triangular
from scipy.special import stdtrit

from trueup.sysid.torque.block_factors import minimum_norm, triangle
from trueup.sysid.torque.data import TorqueData, joint_names, torque_data_of
from trueup.sysid.torque.link_regressor import LINK_PARAMETERS, parameters_of

JOINT_PARAMETERS = ("armature", "damping", "frictionloss", "offset")
"""Columns of each joint, before those of the links."""

_FOLLOWING = JOINT_PARAMETERS[:3]  # columns of a joint whose motion follows others
_UNEXCITED = 1e-4  # remaining length of a unit column below which the motion does not excite it
_SMALL = 1e-6  # coefficient of a combination that is omitted in its text
_ROWS = 8  # rows per column of a design matrix of random motion
_FEWEST = 60  # minimum number of its samples
_LONGEST = 12  # maximum order of the autoregressive noise of a joint


@dataclass(frozen=True)
class LinearColumns:
    """The parameters of a linear model of torque."""

    names: tuple[str, ...]
    values: np.ndarray
    """Values of the model ``(k,)``; zero for an offset."""
    links: np.ndarray
    """Used columns of the link regressor ``(l,)``."""
    dofs: tuple[int, ...]
    springs: tuple[int, ...] = ()
    """Degrees of freedom with a spring; their stiffness columns follow those of links."""
    following: tuple[int, ...] = ()
    """Joints of closed loops that follow ``dofs``; their columns are last."""


@dataclass(frozen=True)
class BaseParameter:
    """A combination of parameters that the motion determines."""

    words: str
    """The combination, as ``forearm mcx + 0.61 wrist m``."""
    coefficients: np.ndarray
    """Weight of each parameter ``(k,)``; 1 for the base column."""
    value: float
    half_width: float
    model_value: float
    """The combination of the model's values."""


@dataclass(frozen=True)
class LinearFit:
    """A least-squares fit of torques."""

    columns: LinearColumns
    estimate: np.ndarray
    """Minimum-norm least-squares parameters ``(k,)``."""
    base: tuple[BaseParameter, ...]
    noise: np.ndarray
    """Standard deviation of the residual torque of each joint ``(dofs,)``."""


def linear_columns(data: Sequence[TorqueData]) -> LinearColumns:
    """Parameters of the links that move, and of the joints with a torque."""
    model, dofs = data[0].model, data[0].sources.dofs
    moving = np.zeros(10 * model.nbody, bool)
    for part in data:
        moving |= np.abs(part.links).max(axis=(0, 1)) > 1e-9
    links = np.flatnonzero(moving)
    # moments of inertia before first moments before the mass: later ones become dependent
    links = links[np.lexsort((-(links % 10), links // 10))]
    names: list[str] = []
    values: list[float] = []
    for joint, dof in zip(joint_names(model, dofs), dofs, strict=True):
        names += [f"{joint} {what}" for what in JOINT_PARAMETERS]
        values += [
            model.dof_armature[dof],
            float(np.ravel(model.dof_damping[dof])[0]),
            model.dof_frictionloss[dof],
            0.0,
        ]
    for column in links:
        body = model.body(int(column) // 10).name or f"body {int(column) // 10}"
        names.append(f"{body} {LINK_PARAMETERS[column % 10]}")
    values += [*parameters_of(model)[links]]
    acting, following = data[0].sources.acting, data[0].sources.following
    stiffness = {
        dof: float(np.ravel(model.jnt_stiffness[model.dof_jntid[dof]])[0]) for dof in acting
    }
    springs = tuple(dof for dof, value in stiffness.items() if value > 0)
    names += [f"{joint} stiffness" for joint in joint_names(model, springs)]
    values += [stiffness[dof] for dof in springs]
    for joint, dof in zip(joint_names(model, following), following, strict=True):
        names += [f"{joint} {what}" for what in _FOLLOWING]
        values += [
            model.dof_armature[dof],
            float(np.ravel(model.dof_damping[dof])[0]),
            model.dof_frictionloss[dof],
        ]
    return LinearColumns(tuple(names), np.array(values, float), links, dofs, springs, following)


def design(part: TorqueData, columns: LinearColumns) -> np.ndarray:
    """Torque of each parameter ``(T, dofs, k)``."""
    motion = part.motion
    extra = np.zeros((len(motion.times), len(columns.dofs), 4 * len(columns.dofs)))
    for k, dof in enumerate(columns.dofs):
        extra[:, k, 4 * k] = motion.qacc[:, dof]
        extra[:, k, 4 * k + 1] = motion.qvel[:, dof]
        extra[:, k, 4 * k + 2] = motion.direction[:, dof]
        extra[:, k, 4 * k + 3] = 1.0
    size = len(_FOLLOWING)
    stretch = np.zeros((len(motion.times), len(columns.dofs), len(columns.springs)))
    follows = np.zeros((len(motion.times), len(columns.dofs), size * len(columns.following)))
    for dof, k, share in part.forces:
        if dof in columns.springs:
            address = int(part.model.jnt_qposadr[int(part.model.dof_jntid[dof])])
            moved = motion.qpos[:, address] - part.model.qpos_spring[address]
            stretch[:, k, columns.springs.index(dof)] = share * moved
        if dof in columns.following:
            first = size * columns.following.index(dof)
            own = np.stack([motion.qacc[:, dof], motion.qvel[:, dof], motion.direction[:, dof]])
            follows[:, k, first : first + size] = (share * own).T
    return np.concatenate([extra, part.links[:, :, columns.links], stretch, follows], axis=2)


def torque_of(part: TorqueData, raw: bool = False) -> np.ndarray:
    """Applied torque of each joint at the model's gains ``(T, dofs)``."""
    model = part.model
    fields = {
        f"actuator_{n}": getattr(model, f"actuator_{n}")[None]
        for n in ("gear", "gainprm", "biasprm")
    }
    return part.applied(fields, raw)[0]


def counted(part: TorqueData, columns: LinearColumns) -> tuple[np.ndarray, np.ndarray]:
    """Design ``(T, dofs, k)`` and torque ``(T, dofs)``, zero at samples that do not count."""
    counts = part.counts
    return design(part, columns) * counts[:, :, None], torque_of(part) * counts


def plain_least_squares(data: Sequence[TorqueData], columns: LinearColumns) -> np.ndarray:
    """Ordinary least squares of all parameters, the minimum-norm solution ``(k,)``."""
    return minimum_norm(*stacked([counted(p, columns) for p in data])).values


def stacked(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Rows of all recordings below each other.

    Args:
      parts: design ``(T, dofs, k)`` and torques ``(T, dofs, ...)`` of each recording.

    Returns:
      Design ``(m, k)`` and torques ``(m, ...)``.
    """
    rows = np.concatenate([A.reshape(-1, A.shape[2]) for A, _ in parts])
    return rows, np.concatenate([b.reshape(-1, *b.shape[2:]) for _, b in parts])


def errors(
    data: Sequence[TorqueData], columns: LinearColumns, values: np.ndarray, raw: bool = True
) -> np.ndarray:
    """Root mean square error of each joint's torque, recorded or filtered ``(dofs,)``."""
    off = [errors_of(p, columns, values, raw) for p in data]
    return _mean_square(off, data) ** 0.5


def errors_of(
    part: TorqueData, columns: LinearColumns, values: np.ndarray, raw: bool = True
) -> np.ndarray:
    """Errors of one recording, zero at samples that do not count ``(T, dofs)``."""
    return (torque_of(part, raw) - design(part, columns) @ values) * part.counts


def _mean_square(rows: Sequence[np.ndarray], data: Sequence[TorqueData]) -> np.ndarray:
    """Mean square of rows ``(T, dofs)`` that are zero where samples do not count ``(dofs,)``."""
    total = sum(np.square(each).sum(axis=0) for each in rows)
    return np.asarray(total / np.maximum(sum(p.counts.sum(axis=0) for p in data), 1.0))


def linear_fit(
    data: Sequence[TorqueData], level: float = 0.95, columns: LinearColumns | None = None
) -> LinearFit:
    """Weighted least squares with the noise of each joint, and its base parameters.

    The noise of a joint is autoregressive; its rows are whitened before the last fit, so that the
    samples are independent for the intervals.

    Args:
      data: recordings.
      level: coverage of the intervals.
      columns: parameters; None: those of :func:`linear_columns`.
    """
    columns = columns or linear_columns(data)
    parts = [counted(p, columns) for p in data]
    first = minimum_norm(*stacked(parts)).values
    residuals = [b - A @ first for A, b in parts]
    noise = _mean_square(residuals, data) ** 0.5
    noise = np.maximum(
        noise, 1e-12 * max(float(np.abs(np.concatenate([b for _, b in parts])).max()), 1e-9)
    )
    structure = base_columns(_structure(data[0], columns))
    for _ in range(2):
        A, b = whitened(parts, residuals)
        independent, dependent, relation = _excited(A, *structure)
        factor, turned = triangle(A[:, independent], b)
        solution = solve_triangular(factor, turned)
        estimate = np.zeros(len(columns.names))
        estimate[independent] = solution
        residuals = [t - D @ estimate for D, t in parts]
    left = b - A[:, independent] @ solution
    freedom = max(int(sum(p.counts.sum() for p in data)) - len(independent), 1)
    inverse = solve_triangular(factor, np.eye(len(independent)))
    spread = np.sqrt(np.sum(inverse**2, axis=1) * (left @ left) / freedom)
    reach = stdtrit(freedom, 0.5 + level / 2) * spread
    base = []
    for i, column in enumerate(independent):
        weights = np.zeros(len(columns.names))
        weights[column] = 1.0
        weights[dependent] = relation[i]
        base.append(
            BaseParameter(
                _words(columns.names, weights, column),
                weights,
                float(solution[i]),
                float(reach[i]),
                float(weights @ columns.values),
            )
        )
    return LinearFit(columns, _shortest(base, solution, columns), tuple(base), noise)


def _structure(part: TorqueData, columns: LinearColumns) -> np.ndarray:
    """Design matrix of a random motion of the joints that move ``(m, k)``.

    It is free of noise, which would make structurally dependent columns look independent.
    """
    rng = np.random.default_rng(0)
    motion, model = part.motion, part.model
    # each sample gives one row per joint; those near the tip have few nonzero columns
    count = max(_ROWS * len(columns.names) // len(columns.dofs), _FEWEST)
    qpos = np.tile(motion.qpos.mean(axis=0), (count, 1))
    moving = np.ptp(motion.qpos, axis=0) > 0
    qpos[:, moving] = rng.uniform(-np.pi, np.pi, (count, int(moving.sum())))
    # loops are closed in few poses: those of the motion
    rows = rng.integers(len(motion.qpos), size=count)
    for loop in part.sources.loops if part.sources.following else ():
        places = [int(model.jnt_qposadr[model.dof_jntid[d]]) for d in (*loop.known, *loop.unknown)]
        qpos[:, places] = motion.qpos[rows][:, places]
    still = np.ptp(motion.qvel, axis=0) == 0
    qvel, qacc = rng.normal(size=(2, count, model.nv))
    qvel[:, still] = qacc[:, still] = 0.0
    for loop in part.sources.loops if part.sources.following else ():
        loop.settle(qpos, qvel, qacc)
    random = replace(
        motion,
        times=np.arange(count, dtype=float),
        qpos=qpos,
        qvel=qvel,
        qacc=qacc,
        direction=np.sign(qvel),
    )
    found = design(torque_data_of(model, random, part.sources), columns)
    return found.reshape(-1, len(columns.names))


def _excited(
    A: np.ndarray, independent: np.ndarray, dependent: np.ndarray, relation: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Base columns that the recorded motion excites; the others depend on these."""
    kept, lost, further = base_columns(A[:, independent], _UNEXCITED)
    if not len(lost):
        return independent, dependent, relation
    # columns that depend on a removed column are removed with it
    whole = np.concatenate([further, relation[kept] + further @ relation[lost]], axis=1)
    return independent[kept], np.concatenate([independent[lost], dependent]), whole


def base_columns(A: np.ndarray, rank: float = 1e-6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Independent columns of a matrix, and the relation of the others to them.

    A column is dependent if its component orthogonal to the previous columns vanishes: joints come
    first and links from the base to the tip, so that parameters of a link are grouped with those of
    the links that carry it.

    Args:
      A: ``(m, k)``.
      rank: remaining length of a unit column below which it depends on others.

    Returns:
      Indices of independent columns ``(r,)`` and of dependent ones ``(k - r,)``, and the relation
      ``(r, k - r)`` with ``A[:, dependent] = A[:, independent] @ relation``.
    """
    size = np.linalg.norm(A, axis=0)
    size[size == 0] = 1.0
    R, _ = triangle(A / size)
    basis = np.zeros((len(R), 0))
    independent: list[int] = []
    for column in range(R.shape[1]):
        rest = R[:, column].copy()
        for _ in range(2):  # reorthogonalisation, against rounding
            rest -= basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > rank:
            basis = np.column_stack([basis, rest / length])
            independent.append(column)
    dependent = np.setdiff1d(np.arange(R.shape[1]), independent)
    chosen = np.array(independent, int)
    corner = basis.T @ R[:, chosen]
    relation = solve_triangular(corner, basis.T @ R[:, dependent])
    relation *= size[dependent] / size[chosen][:, None]
    relation[np.abs(relation) < _SMALL] = 0.0
    return chosen, dependent, relation


def _shortest(
    base: Sequence[BaseParameter], solution: np.ndarray, columns: LinearColumns
) -> np.ndarray:
    """The parameters closest to the model's with the estimated combinations ``(k,)``."""
    combinations = np.array([p.coefficients for p in base])
    off = solution - combinations @ columns.values
    return columns.values + np.linalg.lstsq(combinations, off, rcond=None)[0]


def whitened(
    parts: Sequence[tuple[np.ndarray, np.ndarray]],
    residuals: Sequence[np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Whitened rows of all recordings, in units of their noise.

    Args:
      parts: design ``(T, dofs, k)`` and torque ``(T, dofs)`` of each recording.
      residuals: residuals of a previous fit ``(T, dofs)``, for the autoregressive noise model.

    Returns:
      Design ``(m, k)`` and torque ``(m,)``, joint by joint.
    """
    rows, values = [], []
    for k in range(residuals[0].shape[1]):
        weights, sigma = autoregression([r[:, k] for r in residuals])
        for A, b in parts:
            joint = np.concatenate([A[:, k], b[:, k, None]], axis=1)
            order = len(weights)
            white = joint[order:].copy()
            for lag, weight in enumerate(weights, 1):
                white -= weight * joint[order - lag : len(joint) - lag]
            rows.append(white[:, :-1] / sigma)
            values.append(white[:, -1] / sigma)
    return np.concatenate(rows), np.concatenate(values)


def autoregression(series: Sequence[np.ndarray]) -> tuple[np.ndarray, float]:
    """Coefficients ``(order,)`` and innovation of autoregressive noise, by Yule-Walker.

    The order minimises the Bayesian information criterion (Schwarz 1978), pooled over recordings.
    """
    total = sum(len(s) for s in series)
    longest = min(_LONGEST, max(min(len(s) for s in series) // 10, 0))
    moments = (
        np.array(
            [sum(float(s[: len(s) - lag] @ s[lag:]) for s in series) for lag in range(longest + 1)]
        )
        / total
    )
    if moments[0] <= 0:
        return np.zeros(0), 1e-12
    best, chosen = np.inf, (np.zeros(0), float(np.sqrt(moments[0])))
    for order in range(longest + 1):
        weights = solve_toeplitz(moments[:order], moments[1 : order + 1]) if order else np.zeros(0)
        variance = max(moments[0] - float(weights @ moments[1 : order + 1]), 1e-12 * moments[0])
        criterion = total * np.log(variance) + order * np.log(total)
        if criterion < best:
            best, chosen = criterion, (weights, float(np.sqrt(variance)))
    return chosen


def _words(names: Sequence[str], weights: np.ndarray, first: int) -> str:
    text = names[first]
    for i in map(int, np.flatnonzero(weights)):
        if i == first:
            continue
        sign = "-" if weights[i] < 0 else "+"
        size = abs(weights[i])
        text += f" {sign} {names[i]}" if abs(size - 1) < 1e-6 else f" {sign} {size:.4g} {names[i]}"
    return text
