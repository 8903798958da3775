"""Input of a covariance estimate: residuals, Jacobians, robust slopes and a prior."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.errors import FitError
from trueup.fitting.uncertainty.information import (
    InvertedInformation,
    information_matrix,
    inverted,
)
from trueup.fitting.uncertainty.sequence_fit import SequenceFit, checked_sequences


@dataclass(frozen=True)
class Evidence:
    """Checked residuals and derivatives of a fit.

    Args:
        sequences: The fitted sequences.
        residuals: For each sequence ``(T, C)``, the robust weight times the residual.
        slopes: For each sequence ``(T, C)`` derivatives of the influence function, or None.
        prior: ``(p, p)`` precision of the prior, zero where there is none.
        threshold: Relative eigenvalue of the scaled J'J below which it counts as zero.
        parameters: Number of parameters.
        count: Number of residuals.
    """

    sequences: Sequence[SequenceFit]
    residuals: list[np.ndarray]
    slopes: list[np.ndarray] | None
    prior: np.ndarray
    threshold: float
    parameters: int
    count: int

    @classmethod
    def checked(
        cls,
        sequences: Sequence[SequenceFit],
        prior_precision: np.ndarray | None,
        weights: Sequence[np.ndarray] | None,
        slopes: Sequence[np.ndarray] | None,
        threshold: float,
    ) -> "Evidence":
        """Check shapes and combine the parts; raises :class:`FitError`."""
        parameters, count = checked_sequences(sequences)
        residuals = [sequence.residuals for sequence in sequences]
        slope_tables = None
        if weights is not None:
            tables = _tables_like(sequences, weights, "weights")
            residuals = [table * residual for table, residual in zip(tables, residuals)]
            slope_tables = tables
        if slopes is not None:
            slope_tables = _tables_like(sequences, slopes, "slopes")
        prior = np.zeros((parameters, parameters))
        if prior_precision is not None:
            prior = np.asarray(prior_precision, dtype=float)
            if prior.shape != (parameters, parameters) or not np.isfinite(prior).all():
                raise FitError(
                    f"the prior's precision has shape {prior.shape}; give a finite "
                    f"({parameters}, {parameters}) matrix, zero for parameters without a prior."
                )
        return cls(sequences, residuals, slope_tables, prior, threshold, parameters, count)

    def inverse(self, columns: np.ndarray) -> InvertedInformation:
        """Return B for these parameters: the inverse of J'J plus the prior's precision."""
        information = information_matrix(self.sequences, columns, self.slopes)
        return inverted(information + self.prior[np.ix_(columns, columns)], self.threshold)

    def gradient(self, columns: np.ndarray) -> np.ndarray:
        """Return J' r, ``(p,)``, of the residuals alone."""
        total = np.zeros(len(columns))
        for sequence, residual in zip(self.sequences, self.residuals):
            for rows, block in sequence.blocks(columns):
                total += np.einsum("tcp,tc->p", block, residual[rows])
        return total


def _tables_like(
    sequences: Sequence[SequenceFit], tables: Sequence[np.ndarray], what: str
) -> list[np.ndarray]:
    arrays = [np.asarray(table, dtype=float) for table in tables]
    shapes = [sequence.residuals.shape for sequence in sequences]
    if [array.shape for array in arrays] != shapes:
        raise FitError(
            f"{what} have shapes {[array.shape for array in arrays]}, the residuals {shapes}; "
            f"give {what} of one (time, channels) array for each sequence."
        )
    return arrays
