"""The error of a servo model on logs, beside predictions that know nothing of the servo."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.actuators.assess.model_errors import names_in_logs, trivial_errors
from trueup.actuators.bench.loads import Bench
from trueup.actuators.bench.objective import Objective
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import RecordingError, listing
from trueup.fitting.problem import LARGE_COST


@dataclass(frozen=True)
class Evaluation:
    """Errors of one model on some logs [rad]."""

    mae: float
    """Mean absolute position error, each log alike [rad]; infinite where a simulation diverged."""
    by_log: dict[str, float]
    """The same of each log."""
    at_goal: float
    """Mean absolute error of a servo that is where it is told to be, and hangs while it is off."""
    at_rest: float
    """Mean absolute error of a servo that stays where it began."""

    def worse_than_trivial(self, logs: str) -> list[str]:
        """A sentence where a prediction that knows nothing of the servo is nearer, or nothing.

        Args:
          logs: what to call the logs, as in "the held-out logs".
        """
        where = {"is where it is told to be": self.at_goal, "stays where it began": self.at_rest}
        nearest = min(where, key=lambda name: where[name])
        if self.mae < where[nearest]:
            return []
        return [
            f"on {logs} the model is off by {1e3 * self.mae:.4g} mrad, a servo that {nearest} by "
            f"only {1e3 * where[nearest]:.4g} mrad: the model is worth nothing there. Check units "
            "and signs in the logs, the bench, and which servo it is"
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "mae": self.mae,
            "by_log": dict(self.by_log),
            "trivial": {"at goal": self.at_goal, "at rest": self.at_rest},
        }


def evaluate(
    model: ServoModel,
    logs: Sequence[ServoLog],
    *,
    scheme: str = "semi-implicit",
    reset_period: float | None = None,
    vin: float | None = None,
    benches: Sequence[Bench] | None = None,
    threads: int | None = None,
) -> Evaluation:
    """Simulate a model on logs and compare the position with what was measured.

    Args:
      model: the model.
      logs: evenly sampled logs of its servo.
      scheme: how the bench steps, one of ``SCHEMES``.
      reset_period: take position and speed from the log again after this time [s].
      vin: nominal bus voltage [V] in place of the logs' own.
      benches: load of each log; by default the pendulum that the log describes.
      threads: threads to use; all cores by default.

    Raises:
      RecordingError: no log, one of another servo, not evenly sampled, or without a bench.
    """
    check_servo(logs, model.servo)
    simulator = BenchSimulator(
        model,
        logs,
        scheme=scheme,
        reset_period=reset_period,
        vin=vin,
        benches=benches,
        threads=threads,
    )
    return evaluation(simulator, model.vector(simulator.names))


def evaluation(simulator: BenchSimulator, x: np.ndarray) -> Evaluation:
    """Errors of one candidate ``x (p,)`` of a simulator."""
    found = simulator.log_costs(x[None, :], Objective())[0]
    errors = np.where(found >= LARGE_COST, np.inf, found)
    trivial = trivial_errors(simulator.logs)
    return Evaluation(
        mae=float(errors.mean()),
        by_log=dict(zip(simulator.log_names, errors.tolist(), strict=True)),
        at_goal=float(trivial["at goal"].mean()),
        at_rest=float(trivial["at rest"].mean()),
    )


def check_servo(logs: Sequence[ServoLog], servo: Servo) -> None:
    """Raise RecordingError where a log is of another servo."""
    others = sorted({log.motor for log in logs} - names_in_logs(servo.name))
    if others:
        log = next(log for log in logs if log.motor in others)
        raise RecordingError(
            f"{log.source}: a log of the servo {listing(others)}, not of {servo.name!r}: give the "
            "logs of that servo, or another --actuator"
        )


def check_logs(logs: Sequence[ServoLog], servo: Servo) -> None:
    """Raise RecordingError where there is no log, or one is of another servo."""
    if not logs:
        raise RecordingError("there is no log to simulate")
    check_servo(logs, servo)
