"""Overlap of motions: the angles and speeds that they have in common."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

_CELLS = 12
"""Number of cells along angle and along speed in which motions are compared."""
_VISITS = 3
"""Smallest number of samples in a visited cell."""

AngleSpeed = Sequence[tuple[np.ndarray, np.ndarray]]
"""Angles [rad] and speeds [rad/s] of a motion, of one or several logs."""


def largest_overlap(motions: Mapping[str, AngleSpeed]) -> str:
    """Name of the motion with the largest overlap with the others in angle and speed.

    A state that no other motion visits cannot be learned from them and does not test what was
    learned; a motion that visits few of their states tests little.
    """
    found = motion_overlap(motions)
    return max(sorted(found), key=lambda name: found[name])


def motion_overlap(motions: Mapping[str, AngleSpeed]) -> dict[str, float]:
    """Fraction of a motion visited by the others, times that of theirs visited by it, [0, 1]."""
    edges = [
        np.quantile(np.concatenate([each[k] for m in motions.values() for each in m]), [0.01, 0.99])
        for k in (0, 1)
    ]
    visits = {
        name: _total(np.histogram2d(*each, _CELLS, edges)[0] for each in moved)
        for name, moved in motions.items()
    }
    total = _total(visits.values())
    found = {}
    for name, own in visits.items():
        rest = total - own
        met, covered = own[rest >= _VISITS].sum(), rest[own >= _VISITS].sum()
        found[name] = float(met * covered / max(own.sum() * rest.sum(), 1.0))
    return found


def _total(counts: Iterable[np.ndarray]) -> Any:
    return sum(counts)
