"""Detection of missing friction in torques, confirmed on held-out torques.

Each joint is tested for one more term besides Coulomb and viscous friction: direction-dependent
viscous friction, Stribeck friction, or friction proportional to the load of the joint. A term is
tested as an additional column of weighted least squares in autoregressive noise (a score test).
Terms are added one at a time, so that a missing term of one joint is not attributed to its
neighbours, whose torques share link parameters with it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np
from scipy.special import chdtri

from trueup.fitting.judgement.paired_errors import CHANCE
from trueup.sysid.causes.friction_shapes import FALLS, GONE, REST
from trueup.sysid.causes.term_candidates import TURNS
from trueup.sysid.torque.data import TorqueData, joint_names
from trueup.sysid.torque.linear_fit import (
    LinearColumns,
    design,
    plain_least_squares,
    torque_of,
    whitened,
)

STRUCTURES = {
    "asymmetric": "viscous friction that differs between the directions",
    "Stribeck": "friction that falls with speed (Stribeck)",
    "quadratic": "friction proportional to the square of speed",
    "load-dependent": "friction proportional to the load of the joint",
}
"""Tested terms and their descriptions."""

_ALPHA = 0.01  # significance level for all tested terms together
_WORTH = 0.99  # maximum error ratio with and without the term to report it
_CONFIRMED = 0.999  # maximum error ratio on held-out torques with and without the term
_FINER = tuple(np.geomspace(0.6, 1 / 0.6, 9))
"""Stribeck velocities relative to that of a found term: FALLS are too far apart for its size."""
_SMALLEST = 1e-3  # share of a joint's torque: smaller terms are due to filter or rounding


@dataclass(frozen=True)
class MissingFriction:
    """A term that reduces the error on held-out torques."""

    joint: str
    structure: str
    before: float
    """Root mean square error on filtered held-out torques, in units of each joint's noise."""
    after: float
    """The same error with the term."""
    significance: float
    """Size of the term in standard errors."""
    torque: float
    """Root mean square of the term while the joint moves [N m, N]."""
    is_clear: bool
    """Whether the term is significant at the level for all tested terms together."""
    found: str = ""
    """Clause on its size."""

    @property
    def gain(self) -> float:
        """Relative reduction of the error on held-out torques by the term."""
        return 1 - self.after / self.before

    @property
    def sentence(self) -> str:
        """Sentence on the term."""
        return (
            f"{self.joint} has {STRUCTURES[self.structure]}, which is missing from the model "
            f"({self.significance:.1f} standard errors): {self.found}it reduces the error on "
            "held-out "
            f"torques, in units of each joint's noise, by {100 * self.gain:.2g} %"
        )


@dataclass(frozen=True)
class _Term:
    """An additional column: friction of one joint."""

    joint: int
    """Index among the joints with a torque."""
    structure: str
    variant: float = 0.0
    """Speed of Stribeck friction [rad/s, m/s]; 1 for the load of the motor, 0 for that of links."""

    def torque(self, part: TorqueData, columns: LinearColumns, values: np.ndarray) -> np.ndarray:
        """Torque of one unit of the term ``(T, dofs)``."""
        motion, dof = part.motion, columns.dofs[self.joint]
        speed, direction = motion.qvel[:, dof], motion.direction[:, dof]
        out = np.zeros((len(motion.times), len(columns.dofs)))
        if self.structure == "asymmetric":
            own = np.abs(speed)
        elif self.structure == "Stribeck":
            own = direction * np.exp(-np.square(speed / max(self.variant, 1e-12)))
        elif self.structure == "quadratic":
            own = speed * np.abs(speed)
        else:
            first = 0 if self.variant else 4 * len(columns.dofs)
            load = design(part, columns)[:, self.joint, first:] @ values[first:]
            own = direction * np.abs(load)
        out[:, self.joint] = own
        return out

    def words(self, size: float, turns: bool) -> str:
        """Clause on the estimate of least squares; empty if it is not meaningful."""
        if self.structure != "Stribeck":
            return ""
        units = ("N m", "rad/s") if turns else ("N", "m/s")
        return (
            f"least squares estimates {size:.2g} {units[0]} more at rest, gone above "
            f"{GONE * self.variant:.2g} {units[1]}; "
        )


def missing_friction(
    seen: Sequence[TorqueData], unseen: Sequence[TorqueData], columns: LinearColumns
) -> list[MissingFriction]:
    """The best additional term of each joint with a missing one.

    Args:
      seen: recordings of the fit.
      unseen: held-out recordings, or parts of them.
      columns: parameters of the linear model.
    """
    values = plain_least_squares(seen, columns)
    terms = list(_terms(seen, columns))
    names = joint_names(seen[0].model, columns.dofs)
    far, clear = (float(np.sqrt(chdtri(1, a / len(terms)))) for a in (_ALPHA, CHANCE))
    speeds = _speeds(seen, columns)
    (known, torques), (new, unseen_torques) = (
        _moving_rows(parts, columns, terms, values, speeds) for parts in (seen, unseen)
    )
    smallest = _SMALLEST * np.sqrt(np.mean(np.concatenate(torques) ** 2, axis=0))
    chosen: list[int] = []
    refused: set[int] = set()
    out = []
    while True:
        fit = _Fit(known, torques, chosen)
        taken = refused | {terms[i].joint for i in chosen}
        sizes = np.array(
            [
                0.0  # friction must be dissipative
                if term.joint in taken
                else abs(size) if term.structure == "asymmetric" else size
                for term, size in zip(terms, fit.sizes, strict=True)
            ]
        )  # fmt: skip
        best = int(np.argmax(sizes))
        if sizes[best] < far:
            return out
        # a term changes link parameters, and these the torques of other joints, with more evidence
        joint = terms[best].joint
        before = _error(new, unseen_torques, fit.values, chosen, fit.noise)
        after = _error(new, unseen_torques, fit.values_with(best), [*chosen, best], fit.noise)
        if (
            fit.error_with(best) < _WORTH
            and after < _CONFIRMED * before
            and _torque(fit, known, best, joint) > smallest[joint]
        ):
            size = float(sizes[best])
            if terms[best].structure == "Stribeck":
                terms[best] = _sharpened(
                    terms[best],
                    lambda finer: _term_columns(seen, columns, finer, values, speeds),
                    [(A, more[:, :, chosen]) for A, more in known],
                    torques,
                )
                for parts, rows in ((seen, known), (unseen, new)):
                    own = _term_columns(parts, columns, [terms[best]], values, speeds)
                    for (_, more), column in zip(rows, own, strict=True):
                        more[:, :, best] = column[:, :, 0]
                fit = _Fit(known, torques, chosen)
                extended = fit.values_with(best)
                after = _error(new, unseen_torques, extended, [*chosen, best], fit.noise)
            chosen.append(best)
            term, torque = terms[best], _torque(fit, known, best, joint)
            turns = _turns(seen[0].model, columns.dofs[joint])
            out.append(
                MissingFriction(
                    names[joint],
                    term.structure,
                    before,
                    after,
                    size,
                    torque,
                    size > clear,
                    term.words(float(fit.gains[best]), turns),
                )
            )
        else:
            refused.add(joint)


def _torque(
    fit: "_Fit", known: Sequence[tuple[np.ndarray, np.ndarray]], term: int, joint: int
) -> float:
    """Root mean square torque of a term, with its estimate, on its joint [N m, N]."""
    own = np.concatenate([more[:, joint, term] for _, more in known])
    return float(abs(fit.gains[term]) * np.sqrt(np.mean(np.square(own))))


def _turns(model: mujoco.MjModel, dof: int) -> bool:
    return int(model.jnt_type[model.dof_jntid[dof]]) == TURNS


def _speeds(seen: Sequence[TorqueData], columns: LinearColumns) -> np.ndarray:
    """Root mean square speed of each joint ``(dofs,)`` [rad/s, m/s]."""
    speeds = [np.mean(np.square(p.motion.qvel[:, columns.dofs]), axis=0) for p in seen]
    return np.sqrt(np.mean(speeds, axis=0))


def _terms(seen: Sequence[TorqueData], columns: LinearColumns) -> Iterator[_Term]:
    for joint in range(len(columns.dofs)):
        speed = float(_speeds(seen, columns)[joint])
        yield _Term(joint, "asymmetric")
        yield _Term(joint, "quadratic")
        yield _Term(joint, "load-dependent", 0.0)
        yield _Term(joint, "load-dependent", 1.0)
        for width in FALLS[1:]:  # motion passes the smallest within the response time of the filter
            yield _Term(joint, "Stribeck", width * speed)


def _moving_rows(
    parts: Sequence[TorqueData],
    columns: LinearColumns,
    terms: Sequence[_Term],
    values: np.ndarray,
    speeds: np.ndarray,
) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[np.ndarray]]:
    """Columns, terms and torques of recordings, zero where a joint rests."""
    rows, torques = [], []
    for p, more in zip(parts, _term_columns(parts, columns, terms, values, speeds), strict=True):
        moves = _moves(p, columns, speeds)
        rows.append((design(p, columns) * moves[:, :, None], more))
        torques.append(torque_of(p) * moves)
    return rows, torques


def _term_columns(
    parts: Sequence[TorqueData],
    columns: LinearColumns,
    terms: Sequence[_Term],
    values: np.ndarray,
    speeds: np.ndarray,
) -> list[np.ndarray]:
    """Torque of one unit of each term in each recording ``(T, dofs, terms)``, zero at rest."""
    return [
        np.stack([t.torque(p, columns, values) for t in terms], axis=2)
        * _moves(p, columns, speeds)[:, :, None]
        for p in parts
    ]


def _moves(part: TorqueData, columns: LinearColumns, speeds: np.ndarray) -> np.ndarray:
    """Samples at which joints do not rest ``(T, dofs)`` bool.

    The friction of a joint at rest is any value up to its limit, which the columns of friction do
    not describe.
    """
    return np.abs(part.motion.qvel[:, columns.dofs]) > REST * speeds


def _sharpened(
    term: _Term,
    columns_of: Callable[[Sequence[_Term]], list[np.ndarray]],
    known: Sequence[tuple[np.ndarray, np.ndarray]],
    torques: Sequence[np.ndarray],
) -> _Term:
    """A Stribeck term with the velocity that leaves the smallest error.

    Args:
      term: the term with one of the candidate velocities.
      columns_of: torque of one unit of terms in each recording ``(T, dofs, terms)``.
      known: columns of each recording, and its terms found before.
      torques: torques of each recording.
    """
    finer = [replace(term, variant=share * term.variant) for share in _FINER]
    joined = [
        (A, np.concatenate([found, more], axis=2))
        for (A, found), more in zip(known, columns_of(finer), strict=True)
    ]
    count = known[0][1].shape[2]
    fit = _Fit(joined, torques, range(count))
    return finer[int(np.argmin([fit.error_with(count + i) for i in range(len(finer))]))]


class _Fit:
    """Weighted least squares with the selected terms, and the score of each other one."""

    def __init__(
        self,
        parts: Sequence[tuple[np.ndarray, np.ndarray]],
        torques: Sequence[np.ndarray],
        chosen: Sequence[int],
    ):
        used = [np.concatenate([A, more[:, :, chosen]], axis=2) for A, more in parts]
        self._count = used[0].shape[2]
        A = np.concatenate([u.reshape(-1, self._count) for u in used])
        b = np.concatenate([t.reshape(-1) for t in torques])
        plain, _ = _shortest(A, b[:, None])
        residuals = [t - u @ plain[:, 0] for t, u in zip(torques, used, strict=True)]
        spread = np.sqrt(np.mean(np.square(np.concatenate(residuals)), axis=0))
        self.noise = np.maximum(spread, 1e-300)
        """Residual torque of each joint ``(dofs,)``."""
        joined = [
            (np.concatenate([u, more], axis=2), t)
            for u, (_, more), t in zip(used, parts, torques, strict=True)
        ]
        rows, right = whitened(joined, residuals)
        A, terms = rows[:, : self._count], rows[:, self._count :]
        solved, left = _shortest(A, np.column_stack([right, terms]))
        self.values = solved[:, 0]
        self._shift = solved[:, 1:]
        rest, terms_left = left[:, 0], left[:, 1:]
        length = np.linalg.norm(terms_left, axis=0)
        seen = length > 1e-6 * np.linalg.norm(terms, axis=0)
        freedom = max(len(right) - self._count, 1)
        noise = float(np.sqrt(rest @ rest / freedom))
        self.gains = np.where(seen, terms_left.T @ rest / np.where(seen, length, 1.0) ** 2, 0.0)
        """Coefficient of each term if added ``(terms,)``."""
        self.sizes = self.gains * length / max(noise, 1e-300)
        """These coefficients over their standard errors ``(terms,)``."""
        self._rows_of_joint = freedom / torques[0].shape[1]

    def values_with(self, term: int) -> np.ndarray:
        """Values of the columns, and of the term last."""
        gain = self.gains[term]
        return np.append(self.values - gain * self._shift[:, term], gain)

    def error_with(self, term: int) -> float:
        """Ratio of the joint's whitened torque error with the term to that without."""
        return float(np.sqrt(max(1 - self.sizes[term] ** 2 / self._rows_of_joint, 0.0)))


def _shortest(A: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minimum-norm least-squares solutions ``(k, r)`` for ``(m, k)``, and the residuals."""
    size = np.linalg.norm(A, axis=0)
    size[size == 0] = 1.0
    # QR factorisation of the long matrix, then SVD of the small triangle
    Q, R = np.linalg.qr(A / size)
    inner, s, Vt = np.linalg.svd(R)
    rank = int(np.sum(s > 1e-8 * s[0]))
    U = Q @ inner[:, :rank]
    along = U.T @ right
    return (Vt[:rank].T @ (along / s[:rank, None])) / size[:, None], right - U @ along


def _error(
    parts: Sequence[tuple[np.ndarray, np.ndarray]],
    torques: Sequence[np.ndarray],
    values: np.ndarray,
    chosen: Sequence[int],
    noise: np.ndarray,
) -> float:
    """Root mean square error of the filtered torques, in units of each joint's noise."""
    off = [
        (torque - A @ values[: A.shape[2]] - more[:, :, chosen] @ values[A.shape[2] :]) / noise
        for (A, more), torque in zip(parts, torques, strict=True)
    ]
    return float(np.sqrt(np.mean(np.square(np.concatenate(off)))))
