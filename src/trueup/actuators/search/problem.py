"""Servo identification as a problem for any search."""

from collections.abc import Iterator

import numpy as np

from trueup.actuators.bench.objective import CHANNELS, Objective
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations._parameter_layout import LOG
from trueup.errors import RecordingError, listing
from trueup.fitting.problem import LARGE_RESIDUAL, Failures, Problem, ResidualGroup

_CHUNK_BYTES = 200_000_000
"""Memory limit of motions in one batch [bytes]."""


class ServoProblem(Problem):
    """Parameters of a servo model from logs.

    The cost is the objective. The residuals for least squares are simulated minus measured
    position, speed and duty cycle of each sample, times the objective's weights: least squares
    minimises their squares, with equal weight per log; a robust loss approximates absolute errors.
    With one channel this is the minimum of the objective ``"rmse"``, which adds the roots of
    several channels.

    Args:
      simulator: model, logs, and the names of the free parameters.
      objective: what to minimise; the mean absolute position error by default.

    Raises:
      RecordingError: the objective has a weight for the duty cycle, which no log contains.
    """

    def __init__(self, simulator: BenchSimulator, objective: Objective | None = None):
        self.simulator = simulator
        self.objective = objective or Objective()
        self.objectives = (self.objective.kind,)
        self.space = simulator.model.space(simulator.names)
        self._weights = np.array(self.objective.weights)
        self._check_measured()
        self.groups = tuple(self._residual_groups())
        self.data_rows = self.groups[-1].rows.stop

    def model_at(self, x: np.ndarray) -> ServoModel:
        """The servo model with the values ``x (p,)``."""
        return self.simulator.model.with_values(**dict(zip(self.space.names, x, strict=True)))

    def costs(self, X: np.ndarray, failures: Failures | None = None) -> np.ndarray:
        """Objective ``(n, 1)`` of candidates ``X (n, p)``."""
        return self.simulator.costs(X, self.objective, failures)[:, None]

    def shares(self, number: int) -> np.ndarray:
        """Weight of each residual of a log ``(rows,)``: 1 on average, equal per log.

        The weight of a log in the objective does not depend on its length.
        """
        data = self.simulator.data
        each = data.shares[number, self._channels] * data.counts[:, self._channels].sum(axis=0)
        return np.tile(each, len(self.simulator.logs[number]))

    def weights_of(self, rows: slice) -> np.ndarray | None:
        """Weights of the residuals of a log; None if all logs have the same length."""
        number = next(n for n, group in enumerate(self.groups) if group.rows == rows)
        shares = self.shares(number)
        return None if np.allclose(shares, 1.0, rtol=1e-12, atol=0.0) else shares

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Residuals ``(n, rows)``, a block per log."""
        channels = self._channels
        step = max(1, _CHUNK_BYTES // (24 * self.simulator.data.samples))
        out = np.empty((len(X), self.data_rows))
        for first in range(0, len(X), step):
            part = X[first : first + step]
            motion = self.simulator.simulate(part)
            simulated = (motion.position, motion.speed, motion.duty)
            failures.update((first + row, why) for row, why in motion.failures.items())
            for number, group in enumerate(self.groups):
                values = np.stack([simulated[c][number] for c in channels], axis=-1)
                error = self._weighted(values, number)
                out[first : first + step, group.rows] = error.reshape(len(part), -1)
        out[list(failures)] = LARGE_RESIDUAL
        for group in self.groups:
            yield group.rows, out[:, group.rows]

    def jacobian_blocks(
        self, x: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Residuals ``(rows,)`` and their exact derivatives ``(p, rows)``, a block per log."""
        channels = self._channels
        simulated, derivatives = self.simulator.sensitivities(
            x[None, :], failures, position_only=channels == [0]
        )
        for number, group in enumerate(self.groups):
            samples = self.simulator.data.log_samples(number)
            values = simulated[0, channels, samples].T
            error = self._weighted(values, number)
            slopes = derivatives[0][channels, samples] * self._weights[channels][:, None, None]
            slopes[np.isnan(self._measured(number)).T] = 0.0
            jacobian = slopes.transpose(2, 1, 0).reshape(self.space.size, -1)
            if failures:
                yield group.rows, np.full(error.size, LARGE_RESIDUAL), np.zeros(jacobian.shape)
            else:
                yield group.rows, error.reshape(-1), jacobian

    def weighted_change(self, change: np.ndarray, number: int) -> np.ndarray:
        """Change of the residuals of a log for a change of its motion ``(..., T, 3)``."""
        change = change[..., self._channels] * self._weights[self._channels]
        return np.where(np.isnan(self._measured(number)), 0.0, change)

    def start_samples(self, number: int) -> np.ndarray:
        """Samples of a log at which its rollout is reset to the measured position and speed."""
        log = self.simulator.logs[number]
        row = self.simulator.data.log_rows[number]
        # accumulated per sample, with the rounding of the simulator
        dt, period = row[LOG.dt], row[LOG.reset_period]
        late = np.cumsum(np.full(len(log), dt)) > period
        if not late.any():
            return np.zeros(1, np.int64)
        every = int(np.argmax(late)) + 1
        return np.unique(np.concatenate([[0], np.arange(every - 1, len(log), every)]))

    @property
    def _channels(self) -> list[int]:
        """Channels with a weight."""
        return np.flatnonzero(self._weights > 0).tolist()

    def _check_measured(self) -> None:
        """Reject a weight of a channel without measurements."""
        counts = self.simulator.data.counts.sum(axis=0)
        for channel in self._channels:
            if counts[channel] == 0:
                logs = listing([log.name for log in self.simulator.logs], 5)
                raise RecordingError(
                    f"the weight of {CHANNELS[channel]} in the objective is "
                    f"{self._weights[channel]:g}, but no training log contains a measured 'load' "
                    f"while torque is on ({logs}): remove that weight, or record the load"
                )

    def _measured(self, number: int) -> np.ndarray:
        data = self.simulator.data
        return data.measured[self._channels, data.log_samples(number)].T

    def _weighted(self, values: np.ndarray, number: int) -> np.ndarray:
        """Weighted errors ``(..., T, channels)``; 0 for missing measurements."""
        error = (values - self._measured(number)) * self._weights[self._channels]
        return np.where(np.isnan(self._measured(number)), 0.0, error)

    def _residual_groups(self) -> Iterator[ResidualGroup]:
        channels = tuple(CHANNELS[c] for c in self._channels)
        first = 0
        for log in self.simulator.logs:
            group = ResidualGroup(log.name, channels, log.times, first)
            first = group.rows.stop
            yield group
