"""Noise of measured motion and torques, and its effect on a fit to torques.

The noise of a position is in the velocity and acceleration of inverse dynamics as well, and times
an inertia in the torque: it vibrates, is strongest near the corner of the filter, and has little
power where the motion has most. No model of the residuals tells what it does to friction then. It
also is in the columns of the fit, whose products with itself in the residuals make armatures too
small (errors in variables: W. Fuller, Measurement Error Models, 1987). So white noise of the
recorded sizes is added to the recording again, and the change of the fit is seen.
"""

from collections.abc import Callable, Sequence
from copy import copy

import numpy as np

from trueup.fitting.linearisation import final_jacobian
from trueup.signals import TimeSeries
from trueup.signals.checks.statistics import noise_level, resolution
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.torque.known_errors import NoiseEffect, OwnErrors
from trueup.sysid.torque.problem import TorqueProblem

_CHANCE = 3.0  # standard deviations of a variance within which residuals have that of the noise
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
    residual, jacobian = _linearised(problem, x)
    parts = [
        (group.rows, sequence.measured.shape)
        for group, sequence in zip(problem.groups, problem.sequences, strict=True)
    ]
    draws = []
    for _ in range(_DRAWS):
        groups = [_noisy(group, rng) for group in problem.recordings]
        own = problem.own_errors if own_of is None else own_of(groups)
        other = problem.with_recordings(groups, own)
        draws.append(_linearised(other, x))
    pulls = np.zeros((_DRAWS, problem.space.size))
    for rows, shape in parts:
        own, slopes = residual[rows].reshape(shape), jacobian[rows].reshape(*shape, -1)
        own_pull = np.einsum("tcp,tc->cp", slopes, own)
        changes = [drawn[rows].reshape(shape) for drawn, _ in draws]
        size = _size_of(own, changes)
        for k, (change, (_, drawn_slopes)) in enumerate(zip(changes, draws, strict=True)):
            pull = np.einsum("tcp,tc->cp", drawn_slopes[rows].reshape(*shape, -1), change)
            pulls[k] += size @ (pull - own_pull)
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


def _linearised(problem: TorqueProblem, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Residuals of the data ``(m,)`` and their Jacobian ``(m, p)`` in search coordinates."""
    residual, jacobian, _ = final_jacobian(problem, x, central=False)
    count = problem.data_rows
    return np.asarray(residual)[:count], np.asarray(jacobian)[:count]


def _noisy(group: ModelSequences, rng: np.random.Generator) -> ModelSequences:
    """Recordings with their noise a second time."""
    out = copy(group)
    out.measured_rollout = [
        trajectory.replace(
            control=_with_noise(trajectory.control, rng),
            sensordata=_with_noise(trajectory.sensordata, rng),
        )
        for trajectory in group.measured_rollout
    ]
    return out


def _with_noise(series: TimeSeries, rng: np.random.Generator) -> TimeSeries:
    sizes = np.array([_noise(column) for column in series.data.T])
    data = series.data + sizes * rng.normal(size=series.data.shape)
    return TimeSeries(series.times, data, series.signal_mapping)


def _noise(values: np.ndarray) -> float:
    """Standard deviation of the noise of a column, with that of rounding to steps."""
    return max(noise_level(values), resolution(values) / np.sqrt(12.0))
