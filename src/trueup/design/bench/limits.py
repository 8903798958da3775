"""Limits of a designed log of a servo, and how far a simulated one exceeds them."""

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
    """Servo bench: largest angle to both sides of the hanging pendulum [rad]."""
    speed: float = _RECORD.speed
    """Servo bench: highest speed of goal and servo [rad/s]."""
    jump: float = _RECORD.jump
    """Servo bench: largest distance of the goal from the servo when the torque returns [rad]."""
    heat: float = 0.5
    """Servo bench: root mean square of the torque as a share of the stall torque."""
    margin: float = 0.1
    """Servo bench: share of each limit kept free, because the servo is not known exactly."""

    def __post_init__(self) -> None:
        for name in ("reach", "speed", "jump", "heat"):
            value = getattr(self, name)
            if not 0 < value < np.inf:
                raise FitError(f"the limit {name} is {value:g}: a limit has to be positive")
        if self.reach > _RECORD.highest or self.speed > _RECORD.speed:
            raise FitError(
                f"a recording goes up to {_RECORD.highest:.3g} rad and {_RECORD.speed:g} rad/s: "
                f"the limits of the design, {self.reach:.3g} rad and {self.speed:g} rad/s, are "
                "wider"
            )

    def commands(self) -> CommandLimits:
        """Limits of goals, the margin taken off."""
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
        """Share by which logs exceed each limit for the worst model, 0 where they do not ``(m,)``.

        Args:
          models: servos that were simulated.
          logs: logs that they were simulated in.
          motion: simulated motion.
          margin: share of the limits that is kept free.
          vin: nominal bus voltage [V] in place of the logs' own.
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
      number: which of them.
      row: which candidate.
      vin: nominal bus voltage [V] in place of the log's own.
    """
    position, speed, duty = (v[number][row] for v in (motion.position, motion.speed, motion.duty))
    torque = simulated_torque(model, log, position, speed, duty, vin)
    most = greatest_torque(model, log.vin if vin is None else vin)
    return float(np.sqrt(np.mean(torque**2))) / most
