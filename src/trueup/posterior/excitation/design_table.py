"""What a design promises: a record for each unknown, and the verdict."""

from typing import Any

import numpy as np

from trueup.fitting.verdict import Grade, Reason, Verdict
from trueup.posterior.excitation.criterion import NORMAL, Criterion
from trueup.posterior.excitation.design_search import IDENTIFIABLE
from trueup.posterior.excitation.designed_robot import DesignedRobot


def rows_of(
    robot: DesignedRobot,
    criterion: Criterion,
    predicted: Any,
    intervals: np.ndarray,
    baseline: np.ndarray | None,
    reasons: dict[str, str],
) -> list[dict[str, Any]]:
    """One record an unknown, for ``solution.json`` and the page.

    Args:
      robot: the robot and its draws.
      criterion: scale of each unknown.
      predicted: prediction for the whole recording.
      intervals: intervals of the search, relative to the scales ``(draws, p)``.
      baseline: those of a chirp ``(p,)``; None where none keeps the limits.
      reasons: unknown -> why no motion can tell it.
    """
    space, x = robot.space, robot.draws[0]
    z = space.to_search(x)
    joint = predicted.together(robot.known, NORMAL)
    rows = []
    for i, name in enumerate(space.names):
        ends = []
        for sign in (-1, 1):
            moved = z.copy()
            moved[i] += sign * (predicted.half_widths[i] if np.isfinite(predicted.half_widths[i])
                                else 2 * criterion.scale[i])  # fmt: skip
            ends.append(float(space.from_search(moved[None])[0, i]))
        first = max(float(intervals[0, i]), 1e-12)
        rows.append(
            {
                "name": name,
                "unit": space.units[i] if space.units else "",
                "value": float(x[i]),
                "low": ends[0],
                "high": ends[1],
                "half_width": float(predicted.half_widths[i]),
                "relative": float(min(predicted.half_widths[i] / criterion.scale[i], 1.0)),
                "with_known": float(min(joint[i] / criterion.scale[i], 1.0)),
                "over_draws": [float(f) for f in np.quantile(intervals[:, i] / first, [0, 1])],
                "chirp": None if baseline is None else float(baseline[i]),
                "lower": float(space.lower[i]),
                "upper": float(space.upper[i]),
                "unknown": reasons.get(name, ""),
                "parameter": name,
            }
        )
    return rows


def verdict_of(
    rows: list[dict[str, Any]], baseline: np.ndarray | None, target: float | None
) -> Verdict:
    """Whether the recording is worth its time: beside a chirp, and the interval that is wanted."""
    learned = [r for r in rows if not r["unknown"]]
    if not learned:
        sentence = "No unknown can be identified by any motion within the limits."
        return Verdict((Reason(Grade.DO_NOT_USE, sentence, "unknown"),))
    key = "with_known"
    largest = max(r[key] for r in learned)
    reasons = []
    if baseline is not None:
        both = [r for r in learned if r["chirp"] < IDENTIFIABLE] or learned
        own, other = max(r["relative"] for r in both), max(r["chirp"] for r in both)
        reasons.append(
            Reason(
                Grade.USE if own < other else Grade.LOOK,
                f"The largest interval is predicted as {100 * own:.3g} % of what was allowed "
                f"before, that of a chirp within the same limits as {100 * other:.3g} %.",
                "parameters",
            )
        )
    if target is not None and largest > target:
        reasons.append(
            Reason(
                Grade.LOOK,
                f"The widest interval will be {100 * largest:.3g} % of what was allowed before, "
                f"{100 * target:.3g} % is wanted: record longer, or design again after this one.",
                "parameters",
            )
        )
    if unknown := [r["name"] for r in rows if r["unknown"]]:
        reasons.append(
            Reason(
                Grade.LOOK,
                f"Unknown whatever is recorded within these limits: {', '.join(unknown[:6])}"
                f"{' and others' if len(unknown) > 6 else ''}.",
                "unknown",
            )
        )
    reasons.sort(key=lambda r: -r.grade.severity)
    return Verdict(tuple(reasons))
