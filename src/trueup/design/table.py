"""Results of a design: a record per unknown, and the verdict."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.design.criterion import Criterion
from trueup.design.search import IDENTIFIABLE
from trueup.fitting.judgement.verdict import Grade, Reason, Verdict
from trueup.parameters import Space


@dataclass(frozen=True)
class Widths:
    """Half-widths of intervals ``(p,)``, each over half of the prior range."""

    alone: np.ndarray
    """Widths from the recording alone; infinite if undetermined."""
    with_known: np.ndarray
    """Together with prior knowledge."""

    @classmethod
    def of(cls, criterion: Criterion, gram: np.ndarray, spread: np.ndarray) -> "Widths":
        """Widths from summed information ``(draws, p, p)``, mean over the draws."""
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
    """One record per unknown, for ``solution.json`` and the report.

    Args:
      space: the unknowns.
      x: their present values ``(p,)``.
      scale: half of the prior ranges ``(p,)``, in search coordinates.
      predicted: widths of the whole recording.
      intervals: intervals of the search, relative to the scales ``(draws, p)``.
      chirp: widths of a chirp; None if none is within the limits.
      reasons: unknown -> reason why no motion identifies it.
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
    """Verdict on the recording, compared with a chirp and with the target interval.

    Args:
      rows: records of :func:`rows_of`.
      target: largest acceptable interval, as a fraction of the prior range.
      followed: whether there is prior knowledge, which both then include.
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
                f"as {100 * own:.3g} % of the prior range, that of a chirp within the same "
                f"limits as {100 * other:.3g} %.",
                "parameters",
            )
        )
    if target is not None and largest > target:
        reasons.append(
            Reason(
                Grade.LOOK,
                f"The largest interval will be {100 * largest:.3g} % of the prior range, "
                f"the target is {100 * target:.3g} %: record longer, or design again after this "
                "recording.",
                "parameters",
            )
        )
    if unknown := [r["name"] for r in rows if r["unknown"]]:
        reasons.append(
            Reason(
                Grade.LOOK,
                f"Not identifiable within these limits: {', '.join(unknown[:6])}"
                f"{' and others' if len(unknown) > 6 else ''}.",
                "unknown",
            )
        )
    reasons.sort(key=lambda r: -r.grade.severity)
    return Verdict(tuple(reasons))
