"""Logs of different lengths as flat arrays for the compiled bench."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.actuators.bench.loads import Bench
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.equations._parameter_layout import LOG
from trueup.actuators.equations.servo_equations import REFERENCE_TEMPERATURE
from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import RecordingError

_NEEDED = {"measured_voltage": "input_volts", "resistance_temperature": "temperature"}
"""Extended term -> measurement that it requires."""


@dataclass(frozen=True)
class BenchData:
    """Samples of all logs, one log after the other."""

    log_rows: np.ndarray
    """Constants of each log ``(l, 14)``; columns: ``LOG`` of the layout."""
    offsets: np.ndarray
    """First sample of each log, and the end ``(l + 1,)``."""
    table: np.ndarray
    """Rows of all tabulated loads ``(k, 4)``."""
    inputs: np.ndarray
    """Goal, torque enable, bus voltage, temperature above the reference ``(4, m)``."""
    measured: np.ndarray
    """Position, speed and duty ``(3, m)``; NaN samples are skipped."""

    @classmethod
    def of(
        cls,
        servo: Servo,
        logs: Sequence[ServoLog],
        benches: Sequence[Bench],
        terms: Sequence[str],
        max_step: float | None,
        reset_period: float | None,
        vin: float | None,
    ) -> "BenchData":
        """Flatten logs; ``max_step`` None takes one step per sample.

        Raises:
          RecordingError: a log is unevenly sampled, or lacks a measurement that a term requires.
        """
        rows = np.zeros((len(logs), len(LOG)))
        tables: list[np.ndarray] = []
        for row, log, bench in zip(rows, logs, benches, strict=True):
            _check(log, terms)
            assert log.dt is not None
            substeps = 1 if max_step is None else int(np.ceil(log.dt / max_step - 1e-9))
            gain, rate_gain = servo.gains(log.kp, log.damping)
            voltage = servo.vin if log.vin is None else log.vin
            inertia, gravity = bench.numbers()
            lower, step, table = bench.table()
            numbers = {
                "dt": log.dt,
                "substeps": max(substeps, 1),
                "gain": gain,
                "rate_gain": rate_gain,
                "max_pwm": servo.max_pwm,
                "max_amps": servo.max_amps,
                "voltage": voltage if vin is None else vin,
                "inertia": inertia,
                "gravity": gravity,
                "table_start": sum(map(len, tables)),
                "table_size": len(table),
                "table_lower": lower,
                "table_step": step,
                "reset_period": np.inf if reset_period is None else reset_period,
            }
            for name, number in numbers.items():
                row[getattr(LOG, name)] = number
            tables.append(table)
        lengths = [len(log) for log in logs]
        return cls(
            log_rows=rows,
            offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            table=np.ascontiguousarray(np.vstack(tables)),
            inputs=np.ascontiguousarray(np.hstack([_inputs(log) for log in logs])),
            measured=np.ascontiguousarray(np.hstack([_measured(log) for log in logs])),
        )

    @property
    def samples(self) -> int:
        """Number of samples of all logs."""
        return int(self.offsets[-1])

    @functools.cached_property
    def steps(self) -> float:
        """Number of integration steps of all logs."""
        return float(np.diff(self.offsets) @ self.log_rows[:, LOG.substeps])

    @functools.cached_property
    def counts(self) -> np.ndarray:
        """Number of compared samples ``(l, 3)``."""
        compared = ~np.isnan(self.measured)
        return np.add.reduceat(compared.astype(float), self.offsets[:-1], axis=1).T

    @functools.cached_property
    def shares(self) -> np.ndarray:
        """Weight of a summed loss in the mean over logs ``(l, 3)``, each log alike; 0 for none."""
        compared = self.counts > 0
        return compared / (np.maximum(self.counts, 1.0) * np.maximum(compared.sum(axis=0), 1))

    def log_samples(self, number: int) -> slice:
        """Samples of a log."""
        return slice(int(self.offsets[number]), int(self.offsets[number + 1]))


def _check(log: ServoLog, terms: Sequence[str]) -> None:
    if log.dt is None:
        raise RecordingError(
            f"{log.source}: the samples are not evenly spaced (a raw log): resample it first"
        )
    for term in terms:
        field = _NEEDED.get(term)
        if field is not None and getattr(log, field) is None:
            raise RecordingError(
                f"{log.source}: the term {term!r} requires {field}, which is missing in the log"
            )


def _inputs(log: ServoLog) -> np.ndarray:
    volts = np.zeros(len(log)) if log.input_volts is None else log.input_volts
    warmth = np.zeros(len(log))
    if log.temperature is not None:
        warmth = log.temperature - REFERENCE_TEMPERATURE
    return np.vstack([log.goal_position, log.torque_enable.astype(float), volts, warmth])


def _measured(log: ServoLog) -> np.ndarray:
    duty = np.full(len(log), np.nan)
    if log.load is not None:
        # a bridge that is off has no duty cycle to compare
        duty = np.where(log.torque_enable, log.load, np.nan)
    return np.vstack([log.position, log.speed, duty])
