"""The error of a servo model on logs, compared with trivial predictions."""

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
    """Mean absolute position error, equal weight per log [rad]; infinite if a simulation
    diverged."""
    by_log: dict[str, float]
    """Mean absolute position error of each log [rad]."""
    at_goal: float
    """Mean absolute error of a servo that is at its goal, and hangs down while torque is off."""
    at_rest: float
    """Mean absolute error of a servo that stays at its start position."""

    def worse_than_trivial(self, logs: str) -> list[str]:
        """A finding if a trivial prediction has a smaller error; empty otherwise.

        Args:
          logs: description of the logs, such as "the held-out logs".
        """
        where = {"is at its goal": self.at_goal, "stays at its start": self.at_rest}
        nearest = min(where, key=lambda name: where[name])
        if self.mae < where[nearest]:
            return []
        return [
            f"on {logs} the model is off by {1e3 * self.mae:.4g} mrad, a servo that {nearest} by "
            f"{1e3 * where[nearest]:.4g} mrad: the model is worth nothing there. Check units "
            "and signs of the logs, the load of the bench, and the servo"
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
    """Simulate a model on logs and compare simulated with measured positions.

    Args:
      model: the model.
      logs: evenly sampled logs of its servo.
      scheme: integration scheme, one of ``SCHEMES``.
      reset_period: interval at which position and speed are reset to the log's [s].
      vin: nominal bus voltage [V] that replaces that of the logs.
      benches: load of each log; by default the pendulum that the log describes.
      threads: number of threads; all cores by default.

    Raises:
      RecordingError: no logs, or a log of another servo, unevenly sampled or without a load.
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
    """Raise RecordingError if a log is of another servo."""
    others = sorted({log.motor for log in logs} - names_in_logs(servo.name))
    if others:
        log = next(log for log in logs if log.motor in others)
        raise RecordingError(
            f"{log.source}: the log is of servo {listing(others)}, expected {servo.name!r}: give "
            "logs of that servo, or another --actuator"
        )


def check_logs(logs: Sequence[ServoLog], servo: Servo) -> None:
    """Raise RecordingError if there are no logs, or one is of another servo."""
    if not logs:
        raise RecordingError("no logs to simulate: give at least one")
    check_servo(logs, servo)
