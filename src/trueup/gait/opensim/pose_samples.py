"""Poses over the ranges of the joints, at which two models are compared."""

from dataclasses import dataclass

import numpy as np

from trueup.gait.opensim.osim_model import GROUND, Muscle, OsimModel

SWEEP = 31
"""Poses over the range of each coordinate, others at their default."""

RANDOM = 150
"""Poses in which all coordinates are drawn from their ranges."""


@dataclass(frozen=True)
class PoseSamples:
    """Poses of a model.

    Attributes:
      values: free coordinate -> its values ``(n,)`` [rad or m].
      sweeps: free coordinate -> the poses in which it alone moves.
      drawn: poses in which all are drawn.
    """

    values: dict[str, np.ndarray]
    sweeps: dict[str, np.ndarray]
    drawn: np.ndarray

    def rows(self, coordinates: list[str]) -> np.ndarray:
        """Poses that tell of something that depends on some coordinates alone."""
        return np.concatenate([*[self.sweeps[name] for name in coordinates], self.drawn])

    def at(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Values in some of the poses."""
        return {name: values[rows] for name, values in self.values.items()}


def coordinate_range(model: OsimModel, name: str) -> tuple[float, float]:
    """Range of a coordinate, of an angle at most a full turn [rad or m]."""
    low, high = model.coordinates[name].range
    return (max(low, -np.pi), min(high, np.pi)) if model.coordinates[name].turns else (low, high)


def pose_samples(model: OsimModel, seed: int = 0) -> PoseSamples:
    """Poses over the ranges of the free coordinates.

    Args:
      model: model.
      seed: of the poses that are drawn.
    """
    free = model.free
    count = SWEEP * len(free) + RANDOM
    values = {name: np.full(count, model.coordinates[name].default) for name in free}
    sweeps = {}
    drawn = np.arange(SWEEP * len(free), count)
    random = np.random.default_rng(seed)
    for k, name in enumerate(free):
        low, high = coordinate_range(model, name)
        rows = np.arange(SWEEP * k, SWEEP * (k + 1))
        values[name][rows] = np.linspace(low, high, SWEEP)
        values[name][drawn] = random.uniform(low, high, RANDOM)
        sweeps[name] = rows
    return PoseSamples(values, sweeps, drawn)


def muscle_coordinates(model: OsimModel, muscle: Muscle) -> list[str]:
    """Free coordinates that the length of a muscle may depend on, in the model's order."""
    joint_of = {joint.child.body: joint for joint in model.joints}
    bodies = {point.body for point in muscle.points}
    bodies |= {model.surfaces[wrap.surface].body for wrap in muscle.wraps}
    chains = []
    for body in bodies:
        chain = set()
        while body != GROUND:
            joint = joint_of[body]
            chain.add(joint.name)
            body = joint.parent.body
        chains.append(chain)
    crossed = set.union(*chains) - set.intersection(*chains)
    used = {
        axis.coordinate
        for joint in model.joints
        if joint.name in crossed
        for axis in joint.axes
        if axis.coordinate is not None
    }
    for point in muscle.points:
        used |= {coordinate for _, coordinate in point.moves.values()}
        if point.active is not None:
            used.add(point.active[0])
    leaders = {model.leader(name)[0] for name in used}
    return [name for name in model.free if name in leaders]
