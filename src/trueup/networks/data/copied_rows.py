"""Recordings that hold the same samples: what trains on one has seen the other."""

from collections.abc import Sequence

import numpy as np

FEWEST = 50
"""Smallest number of equal samples of a copy."""

SHARE = 0.5
"""Smallest part of the shorter recording that a copy shares."""


def copied_rows(
    names: Sequence[str], rows: Sequence[np.ndarray]
) -> list[tuple[str, str, int, float]]:
    """Pairs of recordings of which most of the shorter one is in the other.

    Rows that a recording repeats, as at rest, do not count.

    Args:
        names: name of each recording.
        rows: values of the same columns of each, shape (n, columns).

    Returns:
        Names of both, the number of equal rows, and the part of the shorter one.
    """
    unique = [np.unique(each[np.isfinite(each).all(axis=1)], axis=0) for each in rows]
    stacked = np.concatenate(unique)
    if not len(stacked):
        return []
    owner = np.repeat(np.arange(len(unique)), [len(each) for each in unique])
    _, same = np.unique(stacked, axis=0, return_inverse=True)
    order = np.argsort(same.ravel(), kind="stable")
    value, owner = same.ravel()[order], owner[order]
    shared: dict[tuple[int, int], int] = {}
    starts = np.flatnonzero(np.diff(value, prepend=-1))
    counts = np.diff(np.append(starts, len(value)))
    for start, count in zip(starts[counts > 1], counts[counts > 1], strict=True):
        members = owner[start : start + count]
        for i, first in enumerate(members):
            for second in members[i + 1 :]:
                pair = (int(first), int(second))
                shared[pair] = shared.get(pair, 0) + 1
    found = []
    for (i, j), count in sorted(shared.items()):
        shorter = min(len(unique[i]), len(unique[j]))
        if count >= FEWEST and count >= SHARE * shorter:
            found.append((names[i], names[j], count, count / shorter))
    return found
