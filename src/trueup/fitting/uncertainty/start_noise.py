"""Noise of measured start states: how large it is, how it pulls, what it adds to a covariance.

A simulation that starts from a measured state starts from one draw of the noise of a few samples,
and that draw moves all that follows. With ``J`` and ``S`` the derivatives of the residuals over
unknowns and start states, ``W`` the weights of the residuals and ``H`` the second derivatives of
the cost, an error ``e`` of a start changes the gradient by its pull ``J' W S e`` and so moves the
optimum by ``-H^-1 J' W S e``. A capability simulates the effect ``S e``; the rest stands here.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from trueup.fitting.uncertainty.covariance import CovarianceEstimate

_CUT = 1e-12  # relative eigenvalue below which a direction counts as not determined


def noise_from_changes(errors: np.ndarray, starts: Sequence[int] | np.ndarray = ()) -> np.ndarray:
    """Standard deviation of the noise of each channel ``(C,)``, from changes between samples.

    The error of a model hardly changes from one sample to the next, noise does: independent noise
    of variance ``s^2`` changes by ``2 s^2`` on average.

    Args:
        errors: residuals ``(T, C)`` in the units of the channels; NaN where nothing was measured.
        starts: samples at which a simulation starts anew: a change across them is not counted.

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
        weights: what each residual weighs in the cost ``(T, C)``.
        jacobian: derivatives of the residuals ``(T, C, p)``.
        starts: first sample of each stretch that one start moves, ascending.
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
    """Inverse of a symmetric matrix where it has one, whatever the units of its rows."""
    size = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    scale = np.where(size > 0.0, size, 1.0)
    outer = np.outer(scale, scale)
    return np.linalg.pinv(matrix / outer, rcond=_CUT, hermitian=True) / outer


def known_of(covariance: CovarianceEstimate) -> np.ndarray:
    """Numbers of the parameters that are neither on a bound nor undetermined."""
    return np.flatnonzero(~(covariance.active | covariance.undetermined))


def with_added_spread(
    covariance: CovarianceEstimate, curvature: np.ndarray, spread: np.ndarray
) -> CovarianceEstimate:
    """The covariance with what further errors add.

    An error that changes the gradient of the cost by ``g``, its pull, moves the optimum by
    ``-H^-1 g``. Parameters on a bound or undetermined keep what they have.

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
    if not (before > 0.0).all():  # an exact fit: there is no noise to be added to
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
