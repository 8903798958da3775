"""Scalars of a generation that trackers send, and how often."""

import time

import numpy as np

from trueup.runs.loop.generation import Generation
from trueup.runs.trackers.tracker import Study

SHARE_OF_TIME = 0.02
"""Largest part of the run time that sending may take."""


def scalars(study: Study, generation: Generation) -> dict[str, float]:
    """Finite numbers of a generation by name, parts of a name apart by ``/``.

    ``best/...`` are the costs' lowest valid values of the generation (the best so far is ``cost``),
    ``median/...`` their medians, ``search/...`` what the search tells about itself, and
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
    """Send as often as two percent of the time allow; a generation that is skipped is not lost.

    The last one is kept in :attr:`waiting`, to be sent at the end.
    """

    def __init__(self) -> None:
        self.waiting: Generation | None = None
        """Generation that came and was not sent."""
        self._started = 0.0
        self._seconds = 0.0
        self._last = -np.inf

    def is_due(self, generation: Generation) -> bool:
        """Whether to send this generation."""
        self.waiting = generation
        self._started = time.monotonic()
        return self._started - self._last >= self._seconds / SHARE_OF_TIME

    def sent(self) -> None:
        """The generation was sent, in the time since :meth:`is_due`."""
        self.waiting = None
        self._last = time.monotonic()
        self._seconds += 0.5 * (self._last - self._started - self._seconds)
