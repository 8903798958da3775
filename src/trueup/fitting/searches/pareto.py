"""Pareto fronts: domination ranks, crowding distances, hypervolume, and a compromise."""

import numpy as np

from trueup.errors import FitError
from trueup.fitting.solution import ParetoFront

_ROWS_AT_ONCE = 4_000_000  # comparisons in one block of the domination matrix


def dominates(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Whether each of ``first (n, k)`` dominates each of ``second (m, k)``: bool ``(n, m)``.

    It does if it is not worse in any objective and better in at least one.
    """
    out = np.empty((len(first), len(second)), bool)
    step = max(1, _ROWS_AT_ONCE // max(second.size, 1))
    for i in range(0, len(first), step):
        block = first[i : i + step, None, :]
        out[i : i + step] = (block <= second).all(axis=2) & (block < second).any(axis=2)
    return out


def domination_ranks(costs: np.ndarray, valid: np.ndarray | None = None) -> np.ndarray:
    """Index of the front of each candidate ``(n,)``, from 0: K. Deb et al. (2002), section III.A.

    Args:
      costs: costs ``(n, k)``.
      valid: valid rows ``(n,)``; the others are ranked after the last front.
    """
    valid = np.ones(len(costs), bool) if valid is None else valid
    ranks = np.zeros(len(costs), int)
    if costs.shape[1] == 1:
        ranks[valid] = np.unique(costs[valid, 0], return_inverse=True)[1]
    else:
        better = dominates(costs[valid], costs[valid])
        above = better.sum(axis=0)
        found = np.full(len(above), -1)
        front = 0
        while (left := found < 0).any():
            found[left & (above == 0)] = front
            above -= better[found == front].sum(axis=0)
            front += 1
        ranks[valid] = found
    ranks[~valid] = ranks[valid].max(initial=-1) + 1
    return ranks


def crowding_distances(costs: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Crowding distance of each candidate in its front ``(n,)``: K. Deb et al. (2002), III.B.

    Infinite for the ends of each front.
    """
    distances = np.zeros(len(costs))
    for column in costs.T:
        order = np.lexsort((column, ranks))
        value, rank = column[order], ranks[order]
        opens, closes = np.ones(len(costs), bool), np.ones(len(costs), bool)
        opens[1:] = closes[:-1] = rank[1:] != rank[:-1]
        front = np.cumsum(opens) - 1
        span = (value[closes] - value[opens])[front]
        gap = np.full(len(costs), np.inf)
        inner = np.flatnonzero(~(opens | closes))
        room = value[inner + 1] - value[inner - 1]
        gap[inner] = np.where(span[inner] > 0, room / np.where(span > 0, span, 1.0)[inner], 0.0)
        distances[order] += gap
    return distances


def pareto_front(X: np.ndarray, costs: np.ndarray, objectives: tuple[str, ...]) -> ParetoFront:
    """Non-dominated candidates of ``X (n, p)``, unique, by ascending first objective."""
    best = ~dominates(costs, costs).any(axis=0)
    X, costs = X[best], costs[best]
    once = np.unique(np.hstack([costs, X]), axis=0, return_index=True)[1]
    return ParetoFront(X[once], costs[once], objectives)


def compromise(costs: np.ndarray) -> int:
    """Row of a front ``(n, k)`` nearest to the ideal point.

    The ideal point has the minimum of each objective on the front. Distances are Euclidean with
    each objective divided by its range on the front.
    """
    ideal, span = costs.min(axis=0), np.ptp(costs, axis=0)
    distance = (costs - ideal) / np.where(span > 0, span, 1.0)
    return int(np.argmin(np.square(distance).sum(axis=1)))


def hypervolume(costs: np.ndarray, reference: np.ndarray) -> float:
    """Volume that a set of costs dominates up to a reference point.

    Larger values mean a better and wider front: E. Zitzler and L. Thiele, "Multiobjective
    evolutionary algorithms: a comparative case study and the strength Pareto approach" (1999).
    Exact, by slices along the last objective: fast for two and three objectives.

    Args:
      costs: costs ``(n, k)``.
      reference: reference point ``(k,)``; candidates worse than it are not counted.

    Raises:
      FitError: the reference has another number of objectives.
    """
    costs, reference = np.atleast_2d(np.asarray(costs, float)), np.asarray(reference, float)
    if reference.shape != costs.shape[1:]:
        raise FitError(
            f"the reference point has {reference.size} objectives, expected {costs.shape[1]}"
        )
    return _volume(costs[(costs < reference).all(axis=1)], reference)


def _volume(costs: np.ndarray, reference: np.ndarray) -> float:
    if not len(costs):
        return 0.0
    if len(reference) == 1:
        return float(reference[0] - costs.min())
    costs = costs[np.argsort(costs[:, -1], kind="stable")]
    thickness = np.diff(costs[:, -1], append=reference[-1])
    if len(reference) == 2:
        width = reference[0] - np.minimum.accumulate(costs[:, 0])
        return float(width @ thickness)
    slices = np.flatnonzero(thickness > 0)
    volumes = [_volume(costs[: i + 1, :-1], reference[:-1]) for i in slices]
    return float(np.dot(volumes, thickness[slices]))
