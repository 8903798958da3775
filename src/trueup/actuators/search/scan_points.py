"""Points from which the search of a servo fit begins: a Sobol scan of the box and of its faces."""

import numpy as np

from trueup.fitting.random_search import SobolSearch
from trueup.parameters import Space

_STRIBECK = (
    "friction_stribeck",
    "load_friction_stribeck",
    "load_friction_motor_stribeck",
    "load_friction_external_stribeck",
)
_QUADRATIC = ("load_friction_motor_quad", "load_friction_external_quad")
_LOAD = ("load_friction_base", "load_friction_motor", "load_friction_external")
_EQUAL = (
    ("load_friction_motor", "load_friction_external"),
    ("load_friction_motor_stribeck", "load_friction_external_stribeck"),
)


def scan_points(
    space: Space, count: int, seed: int, known: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Points of a scan, and the family of each.

    A richer friction model holds the simpler ones as faces of its box. Few points of the box lie
    near them, while good models do: so in turn the points are those of the whole box, of a model
    whose friction does not tell motor from load (M4), of that without the Stribeck effect (M3) and
    without friction by load (M1).

    Args:
      space: the unknowns.
      count: number of points, the given start included, which is the first.
      seed: seed of the Sobol sequence.
      known: points that are known to be good ``(k, p)``, each a family of its own; the others are
        of the whole box then. None: of its faces too.

    Returns:
      Points ``(count + k, p)`` and the number of their family ``(count + k,)``; one family only
      where the model has no faces.
    """
    points = SobolSearch(space, count, count, seed).ask()
    if known is not None:
        families = np.concatenate([np.zeros(count, int), 1 + np.arange(len(known))])
        return np.vstack([points, known]), families
    place = {name: i for i, name in enumerate(space.names)}
    families = np.zeros(count, int)
    faces = [
        {"equal": True, "zero": _QUADRATIC},
        {"equal": True, "zero": (*_QUADRATIC, *_STRIBECK)},
        {"equal": False, "zero": (*_QUADRATIC, *_STRIBECK, *_LOAD)},
    ]
    kinds = [face for face in faces if any(name in place for name in face["zero"])]
    for number, face in enumerate(kinds, start=1):
        rows = np.arange(1, count)[np.arange(1, count) % (len(kinds) + 1) == number]
        families[rows] = number
        for name in face["zero"]:
            if name in place:
                points[rows, place[name]] = space.lower[place[name]]
        for first, second in _EQUAL if face["equal"] else ():
            if first in place and second in place:
                points[rows, place[second]] = points[rows, place[first]]
    return np.clip(points, space.lower, space.upper), families


def best_of_families(costs: np.ndarray, families: np.ndarray, count: int) -> np.ndarray:
    """Numbers of the ``count`` points to descend from: the best of each family in turn."""
    order = np.argsort(costs, kind="stable")
    order = order[np.isfinite(costs[order])]
    queues = [order[families[order] == family] for family in np.unique(families)]
    rank = np.concatenate([np.arange(len(queue)) for queue in queues] or [np.zeros(0)])
    chosen = np.concatenate(queues or [np.zeros(0, int)]).astype(int)
    turns = np.lexsort((costs[chosen], rank))
    return chosen[turns][:count]
