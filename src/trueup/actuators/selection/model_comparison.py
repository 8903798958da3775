"""Comparison of identified models of one servo, with a recommendation."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np

from trueup.actuators.assess.model_errors import ModelErrors, model_errors, trivial_errors
from trueup.actuators.bench.loads import Bench
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import Array, ServoLog
from trueup.actuators.selection._information_criteria import (
    LIKELIHOODS,
    InformationCriteria,
    information_criteria,
)
from trueup.actuators.selection.model_choice import LEAST_GAIN
from trueup.errors import FitError
from trueup.fitting.judgement.rules import judge
from trueup.fitting.judgement.verdict import Comparison, Verdict

_WORDS = {"at goal": "that is at its goal", "at rest": "that stays at its start"}

GROUPED_BY = ("kp", "mass", "length", "trajectory")
"""Quantities by which tables group logs."""


@dataclass(frozen=True, eq=False)
class ComparedModel:
    """One model in a comparison; errors are means over logs [rad]."""

    errors: ModelErrors
    """Motion and errors on every log, training logs first."""
    parameters: int
    """Number of fitted parameters."""
    origin: str
    """Origin of its values."""
    training: float
    """Error on the training logs."""
    held_out: float
    """Error on the held-out logs; NaN without any."""
    held_out_standard_error: float
    """Standard error of that mean over logs [rad]; NaN with fewer than two."""
    behind_best: float
    """Held-out error minus that of the best model."""
    behind_best_standard_error: float
    """Standard error of that difference, from paired differences per log."""
    criteria: InformationCriteria
    """Information criteria on the training logs."""

    @property
    def label(self) -> str:
        """Name of the model in tables."""
        return self.errors.label

    @property
    def model(self) -> ServoModel:
        """The model."""
        return self.errors.model


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """Comparison of models on the same logs, with the recommended one."""

    models: tuple[ComparedModel, ...]
    """The models, in the given order."""
    logs: tuple[ServoLog, ...]
    """Training logs, then held-out logs."""
    is_held_out: np.ndarray
    """Whether a log is held out, ``(l,)``."""
    kind: str
    """Error: ``"mae"`` or ``"rmse"``."""
    trivial: Mapping[str, Array]
    """Errors ``(l,)`` of trivial predictions [rad]."""
    samples: int
    """Samples of the training logs."""
    effective_samples: float
    """Equivalent number of independent samples, by the residuals of the best model."""
    recommended: str
    """Label of the recommended model."""
    reason: str
    """Why."""

    def split(self) -> list[tuple[ServoLog, bool]]:
        """Each log, and whether it is held out."""
        return list(zip(self.logs, self.is_held_out.tolist(), strict=True))

    def groups(self, by: str) -> dict[str, Array]:
        """Errors ``(m,)`` of the models averaged over logs of one gain, mass, ... .

        Args:
            by: one of ``kp``, ``mass``, ``length`` and ``trajectory``.
        """
        errors = np.array([m.errors.error(self.kind) for m in self.models])
        return {
            value: errors[:, rows].mean(axis=1) for value, rows in grouped(self.logs, by).items()
        }

    def verdict(self, notes: Sequence[str] = ()) -> Verdict:
        """Verdict on the recommended model, by the rules of :func:`trueup.fitting.judge`.

        Baselines are trivial predictions, and the best of the models
        with fewer parameters.

        Args:
            notes: additional findings, such as a fit that has not converged.
        """
        chosen = next(m for m in self.models if m.label == self.recommended)
        simpler = [m for m in self.models if m.parameters < chosen.parameters]
        comparisons = []
        for part, name in ((self.is_held_out, "held_out"), (~self.is_held_out, "training")):
            if not part.any():
                continue
            rivals = {
                f"a servo {_WORDS.get(trivial, trivial)}": float(errors[part].mean())
                for trivial, errors in self.trivial.items()
            }
            if simpler:
                best = min(simpler, key=lambda m: getattr(m, name))
                rivals[f"the simpler {best.label}"] = getattr(best, name)
            comparisons.append(
                Comparison(
                    "position",
                    getattr(chosen, name),
                    rivals,
                    name == "held_out",
                    "rad",
                    measure=self.kind.upper(),
                )
            )
        return judge(comparisons=comparisons, look_at=notes)

    def to_dict(self, notes: Sequence[str] = ()) -> dict[str, Any]:
        """All results as plain data; errors in rad.

        Args:
            notes: additional findings, for the verdict.
        """
        return {
            "verdict": self.verdict(notes).to_dict(),
            "error": self.kind,
            "recommended": self.recommended,
            "reason": self.reason,
            "samples": self.samples,
            "effective_samples": self.effective_samples,
            "likelihood": LIKELIHOODS[self.kind],
            "logs": [
                {
                    "name": log.name,
                    **{by: getattr(log, by) for by in GROUPED_BY},
                    "held_out": bool(held),
                }
                for log, held in zip(self.logs, self.is_held_out, strict=True)
            ],
            "trivial": {name: _part_means(e, self.is_held_out) for name, e in self.trivial.items()},
            "models": [self._model_dict(row, m) for row, m in enumerate(self.models)],
        }

    def _model_dict(self, row: int, m: ComparedModel) -> dict[str, Any]:
        return {
            "label": m.label,
            "model": m.model.friction.name,
            "terms": list(m.model.terms),
            "origin": m.origin,
            "parameters": m.parameters,
            "training": m.training,
            "held_out": m.held_out,
            "held_out_standard_error": m.held_out_standard_error,
            "behind_best": m.behind_best,
            "behind_best_standard_error": m.behind_best_standard_error,
            "aic": m.criteria.aic,
            "bic": m.criteria.bic,
            "aic_difference": m.criteria.aic_difference,
            "bic_difference": m.criteria.bic_difference,
            "values": dict(m.model.values),
            "by_log": dict(
                zip(
                    (log.name for log in self.logs),
                    m.errors.error(self.kind).tolist(),
                    strict=True,
                )
            ),
            **{
                f"by_{by}": {value: float(e[row]) for value, e in self.groups(by).items()}
                for by in GROUPED_BY
            },
        }


class ComparisonOptions(TypedDict, total=False):
    """Options of a comparison in memory."""

    kind: str
    parameters: Mapping[str, int] | None
    origins: Mapping[str, str] | None
    scheme: str
    reset_period: float | None
    vin: float | None
    benches: Sequence[Bench] | None


def compare_models(
    models: Mapping[str, ServoModel],
    logs: Sequence[ServoLog],
    held_out: Sequence[ServoLog] = (),
    **options: Unpack[ComparisonOptions],
) -> ModelComparison:
    """Compare models in memory; arguments and exceptions as :func:`trueup.actuators.compare`."""
    simulation: dict[str, Any] = dict(options)
    kind = simulation.pop("kind", "mae")
    parameters = simulation.pop("parameters", None) or {}
    origins = simulation.pop("origins", None) or {}
    if not models:
        raise FitError("no models to compare: pass parameter files or models to fit")
    if kind not in ("mae", "rmse"):
        raise FitError(f"unknown error {kind!r}; available: 'mae', 'rmse'")
    everything = [*logs, *held_out]
    found = model_errors(models, everything, **simulation)
    held = np.arange(len(everything)) >= len(logs)
    errors = np.array([m.error(kind) for m in found])
    counts = [parameters.get(m.label, len(m.model.names)) for m in found]
    criteria, effective = information_criteria(
        [m.residuals[: len(logs)] for m in found], counts, kind
    )
    judged = errors[:, held] if held.any() else errors
    best = int(np.argmin(judged.mean(axis=1)))
    if not np.isfinite(judged[best]).all():
        raise FitError(
            "the simulation of every model diverges in a log: none can be recommended. Check that "
            "the parameter files are of this servo"
        )
    compared = []
    for row, m in enumerate(found):
        behind, uncertainty = _mean_and_standard_error(judged[row] - judged[best])
        mean, spread = _mean_and_standard_error(errors[row, held])
        compared.append(
            ComparedModel(
                errors=m,
                parameters=counts[row],
                origin=origins.get(m.label, "given"),
                training=float(errors[row, ~held].mean()),
                held_out=mean,
                held_out_standard_error=spread,
                behind_best=behind,
                behind_best_standard_error=uncertainty,
                criteria=criteria[row],
            )
        )
    label, reason = _choice(compared, best, int(held.sum()))
    return ModelComparison(
        models=tuple(compared),
        logs=tuple(everything),
        is_held_out=held,
        kind=kind,
        trivial=trivial_errors(everything, kind),
        samples=sum(len(log) for log in logs),
        effective_samples=effective,
        recommended=label,
        reason=reason,
    )


def grouped(logs: Sequence[ServoLog], by: str) -> dict[str, list[int]]:
    """Numbers of the logs of each gain, mass, length or trajectory, in the order of the values."""
    values = [getattr(log, by) for log in logs]
    return {
        value if isinstance(value, str) else f"{value:g}": [
            i for i, other in enumerate(values) if other == value
        ]
        for value in sorted(set(values))
    }


def _choice(models: Sequence[ComparedModel], best: int, held_out: int) -> tuple[str, str]:
    """Label of the recommended model, and the reason as a sentence."""
    top = models[best]
    if held_out == 0:
        chosen = min(models, key=lambda m: m.criteria.bic)
        return chosen.label, (
            f"No log is held out, so the Bayesian criterion decides: it is smallest for "
            f"{chosen.label} with {chosen.parameters} parameters. Hold out logs for a stronger "
            "test: --validation-kp, --validation-mass or --validation-trajectory."
        )
    if held_out == 1:
        return top.label, (
            f"{top.label} has the smallest error on the one log that is held out. One log has no "
            "standard error: hold out more logs before rejecting a simpler model."
        )
    share = f"{100 * LEAST_GAIN:g} %"
    near = [m for m in models if m is not top and m.held_out <= top.held_out / (1.0 - LEAST_GAIN)]
    simpler = [m for m in near if m.parameters < top.parameters]
    error = f"{top.held_out * 1e3:.1f} mrad"
    if not simpler:
        return top.label, (
            f"{top.label} has the smallest held-out error, {error} over {held_out} logs, and no "
            f"model with fewer parameters is within {share} of it."
        )
    chosen = min(simpler, key=lambda m: (m.parameters, m.held_out))
    return chosen.label, (
        f"{chosen.label} has {chosen.parameters} parameters, {top.label} has {top.parameters} and "
        f"the smallest held-out error, {error}. {chosen.label} is "
        f"{chosen.behind_best * 1e3:.1f} mrad above it, within {share}: the simpler one is "
        "taken."
    )


def _mean_and_standard_error(values: Array) -> tuple[float, float]:
    if values.size == 0:
        return math.nan, math.nan
    if values.size == 1 or not np.isfinite(values).all():
        return float(values.mean()), math.nan
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(values.size))


def _part_means(errors: Array, held: np.ndarray) -> dict[str, float]:
    parts = {"training": errors[~held], "held_out": errors[held]}
    return {name: float(part.mean()) if part.size else math.nan for name, part in parts.items()}
