"""Errors besides the noise of the samples in a covariance: each moves the optimum by its pull."""

import dataclasses

import numpy as np

from trueup.fitting.uncertainty._covariance import CovarianceEstimate

_CUT = 1e-12  # relative eigenvalue below which a direction counts as not determined


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
    matrix = covariance.matrix.copy()
    matrix[block] += inverse @ spread[block] @ inverse
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
        half_widths=covariance.half_widths * np.sqrt(growth),
        correlation=correlation,
        variance_inflation=covariance.variance_inflation * growth,
    )
