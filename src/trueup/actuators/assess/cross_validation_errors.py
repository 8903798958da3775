"""Cross-validation errors of a selected model and of baselines, by the quantity of the split."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.actuators.assess._evaluate import Evaluation
from trueup.actuators.assess.model_errors import trivial_errors
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.selection.model_choice import ModelChoice, TriedModel
from trueup.actuators.selection.parts import cross_validation_parts

WORDS = {"kp": "gain", "mass": "mass", "trajectory": "trajectory"}
"""Quantity that logs are split by -> its name in reports."""


@dataclass(frozen=True)
class CrossValidationErrors:
    """Cross-validation errors [rad]: each log is predicted by a fit without it.

    Geometric means over the held-out parts, by the quantity that splits the logs.
    """

    fitted: dict[str, float]
    """The selected model, fitted to the logs of the other parts."""
    before: dict[str, float]
    """The selected model before the fit."""
    simplest: dict[str, float] | None
    """The simplest candidate, fitted likewise; None if it was selected."""
    at_goal: dict[str, float]
    """A servo that is at its goal."""
    at_rest: dict[str, float]
    """A servo that stays at its start position."""

    @property
    def sentence(self) -> str:
        """Explanation of these errors."""
        names = " and each ".join(WORDS[name] for name in self.fitted)
        return (
            f"No log is held out: the model selection predicts each {names} in turn by fits to the "
            "other logs, and compares models by these errors. The values are those of all logs."
        )


def cross_validation_errors(
    choice: ModelChoice, logs: Sequence[ServoLog], before: Evaluation
) -> CrossValidationErrors:
    """Errors of a model selection and of its baselines on the held-out parts.

    Args:
        choice: model selection on these logs.
        logs: the logs.
        before: error of the selected model before the fit on each log.
    """
    quantities = tuple(choice.by.split(", "))
    rows = {part.label: list(part.rows) for part in cross_validation_parts(logs, quantities)}

    def of_parts(by_log: np.ndarray) -> dict[str, float]:
        errors = {label: float(np.mean(by_log[numbers])) for label, numbers in rows.items()}
        return _by_quantity(TriedModel("", (), 0, errors), quantities)

    trivial = trivial_errors(logs)
    simplest = min(choice.tried, key=lambda tried: (tried.parameters, tried.error))
    return CrossValidationErrors(
        _by_quantity(choice.chosen, quantities),
        of_parts(np.array([before.by_log[log.name] for log in logs])),
        None if simplest == choice.chosen else _by_quantity(simplest, quantities),
        of_parts(trivial["at goal"]),
        of_parts(trivial["at rest"]),
    )


def trivial_error_of_parts(logs: Sequence[ServoLog], quantities: Sequence[str]) -> float:
    """Geometric mean of the errors of the better trivial prediction on the held-out parts [rad].

    Args:
        logs: the logs.
        quantities: quantities that they are split by.
    """
    parts = cross_validation_parts(logs, quantities)
    means = [
        TriedModel("", (), 0, {p.label: float(np.mean(error[list(p.rows)])) for p in parts}).error
        for error in trivial_errors(logs).values()
    ]
    return min(means)


def _by_quantity(tried: TriedModel, quantities: Sequence[str]) -> dict[str, float]:
    """Errors by quantity, also if logs were split by a single quantity."""
    errors = tried.by_quantity
    return errors if len(quantities) > 1 else {quantities[0]: errors[""]}
