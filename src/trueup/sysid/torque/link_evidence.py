"""Links and constant torques that recorded torques show to differ from the model.

Torques are linear in the mass of a link, with its moments in proportion, in its ten inertial
parameters, and in a constant of each joint. Each is freed with the unknowns of the joints, by
least squares with priors, on the first part of the recordings, and counts if the torques of the
last part are clearly predicted better. One mass comes before several, and masses before centres
and moments: what explains the torques with the fewest unknowns is determined best. Of bodies fixed
to each other each may have another mass, such as a payload, and the heaviest one represents the
whole link. In a linkage whose links move alike, torques do not tell which of them it is: the
heaviest one counts, whose error is the largest where errors are in proportion.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import lsq_linear

from trueup.fitting.judgement.paired_errors import block_sums, is_clearly_worse
from trueup.sysid.torque.bandwidth import halves
from trueup.sysid.torque.block_factors import triangle
from trueup.sysid.torque.data import TorqueData
from trueup.sysid.torque.linear_fit import (
    JOINT_PARAMETERS,
    LinearColumns,
    counted,
    errors,
    linear_columns,
    plain_least_squares,
)
from trueup.sysid.torque.link_regressor import parameters_of

PRIOR = 0.3
"""Standard deviation of the prior of a link that torques show to differ, as a share of its mass, of
its moments, and of its radius of gyration for the centre of mass."""

_WORTH = 0.02  # minimum relative reduction of the error on the last part
_OF_JOINT = 0.1  # of that of a single joint, where others have most of the error
_CHANCE = 0.01  # of an unknown too many, which costs no more than wider intervals
_ALIKE = 1.01  # ratio of errors up to which the heavier of two links counts
_FELT = 0.05  # smallest effect of a link within its prior, relative to the noise of the torques
_LIGHTEST = 0.05  # smallest mass of a link with its moments in proportion, relative to the model
_JOINT = len(JOINT_PARAMETERS)


@dataclass(frozen=True)
class LinkEvidence:
    """Offsets, masses and links that recorded torques show to differ from the model."""

    offsets: tuple[int, ...] = ()
    """Degrees of freedom with a constant torque."""
    masses: tuple[int, ...] = ()
    """Bodies of another mass, with their moments in proportion."""
    alike: tuple[int, ...] = ()
    """Bodies whose masses explain the torques as well as one of ``masses``."""
    links: tuple[int, ...] = ()
    """Bodies of other mass, centre and moments."""
    before: float = 0.0
    """Error on the last part of the recordings with offsets alone, relative to the noise."""
    after: float = 0.0
    """Error with them."""


def link_evidence(data: Sequence[TorqueData], free: Collection[int]) -> LinkEvidence:
    """Offsets and links that reduce the error of torques on the last part of recordings.

    Args:
      data: recordings of one model.
      free: degrees of freedom whose armature, damping and friction are unknown.
    """
    columns = linear_columns(data)
    noise = errors(data, columns, plain_least_squares(data, columns), raw=False)
    noise = np.maximum(noise, 1e-9 * max(float(noise.max()), 1e-300))
    seen, unseen = (_Part.of(part, columns, noise, free) for part in halves(data))
    # without the constants of all joints, links would imitate them
    plain = _Trial.of(seen, unseen, seen.offsets)
    best, alike = _with_masses(seen, unseen, plain, data[0].model.body_mass)
    links = _Trial.of(seen, unseen, (*seen.offsets, *seen.links))
    if _is_better(links, best):
        best, alike = links, []
    chosen = tuple(name for name in best.names if name[0] != "offset")
    without = _Trial.of(seen, unseen, chosen)
    needed = [_is_less(*pair) for pair in zip(best.squares.T, without.squares.T, strict=True)]
    if chosen and any(needed):
        # a link that imitates the constant of one joint errs at others
        needed = [True] * len(needed)
    return LinkEvidence(
        tuple(dof for dof, need in zip(columns.dofs, needed, strict=True) if need),
        tuple(body for kind, body in chosen if kind == "mass"),
        tuple(alike),
        tuple(body for kind, body in chosen if kind == "link"),
        plain.error,
        best.error,
    )


_Name = tuple[str, int]
"""Kind of a group of columns, and its degree of freedom or body."""


@dataclass(frozen=True)
class _Part:
    """Weighted torques of a part of the recordings, and their columns."""

    joints: np.ndarray
    """Columns of the unknowns of joints, none of which is negative ``(m, j)``."""
    further: dict[_Name, np.ndarray]
    """Columns of offsets, masses and links, in units of their priors ``(m, k)``."""
    right: np.ndarray
    """Torques that the model at its own values leaves ``(m,)``."""
    dofs: int
    """Number of joints; their rows of a sample follow each other."""

    @classmethod
    def of(
        cls,
        data: Sequence[TorqueData],
        columns: LinearColumns,
        noise: np.ndarray,
        free: Collection[int],
    ) -> "_Part":
        model, dofs = data[0].model, columns.dofs
        pairs = [counted(part, columns) for part in data]
        rows = np.concatenate([(A / noise[:, None]).reshape(-1, A.shape[2]) for A, _ in pairs])
        torque = np.concatenate([(b / noise).reshape(-1) for _, b in pairs])
        values, first = columns.values.copy(), len(dofs) * _JOINT
        following = len(values) - (_JOINT - 1) * len(columns.following)
        unknown = [
            start + place * size + k
            for order, start, size in (
                (dofs, 0, _JOINT),
                (columns.following, following, _JOINT - 1),
            )
            for place, dof in enumerate(order)
            if dof in free
            for k in range(_JOINT - 1)
        ]
        values[unknown] = 0.0
        further: dict[_Name, np.ndarray] = {}
        for place, dof in enumerate(dofs):
            column = place * _JOINT + _JOINT - 1
            further["offset", dof] = rows[:, [column]] * max(float(np.ptp(torque)), 1.0)
        every, priors = parameters_of(model), _priors(data[0])
        for body in range(1, model.nbody):
            places = np.flatnonzero(columns.links // 10 == body)
            if not len(places) or not model.body(body).name:
                continue  # it does not move, or cannot be named
            own = rows[:, first + places]
            further["mass", body] = PRIOR * (own @ every[columns.links[places]])[:, None]
            if body in priors:
                further["link", body] = own * priors[body][columns.links[places] % 10]
        return cls(rows[:, unknown], further, torque - rows @ values, len(dofs))

    @property
    def offsets(self) -> tuple[_Name, ...]:
        """Constant torques of all joints."""
        return self._of("offset")

    @property
    def masses(self) -> tuple[_Name, ...]:
        """Masses that torques feel."""
        return self._of("mass")

    @property
    def links(self) -> tuple[_Name, ...]:
        """Links that torques feel."""
        return self._of("link")

    def _of(self, kind: str) -> tuple[_Name, ...]:
        rows = max(len(self.right), 1)
        return tuple(
            name
            for name, column in self.further.items()
            if name[0] == kind and np.sqrt(np.square(column).sum(axis=0).max() / rows) > _FELT
        )

    def design(self, names: Sequence[_Name]) -> np.ndarray:
        """Columns of joints, and of some of the further ones ``(m, k)``."""
        return np.concatenate([self.joints, *(self.further[n] for n in names)], axis=1)


@dataclass(frozen=True)
class _Trial:
    """Least squares with some offsets, masses and links."""

    names: tuple[_Name, ...]
    squares: np.ndarray
    """Squared errors on the last part ``(T, dofs)``."""

    @property
    def error(self) -> float:
        """Root mean square error on the last part."""
        return float(np.sqrt(self.squares.mean()))

    @classmethod
    def of(cls, seen: _Part, unseen: _Part, names: Sequence[_Name]) -> "_Trial":
        """Fit to the first part, and errors on the last."""
        A = seen.design(names)
        count, joints = A.shape[1], seen.joints.shape[1]
        size = np.linalg.norm(A, axis=0)
        size[size == 0] = 1.0
        low = np.full(count, -np.inf)
        low[:joints] = 0.0
        # a row of one for each further column: its prior, in whose units it is
        prior = np.eye(count)[joints:]
        for k, (kind, _) in enumerate(names):
            if kind == "offset":
                prior[k] = 0.0
        starts = np.cumsum([0, *(seen.further[n].shape[1] for n in names)])
        for (kind, _), start in zip(names, starts, strict=False):
            low[joints + start] = (_LIGHTEST - 1.0) / PRIOR if kind == "mass" else -np.inf
        R, turned = triangle(A, seen.right)
        rows = np.concatenate([R, prior]) / size
        right = np.concatenate([turned, np.zeros(len(prior))])
        limits = low * size, np.full(count, np.inf)
        # an active set ends exactly, also where a value is at zero
        found = lsq_linear(rows, right, limits, method="bvls").x / size
        off = np.square(unseen.right - unseen.design(names) @ found)
        return cls(tuple(names), off.reshape(-1, seen.dofs))


def _with_masses(
    seen: _Part, unseen: _Part, before: _Trial, weights: np.ndarray
) -> tuple[_Trial, list[int]]:
    """The trial with masses that clearly reduce its error, each the best at its turn.

    Returns:
      The trial, and bodies whose masses do as well as one of it.
    """
    left, alike = list(seen.masses), []
    while left:
        trials = [_Trial.of(seen, unseen, (*before.names, name)) for name in left]
        least = min(trial.error for trial in trials)
        near = [trial for trial in trials if trial.error < _ALIKE * least]
        best = max(near, key=lambda trial: float(weights[trial.names[-1][1]]))
        if not _is_better(best, before):
            break
        alike += [trial.names[-1][1] for trial in near if trial is not best]
        before = best
        left.remove(best.names[-1])
    chosen = [body for kind, body in before.names if kind == "mass"]
    return before, [body for body in dict.fromkeys(alike) if body not in chosen]


def _is_better(own: _Trial, other: _Trial) -> bool:
    """Whether a trial predicts all torques, or those of some joint, better than a simpler one."""
    if _is_less(own.squares.sum(axis=1), other.squares.sum(axis=1)):
        return True
    pairs = zip(own.squares.T, other.squares.T, strict=True)
    return own.error < other.error and any(_is_less(*pair, _OF_JOINT) for pair in pairs)


def _is_less(own: np.ndarray, other: np.ndarray, worth: float = _WORTH) -> bool:
    """Whether squared errors ``(T,)`` are clearly smaller than others."""
    is_worth = own.sum() < (1.0 - worth) ** 2 * other.sum()
    return bool(is_worth and is_clearly_worse(block_sums(other), block_sums(own), _CHANCE))


def _priors(part: TorqueData) -> dict[int, np.ndarray]:
    """Standard deviations of the ten parameters of links, by body ``(10,)``.

    Of bodies that are fixed to each other, the heaviest one with a name.
    """
    model = part.model
    heaviest: dict[int, int] = {}
    for body in range(1, model.nbody):
        if model.body(body).name and model.body_mass[body] > 0:
            other = heaviest.setdefault(int(model.body_weldid[body]), body)
            if model.body_mass[body] > model.body_mass[other]:
                heaviest[int(model.body_weldid[body])] = body
    out = {}
    for body in heaviest.values():
        mass, moments = float(model.body_mass[body]), model.body_inertia[body]
        reach = float(np.sqrt(moments.sum() / (2.0 * mass)))
        lever = float(np.linalg.norm(model.body_ipos[body])) + reach
        out[body] = PRIOR * mass * np.array([1.0] + [reach] * 3 + [lever**2] * 6)
    return out
