"""Route of a muscle in MuJoCo: points, and surfaces between them."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from trueup.gait.opensim.kinematics import all_values
from trueup.gait.opensim.model import Muscle, OsimModel, PathPoint, PathWrap, Remark, Surface
from trueup.gait.opensim.paths import OWN_JUMP, own_jumps, point_active
from trueup.gait.opensim.pose_samples import PoseSamples, muscle_coordinates
from trueup.gait.opensim.rotations import inverse, moved
from trueup.gait.opensim.routes.moving_points import chain_length, fit_moving, written_point
from trueup.gait.opensim.routes.section_points import SectionPoints
from trueup.gait.opensim.routes.section_samples import SectionSamples, section_samples
from trueup.gait.opensim.routes.surface_fit import best_side, ellipsoid_guesses, fit_surface
from trueup.gait.opensim.routes.tendon_wrap import tendon_length
from trueup.gait.opensim.tolerances import ENOUGH

EXACT = ("cylinder", "sphere")
"""Wrapping surfaces that MuJoCo tendons support."""

SAME = 1e-4
"""Difference of lengths up to which two paths are the same [m]."""


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


def plan_route(
    model: OsimModel, muscle: Muscle, samples: PoseSamples, *, surfaces: bool = True
) -> Route:
    """Points and surfaces of the path of a muscle in MuJoCo.

    Between two points that are fixed in bodies, a straight line and a cylinder or sphere are
    unchanged where MuJoCo takes the same path. Otherwise points are fitted to the length and the
    moment arms, at rest or moving with a coordinate, or else a cylinder or sphere.

    Args:
      model: model.
      muscle: one of its muscles.
      samples: poses of the fit.
      surfaces: whether the route may have surfaces.
    """
    values = samples.at(samples.rows(muscle_coordinates(model, muscle)))
    every = all_values(model, values)
    count = max((len(one) for one in every.values()), default=1)
    active = np.stack([point_active(p, every, count) for p in muscle.points], axis=1)
    last = len(muscle.points) - 1
    if not active[:, [0, last]].all():
        # paths of MuJoCo have fixed ends
        first, final = (replace(muscle.points[k], active=None) for k in (0, last))
        ends = replace(muscle, points=(first, *muscle.points[1:-1], final))
        found = plan_route(model, ends, samples, surfaces=surfaces)
        words = "its first or last point is conditional: it is always active; the rest is unchanged"
        return replace(found, remarks=(*found.remarks, Remark("refused", muscle.name, words)))
    used = np.flatnonzero(active.any(axis=0))
    always = replace(
        muscle,
        points=tuple(
            replace(point, active=None) if active[:, k].all() else point
            for k, point in enumerate(muscle.points)
        ),
    )
    kept = [int(k) for k in used if k in (0, last) or _fixed(always.points[k])]
    points: list[PathPoint] = [always.points[0]]
    wrapped: list[Surface | None] = []
    remarks: list[Remark] = []
    for i, j in itertools.pairwise(kept):
        between = [int(k) for k in used if i < k < j]
        found = _Section.of(model, always, i, j, between, samples).route(surfaces)
        points[-1:] = found.points
        wrapped += found.surfaces
        remarks += found.remarks
    default = {name: np.array([model.coordinates[name].default]) for name in model.free}
    for name, edge, sizes in own_jumps(model, muscle, default):
        if sizes[0] <= OWN_JUMP:
            continue
        at = f"{np.rad2deg(edge):.3g} deg" if model.coordinates[name].turns else f"{edge:.3g} m"
        words = f"its length in the file jumps by {1e3 * sizes[0]:.2g} mm at {name} {at}: poses "
        words += "beyond are not compared"
        remarks.append(Remark("approximated", muscle.name, words))
    return Route(tuple(points), tuple(wrapped), tuple(remarks))


def _fixed(point: PathPoint) -> bool:
    return point.active is None and not point.moves


@dataclass(frozen=True)
class _Section:
    """Section of a path between two points that are always active, and fixed unless at its end."""

    model: OsimModel
    muscle: Muscle
    first: int
    last: int
    between: list[int]
    touched: list[str]
    samples: SectionSamples

    @classmethod
    def of(
        cls,
        model: OsimModel,
        muscle: Muscle,
        first: int,
        last: int,
        between: list[int],
        samples: PoseSamples,
    ) -> "_Section":
        wraps = tuple(
            PathWrap(wrap.surface, 0, last - first)
            for wrap in muscle.wraps
            if wrap.first < last and wrap.last > first
        )
        part = replace(muscle, points=muscle.points[first : last + 1], wraps=wraps)
        coordinates = muscle_coordinates(model, part)
        found = section_samples(model, muscle, first, last, coordinates, samples)
        touched = dict.fromkeys(
            name
            for (name, i, j), rows in found.path.touched.items()
            if first <= i and j <= last and rows.any()
        )
        return cls(model, muscle, first, last, between, list(touched), found)

    @property
    def _ends(self) -> tuple[PathPoint, PathPoint]:
        return self.muscle.points[self.first], self.muscle.points[self.last]

    def route(self, wrapped: bool) -> Route:
        """The route with the smallest error, with surfaces where ``wrapped``."""
        points = [self.muscle.points[k] for k in (self.first, *self.between, self.last)]
        unchanged = tuple(written_point(self.model, one) for one in points if one.active is None)
        lengths = chain_length(self.samples, unchanged)
        best = Route(unchanged, (None,) * (len(unchanged) - 1), ())
        if np.abs(lengths - self.samples.lengths).max() < SAME:
            return replace(best, remarks=self._remarks("straight", lengths))
        least, words = self.samples.misfit(lengths), "straight"
        for found, said, length in self._candidates(wrapped):
            same = np.abs(length - self.samples.lengths).max() < SAME
            misfit = 0.0 if same else self.samples.misfit(length)
            if misfit < least:
                best, least, words, lengths = found, misfit, said, length
            if least <= ENOUGH:
                break
        return replace(best, remarks=self._remarks(words, lengths))

    def _candidates(self, wrapped: bool) -> Iterator[tuple[Route, str, np.ndarray]]:
        """Routes, their description and their lengths ``(poses,)`` [m]."""
        special = self.between or any(point.moves for point in self._ends)
        surfaces = [self.model.surfaces[name] for name in self.touched]
        if wrapped and len(surfaces) == 1 and not special and surfaces[0].kind in EXACT:
            yield self._wrapped(surfaces[0], "")
        yield from self._chains()
        guesses = [
            guess
            for one in surfaces
            if one.kind != "torus"
            for guess in ([one] if one.kind in EXACT else ellipsoid_guesses(one))
        ]
        if wrapped and guesses and not special and len({one.body for one in surfaces}) == 1:
            start, end = self._seen_from(surfaces[0].body)
            fitted = fit_surface(guesses, start, end, self.samples.lengths)
            name = f"{self.muscle.name}-{self.first + 1}-wrap"
            yield self._wrapped(replace(fitted, name=name), f"a fitted {fitted.kind}")

    def _wrapped(self, surface: Surface, words: str) -> tuple[Route, str, np.ndarray]:
        start, end = self._seen_from(surface.body)
        side = best_side(surface, start, end, self.samples.lengths)
        back = inverse(surface.pose)
        length = tendon_length(surface, side, moved(back, start), moved(back, end))
        return Route(self._ends, (replace(surface, side=side),), ()), words, length

    def _seen_from(self, body: str) -> list[np.ndarray]:
        """Positions of the ends ``(poses, 3)`` in a body."""
        back = inverse(self.samples.poses[body])
        return [moved(back, self.samples.place(point)) for point in self._ends]

    def _chains(self) -> Iterator[tuple[Route, str, np.ndarray]]:
        """Routes through fitted points, those with fewer points and motions first."""
        points = SectionPoints(
            self.model, self.muscle, self.first, self.last, self.between, self.samples
        )
        before, after = (None if end.moves else end for end in self._ends)
        for moving in points.choices():
            fitted, _ = fit_moving(self.samples, before, moving, after)
            every = tuple(one for one in (before, *fitted, after) if one is not None)
            drivers = sorted({one.driver for one in moving if one.driver is not None})
            words = f"{len(fitted)} fitted point{'s' if len(fitted) > 1 else ''}"
            words += f" moving with {' and '.join(drivers)}" if drivers else ""
            found = Route(every, (None,) * (len(every) - 1), ())
            yield found, words, chain_length(self.samples, every)

    def _remarks(self, words: str, lengths: np.ndarray) -> tuple[Remark, ...]:
        """Remark on an approximation."""
        parts = [self.muscle.points[k].name for k in self.between]
        parts += [f"{self.model.surfaces[name].kind} {name}" for name in self.touched]
        parts += [point.name for point in self._ends if point.moves]
        samples = self.samples
        exact = not self.touched and np.abs(lengths - samples.lengths).max() < 1e-9
        conditional = any(self.muscle.points[k].active is not None for k in self.between)
        if not parts or not words or (exact and not conditional):
            return ()
        far = np.abs(lengths - samples.lengths)[: samples.count][samples.steady]
        words = (
            f"{', '.join(parts)}: {words}, length within {1e3 * far.max():.2g} mm over the poses"
        )
        return (Remark("approximated", self.muscle.name, words),)
