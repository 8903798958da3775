"""Linearised confidence intervals by the toolbox's formula, for white noise of one variance.

:func:`trueup.fitting.estimate_covariance` supports correlated noise and different channels.
"""

from collections.abc import Sequence

import numpy as np


def calculate_intervals(
    residuals_star: Sequence[np.ndarray],
    J: np.ndarray | None,
    alpha: float = 0.05,
    lambda_zero_thresh: float = 1e-15,
    v_zero_thresh: float = 1e-8,
) -> tuple[np.ndarray, np.ndarray]:
    """Covariance and half widths ``s^2 (J'J)^-1``, with Student's quantile of n - p.

    Args:
      residuals_star: residuals at the optimum, one array per sequence.
      J: Jacobian at the optimum ``(n, p)``.
      alpha: probability that an interval does not contain the value.
      lambda_zero_thresh: an eigenvalue of ``J'J`` below this share of the largest counts as zero.
      v_zero_thresh: an element of an eigenvector below this share of the row's largest counts as
        zero.

    Returns:
      Covariance ``(p, p)`` and half widths ``(p,)``. A half width is infinite for an element of an
      undetermined direction, and if there are not more rows than elements.
    """
    if J is None or np.size(J) == 0:
        return np.empty((0, 0)), np.empty((0,))
    from scipy.special import stdtrit

    J = np.asarray(J, float)
    residual = np.concatenate([np.ravel(r) for r in residuals_star])
    p, dof = J.shape[1], residual.size - J.shape[1]
    if dof <= 0:
        return np.full((p, p), np.inf), np.full(p, np.inf)
    variance = float(residual @ residual) / dof
    eigenvalues, vectors = np.linalg.eigh(J.T @ J)
    largest = eigenvalues.max()
    vanishing = eigenvalues < lambda_zero_thresh * largest if largest > 0 else np.ones(p, bool)
    row_largest = np.abs(vectors).max(axis=1, keepdims=True)
    elements = np.where(np.abs(vectors) < v_zero_thresh * row_largest, 0.0, vectors)
    # infinite for elements of an undetermined direction, for any variance
    undetermined = (elements[:, vanishing] != 0).any(axis=1)
    kept = ~vanishing
    variances = variance * (elements[:, kept] ** 2 / eigenvalues[kept]).sum(axis=1)
    half_widths = np.sqrt(variances) * float(stdtrit(dof, 1 - alpha / 2))
    floor = lambda_zero_thresh * largest if largest > 0 else lambda_zero_thresh
    inverse = (vectors / np.maximum(eigenvalues, floor)) @ vectors.T
    return variance * inverse, np.where(undetermined, np.inf, half_widths)
