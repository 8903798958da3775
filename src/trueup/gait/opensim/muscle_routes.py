"""Route of a muscle in MuJoCo: points, and surfaces between them."""

import itertools
from dataclasses import dataclass, replace

import numpy as np

from trueup.gait.opensim.kinematics import all_values, body_poses
from trueup.gait.opensim.model import Muscle, OsimModel, PathPoint, PathWrap, Remark, Surface
from trueup.gait.opensim.paths import point_active, point_places, route
from trueup.gait.opensim.pose_samples import PoseSamples, muscle_coordinates
from trueup.gait.opensim.rotations import inverse, moved
from trueup.gait.opensim.surface_fit import ellipsoid_guesses, fit_surface, point_guesses

EXACT = ("cylinder", "sphere")
"""Wrapping surfaces that MuJoCo tendons support."""

NEEDED = 1e-5
"""Smallest reduction of the length error by a useful fitted surface [m]."""


@dataclass(frozen=True)
class Route:
    """Path of a muscle in MuJoCo.

    Attributes:
      points: points of the path in every pose.
      surfaces: for each point but the last, the surface between it and the next one, or None.
      remarks: approximations.
    """

    points: tuple[PathPoint, ...]
    surfaces: tuple[Surface | None, ...]
    remarks: tuple[Remark, ...]


def plan_route(model: OsimModel, muscle: Muscle, samples: PoseSamples) -> Route:
    """Points and surfaces of the path of a muscle in MuJoCo.

    A single cylinder or sphere between two points is unchanged. Conditional points, ellipsoids and
    several surfaces between two points become one cylinder or sphere, fitted
    to the length.

    Args:
      model: model.
      muscle: one of its muscles.
      samples: poses of the fit.
    """
    values = samples.at(samples.rows(muscle_coordinates(model, muscle)))
    every = all_values(model, values)
    count = max((len(one) for one in every.values()), default=1)
    active = np.stack([point_active(p, every, count) for p in muscle.points], axis=1)
    kept = np.flatnonzero(active.all(axis=0))
    mixed = np.flatnonzero(active.any(axis=0) & ~active.all(axis=0))
    if len(kept) and kept[0] == 0 and kept[-1] == len(muscle.points) - 1:
        poses = body_poses(model, every)
        surfaces, remarks = [], []
        for i, j in itertools.pairwise(kept):
            between = [int(k) for k in mixed if i < k < j]
            stretch = _Stretch(model, muscle, int(i), int(j), between, values, every, poses)
            surface, remark = stretch.surface(active)
            surfaces.append(surface)
            remarks += [] if remark is None else [remark]
        return Route(tuple(muscle.points[k] for k in kept), tuple(surfaces), tuple(remarks))
    # a conditional end point: paths of MuJoCo have fixed ends
    first, last = muscle.points[0], muscle.points[-1]
    words = "its first or last point is conditional: it is always active; the rest is unchanged"
    ends = replace(
        muscle,
        points=(
            replace(first, active=None), *muscle.points[1:-1], replace(last, active=None),
        ),
    )  # fmt: skip
    found = plan_route(model, ends, samples)
    return replace(found, remarks=(*found.remarks, Remark("refused", muscle.name, words)))


@dataclass(frozen=True)
class _Stretch:
    """Section of a path between two unconditional points."""

    model: OsimModel
    muscle: Muscle
    first: int
    last: int
    between: list[int]
    values: dict[str, np.ndarray]
    every: dict[str, np.ndarray]
    poses: dict[str, np.ndarray]

    def surface(self, active: np.ndarray) -> tuple[Surface | None, Remark | None]:
        """The surface in MuJoCo, and a remark if it is an approximation."""
        wraps = tuple(
            PathWrap(wrap.surface, max(wrap.first, self.first) - self.first, wrap.last - self.first)
            for wrap in self.muscle.wraps
            if wrap.first < self.last and wrap.last > self.first
        )
        part = replace(
            self.muscle, points=self.muscle.points[self.first : self.last + 1], wraps=wraps
        )
        found = route(self.model, part, self.values)
        touched = list(dict.fromkeys(name for name, _, _ in found.touched))
        if not touched and not self.between:
            return None, None
        names = [self.muscle.points[k].name for k in self.between]
        if len(touched) == 1 and not names:
            surface = self.model.surfaces[touched[0]]
            if surface.kind == "sphere" and surface.side is not None:
                # MuJoCo pulls a path that passes a sphere without contact to its side; OpenSim does
                # not
                free = replace(surface, side=None)
                surfaces = self.model.surfaces | {surface.name: free}
                other = route(replace(self.model, surfaces=surfaces), part, self.values)
                same = np.allclose(other.length, found.length, rtol=0.0, atol=1e-6)
                return (free if same else surface), None
            if surface.kind in EXACT:
                return surface, None
        guesses = self._guesses(touched, active)
        body = guesses[0].body
        start, end = (
            moved(inverse(self.poses[body]), self._places(k)) for k in (self.first, self.last)
        )
        fitted, worst = fit_surface(guesses, start, end, found.length)
        what = ", ".join(
            [*names, *(f"{self.model.surfaces[name].kind} {name}" for name in touched)]
        )
        straight = float(np.abs(np.linalg.norm(end - start, axis=1) - found.length).max())
        if straight <= worst + NEEDED:
            # with a surface tangent to the path, rounding could wrap it once around
            words = f"{what}: straight, length within {1e3 * straight:.2g} mm over the poses"
            return None, Remark("approximated", self.muscle.name, words)
        words = f"{what}: a fitted {fitted.kind}, length within {1e3 * worst:.2g} mm over the poses"
        name = f"{self.muscle.name}-{self.first + 1}-wrap"
        return replace(fitted, name=name), Remark("approximated", self.muscle.name, words)

    def _places(self, k: int) -> np.ndarray:
        point = self.muscle.points[k]
        count = len(self.poses[point.body])
        return moved(self.poses[point.body], point_places(point, self.every, count))

    def _guesses(self, touched: list[str], active: np.ndarray) -> list[Surface]:
        guesses: list[Surface] = []
        for name in touched:
            surface = self.model.surfaces[name]
            if guesses and surface.body != guesses[0].body:
                continue
            guesses += [surface] if surface.kind in EXACT else ellipsoid_guesses(surface)
        for k in self.between:
            point = self.muscle.points[k]
            if guesses and point.body != guesses[0].body:
                continue
            rows = np.flatnonzero(active[:, k])
            back = inverse(self.poses[point.body][rows])
            ends = [moved(back, self._places(end)[rows]) for end in (self.first, self.last)]
            guesses += point_guesses(point.name, point.body, point.place, *ends)
        return guesses
