"""Points that move with a coordinate, fitted to the length and the moment arms of a path.

A chain of points is straight between them: its length is continuous in every pose, whatever the
path of OpenSim does there. The position of a point is a polynomial of the fourth degree of one
coordinate, as the joint equalities of MuJoCo; where this suffices, it moves along a line.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares

from trueup.gait.opensim.functions import Polynomial
from trueup.gait.opensim.mjcf_joints import motion_of
from trueup.gait.opensim.model import OsimModel, PathPoint
from trueup.gait.opensim.pose_samples import coordinate_range
from trueup.gait.opensim.routes.section_samples import STEP, SectionSamples
from trueup.gait.opensim.tolerances import ENOUGH, LENGTH

DEGREE = 4
"""Degree of the polynomials of joint equalities."""

FAR = 0.05
"""Displacement from the initial position [m] that costs ``TIE`` tolerances."""

TIE = 0.03
"""Weight of displacements, so that positions that the length does not determine are kept."""

STILL = 5e-4
"""Range of a component [m] below which it does not move."""


@dataclass(frozen=True)
class Moving:
    """A point to fit.

    Attributes:
      name: name.
      body: body to which it is attached.
      places: initial positions in the body ``(poses, 3)`` [m].
      driver: free coordinate that moves it; None for a point that does not move.
    """

    name: str
    body: str
    places: np.ndarray
    driver: str | None


@dataclass(frozen=True)
class Line:
    """Motion of a point along a line: its start ``(3,)`` [m], direction ``(3,)``, and the distance
    from the start as a function of a coordinate."""

    start: np.ndarray
    along: np.ndarray
    function: Polynomial
    coordinate: str


def line_of(point: PathPoint) -> Line | None:
    """The line along which a point moves; None for a point that moves otherwise, or not."""
    functions = [function for function, _ in point.moves.values()]
    coordinates = {coordinate for _, coordinate in point.moves.values()}
    if len(coordinates) != 1 or not all(isinstance(one, Polynomial) for one in functions):
        return None
    table = np.zeros((3, 1 + max(len(one.coefficients) for one in functions)))  # type: ignore[union-attr]
    for k, (function, _) in point.moves.items():
        coefficients = function.coefficients  # type: ignore[union-attr]
        table[k, : len(coefficients)] = coefficients
    left, sizes, right = np.linalg.svd(table[:, 1:], full_matrices=False)
    if sizes[1] > 1e-9 * sizes[0]:
        return None
    distance = Polynomial((0.0, *(sizes[0] * right[0]).tolist()))
    return Line(table[:, 0], left[:, 0], distance, coordinates.pop())


def written_point(model: OsimModel, point: PathPoint) -> PathPoint:
    """A moving point as MuJoCo moves it: by polynomials of free coordinates."""
    place, moves = point.place.copy(), {}
    for k, (function, coordinate) in point.moves.items():
        motion = motion_of(model, coordinate, function)
        if motion.coordinate is None:
            place[k] = motion.function(np.zeros(1))[0]
            continue
        low, high = coordinate_range(model, motion.coordinate)
        at = 0.5 * (low + high) + 0.5 * (high - low) * np.cos(np.linspace(0.0, np.pi, 101))
        fit = np.polynomial.Polynomial.fit(at, motion.function(at), DEGREE).convert()
        moves[k] = (Polynomial(tuple(fit.coef.tolist())), motion.coordinate)
    return replace(point, place=place, moves=moves)


def chain_length(samples: SectionSamples, points: Sequence[PathPoint]) -> np.ndarray:
    """Lengths ``(poses,)`` of straight lines between points [m]."""
    places = np.stack([samples.place(point) for point in points], axis=1)
    return np.linalg.norm(np.diff(places, axis=1), axis=2).sum(axis=1)


def fit_moving(
    samples: SectionSamples,
    before: PathPoint | None,
    moving: Sequence[Moving],
    after: PathPoint | None,
) -> tuple[list[PathPoint], float]:
    """Points fitted to the length and the moment arms of a section.

    Args:
      samples: the section in sampled poses.
      before: point before the fitted ones; None where these begin the path.
      moving: points to fit, in their order.
      after: point after the fitted ones; None where these end the path.

    Returns:
      The fitted points, and their misfit (:meth:`SectionSamples.misfit`).
    """
    unknowns = [_Unknown.free(samples, one) for one in moving]
    chain = _Chain.of(samples, before, unknowns, after)
    fitted = chain.fitted()
    points, misfit = chain.points(fitted)
    if all(one.driver is None for one in moving):
        return points, misfit
    lines = [one.on_a_line(part) for one, part in zip(unknowns, chain.split(fitted), strict=True)]
    simpler = _Chain.of(samples, before, lines, after)
    on_lines, worse = simpler.points(simpler.fitted())
    return (on_lines, worse) if worse <= max(ENOUGH, misfit) else (points, misfit)


@dataclass(frozen=True)
class _Unknown:
    """A point whose Chebyshev coefficients are linear in its unknowns."""

    point: Moving
    powers: np.ndarray  # Chebyshev polynomials of the driver (poses, powers)
    domain: tuple[float, float]  # of the driver
    shape: np.ndarray  # coefficients per unknown (unknowns, powers, 3)
    start: np.ndarray  # initial unknowns

    @classmethod
    def free(cls, samples: SectionSamples, point: Moving) -> "_Unknown":
        """A point with a polynomial for each component."""
        powers, domain = np.ones((len(point.places), 1)), (-1.0, 1.0)
        if point.driver is not None:
            at = samples.values[point.driver]
            domain = float(at.min()), float(at.max())
            scaled = (at - np.mean(domain)) / (0.5 * np.ptp(domain))
            powers = np.polynomial.chebyshev.chebvander(scaled, DEGREE)
        count = powers.shape[1]
        shape = np.eye(3 * count).reshape(3 * count, count, 3)
        start = np.linalg.lstsq(powers, point.places, rcond=None)[0].ravel()
        return cls(point, powers, domain, shape, start)

    def on_a_line(self, x: np.ndarray) -> "_Unknown":
        """The point on the line along which it mostly moves at the given unknowns."""
        table = np.tensordot(x, self.shape, 1)
        if len(table) == 1:
            return self
        moves = self.powers[:, 1:] @ table[1:]
        along = np.linalg.svd(moves - moves.mean(axis=0), full_matrices=False)[2][0]
        shape = np.zeros((3 + DEGREE, DEGREE + 1, 3))
        shape[:3, 0] = np.eye(3)
        shape[3:, 1:] = np.eye(DEGREE)[:, :, None] * along
        start = np.concatenate([table[0], table[1:] @ along])
        return _Unknown(self.point, self.powers, self.domain, shape, start)

    def path_point(self, x: np.ndarray) -> PathPoint:
        """The point at the given unknowns; a component with a small range does not move."""
        table = np.tensordot(x, self.shape, 1)
        place, moves = table[0].copy(), {}
        for k in range(3):
            series = np.polynomial.Chebyshev(table[:, k], self.domain)
            if self.point.driver is None:
                continue
            spread = np.ptp(series(np.linspace(*self.domain, 51)))
            if spread < STILL:
                place[k] = np.mean(series(np.linspace(*self.domain, 51)))
                continue
            powers = series.convert(kind=np.polynomial.Polynomial).coef
            moves[k] = (Polynomial(tuple(powers.tolist())), self.point.driver)
        return PathPoint(self.point.name, self.point.body, place, None, moves)


@dataclass(frozen=True)
class _Chain:
    """Residuals of a chain of points, and their derivatives."""

    samples: SectionSamples
    before: PathPoint | None
    unknowns: Sequence[_Unknown]
    after: PathPoint | None
    fields: list[np.ndarray]  # displacement per unknown of each point (poses, 3, unknowns)
    start: np.ndarray

    @classmethod
    def of(
        cls,
        samples: SectionSamples,
        before: PathPoint | None,
        unknowns: Sequence[_Unknown],
        after: PathPoint | None,
    ) -> "_Chain":
        fields = []
        for one in unknowns:
            local = np.einsum("nj,uji->niu", one.powers, one.shape)
            fields.append(samples.poses[one.point.body][:, :3, :3] @ local)
        start = np.concatenate([one.start for one in unknowns])
        return cls(samples, before, unknowns, after, fields, start)

    def fitted(self) -> np.ndarray:
        """Unknowns of the best chain."""
        return least_squares(
            self._errors,
            self.start,
            jac=self._slopes,  # type: ignore[arg-type]
            method="lm",
            ftol=1e-3,
            xtol=1e-4,
            max_nfev=60,
        ).x

    def split(self, x: np.ndarray) -> list[np.ndarray]:
        """The unknowns of each point."""
        sizes = np.cumsum([len(one.start) for one in self.unknowns])[:-1]
        return np.split(x, sizes)

    def points(self, x: np.ndarray) -> tuple[list[PathPoint], float]:
        """The points at the given unknowns, and their misfit."""
        parts = zip(self.unknowns, self.split(x), strict=True)
        points = [one.path_point(part) for one, part in parts]
        every = [one for one in (self.before, *points, self.after) if one is not None]
        return points, self.samples.misfit(chain_length(self.samples, every))

    def _places(self, x: np.ndarray) -> list[np.ndarray]:
        """Positions of all points of the chain ``(poses, 3)`` in the ground."""
        found = []
        for one, field, part in zip(self.unknowns, self.fields, self.split(x), strict=True):
            found.append(self.samples.poses[one.point.body][:, :3, 3] + field @ part)
        ends = [
            None if end is None else self.samples.place(end) for end in (self.before, self.after)
        ]
        return [place for place in (ends[0], *found, ends[1]) if place is not None]

    def _errors(self, x: np.ndarray) -> np.ndarray:
        places = np.stack(self._places(x), axis=1)
        lengths = np.linalg.norm(np.diff(places, axis=1), axis=2).sum(axis=1)
        samples = self.samples
        far = lengths[: samples.count] - samples.lengths[: samples.count]
        errors = self._weighted(far, samples.arms_of(lengths) - samples.arms)
        return np.concatenate([errors, TIE * (x - self.start) / FAR])

    def _slopes(self, x: np.ndarray) -> np.ndarray:
        places, samples = self._places(x), self.samples
        begin, columns = int(self.before is not None), []
        for k, field in enumerate(self.fields, begin):
            pull = np.zeros_like(places[k])
            for other in (k - 1, k + 1):
                if 0 <= other < len(places):
                    way = places[k] - places[other]
                    pull += way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-9)
            columns.append((pull[:, None, :] @ field)[:, 0])
        rates = np.concatenate(columns, axis=1)  # of the lengths (poses, unknowns)
        shifted = rates[samples.count :].reshape(-1, 2, samples.count, rates.shape[1])
        arms = (shifted[:, 1] - shifted[:, 0]) / (2.0 * STEP)
        tie = TIE * np.eye(rates.shape[1]) / FAR
        return np.concatenate([self._weighted(rates[: samples.count], arms), tie])

    def _weighted(self, lengths: np.ndarray, arms: np.ndarray) -> np.ndarray:
        """Errors, or their derivatives, in tolerances; zero beyond and at jumps of the file."""
        samples = self.samples
        trailing = [1] * (lengths.ndim - 1)
        steady = samples.steady.reshape(-1, *trailing)
        parts = [np.where(steady, lengths, 0.0) / (LENGTH * np.sqrt(samples.count))]
        for k in range(len(samples.coordinates)):
            known = np.isfinite(samples.arms[k]).reshape(-1, *trailing)
            shown, sweep = np.where(known, arms[k], 0.0), samples.sweep(k)
            parts.append(shown / (samples.limits[k, 1] * np.sqrt(samples.count)))
            parts.append(shown[sweep] / (samples.limits[k, 0] * np.sqrt(len(shown[sweep]))))
        return np.concatenate(parts)
