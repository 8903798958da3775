"""Causes of the torque error that a fit leaves: faults of the log, and values that are not fitted.

Torques are linear in all that is tested here but a delay and an exchange of columns, which give
other torques to the same regressor. Each cause is freed together with the parameters of the fit, by
linear least squares within their bounds, and confirmed on held-out data; the best one is kept, and
the rest of the error is explained in the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import lsq_linear

from trueup.fitting.judgement.paired_errors import CHANCE, block_sums, is_clearly_worse
from trueup.fitting.linearisation import final_jacobian
from trueup.sysid.torque.cause_columns import (
    Candidate,
    Column,
    Torques,
    Words,
    columns_of,
    is_scale,
)
from trueup.sysid.torque.data import joint_names
from trueup.sysid.torque.known_errors import OwnErrors
from trueup.sysid.torque.problem import TorqueProblem, TorqueSequence

LONGEST = 0.5
"""Longest delay of recorded torques that is tested [s]."""

_WORTH = 0.05  # minimum relative reduction of the held-out error by a cause
_CLEAR = 3.0  # minimum size of one of its values in standard errors
_PROMISE = 0.02  # minimum relative reduction of the cost without bounds for a test
_ROUNDS = 3
_SHOWN = 3  # maximum number of other causes in a sentence
_WEAK = 1e-9  # smallest effect of a column, relative to the largest
_FAST = 0.4  # share of the RMS velocity above which friction has one direction
_LAGS = 201  # number of tested delays, negative ones included
_PART = 0.1  # longest delay relative to the length of a recording
_SIGN = (0.6, 1.6)  # range of the factor of a torque with the opposite sign
_ALIKE = 1.1  # ratio of held-out errors up to which the cause with fewer unknowns is preferred


@dataclass(frozen=True)
class TorqueCause:
    """A cause of the torque error that a fit leaves."""

    kind: str
    cause: str
    """The cause as a noun phrase, with its place."""
    head: str
    """Clause with its values."""
    advice: str
    """Advice, as a sentence."""
    gain: float
    """Relative reduction of the held-out error."""
    share: float
    """Fraction of the squared held-out error of the fit that it explains."""
    where: str
    """Name of the held-out data."""
    values: dict[str, float] = field(default_factory=dict)
    """Parameters of the fit with the cause, by name."""
    alike: tuple[str, ...] = ()
    """Other causes that explain the held-out data nearly as well, as noun phrases."""

    @property
    def sentence(self) -> str:
        """Sentence on the cause, its effect, and what to do."""
        text = (
            f"{self.head}: this reduces the torque error on {self.where} by "
            f"{100 * self.gain:.2g} %."
        )
        if self.alike:
            text += f" The data hardly distinguish it from {', or '.join(self.alike)}."
        return f"{text} {self.advice}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": self.kind,
            "cause": self.cause,
            "alike": list(self.alike),
            "gain": self.gain,
            "share": self.share,
            "sentence": self.sentence,
        }


def torque_causes(
    seen: TorqueProblem, unseen: TorqueProblem, x: np.ndarray, where: str
) -> list[TorqueCause]:
    """Causes of the torque error of a fit, the one that explains most first.

    A cause has a size that machines have and that the data show, and with it the model predicts the
    held-out torques better than a constant does.

    Args:
      seen: problem of the recordings of the fit.
      unseen: problem of held-out recordings, with the same parameters.
      x: the fit ``(p,)``.
      where: name of the held-out recordings.
    """
    sides = (_Side(seen, x), _Side(unseen, x))
    bounds = seen.space.lower - x, seen.space.upper - x
    candidates = [*_late_torques(seen, x), *_of_log(seen), *columns_of(seen, x)]
    chosen: list[Candidate] = []
    out: list[TorqueCause] = []
    first = _Trial.of(sides, bounds, [])
    if first is None:
        return []
    before, constant = first, _error_of_constants(*sides)
    for _ in range(_ROUNDS):
        left = [c for c in candidates if c not in chosen]
        found = [(c, _Trial.of(sides, bounds, [*chosen, c], before.cost)) for c in left]
        trials = [
            (c, t) for c, t in found if t is not None and t.error < constant and t.is_clear(c)
        ]
        if not trials:
            break
        least = min(t.error for _, t in trials)
        near = [(c, t) for c, t in trials if t.error < _ALIKE * least]
        best, trial = min(near, key=lambda pair: (pair[1].count(pair[0]), pair[1].error))
        gain = 1.0 - float(np.sqrt(trial.error / max(before.error, 1e-300)))
        chance = CHANCE / len(candidates)
        if gain < _WORTH or not is_clearly_worse(before.blocks, trial.blocks, chance):
            break
        kind, head, advice = best.words(
            np.array([trial.values.get(c, (0.0, 0.0))[0] for c in best.columns])
        )
        values = dict(zip(seen.space.names, map(float, x + trial.steps), strict=True))
        alike = tuple(c.cause for c, _ in near if c is not best)[:_SHOWN]
        share = (before.error - trial.error) / max(first.error, 1e-300)
        out.append(
            TorqueCause(kind, best.cause, head, advice, gain, float(share), where, values, alike)
        )
        chosen.append(best)
        before = trial
    return sorted(out, key=lambda cause: -cause.share)


class _Side:
    """Weighted torques, regressor and columns of some recordings."""

    def __init__(self, problem: TorqueProblem, x: np.ndarray, slow: bool = True):
        self.sequences = problem.sequences
        _, jacobian, _ = final_jacobian(problem, x, central=False)
        slope = problem.space.slope(x)
        # the residual is applied minus needed torque: a step of a parameter adds its column
        self.jacobian = np.asarray(jacobian[: problem.data_rows]) / np.where(slope, slope, 1.0)
        self.counts = [s.data.counts if slow else s.data.counts * _fast(s) for s in self.sequences]
        """Samples that count, as factors 0 and 1 ``(T, C)``, by recording."""
        self.jacobian = self.jacobian * np.concatenate([c.reshape(-1, 1) for c in self.counts])
        pairs = problem.predictions(x[None])
        self.applied = [applied[0] for applied, _ in pairs]
        self.needed = [needed[0] for _, needed in pairs]
        self.joints = np.concatenate([np.tile(np.arange(a.shape[1]), len(a)) for a in self.applied])
        """Index of the joint of each row."""
        self._columns: dict[Column, np.ndarray] = {}

    @cached_property
    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Orthonormal basis of the columns of the parameters ``(rows, p)``, and their triangle."""
        basis, triangle = np.linalg.qr(self.jacobian)
        return basis, triangle

    def triangle(self, columns: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Triangle of the columns of the parameters, of others ``(rows, n)`` and of a right side.

        All trials share the first ones, whose factors are known.
        """
        basis, known = self.factors
        more = np.column_stack([columns, right])
        within = basis.T @ more
        rest = np.linalg.qr(more - basis @ within, mode="r")
        below = np.zeros((len(rest), known.shape[1]))
        return np.block([[known, within], [below, rest]])

    def residual(self, torques: Sequence[Torques]) -> np.ndarray:
        """Weighted applied minus needed torque ``(rows,)``, with the faults of a log undone."""
        out = []
        for sequence, applied, needed, counts in zip(
            self.sequences, self.applied, self.needed, self.counts, strict=True
        ):
            for undo in torques:
                applied = undo(sequence, applied)
            out.append(((applied - needed) * sequence.weights * counts).reshape(-1))
        return np.concatenate(out)

    def column(self, column: Column) -> np.ndarray:
        """Weighted change of the residual per unit of a column ``(rows,)``."""
        if column not in self._columns:
            parts = [
                (column.of(s.data, applied) * s.weights * counts).reshape(-1)
                for s, applied, counts in zip(
                    self.sequences, self.applied, self.counts, strict=True
                )
            ]
            self._columns[column] = np.concatenate(parts)
        return self._columns[column]


def _fast(sequence: TorqueSequence) -> np.ndarray:
    """Samples at which joints are not near rest ``(T, C)`` bool."""
    speed = np.abs(sequence.data.motion.qvel[:, list(sequence.data.sources.dofs)])
    return speed > _FAST * np.sqrt(np.mean(np.square(speed), axis=0))


@dataclass(frozen=True)
class _Trial:
    """Least squares with some causes."""

    cost: float
    """Sum of squared residuals of the fit."""
    steps: np.ndarray
    """Changes of the parameters ``(p,)``."""
    values: dict[Column, tuple[float, float]]
    """Value and standard error of each column."""
    error: float
    """Sum of squared held-out residuals."""
    blocks: np.ndarray
    """Sums of squared residuals over blocks of time, of the fit and held out. The few blocks that
    are held out rarely prove a cause that reduces all of them."""

    @classmethod
    def of(
        cls,
        sides: tuple[_Side, _Side],
        bounds: tuple[np.ndarray, np.ndarray],
        candidates: Sequence[Candidate],
        limit: float = np.inf,
    ) -> "_Trial | None":
        """Fit to the first side, and errors on the second.

        None if its columns have no effect, or if the cost without bounds is near the limit already.
        """
        columns = list(dict.fromkeys(c for each in candidates for c in each.columns))
        torques = [each.torques for each in candidates if each.torques is not None]
        further = [_stacked([side.column(c) for c in columns], len(side.joints)) for side in sides]
        rights = [side.residual(torques) for side in sides]
        R = sides[0].triangle(further[0], rights[0])
        size = np.linalg.norm(R[:, :-1], axis=0)
        acts = size > _WEAK * max(float(size.max()), 1e-300)
        if columns and not acts[len(size) - len(columns) :].any():
            return None
        size[~acts] = 1.0
        R[:, :-1] *= acts / size
        count = len(size)
        rest = np.linalg.lstsq(R[:, :-1], R[:, -1], rcond=1e-10)[0]
        if float(np.sum(np.square(R[:, :-1] @ rest - R[:, -1]))) > (1.0 - _PROMISE) * limit:
            return None
        low, high = np.full(count, -np.inf), np.full(count, np.inf)
        low[: len(bounds[0])], high[: len(bounds[1])] = bounds
        low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        inside = np.where(high > low, high, low + 1e-12)
        found = lsq_linear(R[:, :-1], -R[:, -1], (low * size, inside * size))
        steps = found.x / size
        moved = np.where(acts, steps, 0.0)
        first = count - len(columns)
        errors = [
            right + side.jacobian @ moved[:first] + more @ moved[first:]
            for right, side, more in zip(rights, sides, further, strict=True)
        ]
        for column, step in zip(columns, steps[count - len(columns) :], strict=True):
            if column.kind == "scale":  # errors are those of the recorded torque, as its noise is
                for off, side in zip(errors, sides, strict=True):
                    off[side.joints == column.index] /= max(abs(1.0 + step), 1e-12)
        free = np.isclose(found.active_mask, 0)
        inverse = np.linalg.pinv(R[:count, :-1][:, free], rcond=1e-10)
        freedom = max(len(rights[0]) - count, 1)
        variance = 2.0 * found.cost / freedom
        spread = np.zeros(count)
        spread[free] = np.sqrt(variance * np.sum(inverse**2, axis=1)) / size[free]
        values = {
            c: (float(steps[first + k]), float(spread[first + k]))
            for k, c in enumerate(columns)
            if acts[first + k]
        }
        squares = [np.square(off) for off in errors]
        blocks = np.concatenate([block_sums(each) for each in squares])
        error = float(squares[1].sum())
        return cls(2.0 * float(found.cost), steps[: len(bounds[0])], values, error, blocks)

    def count(self, candidate: Candidate) -> int:
        """Number of unknowns of a cause that have an effect."""
        return sum(c in self.values for c in candidate.columns)

    def is_clear(self, candidate: Candidate) -> bool:
        """Whether the values of a cause are physical, and differ clearly from zero.

        The factor of a torque differs clearly from zero and from one.
        """
        if not candidate.columns:
            return True
        found = [self.values.get(c, (0.0, 0.0)) for c in candidate.columns]
        if not candidate.is_physical(np.array([value for value, _ in found])):
            return False
        deciding = found[:1] if candidate.by_first else found
        clear = any(abs(v) > _CLEAR * max(s, 1e-300) for v, s in deciding)
        lead, (value, spread) = candidate.columns[0], found[0]
        return clear and (lead.kind != "scale" or abs(1.0 + value) > _CLEAR * spread)


def _stacked(columns: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """Columns side by side ``(rows, n)``."""
    return np.stack(columns, axis=1) if columns else np.zeros((rows, 0))


def _error_of_constants(seen: _Side, unseen: _Side) -> float:
    """Sum of squared held-out residuals of the mean torque of each joint."""
    total = 0.0
    means = np.mean(np.concatenate(seen.applied), axis=0)
    for sequence, applied, counts in zip(
        unseen.sequences, unseen.applied, unseen.counts, strict=True
    ):
        total += float(np.sum(np.square((applied - means) * sequence.weights * counts)))
    return total


# --- causes --------------------------------------------------------------------------------------


def _late_torques(problem: TorqueProblem, x: np.ndarray) -> list[Candidate]:
    """The delays of all recorded torques, and of each, with the smallest error without bounds."""
    known = _efforts(problem)
    longest = min(LONGEST, min(_PART * float(np.ptp(s.times)) for s in problem.sequences))
    lags = np.linspace(-longest, longest, _LAGS)
    if not known:
        return []
    # the own errors are those of a model that was fitted to late torques
    side = _Side(problem.with_own_errors(OwnErrors(x, "zoh", {})), x, slow=False)
    size = np.linalg.norm(side.jacobian, axis=0)
    basis, _ = np.linalg.qr(side.jacobian[:, size > 0] / size[size > 0])
    part = problem.sequences[0].data
    names = joint_names(part.model, part.sources.dofs)
    which = [(known, ""), *(([k], names[k]) for k in known if len(known) > 1)]
    base, changes = side.residual([]), _changes_of_shifts(side, lags)
    out = []
    for chosen, name in which:
        moved = np.isin(side.joints, chosen)
        rights, rest = base[moved, None] + changes[moved], base[~moved]
        inside = (basis[~moved].T @ rest)[:, None] + basis[moved].T @ rights
        costs = rest @ rest + np.sum(rights**2, axis=0) - np.sum(inside**2, axis=0)
        lag, spread = _lowest(lags, costs, len(base) - basis.shape[1])
        if costs.min() > (1.0 - _PROMISE) * costs[_LAGS // 2] or abs(lag) < _CLEAR * spread:
            continue
        cause = f"delay of the recorded torque{f' of {name}' if name else 's'}"
        out.append(Candidate(cause, _late(lag, name), torques=_shifted(chosen, lag)))
    return out


def _changes_of_shifts(side: _Side, lags: np.ndarray) -> np.ndarray:
    """Weighted changes of the residual ``(rows, lags)`` by torques that are all late."""
    parts = []
    for sequence, applied, counts in zip(side.sequences, side.applied, side.counts, strict=True):
        times = sequence.times
        spline = CubicSpline(times, applied)
        at = np.clip(times[:, None] + lags, times[0], times[-1])
        change = (spline(at) - applied[:, None]) * (sequence.weights * counts)[:, None]
        parts.append(change.transpose(0, 2, 1).reshape(-1, len(lags)))
    return np.concatenate(parts)


def _lowest(at: np.ndarray, costs: np.ndarray, freedom: int) -> tuple[float, float]:
    """Place of the lowest cost on a grid, by a parabola through its neighbours, and its error.

    Args:
      at: places ``(n,)``.
      costs: sums of squared residuals at these ``(n,)``.
      freedom: degrees of freedom of the residuals.

    Returns:
      The place and its standard error.
    """
    k = int(np.clip(np.argmin(costs), 1, len(costs) - 2))
    before, here, after = costs[k - 1 : k + 2]
    bend = before - 2.0 * here + after
    if bend <= 0:
        return float(at[k]), np.inf
    step = float(at[1] - at[0])
    part = np.clip(0.5 * (before - after) / bend, -1.0, 1.0)
    spread = step * np.sqrt(2.0 * here / (max(freedom, 1) * bend))
    return float(at[k] + part * step), float(spread)


def _of_log(problem: TorqueProblem) -> list[Candidate]:
    """Exchanges, signs and scales of recorded torques."""
    known = _efforts(problem)
    part = problem.sequences[0].data
    names = joint_names(part.model, part.sources.dofs)
    out = []
    for k, j in combinations(known, 2):
        pair = (names[k], names[j])
        cause = f"exchanged torques of {' and '.join(pair)}"
        out.append(Candidate(cause, _exchanged(pair), torques=_swapped(k, j)))
    for k in known:
        cause, column = f"scale of the torque of {names[k]}", Column("scale", k, names[k])
        out.append(Candidate(cause, _scaled(names[k]), (column,), is_physical=is_scale))
    return out


def _efforts(problem: TorqueProblem) -> list[int]:
    """Joints with a recorded torque, as indices among those of all recordings."""
    part = problem.sequences[0].data
    if any(s.data.sources.dofs != part.sources.dofs for s in problem.sequences):
        return []
    return [k for k, dof in enumerate(part.sources.dofs) if part.is_effort(dof)]


def _shifted(known: Sequence[int], lag: float) -> Torques:
    def undo(sequence: Any, applied: np.ndarray) -> np.ndarray:
        times = sequence.times
        at = np.clip(times + lag, times[0], times[-1])
        out = applied.copy()
        out[:, known] = CubicSpline(times, applied[:, known])(at)
        return out

    return undo


def _swapped(k: int, j: int) -> Torques:
    def undo(sequence: Any, applied: np.ndarray) -> np.ndarray:
        del sequence
        out = applied.copy()
        out[:, [k, j]] = applied[:, [j, k]]
        return out

    return undo


def _late(lag: float, name: str) -> Words:
    side = "late" if lag > 0 else "early"
    what = f"torque of {name} is" if name else "torques are"
    return lambda values: (
        "late-torques",
        f"The recorded {what} {side} by {abs(lag):.2g} s against the motion",
        "Correct their times: they have another clock, or a filter delays them.",
    )


def _exchanged(pair: tuple[str, str]) -> Words:
    return lambda values: (
        "exchanged-torques",
        f"The recorded torques of {' and '.join(pair)} look exchanged",
        "Exchange the columns under controls.",
    )


def _scaled(name: str) -> Words:
    def words(values: np.ndarray) -> tuple[str, str, str]:
        factor = 1.0 + float(values[0])
        if _SIGN[0] < -factor < _SIGN[1]:
            return (
                "torque-sign",
                f"The recorded torque of {name} has the opposite sign",
                "Give scale: -1 in controls, or correct the axis of the joint.",
            )
        return (
            "torque-scale",
            f"The torque of {name} is {factor:.3g} times the recorded one",
            "Check its unit, gear and torque constant, and give scale in controls.",
        )

    return words
