"""Verdict on a walk: steadiness and naturalness."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueup.fitting import Criterion, Grade, SearchEnd, Verdict, judge
from trueup.fitting.judgement.verdict import Reason
from trueup.gait.costs.norms import GaitNorm
from trueup.gait.costs.reference import GaitReference
from trueup.gait.costs.stages import WalkObjective
from trueup.gait.models.anatomy import LEGS
from trueup.gait.report._survival import Survival
from trueup.gait.report.natural_walk import natural_walk, sensed_stops
from trueup.gait.search.problem import GaitProblem, Scenario
from trueup.gait.walk.gait_cycle import mean_cycle, resampled, strides_of
from trueup.gait.walk.records import WalkRecords
from trueup.gait.walk.simulation import WalkSimulation

SPEED_KEPT = 0.05
"""Largest deviation of the mean speed from the target for a steady walk [m/s]."""

STAY_UP, MOST_FALL = 75.0, 50.0
"""Fraction of perturbed repeats that keep walking [%]: required for a steady walk, and limit below
which a walk is not usable."""

NATURAL = {"hip": 9.0, "knee": 10.0, "ankle": 9.0}
"""Largest RMS difference of the mean cycle of a joint from the norm for a natural walk [deg].

One and a half times the standard deviation between people in the norms of Schwartz et al. (J.
Biomech. 41, 2008), which is 6.1, 6.4 and 5.6 degrees RMS over the cycle.
"""


LASTS = "time before a fall"
KEEPS_SPEED = "deviation of the mean speed from"
SURVIVES = "repeats under unseen perturbations that keep walking"
"""Names of the criteria of a steady walk; the others are those of a natural one."""


def judge_walk(
    problem: GaitProblem,
    vector: np.ndarray,
    *,
    norms: Sequence[GaitNorm | None] | None = None,
    survivals: Sequence[Survival] = (),
    search: SearchEnd | None = None,
) -> Verdict:
    """Verdict on the walk of a vector ``(size,)``, simulated once in each scenario.

    A steady walk is complete, keeps its target speed, and keeps walking in most repeats under
    perturbations that are not used in searches. A natural walk has the joint angles of the norm,
    and meets the criteria of :func:`~trueup.gait.report.natural_walk.natural_walk`. A walk that
    falls, is assisted, or does not survive most perturbed repeats, is ``do not use``. Any other
    failed criterion is ``look``, as is a walk without a test of its steadiness.

    Args:
      problem: scenarios.
      vector: complete vector.
      norms: norm or reference of each scenario; None: naturalness is not evaluated.
      survivals: perturbed repeats in each scenario; empty if not simulated.
      search: end of the search for the walk.
    """
    criteria: list[Criterion] = []
    reasons: list[Reason] = []
    stays_up = True
    for k, scenario in enumerate(problem.scenarios):
        prefix = f"{scenario.name}: " if len(problem.scenarios) > 1 else ""
        if strength := scenario.simulation.walker.assistance:
            reasons.append(
                Reason(
                    Grade.DO_NOT_USE,
                    f"{prefix}Springs hold its pelvis upright (assistance {strength:g}): continue "
                    "the search to a walk without them (assistance=0).",
                )
            )
        records = scenario.simulation.run(vector[None])
        criteria.append(_lasting(scenario, records, prefix))
        if not criteria[-1].met:
            stays_up = False
            continue
        criteria.append(_speed(scenario, records, prefix))
        if survivals:
            criteria.append(_survival(survivals[k], prefix))
        norm = None if norms is None else norms[k]
        natural = natural_walk(scenario, records, norm, prefix)
        if norm is not None:
            natural += _naturalness(scenario, records, norm.reference, prefix)
        criteria += natural
        reasons += _not_judged(scenario, norm, bool(natural), prefix)
    if stays_up and not survivals:
        reasons.append(
            Reason(
                Grade.LOOK,
                "Its steadiness was not tested: simulate it under perturbations (--perturbations "
                "20).",
            )
        )
    return judge(search=search, criteria=criteria, look_at=reasons)


def natural_criteria(verdict: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Criteria of naturalness in the stored verdict of a walk; empty where it was not judged."""
    steady = LASTS, KEEPS_SPEED, SURVIVES
    criteria = verdict.get("criteria") or ()
    return [one for one in criteria if not any(name in one["name"] for name in steady)]


def _not_judged(
    scenario: Scenario, norm: GaitNorm | None, has_strides: bool, prefix: str
) -> list[Reason]:
    """Reasons for criteria of naturalness that cannot be judged."""
    if not has_strides:
        compared = "" if norm is None else f" to compare with {norm.name}"
        return [
            Reason(
                Grade.LOOK,
                f"{prefix}Its naturalness is unknown: it has no complete stride of "
                f"both legs{compared}. Walk longer (--sim-time).",
            )
        ]
    missing = [joint for joint in NATURAL if joint not in sensed_stops(scenario)]
    if not missing:
        return []
    return [
        Reason(
            Grade.LOOK,
            f"{prefix}Whether it leans on the stops of {' and '.join(missing)} is unknown: the "
            "model has no sensors of these joint limits (jointlimitfrc).",
        )
    ]


def _lasting(scenario: Scenario, records: WalkRecords, prefix: str) -> Criterion:
    duration = scenario.simulation.settings.duration
    lasted = float(records.length[0] * records.period)
    whole = records.ended[0] == 0
    return Criterion(
        f"{prefix}{LASTS}",
        duration if whole else min(lasted, np.nextafter(duration, 0.0)),
        duration,
        at_most=False,
        unit="s",
        advice="It falls: continue the search from it (--param-path), or use another --seed.",
        section="cost",
    )


def _speed(scenario: Scenario, records: WalkRecords, prefix: str) -> Criterion:
    simulation, target = scenario.simulation, scenario.objective.speed
    measured = WalkObjective(weights={}, speed=target, strides=scenario.objective.strides)
    threshold = simulation.controller.load_threshold
    duration, anatomy = simulation.settings.duration, simulation.walker.anatomy
    terms = measured.costs(records, anatomy, duration, threshold).terms
    return Criterion(
        f"{prefix}{KEEPS_SPEED} {target:g} m/s",
        float(terms["velocity"][0]),
        SPEED_KEPT,
        unit="m/s",
        missed=Grade.LOOK,
        advice="Increase the weight of the velocity, or continue the search.",
        section="strides",
    )


def _survival(found: Survival, prefix: str) -> Criterion:
    part = 100.0 * found.survived / len(found.fell)
    slowed = int(np.sum(found.slowed))
    said = f"{slowed} of {len(found.fell)} slow to less than half its speed. " if slowed else ""
    return Criterion(
        f"{prefix}{SURVIVES}",
        part,
        STAY_UP,
        at_most=False,
        unit="%",
        missed=Grade.DO_NOT_USE if part < MOST_FALL else Grade.LOOK,
        advice=f"{said}Search over more perturbed repeats (perturbed_repeats=8).",
        section="under-perturbations",
    )


def _naturalness(
    scenario: Scenario, records: WalkRecords, reference: GaitReference, prefix: str
) -> list[Criterion]:
    """Deviation of each joint from a reference; empty for a walk without a complete stride."""
    distances = _distances(scenario.simulation, scenario.objective.strides, records, reference)
    return [
        Criterion(
            f"{prefix}{joint} angle, RMS difference from {reference.name}",
            distance,
            NATURAL[joint],
            unit="deg",
            missed=Grade.LOOK,
            advice="Increase the weight of the reference (-kine, weights=kinematic:300).",
            section="kinematics",
        )
        for joint, distance in distances.items()
    ]


def joint_distances(
    simulation: WalkSimulation, vector: np.ndarray, reference: GaitReference, strides: int = 5
) -> dict[str, float]:
    """RMS difference of the mean cycle of each joint of a walk from a reference [deg].

    Args:
      simulation: simulation of the walk.
      vector: complete vector ``(size,)``.
      reference: reference; missing joints are omitted.
      strides: number of compared strides of each leg, the last of the walk.

    Returns:
      Differences by joint; empty without a complete stride of both legs.
    """
    return _distances(simulation, strides, simulation.run(vector[None]), reference)


def _distances(
    simulation: WalkSimulation, strides: int, records: WalkRecords, reference: GaitReference
) -> dict[str, float]:
    joints = [joint for joint in NATURAL if joint in reference.angles]
    found = {joint: _distance(simulation, strides, records, reference, joint) for joint in joints}
    known = {joint: value for joint, value in found.items() if value is not None}
    return known if len(known) == len(joints) else {}


def _distance(
    simulation: WalkSimulation,
    judged: int,
    records: WalkRecords,
    reference: GaitReference,
    joint: str,
) -> float | None:
    """RMS difference of the mean cycles of a joint from a reference [deg]; None without a
    cycle."""
    length, gaps = int(records.length[0]), []
    norm = reference.angles[joint].mean
    straight = 0.5 * np.pi if joint == "ankle" else np.pi
    threshold = simulation.controller.load_threshold
    for leg in range(len(LEGS)):
        side = "rl"[leg]
        load = records.column(f"load_{side}")[0, :length]
        strides = strides_of(load, leg, records.period, threshold, judged)
        curve = mean_cycle(straight - records.column(f"{joint}_{side}")[0, :length], strides)
        if curve is None:
            return None
        gaps.append(curve.mean[:-1] - resampled(norm, len(curve.mean) - 1))
    return float(np.rad2deg(np.sqrt(np.mean(np.square(gaps)))))
