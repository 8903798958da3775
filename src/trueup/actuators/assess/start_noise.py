"""Contribution of noisy start states of rollouts to the covariance of a fit.

A rollout starts, and with a reset period restarts, from a measured position and speed. Noise in
these shifts the whole following motion: one draw per start, however many samples follow. Its
effect on the optimum is derived in :mod:`trueup.fitting.uncertainty.start_noise`. The
motion is simulated with perturbations of several signs and sizes instead of a derivative.
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
# nonzero nodes [standard deviations] and weights of three-point Gauss-Hermite quadrature: a
# derivative is not enough, as friction may hold a joint that starts on one side of the measured
# state and release one that starts on the other side


def with_start_noise(
    problem: ServoProblem,
    x: np.ndarray,
    covariance: CovarianceEstimate,
    curvature: np.ndarray,
    jacobians: Sequence[np.ndarray],
    weights: Sequence[np.ndarray],
) -> tuple[CovarianceEstimate, np.ndarray]:
    """Covariance with noise of the start states added, and the bias that it causes.

    If friction holds a joint that starts on one side and releases one on the other side, errors
    of both signs do not cancel: their mean moves the optimum.
    The size of the noise is estimated from differences of successive residuals of position and
    speed, in which model errors nearly cancel.
    sample to sample, which errors of the model hardly do.

    Args:
      problem: the problem of the logs.
      x: the optimum ``(p,)``.
      covariance: due to noise of the samples, in search coordinates.
      curvature: second derivatives ``(p, p)`` of the cost in search coordinates.
      jacobians: of the residuals in search coordinates, ``(T, channels, p)`` a log.
      weights: weight of each residual in ``curvature``, ``(T, channels)`` per log.

    Returns:
      Covariance, and the shift of each parameter by the mean effect ``(p,)``.
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
    """Standard deviations of the noise of position and speed ``(2, logs)``; 0 if unknown.

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
      shifts: offset of that channel in each log at the starts of rollouts.
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
