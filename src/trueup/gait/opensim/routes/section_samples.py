"""Length and moment arms of a section of a path, and how far a candidate is from them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.gait.opensim.comparison import rms
from trueup.gait.opensim.kinematics import all_values, body_poses
from trueup.gait.opensim.model import Muscle, OsimModel, PathPoint
from trueup.gait.opensim.paths import LARGEST_ARM, Route, point_places, route, steady_poses
from trueup.gait.opensim.pose_samples import SWEEP, PoseSamples
from trueup.gait.opensim.rotations import moved
from trueup.gait.opensim.tolerances import LENGTH, SHARE, small_arm

STEP = 1e-4
"""Step of the differences for moment arms [rad or m], for file and candidate alike."""


@dataclass(frozen=True)
class SectionSamples:
    """A section of a path in sampled poses, and in those next to them for its moment arms.

    The poses are the samples, then for each coordinate those moved by a step forward and back.

    Attributes:
      coordinates: free coordinates that the length depends on.
      values: values of all coordinates ``(poses,)``.
      poses: poses of bodies ``(poses, 4, 4)`` in the ground.
      count: number of samples.
      path: the whole path of the file.
      lengths: lengths of the section in the file ``(poses,)`` [m].
      steady: whether the length of the file has no jump between a sample and the default pose
          ``(samples,)``.
      arms: moment arms of the file ``(coordinates, samples)``; NaN where its length jumps, and in
          drawn poses beyond a jump.
      limits: tolerances of the moment arms about each coordinate, for its sweep and for all samples
          ``(coordinates, 2)``.
    """

    coordinates: list[str]
    values: dict[str, np.ndarray]
    poses: dict[str, np.ndarray]
    count: int
    path: Route
    lengths: np.ndarray
    steady: np.ndarray
    arms: np.ndarray
    limits: np.ndarray

    def place(self, point: PathPoint) -> np.ndarray:
        """Positions of a point ``(poses, 3)`` in the ground [m]."""
        here = self.poses[point.body]
        return moved(here, point_places(point, self.values, len(here)))

    def arms_of(self, lengths: np.ndarray) -> np.ndarray:
        """Moment arms ``(coordinates, samples)`` from lengths ``(poses,)``."""
        shifted = lengths[self.count :].reshape(len(self.coordinates), 2, self.count)
        return (shifted[:, 1] - shifted[:, 0]) / (2.0 * STEP)

    def sweep(self, k: int) -> slice:
        """The samples in which only coordinate ``k`` varies."""
        return slice(k * SWEEP, (k + 1) * SWEEP)

    def misfit(self, lengths: np.ndarray) -> float:
        """Largest error of a candidate with lengths ``(poses,)`` [m], relative to its tolerance."""
        far = (lengths[: self.count] - self.lengths[: self.count])[self.steady]
        errors = [rms(far) / LENGTH, np.abs(far).max(initial=0.0) / (4.0 * LENGTH)]
        arms = self.arms_of(lengths)
        for k in range(len(self.coordinates)):
            off = arms[k] - self.arms[k]
            errors.append(rms(off[self.sweep(k)]) / self.limits[k, 0])
            errors.append(rms(off) / self.limits[k, 1])
            wrong = arms[k] * self.arms[k] < 0.0
            smaller = np.minimum(np.abs(arms[k]), np.abs(self.arms[k]))
            errors.append(float(np.max(smaller[wrong], initial=0.0)) / self.limits[k].min())
        return float(max(errors))


def section_samples(
    model: OsimModel,
    muscle: Muscle,
    first: int,
    last: int,
    coordinates: Sequence[str],
    samples: PoseSamples,
) -> SectionSamples:
    """Samples of a section.

    Args:
      model: model.
      muscle: one of its muscles.
      first: index of the first point of the section.
      last: index of its last point.
      coordinates: free coordinates that the length of the section depends on.
      samples: poses of the model.
    """
    coordinates = list(coordinates)
    at = samples.at(samples.rows(coordinates))
    count = len(next(iter(at.values())))
    rows = np.tile(np.arange(count), 1 + 2 * len(coordinates))
    given = {name: value[rows] for name, value in at.items()}
    for k, name in enumerate(coordinates):
        begin = count * (1 + 2 * k)
        given[name][begin : begin + count] += STEP
        given[name][begin + count : begin + 2 * count] -= STEP
    values = all_values(model, given)
    bodies = {point.body for point in muscle.points}
    bodies |= {model.surfaces[one.surface].body for one in muscle.wraps}
    path = route(model, muscle, given)
    found = SectionSamples(
        coordinates,
        values,
        body_poses(model, values, bodies),
        count,
        path,
        path.segments[:, first:last].sum(axis=1),
        steady_poses(model, muscle, {name: value[:count] for name, value in values.items()}),
        np.zeros((len(coordinates), count)),
        np.zeros((len(coordinates), 2)),
    )
    arms = found.arms_of(found.lengths)
    arms[np.abs(arms) > LARGEST_ARM] = np.nan
    drawn = len(coordinates) * SWEEP
    arms[:, drawn:][:, ~found.steady[drawn:]] = np.nan
    found.arms[:] = arms
    for k, name in enumerate(coordinates):
        for j, part in enumerate((found.sweep(k), slice(None))):
            found.limits[k, j] = max(small_arm(model, name), SHARE * rms(arms[k, part]))
    return found
