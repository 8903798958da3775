"""Texts about a walk: its conditions, its result, and deviations from the request."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trueup.gait.costs.stages import WalkObjective
from trueup.gait.search.problem import GaitProblem


def mean_term(terms: Mapping[str, float], name: str) -> float:
    """A term of a walk; its mean over several scenarios."""
    found = [value for key, value in terms.items() if key.rpartition(".")[2] == name]
    return float(np.mean(found)) if found else float("nan")


def how_it_walks(problem: GaitProblem) -> str:
    """Text with model, time, delays and ground of each scenario."""
    words = []
    for scenario in problem.scenarios:
        settings, walker = scenario.simulation.settings, scenario.simulation.walker
        delays = "with neural delays" if settings.delayed else "without neural delays"
        ground = f"on a slope of {walker.slope:g} degrees" if walker.slope else "on level ground"
        if walker.stairs is not None:
            rise, depth = walker.stairs.rise, walker.stairs.run
            ground = f"on stairs, {abs(rise):g} m {'up' if rise > 0 else 'down'} every {depth:g} m"
        if walker.assistance:
            ground = f"{ground} with assistance {walker.assistance:g}"
        name = Path(walker.source).name
        words.append(f"{name}, {settings.duration:g} s {delays} {ground}")
    return "; ".join(dict.fromkeys(words))


def how_far_it_walks(cost: float, terms: Mapping[str, float], walks: int) -> str:
    """Text with cost, distance and time of a walk; means over several walks."""
    walked, lasted = mean_term(terms, "walked"), mean_term(terms, "lasted")
    fell = mean_term(terms, "fell")
    if walks == 1:
        end = " and fell." if fell else " without falling."
        return f"Cost {cost:.6g}: walked {walked:.3f} m in {lasted:.2f} s{end}"
    return (
        f"Cost {cost:.6g}: {walks} walks, on average {walked:.3f} m in {lasted:.2f} s; "
        f"{round(walks * fell)} of them fell."
    )


def trunk_notes(problem: GaitProblem) -> list[str]:
    """Note for a weighted trunk without a trunk in the tracked gait."""
    objectives = [s.objective for s in problem.scenarios if isinstance(s.objective, WalkObjective)]
    if not any(one.weights.get("trunk", 0.0) > 0.0 and _lacks_trunk(one) for one in objectives):
        return []
    return ["The trunk is compared with upright: the reference has no trunk."]


def _lacks_trunk(objective: WalkObjective) -> bool:
    """Whether the trunk is compared with upright because the reference has no trunk."""
    fell_back = objective.trunk is None and objective.trunk_kind == "zero_diff"
    return fell_back and objective.reference is not None


def curve_notes(problem: GaitProblem, vector: np.ndarray) -> list[str]:
    """Notes on parts of a torque curve that differ from the vector ``(size,)``."""
    knots = problem.scenarios[0].simulation.knots(vector[None])
    clipped = {} if knots is None else knots.clipped
    return [
        f"The torque curve of the exoskeleton was adjusted: {words}." for words in clipped.values()
    ]


def survival_lines(repeats: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Summary of the walk under perturbations for each scenario.

    Args:
      repeats: scenario -> JSON values of a :class:`trueup.gait.Survival`.
    """
    return [
        f"Under {found['perturbations']} perturbations{f' at {name}' if name else ''}: "
        f"{found['survived']} keep walking; on average it walks {found['mean_walked_m']:.2f} m "
        f"in {found['mean_lasted_s']:.2f} s of {found['duration_s']:g} s"
        for name, found in repeats.items()
    ]
