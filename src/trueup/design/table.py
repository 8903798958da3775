"""What a design promises: a record for each unknown, and the verdict."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.design.criterion import Criterion
from trueup.design.search import IDENTIFIABLE
from trueup.fitting.judgement.verdict import Grade, Reason, Verdict
from trueup.parameters import Space


@dataclass(frozen=True)
class Widths:
    """Half-widths of intervals ``(p,)``, each over half of what was allowed before."""

    alone: np.ndarray
    """From the recording alone; infinite where nothing is determined."""
    with_known: np.ndarray
    """Together with what is known already."""

    @classmethod
    def of(cls, criterion: Criterion, gram: np.ndarray, spread: np.ndarray) -> "Widths":
        """Widths that sums of information ``(draws, p, p)`` give, mean over the draws."""
        return cls(
            criterion.alone.intervals(gram, spread).mean(axis=0),
            criterion.intervals(gram, spread).mean(axis=0),
        )


def rows_of(
    space: Space,
    x: np.ndarray,
    scale: np.ndarray,
    predicted: Widths,
    intervals: np.ndarray,
    chirp: Widths | None,
    reasons: dict[str, str],
) -> list[dict[str, Any]]:
    """One record an unknown, for ``solution.json`` and the page.

    Args:
      space: the unknowns.
      x: their present values ``(p,)``.
      scale: half of what was allowed before ``(p,)``, in search coordinates.
      predicted: of the whole recording.
      intervals: intervals of the search, relative to the scales ``(draws, p)``.
      chirp: of a chirp; None where none keeps the limits.
      reasons: unknown -> why no motion can tell it.
    """
    z = space.to_search(x)
    half = np.where(np.isfinite(predicted.with_known), predicted.with_known, np.inf) * scale
    rows = []
    for i, name in enumerate(space.names):
        ends = []
        for sign in (-1, 1):
            moved = z.copy()
            moved[i] += sign * min(half[i], 2 * scale[i])
            ends.append(float(space.from_search(moved[None])[0, i]))
        first = max(float(intervals[0, i]), 1e-12)
        rows.append(
            {
                "name": name,
                "unit": space.units[i] if space.units else "",
                "value": float(x[i]),
                "low": ends[0],
                "high": ends[1],
                "half_width": float(half[i]),
                "relative": float(min(predicted.alone[i], 1.0)),
                "with_known": float(min(predicted.with_known[i], 1.0)),
                "over_draws": [float(f) for f in np.quantile(intervals[:, i] / first, [0, 1])],
                "chirp": None if chirp is None else float(chirp.alone[i]),
                "chirp_with_known": None if chirp is None else float(chirp.with_known[i]),
                "lower": float(space.lower[i]),
                "upper": float(space.upper[i]),
                "unknown": reasons.get(name, ""),
                "parameter": name,
            }
        )
    return rows


def verdict_of(rows: list[dict[str, Any]], target: float | None, followed: bool) -> Verdict:
    """Whether the recording is worth its time: beside a chirp, and the interval that is wanted.

    Args:
      rows: records of :func:`rows_of`.
      target: widest interval wanted, as a share of what was allowed.
      followed: whether something is known already; both stand with it then.
    """
    learned = [r for r in rows if not r["unknown"]]
    if not learned:
        sentence = "No unknown can be identified by any motion within the limits."
        return Verdict((Reason(Grade.DO_NOT_USE, sentence, "unknown"),))
    largest = max(r["with_known"] for r in learned)
    reasons = []
    if learned[0]["chirp_with_known"] is not None:
        both = [r for r in learned if r["chirp_with_known"] < IDENTIFIABLE] or learned
        own, other = (max(r[key] for r in both) for key in ("with_known", "chirp_with_known"))
        reasons.append(
            Reason(
                Grade.USE if own < other else Grade.LOOK,
                f"The largest interval {'with former recordings ' if followed else ''}is predicted "
                f"as {100 * own:.3g} % of what was allowed before, that of a chirp within the same "
                f"limits as {100 * other:.3g} %.",
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
