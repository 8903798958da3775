"""Limits of a designed log of a servo, and excess of a simulated log over them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueup.actuators.bench._simulated_torque import simulated_torque
from trueup.actuators.bench.simulator import Rollouts
from trueup.actuators.catalogue.greatest_torque import greatest_torque
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.record.trajectory import MotionLimits
from trueup.design.motion.family import CommandLimits
from trueup.errors import FitError

_RECORD = MotionLimits()


@dataclass(frozen=True)
class BenchLimits:
    """Limits of a log on the bench; by default those of a recording."""

    reach: float = _RECORD.highest
    """Servo bench: greatest angle to both sides of the hanging position [rad]."""
    speed: float = _RECORD.speed
    """Servo bench: highest speed of goal and servo [rad/s]."""
    jump: float = _RECORD.jump
    """Servo bench: largest distance of the goal from the servo when the torque returns [rad]."""
    heat: float = 0.5
    """Servo bench: root mean square of the torque as a fraction of the stall torque."""
    margin: float = 0.1
    """Servo bench: margin as a fraction of each limit, because the servo model is uncertain."""

    def __post_init__(self) -> None:
        for name in ("reach", "speed", "jump", "heat"):
            value = getattr(self, name)
            if not 0 < value < np.inf:
                raise FitError(f"the limit {name} must be positive, got {value:g}")
        if self.reach > _RECORD.highest or self.speed > _RECORD.speed:
            raise FitError(
                f"a recording allows up to {_RECORD.highest:.3g} rad and {_RECORD.speed:g} rad/s: "
                f"the limits of the design, {self.reach:.3g} rad and {self.speed:g} rad/s, are "
                "wider"
            )

    def commands(self) -> CommandLimits:
        """Limits of goals, without the margin."""
        keep = 1.0 - self.margin
        reach, speed = np.array([keep * self.reach]), np.array([keep * self.speed])
        return CommandLimits(-reach, reach, speed, np.array([np.inf]))

    def excess(
        self,
        models: Sequence[ServoModel],
        logs: Sequence[ServoLog],
        motion: Rollouts,
        margin: float,
        vin: float | None = None,
    ) -> dict[str, np.ndarray]:
        """Relative excess of logs over each limit for the worst model, 0 within it ``(m,)``.

        Args:
          models: simulated servo models.
          logs: logs of the simulation.
          motion: simulated motion.
          margin: margin as a fraction of the limits.
          vin: nominal bus voltage [V] that replaces that of the logs.
        """
        keep = 1.0 - margin
        found = {what: np.zeros(len(logs)) for what in ("position", "speed", "jump", "heat")}
        lost = np.zeros(len(logs))
        for k, log in enumerate(logs):
            position, speed = motion.position[k], motion.speed[k]
            if not np.isfinite(position).all():
                lost[k] = 1.0
                continue
            returns = np.flatnonzero(np.diff(log.torque_enable.astype(int)) > 0) + 1
            apart = np.abs(log.goal_position - position)[:, returns].max(initial=0.0)
            found["position"][k] = np.abs(position).max() / (keep * self.reach) - 1
            found["speed"][k] = np.abs(speed).max() / (keep * self.speed) - 1
            found["jump"][k] = apart / (keep * self.jump) - 1
            found["heat"][k] = max(
                torque_share(model, log, motion, k, row, vin) / (keep * self.heat) - 1
                for row, model in enumerate(models)
            )
        over = {what: np.maximum(value, 0.0) for what, value in found.items()}
        return over | {"a simulation that diverges": lost}

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "BenchLimits":
        """Inverse of :meth:`to_dict`."""
        return cls(**content)


def torque_share(
    model: ServoModel,
    log: ServoLog,
    motion: Rollouts,
    number: int,
    row: int = 0,
    vin: float | None = None,
) -> float:
    """Root mean square of a log's torque over the greatest torque of the servo.

    Args:
      model: the servo.
      log: the log.
      motion: simulated motion of logs.
      number: index of the log.
      row: index of the candidate.
      vin: nominal bus voltage [V] that replaces that of the log.
    """
    position, speed, duty = (v[number][row] for v in (motion.position, motion.speed, motion.duty))
    torque = simulated_torque(model, log, position, speed, duty, vin)
    most = greatest_torque(model, log.vin if vin is None else vin)
    return float(np.sqrt(np.mean(torque**2))) / most
