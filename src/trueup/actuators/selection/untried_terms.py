"""Findings on a fit of a given model: missing terms and friction, by their improvement."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from trueup.actuators.assess.jackknife import ReportStep, no_report
from trueup.actuators.bench.loads import Bench
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.equations.extended_terms import EXTENDED_TERMS
from trueup.actuators.equations.friction_models import FRICTION_MODELS
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

_VALIDATED = 2  # models that are cross-validated: those with the largest improvement on the logs
_RICHER = {"m1": "m4", "m2": "m4", "m3": "m4", "m4": "m6", "m5": "m6"}
"""Friction model that contains another and is tried in its place."""


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
    """One sentence for each addition that lowers the cross-validation error, best first.

    Each term that suits servo and logs is added to the model and fitted to all logs, and so is a
    richer friction model. Those with the largest improvement are cross-validated, as is the fit
    itself, over the gains, masses and trajectories of the logs; the result is empty if none of
    these varies.

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
    order = list(EXTENDED_TERMS)
    own = Candidate(model, settings.terms)
    candidates = {
        term: Candidate(model, tuple(sorted((*own.terms, term), key=order.index))) for term in terms
    }
    if model in _RICHER:
        candidates[_RICHER[model]] = Candidate(_RICHER[model], own.terms)
    if not candidates:
        return []
    most = len(candidates) + (1 + _VALIDATED) * len(parts)
    done: list[FitOrder] = []

    def after_fit(order: FitOrder, found: Any) -> None:
        done.append(order)
        words = f"missing terms of the model: fit {len(done)} of at most {most}"
        report(words, min(1.0, len(done) / most))

    fits = CandidateFits(servo, logs, settings, benches=benches, workers=workers, on_fit=after_fit)
    found = fits.make(
        [
            FitOrder(candidate, None, (values,), BRIEF, new_term=name if name in terms else "")
            for name, candidate in candidates.items()
        ]
    )
    gains = sorted(
        (
            (1.0 - fit.cost / cost, name, fit.values)
            for name, fit in zip(candidates, found, strict=True)
            if np.isfinite(fit.cost)
        ),
        key=lambda entry: -entry[0],
    )
    worth = [entry for entry in gains if entry[0] > LEAST_GAIN][:_VALIDATED]
    if not worth:
        return []
    plain = _left_out(fits, own, parts, values)
    better = []
    for _, name, found_values in worth:
        error = _left_out(fits, candidates[name], parts, found_values)
        if error < (1.0 - LEAST_GAIN) * plain:
            better.append((error, name, found_values))
    plain_model = fits.model(own, values)
    signs = evidence_for_terms(
        {name: (plain_model, with_it[name]) for _, name, with_it in better if name in terms},
        logs,
        settings,
        benches,
    )
    return [
        f"{_effect(name, signs)} would change the cross-validation error from {1e3 * plain:.1f} to "
        f"{1e3 * error:.1f} mrad. {_advice(name, candidates[name])}, or fit without --model"
        for error, name, _ in sorted(better, key=lambda entry: entry[0])
    ]


def _effect(name: str, signs: dict[str, str]) -> str:
    """Effect that a term or a friction model has, and its name."""
    if name in EXTENDED_TERMS:
        return f"{symptom(name, signs)}: {name}"
    return f"the friction is of another kind: {name} ({FRICTION_MODELS[name].title})"


def _advice(name: str, candidate: Candidate) -> str:
    """Setting that adds a term or a friction model."""
    if name in EXTENDED_TERMS:
        return f"Add terms={','.join(candidate.terms)}"
    return f"Set --model {name}"


def _left_out(
    fits: CandidateFits, candidate: Candidate, parts: Sequence[HeldOutPart], near: dict[str, float]
) -> float:
    """Cross-validation error of a candidate [rad], as in the model selection."""
    orders = [FitOrder(candidate, part, (near,), AGAIN) for part in parts]
    errors = {p.label: fit.error for p, fit in zip(parts, fits.make(orders), strict=True)}
    return TriedModel(candidate.model, candidate.terms, len(near), errors).error
