"""Noise of measured motion and torques, and its effect on a fit to torques.

The noise of a position is in the velocity and acceleration of inverse dynamics as well, and times
an inertia in the torque: it vibrates, is strongest near the corner of the filter, and has little
power where the motion has most. No model of the residuals tells what it does to friction then. It
also is in the columns of the fit, whose products with itself in the residuals make armatures too
small (errors in variables: W. Fuller, Measurement Error Models, 1987). So white noise of the
recorded sizes is added to the recording again, and the change of the fit is seen.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial

import numpy as np

from trueup.fitting.linearisation import (
    difference_jacobian,
    difference_points,
    final_jacobian,
)
from trueup.signals import TimeSeries
from trueup.signals.checks.statistics import noise_level, resolution
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.sysid.torque.known_errors import NoiseEffect, OwnErrors
from trueup.sysid.torque.problem import TorqueProblem
from trueup.sysid.torque.reduced import joint_columns, weighted_coefficients

_CHANCE = 3.0  # standard deviations of a variance within which residuals have that of the noise
_STEP = 1e-5  # relative difference of coefficients
_DRAWS = 16  # their spread is within 18 %, and their mean adds 3 % to the interval


def noise_effect(
    problem: TorqueProblem,
    x: np.ndarray,
    own_of: Callable[[Sequence[ModelSequences]], OwnErrors] | None = None,
    seed: int = 0,
) -> NoiseEffect:
    """Effect of noise of the size that the recordings show on a fit.

    Args:
      problem: torque problem.
      x: the fit ``(p,)``.
      own_of: own errors of recordings, which the noise changes as well; None: they are kept.
      seed: seed of the draws.
    """
    rng = np.random.default_rng(seed)
    if own_of is not None:
        problem = problem.with_own_errors(own_of(problem.recordings))
    linearised = _by_samples if problem.changes_zeros else _by_columns
    fit = linearised(problem, x)
    draws = []
    sizes = {
        trajectory: (_sizes(trajectory.control), _sizes(trajectory.sensordata))
        for group in problem.recordings
        for trajectory in group.measured_rollout
    }
    for _ in range(_DRAWS):
        groups = [_noisy(group, sizes, rng) for group in problem.recordings]
        own = problem.own_errors if own_of is None else own_of(groups)
        draws.append(linearised(problem.with_recordings(groups, own), x))
    pulls = np.zeros((_DRAWS, problem.space.size))
    for (own, pull), *drawn in zip(fit, *draws, strict=True):
        size = _size_of(own, [change for change, _ in drawn])
        for k, (change, drawn_pull) in enumerate(drawn):
            pulls[k] += size @ (drawn_pull(change) - pull(own))
    return NoiseEffect(tuple(problem.space.names), pulls)


def _size_of(own: np.ndarray, changes: Sequence[np.ndarray]) -> np.ndarray:
    """Size of the noise of each channel, relative to that of the draws ``(C,)``.

    A recording may be rougher than its noise, as the torque of a controller is: residuals with
    clearly less than the drawn variance say so.
    """
    drawn = np.mean([np.square(each - own).sum(axis=0) for each in changes], axis=0)
    share = drawn / np.maximum(np.square(own).sum(axis=0), 1e-300)
    counted = max(int(np.any(own != 0, axis=1).sum()), 1)
    rough = share > 1.0 + _CHANCE * np.sqrt(2.0 / counted)
    return np.where(rough, 1.0 / np.sqrt(np.maximum(share, 1.0)), 1.0)


_Linear = tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]
"""Residuals of a recording ``(T, C)``, and the function of such residuals that gives their
gradient of each channel in search coordinates ``(C, p)``."""


def _by_samples(problem: TorqueProblem, x: np.ndarray) -> list[_Linear]:
    """Residuals and gradients of recordings by their Jacobian."""
    residual, jacobian, _ = final_jacobian(problem, x, central=False)
    out: list[_Linear] = []
    for group, sequence in zip(problem.groups, problem.sequences, strict=True):
        shape = sequence.measured.shape
        slopes = jacobian[group.rows].reshape(*shape, -1)
        out.append((residual[group.rows].reshape(shape), partial(_pull, slopes)))
    return out


def _pull(slopes: np.ndarray, residual: np.ndarray) -> np.ndarray:
    return np.einsum("tcp,tc->cp", slopes, residual)


def _by_columns(problem: TorqueProblem, x: np.ndarray) -> list[_Linear]:
    """The same by the coefficients of columns: few numbers have differences instead of samples."""
    still = np.zeros(problem.space.size, bool)
    points, steps = difference_points(problem.space, x, _STEP, False, still)
    out: list[_Linear] = []
    for sequence, values in weighted_coefficients(problem, points, {}):
        columns = list(joint_columns(sequence.data))
        slopes = [difference_jacobian(each, steps, False, problem.space) for each in values]
        residual = [own @ each[0] for own, each in zip(columns, values, strict=True)]
        out.append((np.stack(residual, axis=1), partial(_pull_of_columns, columns, slopes)))
    return out


def _pull_of_columns(
    columns: Sequence[np.ndarray], slopes: Sequence[np.ndarray], residual: np.ndarray
) -> np.ndarray:
    parts = zip(columns, slopes, residual.T, strict=True)
    return np.stack([slope @ (own.T @ channel) for own, slope, channel in parts])


_Sizes = Mapping[SystemTrajectory, tuple[np.ndarray, np.ndarray]]
"""Standard deviations of the noise of controls and signals, by recording."""


def _noisy(group: ModelSequences, sizes: _Sizes, rng: np.random.Generator) -> ModelSequences:
    """Recordings with their noise a second time."""
    out = copy(group)
    out.measured_rollout = [
        trajectory.replace(
            control=_with_noise(trajectory.control, sizes[trajectory][0], rng),
            sensordata=_with_noise(trajectory.sensordata, sizes[trajectory][1], rng),
        )
        for trajectory in group.measured_rollout
    ]
    return out


def _with_noise(series: TimeSeries, sizes: np.ndarray, rng: np.random.Generator) -> TimeSeries:
    data = series.data + sizes * rng.normal(size=series.data.shape)
    return TimeSeries(series.times, data, series.signal_mapping)


def _sizes(series: TimeSeries) -> np.ndarray:
    """Standard deviation of the noise of each column."""
    return np.array([_noise(column) for column in series.data.T])


def _noise(values: np.ndarray) -> float:
    """Standard deviation of the noise of a column, with that of rounding to steps."""
    return max(noise_level(values), resolution(values) / np.sqrt(12.0))
