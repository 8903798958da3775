"""The score of each sample: what it asks of the parameters, J' r at that time."""

from collections.abc import Sequence

import numpy as np

from trueup.fitting.uncertainty._sequence_fit import SequenceFit


def sample_scores(
    sequences: Sequence[SequenceFit],
    residuals: Sequence[np.ndarray],
    columns: np.ndarray,
    inverse: np.ndarray,
) -> list[np.ndarray]:
    """Return, for each sequence, ``B J[t]' r[t]`` as ``(T, p)``: pulls in parameter units."""
    scores = []
    for sequence, residual in zip(sequences, residuals):
        score = np.empty((sequence.length, len(columns)))
        for rows, block in sequence.blocks(columns):
            score[rows] = np.einsum("tcp,tc->tp", block, residual[rows]) @ inverse
        scores.append(score)
    return scores
