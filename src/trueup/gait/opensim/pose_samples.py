"""Poses over the ranges of the joints, at which two models are compared."""

from dataclasses import dataclass

import numpy as np

from trueup.gait.opensim.model import Muscle, OsimModel

SWEEP = 31
"""Poses over the range of each coordinate, others at their default, that numbers are fitted to."""

RANDOM = 150
"""Poses in which all coordinates are drawn from their ranges."""

LINES, FINE = 4, 61
"""Lines over the range of each coordinate that a conversion is checked on, and the poses of each:
others keep their default on the first line, and draw values for each of the others. Steps of 2 to 4
degrees show a jump; where it is, is searched between them."""


@dataclass(frozen=True)
class PoseSamples:
    """Poses of a model.

    Attributes:
      values: free coordinate -> its values ``(n,)`` [rad or m].
      sweeps: free coordinate -> the poses in which it alone moves, for fits.
      drawn: poses in which all are drawn.
      lines: free coordinate -> poses along which it alone moves ``(LINES, FINE)``, for checks.
    """

    values: dict[str, np.ndarray]
    sweeps: dict[str, np.ndarray]
    drawn: np.ndarray
    lines: dict[str, np.ndarray]

    def rows(self, coordinates: list[str]) -> np.ndarray:
        """Poses to fit something to that depends on some coordinates alone."""
        return np.concatenate([*[self.sweeps[name] for name in coordinates], self.drawn])

    def checks(self, coordinates: list[str]) -> np.ndarray:
        """Poses to check something in that depends on some coordinates alone."""
        return np.concatenate([*[self.lines[name].ravel() for name in coordinates], self.drawn])

    def at(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Values in some of the poses."""
        return {name: values[rows] for name, values in self.values.items()}


def coordinate_range(model: OsimModel, name: str) -> tuple[float, float]:
    """Range of a coordinate, at most a full turn of an angle and a metre from the default of a
    distance, whose files give it kilometres where it has no limit [rad or m]."""
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
      seed: of the poses that are drawn.
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
    """Free coordinates that the length of a muscle may depend on, in the model's order."""
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
