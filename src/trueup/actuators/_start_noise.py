"""What the noise of the samples that rollouts start from adds to the covariance of a fit.

A rollout starts, and with a reset period starts again, from a measured position and speed. Their
noise moves all that follows: there is one draw of it a start, however many samples follow. With
``H`` the second derivatives of the cost over the parameters, ``J`` and ``S`` the derivatives of the
residuals over parameters and start values, and ``w`` what each residual weighs in ``H``, an error
``e`` of the start moves the optimum by ``-H^-1 J' w S e``.
"""

import copy
import dataclasses
from collections.abc import Sequence

import numpy as np

from trueup.actuators._fit_intervals import inverse_of
from trueup.actuators._parameter_layout import BENCH_COLUMNS
from trueup.actuators.problem import ServoProblem
from trueup.fitting.uncertainty import CovarianceEstimate

_STARTED = (0, 1)  # channels that a rollout takes from the log: position and speed


def with_start_noise(
    problem: ServoProblem,
    x: np.ndarray,
    covariance: CovarianceEstimate,
    curvature: np.ndarray,
    jacobians: Sequence[np.ndarray],
    weights: Sequence[np.ndarray],
) -> CovarianceEstimate:
    """The covariance with what the noise of the starts adds.

    The size of that noise is taken from how much the residuals of position and speed change from
    sample to sample, which errors of the model hardly do.

    Args:
      problem: the problem of the logs.
      x: the optimum ``(p,)``.
      covariance: of the noise of the samples, in search coordinates.
      curvature: second derivatives ``(p, p)`` of the cost in search coordinates.
      jacobians: of the residuals in search coordinates, ``(T, channels, p)`` a log.
      weights: what each residual weighs in ``curvature``, ``(T, channels)`` a log.
    """
    known = np.flatnonzero(~(covariance.active | covariance.undetermined))
    block = np.ix_(known, known)
    spread = np.zeros((len(known), len(known)))
    motions = _motions(problem, x, problem.simulator.data.measured)
    starts = [start_samples(problem, number) for number in range(len(motions))]
    for channel in _STARTED:
        noise = [_noise(problem, n, motion, channel) for n, motion in enumerate(motions)]
        shifted = _motions(problem, x, _with_shifted_starts(problem, starts, channel, noise))
        for number, (motion, moved) in enumerate(zip(motions, shifted, strict=True)):
            effect = weights[number] * problem.weighted_change(moved - motion, number)
            pull = np.einsum("tcp,tc->tp", jacobians[number][..., known], effect)
            pulls = np.add.reduceat(pull, starts[number], axis=0)
            spread += pulls.T @ pulls
    if not (known.size and np.isfinite(spread).all()):
        return covariance
    inverse = inverse_of(curvature[block])
    matrix = covariance.matrix.copy()
    matrix[block] += inverse @ spread @ inverse
    growth = np.ones(len(matrix))
    growth[known] = np.diag(matrix)[known] / np.diag(covariance.matrix)[known]
    size = np.sqrt(np.diag(matrix)[known])
    correlation = covariance.correlation.copy()
    correlation[block] = matrix[block] / np.outer(size, size)
    return dataclasses.replace(
        covariance,
        matrix=matrix,
        half_widths=covariance.half_widths * np.sqrt(growth),
        correlation=correlation,
        variance_inflation=covariance.variance_inflation * growth,
    )


def start_samples(problem: ServoProblem, number: int) -> np.ndarray:
    """Samples of a log at which its rollout takes position and speed from the log."""
    log = problem.simulator.logs[number]
    row = problem.simulator.data.log_rows[number]
    # counted as the simulator does, sample by sample
    late = (
        np.cumsum(np.full(len(log), row[BENCH_COLUMNS["dt"]])) > row[BENCH_COLUMNS["reset_period"]]
    )
    if not late.any():
        return np.zeros(1, np.int64)
    every = int(np.argmax(late)) + 1
    return np.unique(np.concatenate([[0], np.arange(every - 1, len(log), every)]))


def _noise(problem: ServoProblem, number: int, motion: np.ndarray, channel: int) -> float:
    """Standard deviation of the noise of a channel of a log, 0 where nothing tells it."""
    data = problem.simulator.data
    change = np.diff(motion[:, channel] - data.measured[channel, data.log_samples(number)])
    change = change[np.isfinite(change)]
    return float(np.sqrt(np.mean(change**2) / 2.0)) if change.size else 0.0


def _with_shifted_starts(
    problem: ServoProblem, starts: Sequence[np.ndarray], channel: int, shifts: Sequence[float]
) -> np.ndarray:
    """What was measured ``(3, m)``, with a channel shifted where rollouts start."""
    data = problem.simulator.data
    measured = data.measured.copy()
    for number, (samples, shift) in enumerate(zip(starts, shifts, strict=True)):
        measured[channel, data.offsets[number] + samples] += shift
    return measured


def _motions(problem: ServoProblem, x: np.ndarray, measured: np.ndarray) -> list[np.ndarray]:
    """Position, speed and duty ``(T, 3)`` of each log, started from what was measured."""
    simulator = copy.copy(problem.simulator)
    simulator.data = dataclasses.replace(simulator.data, measured=measured)
    found = simulator.simulate(x[None, :])
    channels = zip(found.position, found.speed, found.duty, strict=True)
    return [np.stack([values[0] for values in each], axis=-1) for each in channels]
