"""Whether one prediction is worse than another on the same samples, by more than chance."""

import numpy as np

CHANCE = 0.001
"""Chance that a difference of two equally good predictions counts as clear."""

_BLOCKS = 16  # pieces of a series: long beside the memory of its errors, enough for their spread
_FEWEST = 4  # pieces whose differences say something about their own spread


def block_sums(squares: np.ndarray, blocks: int = _BLOCKS) -> np.ndarray:
    """Sums of squared errors over consecutive pieces of a series ``(blocks, ...)``.

    Neighbouring errors are alike; sums over pieces are nearly independent.

    Args:
        squares: squared errors ``(T, ...)``.
        blocks: number of pieces; fewer where there are fewer samples.
    """
    pieces = np.array_split(squares, max(1, min(blocks, len(squares))))
    return np.stack([piece.sum(axis=0) for piece in pieces])


def is_clearly_worse(own: np.ndarray, other: np.ndarray, chance: float = CHANCE) -> bool:
    """Whether errors are larger than others on the same pieces of data, by more than chance.

    Student's t, one-sided, of the differences of the sums (Diebold and Mariano 1995, with sums over
    pieces in place of a covariance of neighbours) and of their logarithms, which sees what is worse
    throughout where a few pieces have most of the error. Fewer than four pieces say nothing about
    their own spread: there the ratio of the sums has to exceed the quantile of a ratio of as few
    squares.

    Args:
        own: sums of squared errors, one a piece ``(B,)``.
        other: those of the other prediction ``(B,)``.
        chance: chance of a yes for two equally good predictions.
    """
    own, other = np.asarray(own, float), np.asarray(other, float)
    if not np.isfinite(own).all():
        return bool(np.isfinite(other).all())
    if not np.isfinite(other).all() or own.sum() <= other.sum():
        return False
    if len(own) < _FEWEST:
        from scipy.stats import f as fisher

        limit = float(fisher.isf(chance, _FEWEST, _FEWEST))
        return bool(own.sum() > limit * max(other.sum(), 1e-300))
    floor = 1e-12 * own.sum()  # a piece without an error has no logarithm
    return _is_positive(own - other, chance / 2) or _is_positive(
        np.log((own + floor) / (other + floor)), chance / 2
    )


def _is_positive(values: np.ndarray, chance: float) -> bool:
    """Whether the mean of values is positive, by Student's t."""
    from scipy.stats import t as student

    spread = float(values.std(ddof=1)) / np.sqrt(len(values))
    return bool(values.mean() > float(student.isf(chance, len(values) - 1)) * spread)
