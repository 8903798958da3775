"""Threshold on the difference of two estimates of the same parameters."""

import numpy as np

CHANCE = 0.01
"""Probability that any parameter is found to differ if all are equal."""


def contradiction_ratio(
    count: int, level: float, dof: np.ndarray | float = np.inf, chance: float = CHANCE
) -> np.ndarray:
    """Difference of two estimates, relative to its half-width, that counts as a contradiction.

    At a ratio of 1, one of twenty parameters differs by chance at the level of 0.95, and of eight
    parameters one in every third fit. The half-width is widened to that of :data:`CHANCE` for all
    parameters together (Bonferroni 1936): the ratio is 1.60 for six parameters at 0.95.

    Args:
        count: number of compared parameters.
        level: coverage of the half-width.
        dof: degrees of freedom of its Student quantile, one for all or ``(count,)``.
        chance: probability of one contradiction among parameters that are all equal.
    """
    from scipy.special import stdtrit

    freedom = np.maximum(np.nan_to_num(dof, nan=np.inf, posinf=np.inf), 1.0)
    wide = -stdtrit(freedom, chance / (2 * max(count, 1)))
    return np.maximum(wide / -stdtrit(freedom, (1 - level) / 2), 1.0)
