"""Some of the logs, predicted by a fit that has not seen them, where no log is held out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search._evaluate import Evaluation, evaluation
from trueup.actuators.search.problem import ServoProblem
from trueup.actuators.search.refit import refitted

_EVERY = 4  # one log in so many is left out


@dataclass(frozen=True)
class UnseenLogs:
    """Errors on logs that a second fit left out."""

    logs: tuple[str, ...]
    """Names of these logs."""
    fitted: Evaluation
    """Errors of the second fit."""
    start: Evaluation
    """Errors of the model before the fit."""

    @property
    def sentence(self) -> str:
        """What these errors mean."""
        count = len(self.logs)
        return (
            f"No log is held out: a second fit without {count} of the logs predicts "
            f"{'it' if count == 1 else 'them'}, and the values are those of all logs."
        )


def unseen_logs(
    simulator: Callable[[Sequence[ServoLog]], BenchSimulator],
    logs: Sequence[ServoLog],
    problem: ServoProblem,
    x: np.ndarray,
) -> UnseenLogs | None:
    """Repeat a fit without every fourth log, and predict these logs; None with a single log.

    The second fit is least squares with the loss that nears the objective, from the optimum of all
    logs. The values of the fit stay those of all logs: they are the best that the logs give, and
    the error of a fit to fewer logs is an estimate from above of theirs.

    Args:
        simulator: makes a simulator of some of the logs.
        logs: logs of the fit.
        problem: problem of all of them.
        x: its optimum ``(p,)``.
    """
    if len(logs) < 2:
        return None
    # of few logs the last one, else every fourth
    left_out = [log for i, log in enumerate(logs, 1) if i % min(_EVERY, len(logs)) == 0]
    kept = [log for log in logs if log not in left_out]
    rest = ServoProblem(simulator(kept), problem.objective)
    second = refitted(rest, x)
    unseen = simulator(left_out)
    return UnseenLogs(
        tuple(log.name for log in left_out),
        evaluation(unseen, second),
        evaluation(unseen, problem.space.start),
    )
