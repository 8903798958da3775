"""Scalars of a generation for trackers, and their rate."""

import time

import numpy as np

from trueup.runs.loop.generation import Generation
from trueup.runs.trackers.tracker import Study

SHARE_OF_TIME = 0.02
"""Maximum share of the run time for sending."""


def scalars(study: Study, generation: Generation) -> dict[str, float]:
    """Finite numbers of a generation by name, with ``/`` between parts of a name.

    ``best/...`` are the lowest valid costs of the generation (the best so far is ``cost``),
    ``median/...`` their medians, ``search/...`` the state variables of the search, and
    ``parameters/...`` the best values so far.
    """
    valid = np.asarray(np.isfinite(generation.costs).all(axis=1))
    valid[list(generation.failures)] = False
    found = {
        "generation": float(generation.number),
        "cost": generation.cost,
        "evaluations": float(generation.evaluations),
        "seconds": generation.seconds,
        "invalid": float(len(valid) - valid.sum()),
    }
    if valid.any():
        for name, costs in zip(study.objectives, generation.costs[valid].T, strict=True):
            found[f"best/{name}"] = float(costs.min())
            found[f"median/{name}"] = float(np.median(costs))
    for name, value in generation.info.items():
        if isinstance(value, int | float | np.integer | np.floating):
            found[f"search/{name}"] = float(value)
    if np.isfinite(generation.cost):
        found |= {
            f"parameters/{name}": float(value)
            for name, value in zip(study.names, generation.x, strict=True)
        }
    return {name: value for name, value in found.items() if np.isfinite(value)}


class Pace:
    """Rate limit of sending to two percent of the run time.

    The last skipped generation is kept in :attr:`waiting`, to be sent at the end.
    """

    def __init__(self) -> None:
        self.waiting: Generation | None = None
        """Last skipped generation."""
        self._started = 0.0
        self._seconds = 0.0
        self._last = -np.inf

    def is_due(self, generation: Generation) -> bool:
        """Whether to send this generation."""
        self.waiting = generation
        self._started = time.monotonic()
        return self._started - self._last >= self._seconds / SHARE_OF_TIME

    def sent(self) -> None:
        """Record that the generation was sent, in the time since :meth:`is_due`."""
        self.waiting = None
        self._last = time.monotonic()
        self._seconds += 0.5 * (self._last - self._started - self._seconds)
