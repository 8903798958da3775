"""Criteria of a natural walk: stops, knees, steps, ground reaction, trunk and energy.

Each limit is that of people: mean and deviation of the norms and the literature, with 2.33 standard
deviations (one person of a hundred) where a deviation is known.
"""

from collections.abc import Sequence

import numpy as np

from trueup.fitting import Criterion, Grade
from trueup.gait.costs.adult_norm import STEEPEST, WALKED, adult_metabolic_rate, adult_steps
from trueup.gait.costs.norms import GaitNorm
from trueup.gait.models.anatomy import LEGS, SUFFIX
from trueup.gait.search.problem import Scenario
from trueup.gait.walk.gait_cycle import Stride, mean_cycle, over_cycle, strides_of
from trueup.gait.walk.records import WalkRecords

ONE_IN_A_HUNDRED = 2.33
"""Standard deviations that one person of a hundred exceeds."""

STOP_TORQUE = 0.1
"""Largest mean torque of the stop of a joint over the cycle [N m/kg].

Passive tissue of people bears about a third of the flexion moment of the hip, less at knee and
ankle (Whittington et al., Gait and Posture 27, 2008). A third of that moment in the norm of adults
is 0.045 N m/kg over the cycle; the limit is twice that.
"""

LEANS = 0.05
"""Torque of a stop from which a joint leans on it [N m/kg]."""

LOADING = (0.05, 0.30)
"""Part of the cycle in which the knee bends under the weight of the body."""

KNEE_DEVIATION = 6.4
"""Standard deviation between people of the flexion of the knee [deg] (Schwartz et al., J. Biomech.
41, 2008), for norms without a deviation."""

CADENCE_DEVIATION = 0.08
"""Standard deviation between people of the cadence at a speed, relative (Winter, Biomechanics and
Motor Control of Human Gait, 1991)."""

GROUND_REACTION = 1.5
"""Largest upright force of the ground on a foot [body weights]: that of people at 3 m/s, their
fastest walk (Nilsson and Thorstensson, Acta Physiol. Scand. 136, 1989)."""

TRUNK_RANGE = 12.0
"""Largest range of the lean of the trunk in a stride [deg]: that of people at any walking speed
(Thorstensson et al., Acta Physiol. Scand. 121, 1984)."""

METABOLIC = 1.5
"""Largest metabolic rate relative to adults: 1.28 for one person of a hundred (deviation 12 %), and
the 20 % by which rates of muscle models differ from measured ones (Koelewijn et al., PLoS One 14,
2019)."""


def natural_walk(
    scenario: Scenario, records: WalkRecords, norm: GaitNorm | None, prefix: str = ""
) -> list[Criterion]:
    """Criteria of a natural walk other than its joint angles, over the evaluated strides.

    Stops count on any ground. Steps, trunk, ground reaction and energy are compared with those of
    adults on level ground at walking speeds, flexion of the knees with the norm.

    Args:
      scenario: scenario of the walk.
      records: records of the walk alone.
      norm: norm of the scenario; None: flexion of the knees is not judged.
      prefix: beginning of the names of the criteria.

    Returns:
      The criteria; empty without a complete stride of both legs.
    """
    simulation, length = scenario.simulation, int(records.length[0])
    threshold = simulation.controller.load_threshold
    loads = [records.column(f"load_{side}")[0, :length] for side in SUFFIX.values()]
    strides = [
        strides_of(load, leg, records.period, threshold, scenario.objective.strides)
        for leg, load in enumerate(loads)
    ]
    if not all(strides):
        return []
    walk = _JudgedWalk(records, strides, prefix)
    stops = [walk.stop(joint) for joint in sensed_stops(scenario)]
    found = sorted(stops, key=lambda stop: -stop.value)
    if norm is not None and "knee" in norm.reference.angles:
        found.append(walk.knee_under_load(norm))
    speed, walker = walk.speed, simulation.walker
    level = abs(walker.slope) <= STEEPEST and walker.stairs is None
    if level and WALKED[0] <= speed <= WALKED[1]:
        found += [
            *walk.cadence(speed),
            walk.ground_reaction(loads),
            walk.trunk(),
            walk.metabolic_rate(speed),
        ]
    return found


def sensed_stops(scenario: Scenario) -> list[str]:
    """Joints whose stops have sensors in both legs of the model."""
    limits = scenario.simulation.walker.body_map(()).parts[0]["limits"]
    names = ("hip", "knee", "ankle")
    return [joint for k, joint in enumerate(names) if (limits[:, k] >= 0).all()]


class _JudgedWalk:
    """Measures of the evaluated strides of one walk."""

    def __init__(self, records: WalkRecords, strides: Sequence[Sequence[Stride]], prefix: str):
        self.records, self.strides, self.prefix = records, strides, prefix
        every = [stride for own in strides for stride in own]
        self.first, self.last = min(s.start for s in every), max(s.end for s in every)
        self.stride_time = records.period * float(np.mean([s.frames for s in every]))

    @property
    def speed(self) -> float:
        """Mean speed of the strides [m/s]."""
        x = self._column("x")
        time = (self.last - self.first) * self.records.period
        return float(x[self.last] - x[self.first]) / time

    def stop(self, joint: str) -> Criterion:
        torques = [
            np.abs(self._column(f"limit_{joint}_{side}")[own[0].start : own[-1].end])
            / self.records.mass
            for side, own in zip(SUFFIX.values(), self.strides, strict=True)
        ]
        leaning = 100.0 * max(float((of_leg > LEANS).mean()) for of_leg in torques)
        return self._criterion(
            f"mean torque of the {joint}'s stop",
            max(float(of_leg.mean()) for of_leg in torques),
            STOP_TORQUE,
            "N m/kg",
            advice=f"The {joint} leans on its stop for {leaning:.0f} % of the cycle. Increase the "
            "weight of the torque at joint limits (weights=pain:100).",
            section="joint-moments",
        )

    def knee_under_load(self, norm: GaitNorm) -> Criterion:
        curve = norm.reference.angles["knee"]
        points = len(curve.mean)
        part = slice(round(LOADING[0] * points), round(LOADING[1] * points) + 1)
        at = part.start + int(np.argmax(curve.mean[part]))
        sd = np.deg2rad(KNEE_DEVIATION) if curve.sd is None else curve.sd[at]
        least = max(float(np.rad2deg(curve.mean[at] - ONE_IN_A_HUNDRED * sd)), 0.0)
        flexion = []
        for leg, side in enumerate(SUFFIX.values()):
            mean = mean_cycle(np.pi - self._column(f"knee_{side}"), self.strides[leg])
            assert mean is not None  # strides exist
            last = len(mean.mean) - 1
            flexion.append(mean.mean[round(LOADING[0] * last) : round(LOADING[1] * last) + 1].max())
        return self._criterion(
            f"flexion of the knee under load, compared with {norm.name}",
            float(np.rad2deg(min(flexion))),
            least,
            "deg",
            at_most=False,
            advice="It walks on straight legs. Increase the weight of the reference "
            "(weights=kinematic:300).",
            section="kinematics",
        )

    def cadence(self, speed: float) -> list[Criterion]:
        own, adults = 120.0 / self.stride_time, adult_steps(speed)[0]
        return [
            self._criterion(
                f"difference of the cadence from that of adults at {speed:.2f} m/s",
                100.0 * abs(own / adults - 1.0),
                100.0 * ONE_IN_A_HUNDRED * CADENCE_DEVIATION,
                "%",
                advice=f"It takes {own:.0f} steps/min, adults {adults:.0f}: its steps are too "
                f"{'long' if own < adults else 'short'}. Increase the weight of the reference "
                "(weights=kinematic:300).",
                section="strides",
            )
        ]

    def ground_reaction(self, loads: Sequence[np.ndarray]) -> Criterion:
        peaks = [
            [loads[leg][stride.start : stride.end].max() for stride in self.strides[leg]]
            for leg in range(len(LEGS))
        ]
        return self._criterion(
            "peak of the ground reaction of a foot, mean of its strides",
            max(float(np.mean(of_leg)) for of_leg in peaks),
            GROUND_REACTION,
            "body weights",
            advice="It stamps. Increase the weight of the ground reaction (weights=grf:100).",
            section="ground-reaction",
        )

    def trunk(self) -> Criterion:
        lean = np.rad2deg(over_cycle(self._column("torso_pitch"), self.strides[0]))
        return self._criterion(
            "range of the lean of the trunk in a stride",
            float(np.ptp(lean, axis=1).mean()),
            TRUNK_RANGE,
            "deg",
            advice="The trunk swings. Increase its weight (weights=trunk:100).",
            section="over-time",
        )

    def metabolic_rate(self, speed: float) -> Criterion:
        # from its left touch-downs: the energy in the records is a total since the start
        begin, end = self.strides[1][0].start, self.strides[1][-1].end
        energy = self._column("metabolic")
        time = (end - begin) * self.records.period
        return self._criterion(
            "metabolic rate of the muscles",
            float(energy[end] - energy[begin]) / (self.records.mass * time),
            METABOLIC * adult_metabolic_rate(speed),
            "W/kg",
            advice=f"Adults need {adult_metabolic_rate(speed):.1f} W/kg at this speed. Increase "
            "the weight of the energy (weights=metabolic:10).",
            section="muscles",
        )

    def _column(self, name: str) -> np.ndarray:
        return self.records.column(name)[0, : int(self.records.length[0])]

    def _criterion(
        self,
        name: str,
        value: float,
        limit: float,
        unit: str,
        *,
        advice: str,
        section: str,
        at_most: bool = True,
    ) -> Criterion:
        return Criterion(
            f"{self.prefix}{name}", value, limit, at_most, unit, Grade.LOOK, advice, section
        )
