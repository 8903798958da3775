"""Information matrix J'J, its inverse, and the directions that it does not determine."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.fitting.uncertainty.sequence_fit import SequenceFit

ABSENT_EIGENVALUE = 1e-12
"""Relative eigenvalue of the scaled J'J below which a direction counts as not determined.

A forward difference has a relative error of 1e-7 to 1e-6 in J, so 1e-14 to 1e-12 in J'J: smaller
eigenvalues are not distinguishable from rounding.
"""

PART_IN_DIRECTION = 1e-3
"""Component of a (scaled, unit) undetermined direction above which a parameter belongs to it."""


@dataclass(frozen=True)
class InvertedInformation:
    """Inverse of J'J on the determined directions, and the undetermined ones.

    Args:
        inverse: ``(p, p)`` pseudo-inverse; exact for parameters outside every absent direction.
        undetermined: ``(p,)`` True for parameters with a component in an absent direction.
        absent: ``(p, p)`` sum of ``v v'`` over absent directions ``v`` (parameter units); its
            signs say which undetermined parameters move together.
        combinations: ``(p, k)`` combinations of the parameters that the data determine:
            ``combinations.T @ dx`` is the observable part of a change ``dx``.
    """

    inverse: np.ndarray
    undetermined: np.ndarray
    absent: np.ndarray
    combinations: np.ndarray

    def precision(self, covariance: np.ndarray) -> np.ndarray:
        """Precision ``(p, p)`` of a covariance within the determined directions, 0 in the others.

        Args:
            covariance: ``(p, p)``, such as ``CovarianceEstimate.determined_part``.
        """
        seen = self.combinations.T @ covariance @ self.combinations
        values, axes = np.linalg.eigh(0.5 * (seen + seen.T))
        # an exact fit has no variance: use the smallest one with an inverse
        values = np.maximum(values, max(1e-12 * values.max(initial=0.0), 1e-30))
        combined = self.combinations @ axes
        return (combined / values) @ combined.T


def information_matrix(
    sequences: Sequence[SequenceFit],
    columns: np.ndarray,
    slopes: Sequence[np.ndarray] | None = None,
) -> np.ndarray:
    """Return ``J' diag(slopes) J`` ``(p, p)`` over all sequences, in blocks of time."""
    matrix = np.zeros((len(columns), len(columns)))
    for index, sequence in enumerate(sequences):
        for rows, block in sequence.blocks(columns):
            flat = block.reshape(-1, len(columns))
            if slopes is None:
                matrix += flat.T @ flat
            else:
                matrix += flat.T @ (flat * slopes[index][rows].reshape(-1, 1))
    return matrix


def inverted(information: np.ndarray, threshold: float = ABSENT_EIGENVALUE) -> InvertedInformation:
    """Invert an information matrix ``(p, p)`` on its determined directions.

    The matrix is scaled to a unit diagonal first, so that the threshold does not depend on the
    units of the parameters; a zero on the diagonal (no effect at all) is an absent direction.
    """
    p = len(information)
    diagonal = np.diag(information)
    effective = diagonal > max(diagonal.max(initial=0.0), 0.0) * 1e-60
    scale = np.where(effective, np.sqrt(np.where(effective, diagonal, 1.0)), 1.0)
    scaled = np.where(np.outer(effective, effective), information / np.outer(scale, scale), 0.0)
    values, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
    present = values > threshold * max(values.max(initial=0.0), 0.0)
    kept = vectors[:, present] / scale[:, None]
    gone = vectors[:, ~present]
    undetermined = (
        np.abs(gone).max(axis=1) > PART_IN_DIRECTION if gone.size else np.zeros(p, dtype=bool)
    )
    gone = gone / scale[:, None]
    return InvertedInformation(
        inverse=(kept / values[present]) @ kept.T,
        undetermined=undetermined,
        absent=gone @ gone.T,
        combinations=np.where(effective[:, None], vectors[:, present] * scale[:, None], 0.0),
    )
