"""Noise of measured initial states: its size, its effect on the fit and on the covariance.

A simulation that starts from a measured state inherits the noise of a few samples, which affects
the whole trajectory. With ``J`` and ``S`` the derivatives of the residuals with respect to
parameters and initial states, ``W`` the weights of the residuals and ``H`` the Hessian of the cost,
an error ``e`` of an initial state changes the gradient by ``J' W S e`` (its pull) and so moves the
optimum by ``-H^-1 J' W S e``. A capability simulates the effect ``S e``; this module does the rest.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from trueup.fitting.uncertainty.covariance import CovarianceEstimate

_CUT = 1e-12  # relative eigenvalue below which a direction counts as not determined


def noise_from_changes(errors: np.ndarray, starts: Sequence[int] | np.ndarray = ()) -> np.ndarray:
    """Standard deviation of the noise of each channel ``(C,)``, from changes between samples.

    The model error varies slowly between samples, noise does not: the difference of two samples of
    independent noise of variance ``s^2`` has variance ``2 s^2``.

    Args:
        errors: residuals ``(T, C)`` in the units of the channels; NaN where nothing was measured.
        starts: samples at which a simulation restarts; differences across them are excluded.

    Returns:
        NaN for a channel with fewer than two samples in a row.
    """
    change = np.diff(errors, axis=0)
    across = np.asarray(starts, int) - 1
    change[across[(across >= 0) & (across < len(change))]] = np.nan
    known = np.isfinite(change)
    count = known.sum(axis=0)
    total = np.sum(np.where(known, change, 0.0) ** 2, axis=0)
    return np.where(count > 0, np.sqrt(total / np.maximum(2 * count, 1)), np.nan)


def pulls_of_starts(
    effects: np.ndarray,
    weights: np.ndarray,
    jacobian: np.ndarray,
    starts: Sequence[int] | np.ndarray = (0,),
) -> np.ndarray:
    """Pulls ``(k, n, p)`` of ``n`` errors of each of ``k`` starts, ``J' W S e``.

    Args:
        effects: change of the residuals by each error ``(n, T, C)``.
        weights: weight of each residual in the cost ``(T, C)``.
        jacobian: derivatives of the residuals ``(T, C, p)``.
        starts: first sample of the interval affected by each start, ascending.
    """
    weighted, count = effects * weights, len(effects)
    ends = [*starts[1:], effects.shape[1]]
    return np.stack(
        [
            weighted[:, first:end].reshape(count, -1)
            @ jacobian[first:end].reshape(-1, jacobian.shape[-1])
            for first, end in zip(starts, ends, strict=True)
        ]
    )


def inverse_of(matrix: np.ndarray) -> np.ndarray:
    """Pseudo-inverse of a symmetric matrix, independent of the units of its rows."""
    size = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    scale = np.where(size > 0.0, size, 1.0)
    outer = np.outer(scale, scale)
    return np.linalg.pinv(matrix / outer, rcond=_CUT, hermitian=True) / outer


def known_of(covariance: CovarianceEstimate) -> np.ndarray:
    """Indices of the parameters that are neither on a bound nor undetermined."""
    return np.flatnonzero(~(covariance.active | covariance.undetermined))


def with_added_spread(
    covariance: CovarianceEstimate, curvature: np.ndarray, spread: np.ndarray
) -> CovarianceEstimate:
    """Return the covariance increased by additional errors.

    An error that changes the gradient of the cost by ``g``, its pull, moves the optimum by
    ``-H^-1 g``. Parameters on a bound or undetermined are not changed.

    Args:
        covariance: of the noise of the samples.
        curvature: ``H (p, p)``, second derivatives of the cost, in the coordinates of
            ``covariance``.
        spread: covariance of the pulls ``(p, p)``.
    """
    known = known_of(covariance)
    block = np.ix_(known, known)
    if not (known.size and np.isfinite(spread[block]).all()):
        return covariance
    inverse = inverse_of(curvature[block])
    matrix, determined = covariance.matrix.copy(), covariance.determined_part.copy()
    added = inverse @ spread[block] @ inverse
    matrix[block] += added
    determined[block] += added
    growth = np.ones(len(matrix))
    before, after = np.diag(covariance.matrix)[known], np.diag(matrix)[known]
    if not (before > 0.0).all():  # an exact fit without noise
        return covariance
    growth[known] = after / before
    correlation = covariance.correlation.copy()
    correlation[block] = matrix[block] / np.sqrt(np.outer(after, after))
    return dataclasses.replace(
        covariance,
        matrix=matrix,
        determined_part=determined,
        half_widths=covariance.half_widths * np.sqrt(growth),
        correlation=correlation,
        variance_inflation=covariance.variance_inflation * growth,
    )
