"""Pooled estimate of several runs: common values, spread between runs, outlying runs.

Each run gives an estimate with a precision that may be singular. The model is
``estimate_r ~ N(value_r, C_r)``, ``value_r ~ N(common, diag(spread^2))``. The spread of each
element is that of Paule and Mandel (1982); its interval is the Q-profile of Viechtbauer (2007).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtrc, chdtri, fdtrc, stdtr, stdtrit

from trueup.errors import FitError
from trueup.fitting.uncertainty.gaussian import Gaussian

FEWEST = 3
"""Minimum number of runs to identify an outlying one."""
_ABSENT = 1e-12
_MOST_CHANGED = 8  # maximum number of elements that explain an outlying run


@dataclass(frozen=True)
class OutlyingRun:
    """A run that is not consistent with the others."""

    index: int
    probability: float
    """Probability of a run this far off under the model of the others (p-value)."""
    changed: tuple[int, ...]
    """Elements that explain the difference, strongest first."""
    shift: np.ndarray
    """Difference from the common values ``(p,)``."""


@dataclass(frozen=True)
class Pooled:
    """Common values of runs and the spread between them, in search coordinates."""

    names: tuple[str, ...]
    common: np.ndarray
    """Common values ``(p,)``."""
    covariance: np.ndarray
    """Covariance of the common values ``(p, p)``."""
    intervals: np.ndarray
    """Intervals of the common values ``(p, 2)``."""
    spread: np.ndarray
    """Standard deviation between runs ``(p,)``."""
    spread_intervals: np.ndarray
    """Their intervals ``(p, 2)``."""
    outlying: tuple[OutlyingRun, ...]
    level: float

    @property
    def new_run(self) -> np.ndarray:
        """Predictive covariance ``(p, p)`` of the values of another run."""
        return self.covariance + np.diag(self.spread**2)


def pool(runs: Sequence[Gaussian], level: float = 0.95, false_alarms: float = 0.05) -> Pooled:
    """Pool the estimates of runs.

    Outlying runs are removed one at a time, the worst first, each tested against the remaining
    ones.

    Args:
      runs: estimate of each run, of the same elements.
      level: coverage of the intervals.
      false_alarms: probability of any outlying run if all are consistent.

    Raises:
      FitError: fewer than three runs, or runs with different elements.
    """
    if len(runs) < FEWEST:
        raise FitError(f"reconciliation requires at least {FEWEST} runs, found {len(runs)}")
    if any(run.names != runs[0].names for run in runs):
        raise FitError("the runs have different parameters")
    centres = np.stack([run.centre for run in runs])
    precisions = np.stack([run.precision for run in runs])
    inside = list(range(len(runs)))
    found: dict[int, float] = {}
    while len(inside) > FEWEST:
        probabilities = [_probability(r, inside, centres, precisions) for r in inside]
        worst = int(np.argmin(probabilities))
        if probabilities[worst] * len(inside) >= false_alarms:
            break
        found[inside[worst]] = probabilities[worst]
        inside.pop(worst)
    spread = _spread(inside, centres, precisions)
    common, covariance, unknown = _common(inside, centres, precisions, spread)
    outlying = tuple(
        OutlyingRun(
            r,
            p,
            _changed(centres[r] - common, precisions[r], covariance + np.diag(spread**2)),
            centres[r] - common,
        )
        for r, p in found.items()
    )
    intervals = _intervals(common, covariance, spread, len(inside), level)
    intervals[unknown] = [-np.inf, np.inf]
    return Pooled(
        runs[0].names,
        common,
        covariance,
        intervals,
        spread,
        _spread_intervals(inside, centres, precisions, level),
        outlying,
        level,
    )


def _weight(precision: np.ndarray, added: np.ndarray) -> np.ndarray:
    """``(precision^-1 + added)^-1`` ``(p, p)`` for a precision that may be singular."""
    values, axes = np.linalg.eigh(0.5 * (added + added.T))
    root = axes * np.sqrt(np.maximum(values, 0.0))
    inner = np.eye(len(added)) + root.T @ precision @ root
    return precision - precision @ root @ np.linalg.solve(inner, root.T @ precision)


def _common(
    inside: Sequence[int], centres: np.ndarray, precisions: np.ndarray, spread: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Common values ``(p,)``, their covariance ``(p, p)``, undetermined elements ``(p,)``."""
    weights = [_weight(precisions[r], np.diag(spread**2)) for r in inside]
    total = np.sum(weights, axis=0)
    scale = _size(total)
    values, axes = np.linalg.eigh(_scaled(total))
    # a direction undetermined in all runs: its covariance is huge, not zero
    values = np.maximum(values, 0.01 * _ABSENT * max(values.max(initial=0.0), 1e-300))
    inverse = (axes / values) @ axes.T / np.outer(scale, scale)
    weighted = np.sum([w @ centres[r] for w, r in zip(weights, inside, strict=True)], axis=0)
    return inverse @ weighted, inverse, np.isinf(_variances(total[None])[0])


def _variances(precisions: np.ndarray) -> np.ndarray:
    """Variance of each element of each run ``(R, p)``; infinite where it is not determined."""
    out = []
    for precision in precisions:
        scale = _size(precision)
        values, axes = np.linalg.eigh(_scaled(precision))
        present = values > _ABSENT * max(values.max(initial=0.0), 1e-300)
        free = (axes[:, ~present] ** 2).sum(axis=1) > 1e-6
        variance = (axes[:, present] ** 2 / values[present]).sum(axis=1) / scale**2
        out.append(np.where(free, np.inf, variance))
    return np.array(out)


def _heterogeneity(squared_spread: float, values: np.ndarray, variances: np.ndarray) -> float:
    """Cochran's Q of one element for a spread between runs."""
    weights = 1.0 / (variances + squared_spread)
    middle = (weights @ values) / weights.sum()
    return float(weights @ (values - middle) ** 2)


def _squared_spread(values: np.ndarray, variances: np.ndarray, wanted: float) -> float:
    """Squared spread at which Q has a given value; 0 if Q is already below it."""
    if _heterogeneity(0.0, values, variances) <= wanted:
        return 0.0
    top = float(np.var(values)) * len(values) + float(variances.max()) + 1e-300
    while _heterogeneity(top, values, variances) > wanted:
        top *= 4.0
    root: Any = brentq(
        lambda s: _heterogeneity(s, values, variances) - wanted, 0.0, top, xtol=1e-12 * top
    )
    return float(root)


def _spread(
    inside: Sequence[int], centres: np.ndarray, precisions: np.ndarray, doubt: float = 1.0
) -> np.ndarray:
    """Spread of each element between runs ``(p,)``; 0 if not significant at the level ``doubt``."""
    variances = _variances(precisions[list(inside)])
    out = np.zeros(centres.shape[1])
    for i in range(len(out)):
        known = np.isfinite(variances[:, i])
        if known.sum() >= FEWEST:
            values, own = centres[list(inside), i][known], variances[known, i]
            if chdtrc(known.sum() - 1, _heterogeneity(0.0, values, own)) < doubt:
                out[i] = np.sqrt(_squared_spread(values, own, known.sum() - 1.0))
    return out


def _spread_intervals(
    inside: Sequence[int], centres: np.ndarray, precisions: np.ndarray, level: float
) -> np.ndarray:
    """Intervals of the spread ``(p, 2)``; the upper end is infinite with too few runs."""
    variances = _variances(precisions[list(inside)])
    out = np.tile([0.0, np.inf], (centres.shape[1], 1))
    for i in range(len(out)):
        known = np.isfinite(variances[:, i])
        if known.sum() >= FEWEST:
            values, own = centres[list(inside), i][known], variances[known, i]
            tails = chdtri(known.sum() - 1, [(1 - level) / 2, (1 + level) / 2])
            out[i] = [np.sqrt(_squared_spread(values, own, float(q))) for q in tails]
    return out


def _intervals(
    common: np.ndarray, covariance: np.ndarray, spread: np.ndarray, runs: int, level: float
) -> np.ndarray:
    """Intervals of the common values; Student's t for the share of the estimated spread."""
    variance = np.diag(covariance)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(np.where(variance > 0, spread**2 / runs / variance, 0.0), 1e-6, 1.0)
    reach = stdtrit((runs - 1) / share**2, (1 + level) / 2) * np.sqrt(variance)
    return np.stack([common - reach, common + reach], axis=1)


def _probability(
    run: int, inside: Sequence[int], centres: np.ndarray, precisions: np.ndarray
) -> float:
    """Probability of a run this far from the others, in all elements together or in one."""
    others = [r for r in inside if r != run]
    # a spread that is not significant would hide an outlying run
    spread = _spread(others, centres, precisions, doubt=0.2)
    common, covariance, _ = _common(others, centres, precisions, spread)
    added = covariance + np.diag(spread**2)
    shift = centres[run] - common
    weight = _weight(precisions[run], added)
    rank = int(np.linalg.matrix_rank(_scaled(precisions[run]), tol=1e-9, hermitian=True))
    own = _variances(precisions[run][None])[0]
    known = np.isfinite(own)
    if not rank or not known.any():
        return 1.0
    total = own[known] + np.diag(added)[known]
    share = np.clip(spread[known] ** 2 / total, 1e-3, 1.0)
    # Satterthwaite's degrees of freedom are too large this far in the tail: there half of the
    # variance from an estimated spread has the same effect as all of it
    freedom = (len(others) - 1) / np.minimum(2.0 * share, 1.0)
    single = 2.0 * stdtr(freedom, -np.abs(shift[known]) / np.sqrt(total))
    together = fdtrc(rank, float(freedom.min()), float(shift @ weight @ shift) / rank)
    # two tests of one run: each has half of the probability of a false alarm
    return float(min(1.0, 2.0 * min(together, float(single.min()) * known.sum())))


def _size(precision: np.ndarray) -> np.ndarray:
    """Scale of each element: roots of the diagonal, 1 where undetermined."""
    diagonal = np.diag(precision)
    return np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))


def _scaled(matrix: np.ndarray) -> np.ndarray:
    return matrix / np.outer(_size(matrix), _size(matrix))


def _changed(shift: np.ndarray, precision: np.ndarray, added: np.ndarray) -> tuple[int, ...]:
    """Elements that must change for the others of a run to be consistent, strongest first."""
    weight = _weight(precision, added)
    chosen: list[int] = []
    while len(chosen) < min(_MOST_CHANGED, len(shift)):
        rest = [i for i in range(len(shift)) if i not in chosen and weight[i, i] > 0]
        if not rest:
            break
        left = [_distance(shift, weight, [*chosen, i]) for i in rest]
        now = _distance(shift, weight, chosen)
        best = int(np.argmin(left))
        if chosen and chdtrc(1, now - left[best]) * len(rest) > 0.05:
            break
        chosen.append(rest[best])
    return tuple(chosen)


def _distance(shift: np.ndarray, weight: np.ndarray, free: list[int]) -> float:
    """Squared Mahalanobis distance with some elements free."""
    whole = float(shift @ weight @ shift)
    if not free:
        return whole
    pull = (weight @ shift)[free]
    return whole - float(pull @ np.linalg.pinv(weight[np.ix_(free, free)], hermitian=True) @ pull)
