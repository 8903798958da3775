"""What the noise of the samples that rollouts start from adds to the covariance of a fit.

A rollout starts, and with a reset period starts again, from a measured position and speed. Their
noise moves all that follows: there is one draw of it a start, however many samples follow. How
an error of a start moves the optimum stands in :mod:`trueup.fitting.uncertainty.start_noise`. The
motion is simulated with both signs of an error, in place of a derivative.
"""

import copy
import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from trueup.actuators.search.problem import ServoProblem
from trueup.fitting.uncertainty import CovarianceEstimate
from trueup.fitting.uncertainty.start_noise import (
    inverse_of,
    known_of,
    noise_from_changes,
    pulls_of_starts,
    with_added_spread,
)

_STARTED = (0, 1)  # channels that a rollout takes from the log: position and speed

_NODES = ((math.sqrt(3.0), 1.0 / 6.0), (-math.sqrt(3.0), 1.0 / 6.0))
# of Gauss-Hermite quadrature with three of them, deviations and shares: friction holds a joint that
# starts on one side and lets one on the other side go


def with_start_noise(
    problem: ServoProblem,
    x: np.ndarray,
    covariance: CovarianceEstimate,
    curvature: np.ndarray,
    jacobians: Sequence[np.ndarray],
    weights: Sequence[np.ndarray],
) -> tuple[CovarianceEstimate, np.ndarray]:
    """The covariance with what the noise of the starts adds, and the size of its bias.

    Where friction holds a joint that starts on one side and lets one on the other side go, errors
    of both signs do not cancel: their mean moves the optimum.

    The size of that noise is taken from how much the residuals of position and speed change from
    sample to sample, which errors of the model hardly do.

    Args:
      problem: the problem of the logs.
      x: the optimum ``(p,)``.
      covariance: of the noise of the samples, in search coordinates.
      curvature: second derivatives ``(p, p)`` of the cost in search coordinates.
      jacobians: of the residuals in search coordinates, ``(T, channels, p)`` a log.
      weights: what each residual weighs in ``curvature``, ``(T, channels)`` a log.

    Returns:
      The covariance, and how far the mean effect moves each parameter ``(p,)``.
    """
    known = known_of(covariance)
    block = np.ix_(known, known)
    spread = np.zeros(covariance.matrix.shape)
    mean = np.zeros(len(known))
    bias = np.zeros(len(covariance.matrix))
    starts = [problem.start_samples(number) for number in range(len(jacobians))]
    plain = motions(problem, x[None, :])
    sizes = start_noise_sizes(problem, [motion[0] for motion in plain])
    for channel in _STARTED:
        for node, share in _NODES:
            moved = motions(problem, x[None, :], channel, node * sizes[channel])
            for number, (before, after) in enumerate(zip(plain, moved, strict=True)):
                effect = problem.weighted_change(after[0] - before[0], number)
                found = pulls_of_starts(
                    effect[None], weights[number], jacobians[number], starts[number]
                )
                pulls = found[:, 0, known]
                spread[block] += share * (pulls.T @ pulls)
                mean += share * pulls.sum(axis=0)
    if not (known.size and np.isfinite(spread).all()):
        return covariance, bias
    bias[known] = np.abs(inverse_of(curvature[block]) @ mean)
    return with_added_spread(covariance, curvature, spread), bias


def start_noise_sizes(problem: ServoProblem, fitted: Sequence[np.ndarray]) -> np.ndarray:
    """Standard deviations of the noise of position and speed ``(2, logs)``; 0 where unknown.

    Args:
      problem: the problem of the logs.
      fitted: motion of the optimum in each log ``(T, 3)``.
    """
    data = problem.simulator.data
    sizes = np.zeros((len(_STARTED), len(fitted)))
    for number, motion in enumerate(fitted):
        for channel in _STARTED:
            measured = data.measured[channel, data.log_samples(number)]
            sizes[channel, number] = noise_from_changes(motion[:, [channel]] - measured[:, None])[0]
    return np.nan_to_num(sizes)


def motions(
    problem: ServoProblem,
    X: np.ndarray,
    channel: int = 0,
    shifts: Sequence[float] | np.ndarray | None = None,
) -> list[np.ndarray]:
    """Position, speed and duty ``(n, T, 3)`` of candidates in each log.

    Args:
      problem: the problem of the logs.
      X: candidates ``(n, p)``.
      channel: 0 for position, 1 for speed.
      shifts: what to add to it for each log where rollouts start.
    """
    simulator = copy.copy(problem.simulator)
    if shifts is not None:
        data = simulator.data
        measured = data.measured.copy()
        for number, shift in enumerate(shifts):
            measured[channel, data.offsets[number] + problem.start_samples(number)] += shift
        simulator.data = dataclasses.replace(data, measured=measured)
    found = simulator.simulate(X)
    channels = zip(found.position, found.speed, found.duty, strict=True)
    return [np.stack(each, axis=-1) for each in channels]
