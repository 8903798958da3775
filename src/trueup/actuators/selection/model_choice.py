"""Result of a model selection: evaluated models, and the selected one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueup.actuators.selection.parts import SPLITS

LEAST_GAIN = 0.05
"""Relative difference of errors within which the simpler model is selected."""


@dataclass(frozen=True)
class TriedModel:
    """A friction model with extended terms, and its cross-validation errors."""

    model: str
    """Friction model."""
    terms: tuple[str, ...]
    """Extended terms."""
    parameters: int
    """Number of free parameters."""
    errors: dict[str, float]
    """Mean absolute position error [rad] on the logs of each held-out part."""
    training: float = float("nan")
    """Objective of the fit to all logs [rad]."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Values of the fit to all logs."""

    @property
    def error(self) -> float:
        """Geometric mean of the errors [rad], with equal weight per quantity of the split.

        A part that no model predicts, because it is outside the conditions of the others, has an
        error many times that of the others; relative differences still distinguish models there.
        """
        return geometric_mean(self.by_quantity.values())

    @property
    def by_quantity(self) -> dict[str, float]:
        """Geometric mean of the errors [rad] on the parts of each quantity that varies."""
        groups: dict[str, list[float]] = {}
        for label, error in self.errors.items():
            quantity, _, value = label.partition(" ")
            groups.setdefault(quantity if value and quantity in SPLITS else "", []).append(error)
        return {quantity: geometric_mean(errors) for quantity, errors in groups.items()}

    @property
    def label(self) -> str:
        """Name in tables: the model, then its terms."""
        return "+".join((self.model, *self.terms))


@dataclass(frozen=True)
class ScreenedTerm:
    """A term that was screened by fits to all logs only."""

    term: str
    """The term."""
    beside: str
    """Label of the model that it was added to."""
    gain: float
    """Relative reduction of the objective on the training logs by the term."""
    value: float
    """Value of the term in that fit."""


@dataclass(frozen=True)
class PassedOver:
    """A model that is not cross-validated: a fit to all logs, its own or that of a model that
    contains it, shows that it cannot be selected."""

    label: str
    """Name in tables."""
    training: float
    """Objective of that fit [rad]."""


@dataclass(frozen=True)
class ModelChoice:
    """Result of :func:`choose_model`."""

    chosen: TriedModel
    """Selected model."""
    tried: tuple[TriedModel, ...]
    """All cross-validated models, in order."""
    by: str
    """Quantities that the logs were split by."""
    screened: tuple[ScreenedTerm, ...] = ()
    """Terms that were screened by fits to all logs only, in order."""
    passed_over: tuple[PassedOver, ...] = ()
    """Models that cannot be selected by fits to all logs, in order."""
    least_gain: float = LEAST_GAIN
    """Relative difference of errors within which the simpler model is selected."""
    evaluations: int = 0
    """Evaluations of all fits."""
    complete: bool = True
    """Whether all candidates were tried; False if the evaluations were used up before."""
    signs: Mapping[str, str] = field(default_factory=dict)
    """Evidence for each term of the selected model in the measurements."""

    @property
    def rule(self) -> str:
        """Selection rule, as a sentence."""
        return (
            f"Logs are held out by {self.by}, one part after the other, and predicted by a fit to "
            "the others: the model with the smallest geometric mean of these cross-validation "
            "errors is "
            f"selected{', with equal weight for each quantity' if ',' in self.by else ''}, or one "
            f"with fewer parameters whose error is within {100 * self.least_gain:g} % of it."
        )

    @property
    def reason(self) -> str:
        """Reason for this model, as a sentence with numbers."""
        best = min(self.tried, key=lambda tried: tried.error)
        chosen = self.chosen
        text = (
            f"{chosen.label}: {1e3 * chosen.error:.1f} mrad in cross-validation, the smallest of "
            f"{len(self.tried)} models tried."
        )
        if chosen.label != best.label:
            text = (
                f"{chosen.label}: {1e3 * chosen.error:.1f} mrad in cross-validation with "
                f"{chosen.parameters} parameters; {best.label} has {1e3 * best.error:.1f} mrad "
                f"with {best.parameters}, the smallest of {len(self.tried)} models tried."
            )
        return text

    def to_dict(self) -> dict[str, Any]:
        """Plain data; errors in rad."""
        return {
            "model": self.chosen.model,
            "terms": list(self.chosen.terms),
            "error": self.chosen.error,
            "by": self.by,
            "rule": self.rule,
            "reason": self.reason,
            "least_gain": self.least_gain,
            "evaluations": self.evaluations,
            "complete": self.complete,
            "signs": dict(self.signs),
            "tried": [
                {
                    "model": t.model,
                    "terms": list(t.terms),
                    "parameters": t.parameters,
                    "error": t.error,
                    "training": t.training,
                    "errors": dict(t.errors),
                    "values": dict(t.values),
                }
                for t in self.tried
            ],
            "screened": [
                {"term": s.term, "beside": s.beside, "gain": s.gain, "value": s.value}
                for s in self.screened
            ],
            "passed_over": [{"label": p.label, "training": p.training} for p in self.passed_over],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "ModelChoice":
        """Inverse of :meth:`to_dict`."""
        tried = tuple(
            TriedModel(
                t["model"],
                tuple(t["terms"]),
                int(t["parameters"]),
                dict(t["errors"]),
                float(t.get("training", np.nan)),
                dict(t.get("values") or {}),
            )
            for t in content["tried"]
        )
        wanted = (content["model"], tuple(content["terms"]))
        chosen = next(t for t in tried if (t.model, t.terms) == wanted)
        return cls(
            chosen,
            tried,
            content["by"],
            tuple(ScreenedTerm(**s) for s in content.get("screened") or ()),
            tuple(PassedOver(**p) for p in content.get("passed_over") or ()),
            float(content.get("least_gain", LEAST_GAIN)),
            int(content.get("evaluations", 0)),
            bool(content.get("complete", True)),
            dict(content.get("signs") or {}),
        )


def geometric_mean(errors: Iterable[float]) -> float:
    """Geometric mean of errors; 0 if one is 0, infinite if one is infinite."""
    values = np.array(list(errors), float)
    if not np.isfinite(values).all():
        return float(np.max(values))
    return float(np.exp(np.mean(np.log(values)))) if (values > 0).all() else 0.0


def simplest(found: Sequence[TriedModel], least_gain: float) -> TriedModel:
    """Model with the fewest parameters among those within ``least_gain`` of the best."""
    least = min(tried.error for tried in found)
    near = [tried for tried in found if tried.error <= least / (1.0 - least_gain)]
    return min(near, key=lambda tried: (tried.parameters, tried.error))
