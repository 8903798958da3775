"""Force curves of OpenSim muscles, and the force of muscle and tendon.

Thelen2003Muscle: D. G. Thelen, "Adjustment of muscle mechanics model parameters to simulate dynamic
contractions in older adults", J. Biomech. Eng. 125 (2003). Millard2012: M. Millard, T. Uchida,
A. Seth, S. L. Delp, "Flexing computational muscle", J. Biomech. Eng. 135 (2013), whose curves are
quintic Bezier curves. Lengths are relative to the optimal length of the fibers, or the slack length
of the tendon; forces to the largest isometric force; velocities to the largest one, lengthening
positive.
"""

import itertools
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

_STEEPEST = 50.0  # largest exponent of a passive force, against overflow: 1e21 strengths
_SAMPLES = 200  # per Bezier segment
_BERNSTEIN, _BERNSTEIN_4 = (1.0, 5.0, 10.0, 10.0, 5.0, 1.0), (1.0, 4.0, 6.0, 4.0, 1.0)


class MuscleCurves(Protocol):
    """Curves of fiber and tendon."""

    def active(self, length: np.ndarray) -> np.ndarray:
        """Active force at a length of the fibers."""
        ...

    def passive(self, length: np.ndarray) -> np.ndarray:
        """Passive force at a length of the fibers."""
        ...

    def tendon(self, length: np.ndarray) -> np.ndarray:
        """Force of the tendon at its length."""
        ...

    def velocity(self, velocity: np.ndarray, activation: float | np.ndarray = 1.0) -> np.ndarray:
        """Factor of the active force at a velocity of the fibers."""
        ...

    @property
    def damping(self) -> float:
        """Force of the damping of the fibers at their largest speed."""
        ...


@dataclass(frozen=True)
class ThelenCurves:
    """Curves of Thelen2003Muscle; attributes have OpenSim's names and defaults."""

    FmaxTendonStrain: float = 0.04
    FmaxMuscleStrain: float = 0.6
    KshapeActive: float = 0.45
    KshapePassive: float = 5.0
    Af: float = 0.25
    Flen: float = 1.4

    damping = 0.0

    def active(self, length: np.ndarray) -> np.ndarray:
        """Active force at a length of the fibers (equation 4)."""
        # a Gaussian, whose width is the shape factor
        return np.exp(-((length - 1.0) ** 2) / self.KshapeActive)

    def passive(self, length: np.ndarray) -> np.ndarray:
        """Passive force at a length of the fibers (equation 3)."""
        # exponential from slack fibers, 1 at FmaxMuscleStrain: its slope at slack is that of the
        # equation, KshapePassive / FmaxMuscleStrain / (exp(KshapePassive) - 1), and not zero
        strain = np.maximum(length - 1.0, 0.0) / self.FmaxMuscleStrain
        bend = np.minimum(self.KshapePassive * strain, _STEEPEST)
        return np.expm1(bend) / np.expm1(min(self.KshapePassive, _STEEPEST))

    def tendon(self, length: np.ndarray) -> np.ndarray:
        """Force of the tendon (equation 5, with the numbers below it)."""
        # exponential toe up to a third of the force, then linear; with the rounded constants of
        # Thelen the slope has a step of 0.1 % where they meet
        # constants of Thelen: toe force 0.33, toe strain 0.609 and linear stiffness 1.712, both
        # relative to the strain at one norm force, and shape factor 3
        strain, toe, shape = np.maximum(length - 1.0, 0.0), 0.609 * self.FmaxTendonStrain, 3.0
        curved = 0.33 * np.expm1(shape * np.minimum(strain, toe) / toe) / np.expm1(shape)
        return curved + 1.712 / self.FmaxTendonStrain * np.maximum(strain - toe, 0.0)

    def velocity(self, velocity: np.ndarray, activation: float | np.ndarray = 1.0) -> np.ndarray:
        """Factor of the active force (equations 6 and 7, solved for the force)."""
        # Hill hyperbolas: slopes at rest are 1 + 1/Af in shortening and, by the factor 2 of
        # equation 7, twice that in lengthening; zero force above the largest shortening speed
        # velocities are relative to the largest one, which grows with activation (equation 6)
        v = np.clip(velocity / (0.25 + 0.75 * activation), -1.0, None)
        shortening = (1.0 + v) / (1.0 - np.minimum(v, 0.0) / self.Af)
        slope, beyond = 2.0 + 2.0 / self.Af, self.Flen - 1.0
        stretched = np.maximum(v, 0.0)
        lengthening = (beyond + stretched * slope * self.Flen) / (beyond + stretched * slope)
        return np.where(v <= 0.0, shortening, lengthening)


@dataclass(frozen=True)
class _Curve:
    """A curve of Bezier segments, with linear extrapolation.

    Between samples of the segments it is the cubic Hermite interpolant: linear interpolation would
    give steps of some per cent in the slope.
    """

    x: np.ndarray
    y: np.ndarray
    slopes: np.ndarray
    before: float
    after: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        # distances beyond the ends, times the slopes there, extend the curve linearly
        low, high = np.minimum(x - self.x[0], 0.0), np.maximum(x - self.x[-1], 0.0)
        inside = np.clip(x, self.x[0], self.x[-1])
        k = np.clip(np.searchsorted(self.x, inside, side="right") - 1, 0, len(self.x) - 2)
        step = self.x[k + 1] - self.x[k]
        t = (inside - self.x[k]) / step
        found = self.y[k] + t**2 * (3.0 - 2.0 * t) * (self.y[k + 1] - self.y[k])
        found = found + step * t * (1.0 - t) ** 2 * self.slopes[k]
        found = found - step * t**2 * (1.0 - t) * self.slopes[k + 1]
        return found + self.before * low + self.after * high


def _bezier_curve(
    knots: list[tuple[float, float, float]], curviness: float, before: float, after: float
) -> _Curve:
    """Curve of quintic Bezier segments through knots (x, y, slope).

    The inner control points of a segment are two pairs of equal points towards the intersection of
    the end tangents; equal points make the curvature zero at the ends. ``curviness`` is scaled to
    0.1 to 0.9 (SegmentedQuinticBezierToolkit of OpenSim).
    """
    u = np.linspace(0.0, 1.0, _SAMPLES + 1)
    # B_k(u) = binomial(5, k) u^k (1 - u)^(5 - k), and the derivative of a curve is
    # 5 sum_k (P_k+1 - P_k) binomial(4, k) u^k (1 - u)^(4 - k)
    weights = np.stack([c * u**k * (1.0 - u) ** (5 - k) for k, c in enumerate(_BERNSTEIN)], axis=1)
    rates = np.stack([c * u**k * (1.0 - u) ** (4 - k) for k, c in enumerate(_BERNSTEIN_4)], axis=1)
    curviness = 0.1 + 0.8 * curviness
    pieces, slopes = [], []
    for (x0, y0, slope0), (x1, y1, slope1) in itertools.pairwise(knots):
        # intersection of the tangents; parallel ones have none
        corner_x = 0.5 * (x0 + x1)
        if abs(slope0 - slope1) > 1e-8:
            corner_x = (y1 - y0 - x1 * slope1 + x0 * slope0) / (slope0 - slope1)
        corner = np.array([corner_x, (corner_x - x1) * slope1 + y1])
        first, last = np.array([x0, y0]), np.array([x1, y1])
        near = first + curviness * (corner - first)
        far = last + curviness * (corner - last)
        control = np.stack([first, near, near, far, far, last])
        pieces.append(weights @ control)
        run, rise = (rates @ np.diff(control, axis=0)).T
        slopes.append(rise / run)
    points = np.concatenate([pieces[0], *[piece[1:] for piece in pieces[1:]]])
    slope = np.concatenate([slopes[0], *[piece[1:] for piece in slopes[1:]]])
    return _Curve(points[:, 0], points[:, 1], slope, before, after)


_DEFAULTS: dict[str, dict[str, float]] = {
    "ActiveForceLengthCurve": {
        "min_norm_active_fiber_length": 0.4441,
        "transition_norm_fiber_length": 0.73,
        "max_norm_active_fiber_length": 1.8123,
        "shallow_ascending_slope": 0.8616,
        "minimum_value": 0.1,
    },
    "ForceVelocityCurve": {
        "concentric_slope_at_vmax": 0.0,
        "concentric_slope_near_vmax": 0.25,
        "isometric_slope": 5.0,
        "eccentric_slope_at_vmax": 0.0,
        "eccentric_slope_near_vmax": 0.15,
        "max_eccentric_velocity_force_multiplier": 1.4,
        "concentric_curviness": 0.6,
        "eccentric_curviness": 0.9,
    },
    "FiberForceLengthCurve": {
        "strain_at_zero_force": 0.0,
        "strain_at_one_norm_force": 0.7,
        "stiffness_at_low_force": 0.2,
        "stiffness_at_one_norm_force": 2.0 / 0.7,
        "curviness": 0.75,
    },
    "TendonForceLengthCurve": {
        "strain_at_one_norm_force": 0.049,
        "stiffness_at_one_norm_force": 1.375 / 0.049,
        "norm_force_at_toe_end": 2.0 / 3.0,
        "curviness": 0.5,
    },
}
"""Properties of the curves of Millard2012 with their defaults in OpenSim."""


@dataclass(frozen=True)
class MillardCurves:
    """Curves of Millard2012EquilibriumMuscle.

    Attributes:
      properties: curve -> property -> value, where it differs from the default of OpenSim.
      damping: force of the damping of the fibers at their largest speed.
    """

    properties: dict[str, dict[str, float]] = field(default_factory=dict)
    damping: float = 0.1

    PROPERTIES = _DEFAULTS

    def __post_init__(self) -> None:
        for name, maker in (
            ("active", _active_curve),
            ("passive", _passive_curve),
            ("tendon", _tendon_curve),
        ):
            object.__setattr__(self, f"_{name}", maker(self))
        object.__setattr__(self, "_velocity", _velocity_curve(self))

    def of(self, curve: str) -> dict[str, float]:
        """Properties of a curve, with defaults for missing ones."""
        given = self.properties.get(curve, {})
        found = _DEFAULTS[curve] | given
        if curve == "ActiveForceLengthCurve" and self.damping > 0.0:
            # with fiber damping OpenSim uses no minimum active force
            found["minimum_value"] = 0.0
        strain = found.get("strain_at_one_norm_force", 1.0)
        if "strain_at_one_norm_force" in given and "stiffness_at_one_norm_force" not in given:
            # default stiffness in OpenSim for a curve with only a strain
            factor = 1.375 if curve == "TendonForceLengthCurve" else 2.0
            found["stiffness_at_one_norm_force"] = factor / strain
        return found

    def active(self, length: np.ndarray) -> np.ndarray:
        """Active force at a length of the fibers."""
        return self._active(length)  # type: ignore[attr-defined]

    def passive(self, length: np.ndarray) -> np.ndarray:
        """Passive force at a length of the fibers."""
        return self._passive(length)  # type: ignore[attr-defined]

    def tendon(self, length: np.ndarray) -> np.ndarray:
        """Force of the tendon at its length."""
        return self._tendon(length)  # type: ignore[attr-defined]

    def velocity(self, velocity: np.ndarray, activation: float | np.ndarray = 1.0) -> np.ndarray:
        """Factor of the active force at a velocity of the fibers, whatever the activation."""
        return self._velocity(velocity)  # type: ignore[attr-defined]


def _active_curve(curves: MillardCurves) -> _Curve:
    p = curves.of("ActiveForceLengthCurve")
    low, bend = p["min_norm_active_fiber_length"], p["transition_norm_fiber_length"]
    high, slope, least = (
        p["max_norm_active_fiber_length"], p["shallow_ascending_slope"], p["minimum_value"],
    )  # fmt: skip
    # knots as in SmoothSegmentedFunctionFactory of OpenSim, also in the other curves: steep and
    # shallow part of the ascent, a plateau of width 0.1 around 1, and a descent through half of the
    # force
    width = 0.05
    top = 1.0 - width
    y1 = 1.0 - slope * (top - bend)
    shallow = bend + 0.5 * (top - bend)
    middle = (1.0 + width) + 0.5 * (high - 1.0 - width)
    knots = [
        (low, least, 0.0),
        (low + 0.5 * (bend - low), 0.5 * y1, 1.25 * y1 / (bend - low)),
        (shallow, y1 + 0.5 * (1.0 - y1), slope),
        (1.0, 1.0, 0.0),
        (middle, 0.5, -1.0 / ((high - width) - (1.0 + width))),
        (high, least, 0.0),
    ]
    return _bezier_curve(knots, 1.0, 0.0, 0.0)


def _passive_curve(curves: MillardCurves) -> _Curve:
    p = curves.of("FiberForceLengthCurve")
    zero, one = 1.0 + p["strain_at_zero_force"], 1.0 + p["strain_at_one_norm_force"]
    low, stiff = p["stiffness_at_low_force"], p["stiffness_at_one_norm_force"]
    # toe of a tenth of the strain, at the end of which the slope is that at low force
    delta = min(0.1 / stiff, 0.1 * (one - zero))
    knots = [(zero, 0.0, 0.0), (zero + delta, 0.5 * low * delta, low), (one, 1.0, stiff)]
    return _bezier_curve(knots, p["curviness"], 0.0, stiff)


def _tendon_curve(curves: MillardCurves) -> _Curve:
    p = curves.of("TendonForceLengthCurve")
    stiff, toe = p["stiffness_at_one_norm_force"], p["norm_force_at_toe_end"]
    # linear from the end of the toe to 1 at the strain of one norm force, which defines that end;
    # the middle knot of the toe has half of that force, on the line from a tenth of the toe
    x_toe = (toe - 1.0) / stiff + 1.0 + p["strain_at_one_norm_force"]
    foot = 1.0 + 0.1 * (x_toe - 1.0)
    middle = (0.5 * toe - 1.0) / stiff + 1.0 + p["strain_at_one_norm_force"]
    slope = 0.5 * toe / (middle - foot)
    control = foot + 0.5 * (middle - foot)
    knots = [(1.0, 0.0, 0.0), (control, slope * (control - foot), slope), (x_toe, toe, stiff)]
    return _bezier_curve(knots, p["curviness"], 0.0, stiff)


def _velocity_curve(curves: MillardCurves) -> "_TwoCurves":
    p = curves.of("ForceVelocityCurve")
    # knots at 0.9 of the largest speed: the force difference to the end is the mean slope times 0.1
    near = 0.05 * (p["concentric_slope_near_vmax"] + p["concentric_slope_at_vmax"])
    most = p["max_eccentric_velocity_force_multiplier"]
    far = most - 0.05 * (p["eccentric_slope_near_vmax"] + p["eccentric_slope_at_vmax"])
    shortening = [
        (-1.0, 0.0, p["concentric_slope_at_vmax"]),
        (-0.9, near, p["concentric_slope_near_vmax"]),
        (0.0, 1.0, p["isometric_slope"]),
    ]
    lengthening = [
        (0.0, 1.0, p["isometric_slope"]),
        (0.9, far, p["eccentric_slope_near_vmax"]),
        (1.0, most, p["eccentric_slope_at_vmax"]),
    ]
    return _TwoCurves(
        _bezier_curve(shortening, p["concentric_curviness"], p["concentric_slope_at_vmax"], 0.0),
        _bezier_curve(lengthening, p["eccentric_curviness"], 0.0, p["eccentric_slope_at_vmax"]),
    )


@dataclass(frozen=True)
class _TwoCurves:
    """One curve below zero and one above."""

    below: _Curve
    above: _Curve

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.where(np.asarray(x) <= 0.0, self.below(x), self.above(x))


def muscle_force(
    curves: MuscleCurves,
    length: np.ndarray,
    activation: float | np.ndarray,
    rate: float | np.ndarray = 0.0,
    *,
    fiber: float,
    tendon: float,
    pennation: float,
    rigid: bool,
    speed: float = 10.0,
) -> np.ndarray:
    """Force of muscle and tendon, relative to the largest isometric force ``(...)``.

    The fibers have constant thickness, and their force along the tendon equals that of the tendon,
    whose length does not change: the root is found by bisection, between fibers of a hundredth of
    their optimal length and a slack tendon. A path too short for both is slack.

    Args:
      curves: curves.
      length: lengths of muscle and tendon ``(...)`` [m].
      activation: activation ``(...)`` [0, 1].
      rate: rate of the length ``(...)``, lengthening positive [m/s].
      fiber: optimal length of the fibers [m].
      tendon: slack length of the tendon [m].
      pennation: angle at the optimal length [rad].
      rigid: whether the tendon is rigid.
      speed: largest shortening speed [optimal lengths/s].
    """
    # Millard et al. 2013: constant thickness (parallelogram), so that the height of the fibers
    # across the tendon is that at the optimal length, and the rate of the fibers is that along the
    # tendon times the cosine of their angle
    width = fiber * np.sin(pennation)
    least = 0.01 * fiber
    length, activation, rate = np.broadcast_arrays(length, activation, rate)

    def pull(along: np.ndarray) -> np.ndarray:
        """Force of the fibers along the tendon at their length along it."""
        whole = np.hypot(along, width)
        normal, cosine = whole / fiber, along / whole
        velocity = rate * cosine / (speed * fiber)
        active = activation * curves.active(normal) * curves.velocity(velocity, activation)
        return (active + curves.passive(normal) + curves.damping * velocity) * cosine

    slack = length - tendon <= least
    high = np.maximum(length - tendon, least)
    if rigid:
        return np.where(slack, 0.0, np.maximum(pull(high), 0.0))
    low = np.full_like(high, least)
    # bisection for the equilibrium of fiber and tendon: fibers that pull more than the tendon are
    # too long; 50 steps reach double precision
    for _ in range(50):
        middle = 0.5 * (low + high)
        long = pull(middle) > curves.tendon((length - middle) / tendon)
        low, high = np.where(long, low, middle), np.where(long, middle, high)
    return np.where(slack, 0.0, np.maximum(pull(0.5 * (low + high)), 0.0))
