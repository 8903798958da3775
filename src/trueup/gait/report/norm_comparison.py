"""Comparison of a walk with norms: joint angles, muscle timing, steps and energy."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.gait.costs.adult_norm import STEEPEST, WALKED, adult_metabolic_rate, adult_phases
from trueup.gait.costs.adult_norm import adult_steps as steps_of_adults
from trueup.gait.costs.norms import GaitNorm
from trueup.gait.walk.gait_cycle import Curve, Stride, mean_cycle, on_ground, resampled
from trueup.gait.walk.series import JOINTS, WalkSeries

ON, LEAST = 0.2, 0.05
"""Thresholds of an active muscle: fraction of its largest mean activation, and activation."""


@dataclass(frozen=True)
class ProfileScore:
    """Deviation of the joint angles of a walk from a norm, both legs together.

    Attributes:
      distance: gait profile score: RMS over the cycle, joints and legs (Baker et al., Gait and
        Posture 30, 2009), here of hip, knee and ankle in the sagittal plane [deg].
      people: expected score of people, from the deviation between them; NaN if unknown.
      deviations: RMS of the differences in standard deviations of people; NaN if unknown.
    """

    distance: float
    people: float
    deviations: float


def profile_score(
    series: WalkSeries, norm: GaitNorm, strides: Sequence[Sequence[Stride]]
) -> ProfileScore | None:
    """Score of a walk against a norm; None without a stride of both legs, or a joint.

    Args:
      series: walk.
      norm: norm.
      strides: number of evaluated strides of each leg.
    """
    angles = norm.reference.angles
    if not all(joint in angles for joint in JOINTS) or not all(strides):
        return None
    gaps, spread = [], []
    for k, joint in enumerate(JOINTS):
        for leg, own in enumerate(strides):
            curve = mean_cycle(series.angles[:, leg, k], own)
            assert curve is not None  # strides exist, see above
            points = len(curve.mean) - 1
            gaps.append(curve.mean[:-1] - resampled(angles[joint].mean, points))
            deviation = angles[joint].sd
            spread.append(
                np.full(points, np.nan) if deviation is None else resampled(deviation, points)
            )
    gap, sd = np.rad2deg(gaps), np.rad2deg(spread)
    return ProfileScore(
        float(np.sqrt(np.mean(gap**2))),
        float(np.sqrt(np.mean(sd**2))),
        float(np.sqrt(np.mean((gap / sd) ** 2))),
    )


def on_spans(curve: Curve) -> list[tuple[float, float]]:
    """Active intervals of a muscle over the cycle, start and end [0, 1].

    For one across the touch-down the end is below the start. The whole cycle is ``(0, 1)``.

    Args:
      curve: mean activation over the closed cycle.
    """
    values = curve.mean[:-1]
    on = values > max(ON * float(values.max()), LEAST)
    if on.all():
        return [(0.0, 1.0)]
    begins = np.flatnonzero(on & ~np.roll(on, 1))
    ends = np.flatnonzero(~on & np.roll(on, 1))
    found = []
    for begin in begins:
        later = ends[ends > begin]
        found.append((begin / len(on), (later[0] if len(later) else ends[0]) / len(on)))
    return [(float(a), float(b)) for a, b in found]


def spans_text(spans: Sequence[tuple[float, float]]) -> str:
    """Text of intervals of the cycle in percent, such as ``90 to 16``."""
    return ", ".join(f"{100.0 * a:.0f} to {100.0 * b:.0f}" for a, b in spans) or "never"


def step_rows(
    series: WalkSeries, strides: Sequence[Sequence[Stride]], lengths: Sequence[float], speed: float
) -> list[tuple[str, str, float, float | None]]:
    """Quantity, unit, value of the walk, and value of adults at its speed within their range.

    Args:
      series: walk.
      strides: number of evaluated strides of each leg.
      lengths: step lengths [m].
      speed: mean speed of the strides [m/s].
    """
    every = [stride for own in strides for stride in own]
    first, last = min(s.start for s in every), max(s.end for s in every)
    stance = [on_ground(series.load[:, k], series.period, series.threshold) for k in range(2)]
    double = float(np.mean(stance[0][first:last] & stance[1][first:last]))
    time = series.period * float(np.mean([stride.frames for stride in every]))
    adults: list[float | None] = [None] * 6
    if WALKED[0] <= speed <= WALKED[1] and abs(series.slope) <= STEEPEST and not series.stairs:
        cadence, step = steps_of_adults(speed)
        ground, both = adult_phases()
        adults = [speed, cadence, step, 120.0 / cadence, 100.0 * ground, 100.0 * both]
    own = [
        speed,
        120.0 / time,
        float(np.mean(lengths)),
        time,
        100.0 * float(np.mean([stride.stance for stride in every])),
        100.0 * double,
    ]
    names = (
        ("speed", "m/s"),
        ("cadence", "steps/min"),
        ("step length", "m"),
        ("stride", "s"),
        ("stance", "% of cycle"),
        ("double support", "% of cycle"),
    )
    return [(*name, a, b) for name, a, b in zip(names, own, adults, strict=True)]


def energy_note(rate: float, speed: float) -> str:
    """Text with the metabolic rate of adults at a speed; empty outside their range of
    speeds.

    Args:
      rate: metabolic rate of the muscles of the walk [W/kg].
      speed: speed of the walk [m/s].
    """
    if not (WALKED[0] <= speed <= WALKED[1] and np.isfinite(rate)):
        return ""
    return f"adults {adult_metabolic_rate(speed):.1f} W/kg, rest included"
