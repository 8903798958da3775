"""Test whether one prediction is significantly worse than another on the same samples."""

import numpy as np

CHANCE = 0.001
"""Significance level: probability that two equally good predictions count as different."""

_BLOCKS = 16  # blocks of a series: longer than its correlation time, enough for a variance
_FEWEST = 4  # minimum number of blocks for an estimate of their variance


def block_sums(squares: np.ndarray, blocks: int = _BLOCKS) -> np.ndarray:
    """Sums of squared errors over consecutive blocks of a series ``(blocks, ...)``.

    Neighbouring errors are correlated; sums over blocks are nearly independent.

    Args:
        squares: squared errors ``(T, ...)``.
        blocks: number of blocks; fewer if there are fewer samples.
    """
    pieces = np.array_split(squares, max(1, min(blocks, len(squares))))
    return np.stack([piece.sum(axis=0) for piece in pieces])


def is_clearly_worse(own: np.ndarray, other: np.ndarray, chance: float = CHANCE) -> bool:
    """Whether errors are significantly larger than others on the same blocks of data.

    Student's t, one-sided, of the differences of the sums (Diebold and Mariano 1995, with sums over
    blocks in place of autocovariances) and of their logarithms, which is sensitive to a consistent
    difference where a few blocks have most of the error. Fewer than four blocks do not determine
    their variance: there the ratio of the sums must exceed the F quantile of as few squares.

    Args:
        own: sums of squared errors, one per block ``(B,)``.
        other: those of the other prediction ``(B,)``.
        chance: probability of True for two equally good predictions.
    """
    own, other = np.asarray(own, float), np.asarray(other, float)
    if not np.isfinite(own).all():
        return bool(np.isfinite(other).all())
    if not np.isfinite(other).all() or own.sum() <= other.sum():
        return False
    if len(own) < _FEWEST:
        from scipy.special import fdtri

        limit = float(fdtri(_FEWEST, _FEWEST, 1.0 - chance))
        return bool(own.sum() > limit * max(other.sum(), 1e-300))
    floor = 1e-12 * own.sum()  # a block without error has no logarithm
    return _is_positive(own - other, chance / 2) or _is_positive(
        np.log((own + floor) / (other + floor)), chance / 2
    )


def _is_positive(values: np.ndarray, chance: float) -> bool:
    """Whether the mean of values is positive, by Student's t."""
    from scipy.special import stdtrit

    spread = float(values.std(ddof=1)) / np.sqrt(len(values))
    return bool(values.mean() > -float(stdtrit(len(values) - 1, chance)) * spread)
