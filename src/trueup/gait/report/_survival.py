"""Repeats of a walk under perturbations that are not used in searches."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.gait.walk.perturbations import (
    SURVIVAL,
    Draws,
    Perturbations,
    PerturbationSizes,
    perturbed_vectors,
)
from trueup.gait.walk.records import End, WalkRecords
from trueup.gait.walk.simulation import WalkSimulation

REPEATS = 20
"""Default number of repeats."""

LAST = 2.0
"""Last part of a repeat, whose speed is compared with that of the walk [s]: one to two strides."""

SLOWED = 0.5
"""Fraction of the speed of the walk below which a repeat does not survive at its end."""

ENDS: dict[int, str] = {
    End.running: "",
    End.fell: "fell",
    End.diverged: "diverged",
    End.could_not_start: "could not start",
}
"""Reason for the end of a repeat -> text; None for a complete one."""


@dataclass(frozen=True)
class Survival:
    """Repeats of one walk under perturbations.

    Attributes:
      walked: distance of each repeat ``(n,)`` [m].
      lasted: time before a fall ``(n,)`` [s].
      fell: whether a repeat fell, diverged or could not start ``(n,)`` bool.
      slowed: whether a repeat stayed up, and at its end was slower than half the speed of the
        walk without perturbations ``(n,)`` bool.
      duration: duration of a complete walk [s].
      ended: reason for the end of each repeat ``(n,)``; a key of :data:`ENDS`.
      draws: drawn perturbations of each repeat.
      moved: change of the initial pose ``(n, entries)`` [rad, m/s]; joints are limited to
        their ranges.
      entries: names and units of the pose ``(entries,)``.
      sizes: sizes of the perturbations.
      frontal: whether pushes have any direction; otherwise forwards or backwards.
    """

    walked: np.ndarray
    lasted: np.ndarray
    fell: np.ndarray
    slowed: np.ndarray
    duration: float
    ended: np.ndarray
    draws: Draws
    moved: np.ndarray
    entries: tuple[tuple[str, str], ...]
    sizes: PerturbationSizes
    frontal: bool

    @property
    def survived(self) -> int:
        """Number of repeats that neither fell nor slowed."""
        return int(np.sum(~self.fell & ~self.slowed))

    @property
    def ends(self) -> list[str]:
        """End of each repeat in words."""
        return [
            "slowed" if slow else ENDS[int(kind)] or "keeps walking"
            for kind, slow in zip(self.ended, self.slowed, strict=True)
        ]

    @property
    def turned(self) -> np.ndarray:
        """Largest change of an initial angle of each repeat ``(n,)`` [rad]."""
        angles = [k for k, (_, unit) in enumerate(self.entries) if unit == "deg"]
        return np.abs(self.moved[:, angles]).max(axis=1, initial=0.0)

    @property
    def quicker(self) -> np.ndarray:
        """Change of the initial speed of each repeat ``(n,)`` [m/s]."""
        speeds = [k for k, (_, unit) in enumerate(self.entries) if unit != "deg"]
        return self.moved[:, speeds].sum(axis=1)

    def to_dict(self) -> dict[str, Any]:
        """The repeats as JSON values, with means."""
        return {
            "perturbations": len(self.fell),
            "survived": self.survived,
            "duration_s": self.duration,
            "mean_walked_m": float(self.walked.mean()),
            "mean_lasted_s": float(self.lasted.mean()),
            "walked_m": self.walked.tolist(),
            "lasted_s": self.lasted.tolist(),
            "fell": self.fell.tolist(),
            "slowed": self.slowed.tolist(),
            "ended": self.ends,
            "push_N": self.draws.push.tolist(),
            "push_at_s": self.draws.push_start.tolist(),
            "friction": self.draws.friction.tolist(),
            "largest_change_of_angle_deg": np.rad2deg(self.turned).tolist(),
            "change_of_speed_m_s": self.quicker.tolist(),
        }


def survival(
    simulation: WalkSimulation,
    vector: np.ndarray,
    n: int = REPEATS,
    seed: int = 0,
    sizes: PerturbationSizes | None = None,
) -> Survival:
    """Simulate repeats of a walk under perturbations that are not used in searches, in one batch.

    Args:
      simulation: simulation of the walks.
      vector: complete vector ``(size,)``.
      n: number of repeats.
      seed: seed of the perturbations, in a separate random stream.
      sizes: sizes of the perturbations.

    Raises:
      GaitError: a vector of another length or with values that are not finite; no repeats.
    """
    sizes = PerturbationSizes() if sizes is None else sizes
    repeats = Perturbations(n, seed, sizes=sizes, stream=SURVIVAL)
    X, parameters = np.atleast_2d(vector)[:1], simulation.parameters
    records = simulation.run(X, perturbations=repeats)
    alone = simulation.run(X)
    pace = float(alone.walked[0]) / max(float(alone.length[0] * alone.period), alone.period)
    fell = records.ended != End.running
    duration = simulation.settings.duration
    draws = repeats.draws(parameters, duration)
    rows = perturbed_vectors(X, parameters, simulation.walker, draws)
    pose = parameters.entries[parameters.group("pose")]
    return Survival(
        walked=records.walked,
        lasted=records.length * records.period,
        fell=fell,
        slowed=~fell & (_last_speeds(records) < SLOWED * pace),
        duration=duration,
        ended=records.ended.copy(),
        draws=draws,
        moved=parameters.values(rows, "pose") - parameters.values(X, "pose"),
        entries=tuple((entry.name, entry.unit) for entry in pose),
        sizes=sizes,
        frontal=simulation.walker.frontal,
    )


def _last_speeds(records: WalkRecords) -> np.ndarray:
    """Mean speed of walks ``(n,)`` over their last :data:`LAST` seconds [m/s]."""
    x, rows = records.column("x"), np.arange(len(records.length))
    last = np.maximum(records.length - 1, 1)
    first = np.maximum(last - round(LAST / records.period), 0)
    return (x[rows, last] - x[rows, first]) / ((last - first) * records.period)
