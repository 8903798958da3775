"""Identifiability of parameters, and of their combinations, from a recording."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.errors import FitError
from trueup.fitting.judgement.identifiability_words import (
    direction_sentence,
    no_effect_sentence,
    weak_sentence,
)
from trueup.fitting.uncertainty.information import ABSENT_EIGENVALUE, PART_IN_DIRECTION

__all__ = [
    "CollinearPair",
    "Identifiability",
    "UnidentifiableDirection",
    "WeakDirection",
    "analyse",
]

NO_EFFECT = 1e-9
"""Sensitivity, relative to that of the strongest parameter, that counts as zero."""


@dataclass(frozen=True)
class UnidentifiableDirection:
    """A change of parameters without effect on the recorded signals.

    Args:
        coefficients: Relative change of each parameter in it (of its magnitude, or of its
            range where it is near zero), the largest being 1.
        raw: The same change in units of the parameters.
        sentence: Description of the direction, and the combination that can be determined instead.
    """

    coefficients: dict[str, float]
    raw: dict[str, float]
    sentence: str


@dataclass(frozen=True)
class WeakDirection:
    """A change of parameters with a small effect on the recorded signals.

    Args:
      coefficients: Relative change of each parameter in it, the largest being 1.
      uncertainty: Half-width of the 95 % interval along it, as a relative change of the parameter
        with the largest coefficient; None if the noise is unknown.
      sentence: Description of the direction.
    """

    coefficients: dict[str, float]
    uncertainty: float | None
    sentence: str


@dataclass(frozen=True)
class CollinearPair:
    """Two parameters with nearly the same effect.

    Args:
        first: Name of one.
        second: Name of the other.
        correlation: Correlation of their estimates, with all other parameters free.
        collinearity: Collinearity index of the two alone; above 10 to 15 they are poorly
            distinguishable (Brun, Reichert and Kuensch 2001).
    """

    first: str
    second: str
    correlation: float
    collinearity: float


@dataclass(frozen=True)
class Identifiability:
    """Identifiability analysis of a Jacobian.

    Args:
        names: Names of the parameters.
        singular_values: ``(p,)`` of the Jacobian by relative changes, largest first.
        vectors: ``(p, p)`` their directions, one per column, in relative changes.
        condition: Largest over smallest singular value; infinite where a direction is absent.
        collinearity: Collinearity index of all parameters that have an effect (Brun et al. 2001);
            infinite where a direction is absent.
        correlation: ``(p, p)`` correlation of the estimates.
        variance_shares: ``(p, p)`` share of each parameter's (row's) variance that comes from each
            singular direction (column), as in Belsley, Kuh and Welsch 1980.
        pairs: Pairs with a correlation above 0.95 or a collinearity above 10, worst first.
        directions: Directions that the data do not determine.
        weak: Directions that they weakly determine.
        no_effect: Names of parameters without any effect.
        determined: Names of parameters outside all of ``directions`` and ``no_effect``.
        sentences: The findings in sentences; one sentence if every parameter is identifiable.
    """

    names: tuple[str, ...]
    singular_values: np.ndarray
    vectors: np.ndarray
    condition: float
    collinearity: float
    correlation: np.ndarray
    variance_shares: np.ndarray
    pairs: tuple[CollinearPair, ...]
    directions: tuple[UnidentifiableDirection, ...]
    weak: tuple[WeakDirection, ...]
    no_effect: tuple[str, ...]
    determined: tuple[str, ...]
    sentences: tuple[str, ...]

    @property
    def identifiable(self) -> bool:
        """True if every parameter can be determined individually."""
        return len(self.determined) == len(self.names)


def analyse(
    sensitivity: np.ndarray,
    x: np.ndarray,
    names: Sequence[str] = (),
    lower: np.ndarray | None = None,
    upper: np.ndarray | None = None,
    covariance: np.ndarray | None = None,
    *,
    reference: np.ndarray | None = None,
    is_information: bool | None = None,
    largest_uncertainty: float = 0.5,
    threshold: float = ABSENT_EIGENVALUE,
) -> Identifiability:
    """Find which combinations of parameters the data determine.

    Parameters are scaled by their magnitude (by their range, or by one, where they are near zero),
    so that directions read as relative changes. Whether a direction is absent is decided on columns
    of unit length and does not depend on that scale.

    Args:
        sensitivity: Jacobian ``(m, p)``, or ``J' J`` ``(p, p)``.
        x: ``(p,)`` values of the parameters.
        names: Their names.
        lower: ``(p,)`` lower bounds.
        upper: ``(p,)`` upper bounds.
        covariance: ``(p, p)`` covariance of the estimates; with it, weak directions are those
            uncertain by more than ``largest_uncertainty``, without it those with a singular value
            a thousand times below the largest.
        reference: ``(p,)`` typical values, such as the start of a fit: the magnitude of a parameter
            is at least theirs, so that a value near zero is not measured by itself.
        is_information: Whether ``sensitivity`` is ``J' J``; default: if it is square and symmetric.
        largest_uncertainty: Half-width of a 95 % interval, relative to value or range, above which
            a direction counts as weak.
        threshold: Relative eigenvalue of ``J' J`` (columns of unit length) below which a direction
            counts as absent.

    Raises:
        FitError: Shapes do not match, or values that are not finite.
    """
    root, p = _square_root(sensitivity, is_information)
    values, labels = _checked_values(x, names, p)
    scale, by_range = _relative_scale(values, lower, upper, reference)
    effect = np.linalg.norm(root, axis=0)
    visible = effect * scale > NO_EFFECT * float((effect * scale).max(initial=0.0))

    _, singular, transposed = np.linalg.svd(root * scale)
    singular = np.concatenate([singular, np.zeros(p - len(singular))])
    unit = root[:, visible] / effect[visible]
    _, unit_values, unit_directions = np.linalg.svd(unit)
    unit_values = np.concatenate([unit_values, np.zeros(visible.sum() - len(unit_values))])
    present = unit_values**2 > threshold * float((unit_values**2).max(initial=0.0))

    absent = np.zeros((int((~present).sum()), p))
    absent[:, visible] = unit_directions[~present] / effect[visible]
    directions = [
        _described_direction(row, labels, scale, by_range, values < 0.0)
        for row in _sparse_rows(absent / scale)
    ]
    # Components are compared on columns of unit length, which are independent of units.
    involved = np.zeros(p, dtype=bool)
    if len(directions):
        involved[visible] = np.abs(unit_directions[~present]).max(axis=0) > PART_IN_DIRECTION
    correlation = _correlation(unit_values, unit_directions, present, visible, involved)
    pairs = _pairs(unit, np.flatnonzero(visible), correlation, labels)
    whole = bool(visible.all() and present.all())
    weak = _weak_directions(
        singular,
        transposed,
        covariance,
        visible & ~involved,
        labels,
        scale,
        by_range,
        largest_uncertainty,
        "value" if reference is None else "size",
    )
    no_effect = tuple(labels[i] for i in np.flatnonzero(~visible))
    determined = tuple(labels[i] for i in np.flatnonzero(visible & ~involved))
    return Identifiability(
        names=labels,
        singular_values=singular,
        vectors=transposed.T,
        condition=float(singular[0] / singular[-1]) if whole else np.inf,
        collinearity=float(1.0 / unit_values[-1]) if len(present) and present.all() else np.inf,
        correlation=correlation,
        variance_shares=_variance_shares(singular, transposed),
        pairs=pairs,
        directions=tuple(directions),
        weak=weak,
        no_effect=no_effect,
        determined=determined,
        sentences=_sentences(no_effect, directions, weak, pairs, determined, labels),
    )


def _square_root(sensitivity: np.ndarray, is_information: bool | None) -> tuple[np.ndarray, int]:
    """Return a ``(p, p)`` matrix with the same J'J, independent of the number of samples."""
    table = np.asarray(sensitivity, dtype=float)
    if table.ndim != 2 or table.shape[1] == 0:
        raise FitError(
            f"the Jacobian has shape {table.shape}; give (residuals, parameters) or J'J."
        )
    if not np.isfinite(table).all():
        raise FitError("the Jacobian is not finite: a perturbed simulation diverged.")
    square = table.shape[0] == table.shape[1]
    if is_information is None:
        is_information = square and bool(
            np.abs(table - table.T).max() <= 1e-9 * np.abs(table).max(initial=0.0)
        )
    if not is_information:
        return np.asarray(np.linalg.qr(table, mode="r")), table.shape[1]
    if not square:
        raise FitError(f"J'J has shape {table.shape}; it must be square.")
    diagonal = np.sqrt(np.clip(np.diag(table), 0.0, None))
    safe = np.where(diagonal > 0.0, diagonal, 1.0)
    values, vectors = np.linalg.eigh(0.5 * (table + table.T) / np.outer(safe, safe))
    return np.sqrt(np.clip(values, 0.0, None))[:, None] * vectors.T * diagonal, table.shape[1]


def _checked_values(
    x: np.ndarray, names: Sequence[str], p: int
) -> tuple[np.ndarray, tuple[str, ...]]:
    values = np.asarray(x, dtype=float)
    labels = tuple(names) or tuple(f"parameter {i}" for i in range(p))
    if values.shape != (p,) or len(labels) != p:
        raise FitError(
            f"expected one value and one name for each of the {p} columns of the Jacobian, found "
            f"{values.size} values and {len(labels)} names."
        )
    return values, labels


def _relative_scale(
    values: np.ndarray,
    lower: np.ndarray | None,
    upper: np.ndarray | None,
    reference: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    low = np.full(len(values), -np.inf) if lower is None else np.asarray(lower, dtype=float)
    high = np.full(len(values), np.inf) if upper is None else np.asarray(upper, dtype=float)
    if low.shape != values.shape or high.shape != values.shape:
        raise FitError(
            f"bounds have shapes {low.shape} and {high.shape}, expected ({len(values)},)."
        )
    width = high - low
    bounded = np.isfinite(width) & (width > 0.0)
    width = np.where(bounded, width, 1.0)
    size = np.abs(values)
    if reference is not None:
        size = np.maximum(size, np.abs(reference))
    near_zero = size <= np.where(bounded, 1e-6 * width, 0.0)
    return np.where(near_zero, width, size), near_zero


def _sparse_rows(rows: np.ndarray) -> np.ndarray:
    """Return a sparse basis of the same row space (Gauss-Jordan elimination with full pivoting)."""
    rows = rows.copy()
    free = np.ones(len(rows), dtype=bool)
    for _ in range(len(rows)):
        scaled = np.abs(rows) / np.abs(rows).max(axis=1, keepdims=True)
        scaled[~free] = 0.0
        # The first pivot among equals keeps the order of the parameters.
        pivot, column = np.argwhere(scaled >= scaled.max() * (1.0 - 1e-6))[0]
        rows[pivot] /= rows[pivot, column]
        free[pivot] = False
        for other in range(len(rows)):
            if other != pivot:
                rows[other] -= rows[other, column] * rows[pivot]
    return rows


def _described_direction(
    relative: np.ndarray,
    labels: tuple[str, ...],
    scale: np.ndarray,
    by_range: np.ndarray,
    negative: np.ndarray,
) -> UnidentifiableDirection:
    relative = relative / np.abs(relative).max()
    part = np.flatnonzero(np.abs(relative) > PART_IN_DIRECTION)
    relative = relative * np.sign(relative[part[0]])
    names = [labels[i] for i in part]
    raw = relative * scale
    return UnidentifiableDirection(
        {name: float(relative[i]) for name, i in zip(names, part)},
        {name: float(raw[i]) for name, i in zip(names, part)},
        direction_sentence(names, relative[part], raw[part], by_range[part], negative[part]),
    )


def _correlation(
    unit_values: np.ndarray,
    unit_directions: np.ndarray,
    present: np.ndarray,
    visible: np.ndarray,
    involved: np.ndarray,
) -> np.ndarray:
    """Correlation of the estimates; in absent directions that of the free movement."""
    p = len(visible)
    kept = unit_directions[present] / unit_values[present][:, None]
    part = _normalised(kept.T @ kept)
    loose = involved[visible]
    if loose.any():
        gone = unit_directions[~present]
        free = _normalised(gone.T @ gone)
        part[loose, :] = 0.0
        part[:, loose] = 0.0
        part[np.ix_(loose, loose)] = free[np.ix_(loose, loose)]
    correlation = np.eye(p)
    correlation[np.ix_(visible, visible)] = part
    np.fill_diagonal(correlation, 1.0)
    return correlation


def _normalised(matrix: np.ndarray) -> np.ndarray:
    deviation = np.sqrt(np.clip(np.diag(matrix), 0.0, None))
    scale = np.outer(deviation, deviation)
    return np.divide(matrix, scale, out=np.zeros_like(matrix), where=scale > 0.0)


def _pairs(
    unit: np.ndarray, visible: np.ndarray, correlation: np.ndarray, labels: tuple[str, ...]
) -> tuple[CollinearPair, ...]:
    cosine = np.clip(np.abs(unit.T @ unit), 0.0, 1.0)
    pairs = []
    for a, b in zip(*np.triu_indices(len(visible), 1)):
        remainder = max(1.0 - float(cosine[a, b]), np.finfo(float).eps)
        index = float(1.0 / np.sqrt(remainder))
        related = float(correlation[visible[a], visible[b]])
        if index > 10.0 or abs(related) > 0.95:
            pairs.append(CollinearPair(labels[visible[a]], labels[visible[b]], related, index))
    return tuple(sorted(pairs, key=lambda pair: -abs(pair.correlation)))


def _weak_directions(
    singular: np.ndarray,
    transposed: np.ndarray,
    covariance: np.ndarray | None,
    candidates: np.ndarray,
    labels: tuple[str, ...],
    scale: np.ndarray,
    by_range: np.ndarray,
    largest_uncertainty: float,
    size: str = "value",
) -> tuple[WeakDirection, ...]:
    chosen = np.flatnonzero(candidates)
    if covariance is None:
        ratio = singular / max(float(singular.max(initial=0.0)), np.finfo(float).tiny)
        found = [
            (None, row[chosen])
            for row, share in zip(transposed, ratio)
            if share < 1e-3 and np.abs(row[chosen]).max(initial=0.0) > 0.5
        ]
    else:
        relative = np.asarray(covariance, dtype=float)[np.ix_(chosen, chosen)]
        relative = relative / np.outer(scale[chosen], scale[chosen])
        if not np.isfinite(relative).all():
            raise FitError("the covariance of the determined parameters is not finite.")
        values, vectors = np.linalg.eigh(relative)
        half_widths = 1.96 * np.sqrt(np.clip(values, 0.0, None)) * np.abs(vectors).max(axis=0)
        found = [
            (float(half_width), vector)
            for half_width, vector in zip(half_widths, vectors.T)
            if half_width > largest_uncertainty
        ]
    weak = []
    for uncertainty, vector in found:
        vector = vector / vector[int(np.argmax(np.abs(vector)))]
        order = np.argsort(-np.abs(vector), kind="stable")
        order = order[np.abs(vector[order]) > 0.1]
        names = [labels[chosen[i]] for i in order]
        weak.append(
            WeakDirection(
                {name: float(vector[i]) for name, i in zip(names, order)},
                uncertainty,
                weak_sentence(
                    names,
                    vector[order],
                    by_range[chosen[order]],
                    uncertainty,
                    size,
                    float(scale[chosen[order[0]]]),
                ),
            )
        )
    return tuple(weak)


def _variance_shares(singular: np.ndarray, transposed: np.ndarray) -> np.ndarray:
    largest = float(singular.max(initial=0.0))
    if largest == 0.0:
        return transposed.T**2
    parts = (transposed.T / np.maximum(singular / largest, 1e-12)) ** 2
    return parts / parts.sum(axis=1, keepdims=True)


def _sentences(
    no_effect: tuple[str, ...],
    directions: Sequence[UnidentifiableDirection],
    weak: Sequence[WeakDirection],
    pairs: Sequence[CollinearPair],
    determined: tuple[str, ...],
    labels: tuple[str, ...],
) -> tuple[str, ...]:
    sentences = [no_effect_sentence(name) for name in no_effect]
    sentences += [direction.sentence for direction in directions]
    sentences += [direction.sentence for direction in weak]
    for pair in pairs:
        if pair.first not in determined or pair.second not in determined:
            continue
        sentences.append(
            f"the estimates of {pair.first} and {pair.second} are correlated by "
            f"{pair.correlation:.3f} (collinearity {pair.collinearity:.3g}): an error in one is "
            "compensated by the other"
        )
    if len(determined) == len(labels) and not sentences:
        sentences.append("every parameter can be determined individually from the recorded signals")
    elif determined and len(determined) < len(labels):
        sentences.append(f"the recorded signals determine {', '.join(determined)}")
    return tuple(sentences)
