"""Poses over the joint ranges for the comparison of two models."""

from dataclasses import dataclass

import numpy as np

from trueup.gait.opensim.model import Muscle, OsimModel

SWEEP = 31
"""Number of poses over the range of each coordinate for fits, with the others at their default."""

RANDOM = 150
"""Number of poses with all coordinates drawn from their ranges."""

LINES, FINE = 4, 61
"""Number of lines over the range of each coordinate for checks, and of poses per line. The other
coordinates have their default on the first line and random values on the others. Steps of 2 to 4
degrees detect a jump, which is then located by bisection."""


@dataclass(frozen=True)
class PoseSamples:
    """Poses of a model.

    Attributes:
      values: free coordinate -> its values ``(n,)`` [rad or m].
      sweeps: free coordinate -> poses in which only it varies, for fits.
      drawn: poses with all coordinates drawn.
      lines: free coordinate -> poses along which only it varies ``(LINES, FINE)``, for checks.
    """

    values: dict[str, np.ndarray]
    sweeps: dict[str, np.ndarray]
    drawn: np.ndarray
    lines: dict[str, np.ndarray]

    def rows(self, coordinates: list[str]) -> np.ndarray:
        """Poses for a fit of a quantity that depends on the given coordinates only."""
        return np.concatenate([*[self.sweeps[name] for name in coordinates], self.drawn])

    def checks(self, coordinates: list[str]) -> np.ndarray:
        """Poses for a check of a quantity that depends on the given coordinates only."""
        return np.concatenate([*[self.lines[name].ravel() for name in coordinates], self.drawn])

    def at(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Values of the coordinates in the given poses."""
        return {name: values[rows] for name, values in self.values.items()}


def coordinate_range(model: OsimModel, name: str) -> tuple[float, float]:
    """Range of a coordinate [rad or m].

    It is at most a full turn of an angle, and a metre from the default of a distance, as files give
    unlimited distances a range of kilometres.
    """
    one = model.coordinates[name]
    low, high = one.range
    if one.turns:
        return max(low, -np.pi), min(high, np.pi)
    middle = min(max(one.default, low), high)
    return max(low, middle - 1.0), min(high, middle + 1.0)


def pose_samples(model: OsimModel, seed: int = 0) -> PoseSamples:
    """Poses over the ranges of the free coordinates.

    Args:
      model: model.
      seed: seed of the drawn poses.
    """
    free = model.free
    drawn = np.arange(SWEEP * len(free), SWEEP * len(free) + RANDOM)
    count = drawn[-1] + 1 + LINES * FINE * len(free)
    values = {name: np.full(count, model.coordinates[name].default) for name in free}
    sweeps, lines = {}, {}
    random = np.random.default_rng(seed)
    ranges = {name: coordinate_range(model, name) for name in free}
    for k, name in enumerate(free):
        rows = np.arange(SWEEP * k, SWEEP * (k + 1))
        values[name][rows] = np.linspace(*ranges[name], SWEEP)
        values[name][drawn] = random.uniform(*ranges[name], RANDOM)
        sweeps[name] = rows
    for k, name in enumerate(free):
        begin = drawn[-1] + 1 + LINES * FINE * k
        lines[name] = np.arange(begin, begin + LINES * FINE).reshape(LINES, FINE)
        for other in free:
            values[other][lines[name][1:]] = random.uniform(*ranges[other], (LINES - 1, 1))
        values[name][lines[name]] = np.linspace(*ranges[name], FINE)
    return PoseSamples(values, sweeps, drawn, lines)


def muscle_coordinates(model: OsimModel, muscle: Muscle) -> list[str]:
    """Free coordinates on which the length of a muscle may depend, in the order of the model."""
    bodies = {point.body for point in muscle.points}
    bodies |= {model.surfaces[wrap.surface].body for wrap in muscle.wraps}
    chains = [set(model.chain(body)) for body in bodies]
    crossed = set.union(*chains) - set.intersection(*chains)
    used = {
        axis.coordinate
        for joint in model.joints
        if joint.child.body in crossed
        for axis in joint.axes
        if axis.coordinate is not None
    }
    for point in muscle.points:
        used |= {coordinate for _, coordinate in point.moves.values()}
        if point.active is not None:
            used.add(point.active[0])
    leaders = {model.leader(name)[0] for name in used}
    return [name for name in model.free if name in leaders]
