"""Friction that the model lacks, found by the torque of recordings that the fit has not seen.

Each joint is tried with one more term beside Coulomb and viscous friction: direction-dependent
viscous friction, Stribeck friction, or friction that grows with the load of the joint.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.sysid.torque.linear_fit import LinearColumns, design, torque_of
from trueup.sysid.torque.torque_data import TorqueData, joint_names

STRUCTURES = {
    "asymmetric": "viscous friction that differs between the directions",
    "Stribeck": "friction that falls with speed (Stribeck)",
    "load-dependent": "friction that grows with the load of the joint",
}
"""Terms that are tried, and what they are."""

_WORTH = 0.98  # error with the term over that without, for the term to be named
_STRIBECK = (0.1, 0.3, 1.0)  # of the root mean square speed: where friction has fallen by e


@dataclass(frozen=True)
class MissingFriction:
    """A term that lowers the error on unseen torques."""

    joint: str
    structure: str
    before: float
    """Root mean square error of the joint's torque without it [N m, N]."""
    after: float
    """The same with it."""

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        return (
            f"{self.joint} has {STRUCTURES[self.structure]}, which the model lacks: with it the "
            f"error on unseen torques is {self.after:.3g} instead of {self.before:.3g}"
        )


def missing_friction(
    seen: Sequence[TorqueData], unseen: Sequence[TorqueData], columns: LinearColumns
) -> list[MissingFriction]:
    """The best further term of each joint that is worth naming.

    Args:
      seen: recordings that the fit uses.
      unseen: recordings, or parts of them, that it does not.
      columns: parameters of the linear model.
    """
    A = np.concatenate([design(p, columns).reshape(-1, len(columns.names)) for p in seen])
    b = np.concatenate([torque_of(p).reshape(-1) for p in seen])
    size = np.linalg.norm(A, axis=0)
    size[size == 0] = 1.0
    # the long side is factorised once, the small triangle decomposed
    Q, R = np.linalg.qr(A / size)
    inner, s, Vt = np.linalg.svd(R)
    rank = int(np.sum(s > 1e-8 * s[0]))
    U, s, Vt = Q @ inner[:, :rank], s[:rank], Vt[:rank]

    def solved(right: np.ndarray) -> np.ndarray:
        return (Vt.T @ ((U.T @ right) / s)) / size

    plain = solved(b)
    left = b - A @ plain
    names = joint_names(seen[0].model, columns.dofs)
    scale = [
        np.sqrt(np.mean([np.mean(p.motion.qvel[:, d] ** 2) for p in seen])) for d in columns.dofs
    ]
    out = []
    for k, name in enumerate(names):
        before = _error(unseen, columns, plain, k)
        found: list[MissingFriction] = []
        for structure, width in _terms():
            term = np.zeros(len(b))
            row = 0
            for part in seen:
                block = np.zeros((len(part.motion.times), len(columns.dofs)))
                block[:, k] = _term(part, columns, plain, k, structure, width * scale[k])
                term[row : row + block.size] = block.reshape(-1)
                row += block.size
            shift = solved(term)
            rest = term - A @ shift
            length = float(rest @ rest)
            if length < 1e-9 * max(float(term @ term), 1e-300):
                continue
            gain = float(rest @ left) / length
            if structure != "asymmetric" and gain < 0:
                continue  # friction that drives
            values = plain - gain * shift
            after = _error(unseen, columns, values, k, (structure, width * scale[k], gain, plain))
            found.append(MissingFriction(name, structure, before, after))
        best = min(found, key=lambda f: f.after, default=None)
        if best is not None and best.after < _WORTH * best.before:
            out.append(best)
    return out


def _terms() -> list[tuple[str, float]]:
    stribeck = [("Stribeck", width) for width in _STRIBECK]
    return [("asymmetric", 1.0), ("load-dependent", 1.0), *stribeck]


def _term(
    part: TorqueData,
    columns: LinearColumns,
    values: np.ndarray,
    k: int,
    structure: str,
    speed: float,
) -> np.ndarray:
    """Torque of one unit of a term ``(T,)``."""
    motion, dof = part.motion, columns.dofs[k]
    if structure == "asymmetric":
        return np.abs(motion.qvel[:, dof])
    if structure == "Stribeck":
        return motion.direction[:, dof] * np.exp(-np.abs(motion.qvel[:, dof]) / max(speed, 1e-12))
    joints = 4 * len(columns.dofs)
    load = design(part, columns)[:, k, joints:] @ values[joints:]
    return motion.direction[:, dof] * np.abs(load)


def _error(
    data: Sequence[TorqueData],
    columns: LinearColumns,
    values: np.ndarray,
    k: int,
    term: tuple[str, float, float, np.ndarray] | None = None,
) -> float:
    """Root mean square error of one joint's torque as recorded."""
    squares, count = 0.0, 0
    for part in data:
        off = torque_of(part, raw=True)[:, k] - design(part, columns)[:, k] @ values
        if term is not None:
            structure, speed, gain, plain = term
            off = off - gain * _term(part, columns, plain, k, structure, speed)
        squares, count = squares + float(off @ off), count + len(off)
    return float(np.sqrt(squares / max(count, 1)))
