"""Distance from which two estimates of the same unknowns contradict each other."""

import numpy as np

CHANCE = 0.01
"""Chance that any of the unknowns is said to differ where all are the same."""


def contradiction_ratio(
    count: int, level: float, dof: np.ndarray | float = np.inf, chance: float = CHANCE
) -> np.ndarray:
    """Distance of two estimates over its half-width from which they contradict each other.

    At a ratio of 1, one of twenty unknowns differs by chance at the level of 0.95, and of eight
    unknowns one in every third fit. The half-width is widened to that of :data:`CHANCE` for all
    unknowns together (Bonferroni 1936): the ratio is 1.60 for six unknowns at 0.95.

    Args:
        count: number of unknowns that are compared.
        level: coverage of the half-width.
        dof: degrees of freedom of its Student quantile, one for all or ``(count,)``.
        chance: chance of one contradiction among unknowns that are all the same.
    """
    from scipy.stats import t as student

    freedom = np.maximum(np.nan_to_num(dof, nan=np.inf, posinf=np.inf), 1.0)
    wide = student.isf(chance / (2 * max(count, 1)), freedom)
    return np.maximum(wide / student.isf((1 - level) / 2, freedom), 1.0)
