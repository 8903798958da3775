"""Likeness of motions: the angles and speeds that they have in common."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

_CELLS = 12
"""Cells along angle and speed in which motions are compared."""
_VISITS = 3
"""Samples that make a cell known."""

Moved = Sequence[tuple[np.ndarray, np.ndarray]]
"""Angles and speeds of a motion, of one or several logs."""


def most_alike(motions: Mapping[str, Moved]) -> str:
    """Name of the motion that is most like the others in the angles and speeds that it visits.

    What no other visits can neither be learned from them nor judge what was learned; what visits
    little of what they do judges little.
    """
    found = likeness(motions)
    return max(sorted(found), key=lambda name: found[name])


def likeness(motions: Mapping[str, Moved]) -> dict[str, float]:
    """Share of a motion that the others visit, times the share of theirs that it visits, [0, 1]."""
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
