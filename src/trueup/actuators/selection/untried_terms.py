"""Findings on a fit of a given model: missing extended terms, by their improvement."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from trueup.actuators.assess.jackknife import ReportStep, no_report
from trueup.actuators.bench.loads import Bench
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.equations.extended_terms import EXTENDED_TERMS
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.fit_settings import FitSettings
from trueup.actuators.selection.candidate_fits import (
    AGAIN,
    BRIEF,
    Candidate,
    CandidateFits,
    FitOrder,
)
from trueup.actuators.selection.missing_terms import symptom
from trueup.actuators.selection.model_choice import LEAST_GAIN, TriedModel
from trueup.actuators.selection.parts import HeldOutPart, cross_validation_parts
from trueup.actuators.selection.suitable_terms import suitable_terms
from trueup.actuators.selection.term_evidence import evidence_for_terms
from trueup.errors import RecordingError

_VALIDATED = 2  # terms that are cross-validated: those with the largest improvement on the logs


def untried_term_findings(
    servo: str | Servo,
    model: str,
    logs: Sequence[ServoLog],
    settings: FitSettings,
    values: dict[str, float],
    cost: float,
    *,
    benches: Sequence[Bench],
    workers: int,
    report: ReportStep = no_report,
) -> list[str]:
    """One sentence for each term that lowers the cross-validation error, best first.

    Each term that suits servo and logs is added to the model and fitted to all logs. The terms with
    the largest improvement are cross-validated, as is the fit itself, over the gains, masses and
    trajectories of the logs; the result is empty if none of these varies.

    Args:
      servo: servo, or its name in the catalogue.
      model: friction model of the fit.
      logs: its training logs.
      settings: its settings, including its terms.
      values: its values, by name.
      cost: its objective [rad].
      benches: load of each log.
      workers: number of parallel fits.
      report: called after each fit with a description and the fraction done.

    Raises:
      KeyboardInterrupt: Ctrl-C.
    """
    held = dict.fromkeys(("validation_kp", "validation_mass", "validation_trajectory"), ())
    settings = dataclasses.replace(settings, **held)
    terms = suitable_terms(servo, logs, settings)
    try:
        parts = cross_validation_parts(logs)
    except RecordingError:
        return []  # all logs have the same conditions
    if not terms:
        return []
    most = len(terms) + (1 + _VALIDATED) * len(parts)
    done: list[FitOrder] = []

    def after_fit(order: FitOrder, found: Any) -> None:
        done.append(order)
        words = f"missing terms of the model: fit {len(done)} of at most {most}"
        report(words, min(1.0, len(done) / most))

    fits = CandidateFits(servo, logs, settings, benches=benches, workers=workers, on_fit=after_fit)
    own = Candidate(model, settings.terms)
    order = list(EXTENDED_TERMS)
    candidates = {
        term: Candidate(model, tuple(sorted((*own.terms, term), key=order.index))) for term in terms
    }
    found = fits.make(
        [
            FitOrder(candidate, None, (values,), BRIEF, new_term=term)
            for term, candidate in candidates.items()
        ]
    )
    gains = sorted(
        (
            (1.0 - fit.cost / cost, term, fit.values)
            for term, fit in zip(candidates, found, strict=True)
            if np.isfinite(fit.cost)
        ),
        key=lambda entry: -entry[0],
    )
    worth = [entry for entry in gains if entry[0] > LEAST_GAIN][:_VALIDATED]
    if not worth:
        return []
    plain = _left_out(fits, own, parts, values)
    better = []
    for _, term, with_term in worth:
        error = _left_out(fits, candidates[term], parts, with_term)
        if error < (1.0 - LEAST_GAIN) * plain:
            better.append((error, term, with_term[term]))
    if not better:
        return []
    plain_model = fits.model(own, values)
    signs = evidence_for_terms(
        {term: (plain_model, value) for _, term, value in better}, logs, settings, benches
    )
    return [
        f"{symptom(term, signs)}: {term} would change the cross-validation "
        f"error from {1e3 * plain:.1f} to {1e3 * error:.1f} mrad. Add terms="
        f"{','.join(candidates[term].terms)}, or fit without --model"
        for error, term, _ in sorted(better)
    ]


def _left_out(
    fits: CandidateFits, candidate: Candidate, parts: Sequence[HeldOutPart], near: dict[str, float]
) -> float:
    """Cross-validation error of a candidate [rad], as in the model selection."""
    orders = [FitOrder(candidate, part, (near,), AGAIN) for part in parts]
    errors = {p.label: fit.error for p, fit in zip(parts, fits.make(orders), strict=True)}
    return TriedModel(candidate.model, candidate.terms, len(near), errors).error
