"""Initial positions of the points that replace conditional and moving points and surfaces."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trueup.gait.opensim.model import Muscle, OsimModel
from trueup.gait.opensim.paths import point_active, point_places
from trueup.gait.opensim.rotations import inverse, moved
from trueup.gait.opensim.routes.moving_points import Moving
from trueup.gait.opensim.routes.section_samples import SectionSamples


@dataclass(frozen=True)
class SectionPoints:
    """Points of a section of a path, from ``first`` to ``last``, with those ``between`` them."""

    model: OsimModel
    muscle: Muscle
    first: int
    last: int
    between: list[int]
    samples: SectionSamples

    def choices(self) -> Iterator[list[Moving]]:
        """Lists of points to fit, those with fewer points and motions first."""
        given = self._given()
        surfaces = self._touched()
        if not surfaces:
            if given:
                yield [one for _, one in sorted(given, key=lambda pair: pair[0])]
            return
        for count in (1, 2):
            for driver in (None, *self.samples.coordinates):
                every = [*given]
                for name, key in surfaces.items():
                    every += self._on_surface(name, key, count, driver)
                yield [one for _, one in sorted(every, key=lambda pair: pair[0])]

    def _given(self) -> list[tuple[float, Moving]]:
        """Conditional and moving points of the file, each with its place in the order."""
        found, values, count = [], self.samples.values, len(self.samples.lengths)
        for k in range(self.first, self.last + 1):
            point = self.muscle.points[k]
            if not point.moves and point.active is None:
                continue
            if k not in (self.first, *self.between, self.last):
                continue
            places, drivers = point_places(point, values, count), set()
            drivers |= {self.model.leader(name)[0] for _, name in point.moves.values()}
            if point.active is not None:
                active = point_active(point, values, count)
                places = self._where(places, active, point.body)
                drivers.add(self.model.leader(point.active[0])[0])
            # a point has one driver, so of several the one that the path depends on first
            known = [name for name in self.samples.coordinates if name in drivers]
            found.append(
                (float(k), Moving(point.name, point.body, places, known[0] if known else None))
            )
        return found

    def _touched(self) -> dict[str, tuple[str, int, int]]:
        """The touched surfaces, and the section that each touches in most poses."""
        found: dict[str, tuple[str, int, int]] = {}
        touched = self.samples.path.touched
        for key, rows in touched.items():
            name, i, j = key
            if i < self.first or j > self.last or not rows.any():
                continue
            if name not in found or rows.sum() > touched[found[name]].sum():
                found[name] = key
        return found

    def _on_surface(
        self, name: str, key: tuple[str, int, int], count: int, driver: str | None
    ) -> list[tuple[float, Moving]]:
        """One or two points on a surface, each with its place in the order."""
        body = self.model.surfaces[name].body
        rows, contacts = self.samples.path.touched[key], self.samples.path.contacts[key]
        back = inverse(self.samples.poses[body])
        local = [moved(back, contacts[:, end]) for end in (0, 1)]
        start = self.samples.place(self.muscle.points[key[1]])
        away = np.linalg.norm(contacts[rows].mean(axis=1) - start[rows], axis=1).mean()
        order = key[1] + 0.5 * away / (1.0 + away)
        found = []
        for k, places in enumerate(local if count == 2 else [0.5 * (local[0] + local[1])]):
            mean = places[rows].mean(axis=0)
            where = self._where(np.where(rows[:, None], places, mean), rows, body)
            found.append((order + 1e-3 * k, Moving(f"{name}{k + 1}", body, where, driver)))
        return found

    def _where(self, places: np.ndarray, there: np.ndarray, body: str) -> np.ndarray:
        """Positions ``(poses, 3)`` in a body, and where a point is not there, the nearest ones on
        the straight line between the ends of the section."""
        back = inverse(self.samples.poses[body])
        ends = (self.muscle.points[k] for k in (self.first, self.last))
        start, end = (moved(back, self.samples.place(point)) for point in ends)
        along = end - start
        part = np.sum((places - start) * along, axis=1) / np.maximum(
            np.sum(along**2, axis=1), 1e-12
        )
        nearest = start + np.clip(part, 0.0, 1.0)[:, None] * along
        return np.where(there[:, None], places, nearest)
