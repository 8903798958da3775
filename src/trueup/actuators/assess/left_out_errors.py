"""Errors of a chosen model and of baselines on the logs that its choice left out in turn."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.actuators.assess._evaluate import Evaluation
from trueup.actuators.assess.model_errors import trivial_errors
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.selection.model_choice import ModelChoice, TriedModel
from trueup.actuators.selection.parts import left_out_parts

WORDS = {"kp": "gain", "mass": "mass", "trajectory": "trajectory"}
"""Quantity that logs are split by -> what it is called."""


@dataclass(frozen=True)
class LeftOutErrors:
    """Errors [rad] of predictions that have not seen the logs they are judged on.

    Each is the geometric mean over the parts that were left out, by the quantity that they share.
    """

    fitted: dict[str, float]
    """The chosen model, fitted to the logs of the other parts."""
    before: dict[str, float]
    """The chosen model before the fit."""
    simplest: dict[str, float] | None
    """The simplest model that was tried, fitted likewise; None where it was chosen."""
    at_goal: dict[str, float]
    """A servo that is where it is told to be."""
    at_rest: dict[str, float]
    """A servo that stays where it began."""

    @property
    def sentence(self) -> str:
        """Meaning of these errors."""
        names = " and each ".join(WORDS[name] for name in self.fitted)
        return (
            f"No log is held out: each {names} in turn was predicted by fits to the other logs, in "
            "the choice of the model, which goes by these errors. The values are those of all logs."
        )


def left_out_errors(
    choice: ModelChoice, logs: Sequence[ServoLog], before: Evaluation
) -> LeftOutErrors:
    """Errors of a choice and of its baselines on the parts that it left out.

    Args:
        choice: the choice among models of these logs.
        logs: the logs.
        before: errors of the chosen model before the fit, on each of them.
    """
    quantities = tuple(choice.by.split(", "))
    rows = {part.label: list(part.rows) for part in left_out_parts(logs, quantities)}

    def of_parts(by_log: np.ndarray) -> dict[str, float]:
        errors = {label: float(np.mean(by_log[numbers])) for label, numbers in rows.items()}
        return _by_quantity(TriedModel("", (), 0, errors), quantities)

    trivial = trivial_errors(logs)
    simplest = min(choice.tried, key=lambda tried: (tried.parameters, tried.error))
    return LeftOutErrors(
        _by_quantity(choice.chosen, quantities),
        of_parts(np.array([before.by_log[log.name] for log in logs])),
        None if simplest == choice.chosen else _by_quantity(simplest, quantities),
        of_parts(trivial["at goal"]),
        of_parts(trivial["at rest"]),
    )


def _by_quantity(tried: TriedModel, quantities: Sequence[str]) -> dict[str, float]:
    """Errors by the name of the quantity, also where logs were split by one alone."""
    errors = tried.by_quantity
    return errors if len(quantities) > 1 else {quantities[0]: errors[""]}
