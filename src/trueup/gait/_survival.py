"""How far and how long a walk goes under perturbations that it was not scored on."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.gait._walk_kernel import RUNNING
from trueup.gait.perturbations import SURVIVAL, Perturbations, PerturbationSizes
from trueup.gait.walk_simulation import WalkSimulation


@dataclass(frozen=True)
class Survival:
    """Repeats of one walk under perturbations.

    Attributes:
      walked: how far each repeat went ``(n,)`` [m].
      lasted: how long it stayed up ``(n,)`` [s].
      fell: whether it fell, diverged or could not start ``(n,)`` bool.
      duration: how long it was to last [s].
    """

    walked: np.ndarray
    lasted: np.ndarray
    fell: np.ndarray
    duration: float

    @property
    def survived(self) -> int:
        """How many stayed up for the whole time."""
        return int(np.sum(~self.fell))

    def plain(self) -> dict[str, Any]:
        """The same as plain data, with means."""
        return {
            "perturbations": len(self.fell),
            "survived": self.survived,
            "duration_s": self.duration,
            "mean_walked_m": float(self.walked.mean()),
            "mean_lasted_s": float(self.lasted.mean()),
            "walked_m": self.walked.tolist(),
            "lasted_s": self.lasted.tolist(),
            "fell": self.fell.tolist(),
        }


def survival(
    simulation: WalkSimulation,
    vector: np.ndarray,
    n: int = 20,
    seed: int = 0,
    sizes: PerturbationSizes | None = None,
) -> Survival:
    """Walk repeatedly under perturbations; they are never those that a search scores by.

    All repeats are simulated in one batch.

    Args:
      simulation: simulates the walks.
      vector: whole parameter vector ``(size,)``.
      n: how many repeats.
      seed: seed of the perturbations, of a stream of random numbers of their own.
      sizes: how large they are.

    Raises:
      GaitError: the vector has another length, or holds values that are not finite; no repeats.
    """
    sizes = PerturbationSizes() if sizes is None else sizes
    repeats = Perturbations(n, seed, sizes=sizes, stream=SURVIVAL)
    records = simulation.run(np.atleast_2d(vector)[:1], perturbations=repeats)
    return Survival(
        walked=records.walked,
        lasted=records.length * records.period,
        fell=records.ended != RUNNING,
        duration=simulation.settings.duration,
    )
