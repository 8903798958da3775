"""Conclusion of the checks before a fit: go on, go on but, or stop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.errors import listing
from trueup.fitting.judgement.identifiability import Identifiability, WeakDirection
from trueup.signals import QualityReport
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.torque.problem import TorqueProblem

GO_ON, BUT, STOP = "go on", "go on, but", "stop"

_FEW = 2  # weak directions that are described one by one
_STRAYS = 1.0  # squared error relative to the variance of a recording: a constant is as good


@dataclass(frozen=True)
class Conclusion:
    """Advice after the checks."""

    decision: str
    """``go on``, ``go on, but`` or ``stop``."""
    reasons: tuple[str, ...] = ()
    """Sentences, most severe first."""
    next: tuple[str, ...] = ("identify",)
    """Commands that follow, for the experiment file."""

    @property
    def sentence(self) -> str:
        """The conclusion in one line."""
        if self.decision == GO_ON:
            return "Go on: nothing speaks against a fit."
        first, *others = self.reasons
        more = f" ({len(others)} more above)" if others else ""
        # a name, of a parameter or a recording, keeps its letters
        plain = first.split()[0].isalpha() and not first[:2].isupper()
        clause = first[:1].lower() + first[1:] if plain else first
        if self.decision == STOP:
            return f"Stop, because {clause.rstrip('.')}{more}."
        return f"Go on, but {clause.rstrip('.')}{more}."

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "decision": self.decision,
            "sentence": self.sentence,
            "reasons": list(self.reasons),
            "next": list(self.next),
        }


def conclusion(
    quality: Mapping[str, QualityReport],
    found: Identifiability,
    settings: Sequence[str],
    away: Sequence[str],
) -> Conclusion:
    """Conclude the checks.

    Args:
      quality: checks of the recordings, by name.
      found: identifiability near the optimum.
      settings: sentences on settings that decide estimates.
      away: recordings that the model does not follow, from :func:`strayed`.
    """
    if away:
        return Conclusion(
            STOP,
            (
                # what makes a model that is right fail comes before the failure
                *(
                    f"{name}: {finding.sentence}"
                    for name, report in quality.items()
                    for finding in report.findings
                    if finding.cause
                ),
                f"the model does not follow {listing(away)}: a constant is as good after a "
                "few iterations of the fit. Check columns, units, signs and gains, or run trueup "
                "explain",
            ),
            next=("explain", "check"),
        )
    asked = [name for name in found.names if "#" not in name]
    determined = [name for name in found.determined if name in asked]
    if not determined:
        return Conclusion(
            STOP,
            (
                f"the data determine none of the parameters {listing(asked)}: record a motion that "
                "depends on them (trueup design proposes one)",
            ),
            next=("design", "check"),
        )
    warnings = [
        (name, finding)
        for name, report in quality.items()
        for finding in report.of_severity("warning")
    ]
    # a cause of errors comes before what only adds noise
    warnings.sort(key=lambda pair: not pair[1].cause)
    reasons = [f"{name}: {finding.sentence}" for name, finding in warnings]
    undetermined = [name for name in asked if name not in determined]
    if undetermined:
        reasons.append(
            f"the data do not determine {listing(undetermined)}: freeze them, or record a motion "
            "that does (trueup design proposes one)"
        )
    reasons += _of_weak(found.weak)
    reasons += list(settings)
    return Conclusion(BUT, tuple(reasons)) if reasons else Conclusion(GO_ON)


def _of_weak(weak: Sequence[WeakDirection]) -> list[str]:
    """Sentences on weak directions; one on all of them where they are many."""
    if len(weak) <= _FEW:
        return [direction.sentence for direction in weak]
    names = dict.fromkeys(next(iter(direction.coefficients)) for direction in weak)
    return [
        f"the recorded signals determine {listing(names)} weakly: each is uncertain by half "
        "of its size or more. trueup identify says which of them matter for the motion; a faster "
        "or longer motion determines them (trueup design proposes one)"
    ]


def strayed(problem: Any, x: np.ndarray) -> list[str]:
    """Recordings in which the simulation, or the torque of the model, is no better than a constant.

    Args:
      problem: the problem of a fit.
      x: values near its optimum ``(p,)``.
    """
    if isinstance(problem, TorqueProblem):
        return _of_torques(problem, x)
    if not isinstance(problem, GrayBoxProblem):
        return []
    out = []
    pairs = problem.predictions(x[None])
    for sequence, (measured, predicted) in zip(problem.sequences, pairs, strict=True):
        if _strays(measured[-1] - predicted[0], measured[-1]):
            out.append(sequence.name)
    return out


def _of_torques(problem: TorqueProblem, x: np.ndarray) -> list[str]:
    """Recordings whose torques the model gives no better than a constant."""
    residuals = problem.residuals(x[None])[0]
    out = []
    for sequence, group in zip(problem.sequences, problem.groups, strict=True):
        rows = residuals[group.rows].reshape(sequence.measured.shape)
        if _strays(rows / sequence.weights, sequence.measured):
            out.append(sequence.name)
    return out


def _strays(error: np.ndarray, measured: np.ndarray) -> bool:
    """Whether an error is no smaller than that of a constant in most channels; both ``(T, C)``."""
    squares = np.square(error).sum(axis=0)
    spread = np.square(measured - measured.mean(axis=0)).sum(axis=0)
    moves = spread > 0
    return bool(moves.any() and not np.median(squares[moves] / spread[moves]) < _STRAYS)
