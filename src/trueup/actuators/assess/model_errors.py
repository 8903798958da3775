"""Simulate identified models on logs and compute the error of each on each log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.actuators.bench._simulated_torque import simulated_torque
from trueup.actuators.bench.loads import Bench
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import Array, ServoLog
from trueup.errors import ParameterError, RecordingError, listing

_SAME_HARDWARE = {
    "xl330i": "xl330",  # one servo, driven by current or by voltage
    "sts3215_12v": "sts3215",  # one name for two windings
}


@dataclass(frozen=True, eq=False)
class ModelErrors:
    """Simulated motion and errors of one model on all logs."""

    label: str
    """Name of the model in tables and legends."""
    model: ServoModel
    """The model."""
    logs: tuple[ServoLog, ...]
    """The logs."""
    position: tuple[Array, ...]
    """Simulated angle [rad] in each log, ``(n,)``; NaN after the simulation has diverged."""
    speed: tuple[Array, ...]
    """Simulated speed [rad/s], likewise."""
    duty: tuple[Array, ...]
    """Simulated duty cycle, -1 to 1, likewise; NaN while torque is off, and without a bridge."""
    torque: tuple[Array, ...]
    """Simulated motor torque at the output [N m], likewise."""
    mae: Array
    """Mean absolute position error [rad] of each log, ``(l,)``; infinite where it diverged."""
    rmse: Array
    """Root of the mean squared position error [rad] of each log, ``(l,)``, likewise."""
    speed_mae: Array
    """Mean absolute speed error [rad/s] of each log, ``(l,)``, likewise."""

    @property
    def residuals(self) -> list[Array]:
        """Simulated less measured angle [rad] of each log."""
        pairs = zip(self.position, self.logs, strict=True)
        return [simulated - log.position for simulated, log in pairs]

    def part(self, numbers: Sequence[int]) -> "ModelErrors":
        """The same model on some of the logs, by their numbers and in their order."""

        def chosen(values: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(values[i] for i in numbers)

        rows = np.asarray(numbers, int)
        return ModelErrors(
            label=self.label,
            model=self.model,
            logs=chosen(self.logs),
            position=chosen(self.position),
            speed=chosen(self.speed),
            duty=chosen(self.duty),
            torque=chosen(self.torque),
            mae=self.mae[rows],
            rmse=self.rmse[rows],
            speed_mae=self.speed_mae[rows],
        )

    def error(self, kind: str = "mae") -> Array:
        """Error of each log ``(l,)`` [rad], ``"mae"`` or ``"rmse"``."""
        return self.rmse if kind == "rmse" else self.mae


def model_errors(
    models: Mapping[str, ServoModel],
    logs: Sequence[ServoLog],
    *,
    scheme: str = "semi-implicit",
    reset_period: float | None = None,
    vin: float | None = None,
    benches: Sequence[Bench] | None = None,
) -> list[ModelErrors]:
    """Simulate models on logs, starting from the first sample of each log.

    Args:
        models: label -> model.
        logs: evenly sampled logs of one servo.
        scheme: integration scheme, one of ``SCHEMES``.
        reset_period: interval at which position and speed are reset to the log's [s].
        vin: nominal bus voltage [V] that replaces that of the logs.
        benches: load of each log; by default the pendulum that the log describes.

    Raises:
        RecordingError: there are no logs, or a log is unevenly sampled or lacks a load.
        ParameterError: a model is of another servo than the logs.
    """
    if not logs:
        raise RecordingError("no logs to simulate: give at least one")
    found = []
    for label, model in models.items():
        _check_servo(label, model, logs)
        simulator = BenchSimulator(
            model, logs, scheme=scheme, reset_period=reset_period, vin=vin, benches=benches
        )
        found.append(_errors(label, model, logs, simulator, vin))
    return found


def trivial_errors(logs: Sequence[ServoLog], kind: str = "mae") -> dict[str, Array]:
    """Errors ``(l,)`` [rad] of trivial predictions.

    ``at goal``: the joint is at its goal; while torque is off, it hangs down.
    ``at rest``: it stays at its start position.
    """
    at_goal, at_rest = [], []
    for log in logs:
        at_goal.append(np.where(log.torque_enable, log.goal_position, 0.0) - log.position)
        at_rest.append(log.position[0] - log.position)
    return {
        "at goal": np.array([_mean(error, kind) for error in at_goal]),
        "at rest": np.array([_mean(error, kind) for error in at_rest]),
    }


def _errors(
    label: str,
    model: ServoModel,
    logs: Sequence[ServoLog],
    simulator: BenchSimulator,
    vin: float | None,
) -> ModelErrors:
    motion = simulator.simulate()
    position = tuple(values[0] for values in motion.position)
    speed = tuple(values[0] for values in motion.speed)
    duty = tuple(values[0] for values in motion.duty)
    torque = tuple(
        simulated_torque(model, log, angle, rate, share, vin)
        for log, angle, rate, share in zip(logs, position, speed, duty, strict=True)
    )
    bridge = model.servo.law != "torque_pd"
    shown_duty = tuple(
        np.where(log.torque_enable & bridge, values, np.nan)
        for log, values in zip(logs, duty, strict=True)
    )
    errors = [values - log.position for values, log in zip(position, logs, strict=True)]
    rates = [values - log.speed for values, log in zip(speed, logs, strict=True)]
    return ModelErrors(
        label=label,
        model=model,
        logs=tuple(logs),
        position=position,
        speed=speed,
        duty=shown_duty,
        torque=torque,
        mae=np.array([_mean(error, "mae") for error in errors]),
        rmse=np.array([_mean(error, "rmse") for error in errors]),
        speed_mae=np.array([_mean(rate, "mae") for rate in rates]),
    )


def _mean(error: Array, kind: str) -> float:
    value = np.sqrt(np.mean(error**2)) if kind == "rmse" else np.mean(np.abs(error))
    return float(value) if np.isfinite(value) else float("inf")


def _check_servo(label: str, model: ServoModel, logs: Sequence[ServoLog]) -> None:
    others = sorted({log.motor for log in logs} - names_in_logs(model.servo.name))
    if others:
        log = next(log for log in logs if log.motor in others)
        raise ParameterError(
            f"{label}: parameters of the servo {model.servo.name!r}, but the logs are of "
            f"{listing(others)} ({log.source}): give a parameter file of that servo, or its logs"
        )


def names_in_logs(servo: str) -> set[str]:
    """Names of a catalogue servo in logs: its own, and those of the same hardware."""
    return {servo, _SAME_HARDWARE.get(servo, servo)}
