"""Statistics of groups of generations for figures, bounded for long studies."""

from dataclasses import dataclass

import numpy as np

GROUPS = 300
"""Maximum number of groups of generations in a figure."""

LEVELS = (0.0, 0.1, 0.5, 0.9)
"""Levels of :func:`quantiles_of_groups`: best, lower end, median, upper end."""


@dataclass(frozen=True)
class Groups:
    """Evaluations grouped by generation, or by consecutive generations if there are many."""

    of: np.ndarray
    """Group of each evaluation ``(n,)``, from 0."""
    evaluations: np.ndarray
    """Evaluations of the study up to and with each group ``(g,)``."""
    first: np.ndarray
    """First generation of each group ``(g,)``."""
    last: np.ndarray
    """Last evaluation of each group ``(g,)``, as an index."""

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self.evaluations)


def groups_of(
    generation: np.ndarray, limit: int = GROUPS, counted: np.ndarray | None = None
) -> Groups:
    """Group the evaluations of consecutive generations into at most ``limit`` groups.

    Args:
        generation: generation of each evaluation ``(n,)``, ascending.
        limit: maximum number of groups.
        counted: evaluations of the study up to and with each one ``(n,)``; None: those given.
    """
    numbers, index = np.unique(generation, return_inverse=True)
    size = max(1, -(-len(numbers) // limit))
    of = index // size
    ends = np.append(np.flatnonzero(np.diff(of)), len(of) - 1) if len(of) else np.empty(0, int)
    evaluations = ends + 1 if counted is None else counted[ends]
    return Groups(of, evaluations, numbers[::size], ends)


def quantiles_of_groups(
    values: np.ndarray, groups: Groups, levels: tuple[float, ...] = LEVELS
) -> np.ndarray:
    """Quantiles of the finite values of each group ``(len(levels), g)``; NaN for an empty one.

    A quantile is the value of the nearest rank, so that each is the value of a candidate.
    """
    finite = np.isfinite(values)
    of, kept = groups.of[finite], values[finite]
    order = np.lexsort((kept, of))
    of, kept = of[order], kept[order]
    counts = np.bincount(of, minlength=groups.count)
    starts = np.cumsum(counts) - counts
    out = np.full((len(levels), groups.count), np.nan)
    some = counts > 0
    for row, level in enumerate(levels):
        rank = np.rint(level * (counts - 1)).astype(int)
        out[row, some] = kept[(starts + rank)[some]]
    return out


def sorted_costs(costs: np.ndarray, groups: Groups, rows: int = 64) -> np.ndarray:
    """Sorted costs of each group, best first: at most ``(rows, g)``, by equal shares of ranks.

    Invalid candidates (NaN) come last. A group with fewer candidates than rows is stretched over
    the rows, so that the heat map shows shares of the population.
    """
    order = np.lexsort((costs, groups.of))  # NaN last
    counts = np.bincount(groups.of, minlength=groups.count)
    rows = int(min(rows, counts.max(initial=1)))
    starts = np.cumsum(counts) - counts
    share = (np.arange(rows) + 0.5) / rows
    rank = np.minimum((share[:, None] * counts).astype(int), np.maximum(counts - 1, 0))
    return costs[order][starts + rank]


def best_so_far(costs: np.ndarray) -> np.ndarray:
    """Row of the best evaluation up to each one ``(n,)``; -1 before the first finite cost."""
    with_inf = np.where(np.isfinite(costs), costs, np.inf)
    lowest = np.minimum.accumulate(with_inf)
    is_new = np.isfinite(with_inf) & (with_inf < np.append(np.inf, lowest[:-1]))
    return np.maximum.accumulate(np.where(is_new, np.arange(len(costs)), -1))


def wants_log(values: np.ndarray) -> bool:
    """Whether positive values span enough decades for a logarithmic axis."""
    finite = values[np.isfinite(values)]
    positive = finite[finite > 0]
    return bool(
        len(positive)
        and (finite >= 0).all()
        and len(positive) >= 0.9 * len(finite)
        and positive.max() > 30 * positive.min()
    )


def evenly(count: int, limit: int) -> np.ndarray:
    """Evenly spread indices, at most ``limit`` of ``count``, first and last among them."""
    if count <= limit:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, limit).round().astype(int))
