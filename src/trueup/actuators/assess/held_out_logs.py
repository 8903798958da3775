"""Prediction of some logs by a second fit that does not use them, if no log is held out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.actuators.assess._evaluate import Evaluation, evaluation
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.logs.splits import spread_logs
from trueup.actuators.search.problem import ServoProblem
from trueup.actuators.search.refit import refitted
from trueup.errors import listing


@dataclass(frozen=True)
class HeldOutRefit:
    """Errors on logs that are held out of a second fit."""

    logs: tuple[str, ...]
    """Names of these logs."""
    fitted: Evaluation
    """Errors of the second fit."""
    before: Evaluation
    """Errors of the model before the fit, which uses none of the logs."""

    @property
    def sentence(self) -> str:
        """Explanation of these errors."""
        count = len(self.logs)
        return (
            f"No log is held out: a second fit without {count} of the logs predicts "
            f"{'it' if count == 1 else 'them'} ({listing(self.logs, 6)}), and the values are those "
            "of all logs."
        )


def held_out_refit(
    simulator: Callable[[Sequence[ServoLog]], BenchSimulator],
    logs: Sequence[ServoLog],
    problem: ServoProblem,
    x: np.ndarray,
    before: np.ndarray,
) -> HeldOutRefit | None:
    """Repeat a fit without some logs of each condition, and predict these; None with a single log.

    :func:`~trueup.actuators.logs.splits.spread_logs` selects the logs. The second fit is least
    squares with the loss that approximates the objective, from the optimum of all logs. The fit
    keeps the values of all logs, which are the best available; the error of a fit to
    fewer logs overestimates theirs.

    Args:
        simulator: factory of simulators of some of the logs.
        logs: logs of the fit.
        problem: problem of all of them.
        x: optimum of that problem ``(p,)``.
        before: values before the fit ``(p,)``.
    """
    if len(logs) < 2:
        return None
    rows = spread_logs(logs)
    left_out = [logs[i] for i in rows]
    kept = [log for i, log in enumerate(logs) if i not in rows]
    rest = ServoProblem(simulator(kept), problem.objective)
    second = refitted(rest, x)
    unseen = simulator(left_out)
    return HeldOutRefit(
        tuple(log.name for log in left_out),
        evaluation(unseen, second),
        evaluation(unseen, before),
    )
