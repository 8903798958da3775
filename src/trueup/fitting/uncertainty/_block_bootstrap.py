"""Moving-block bootstrap of the scores."""

from collections.abc import Sequence

import numpy as np

_DRAW_VALUES = 4_000_000


def default_block_length(samples: int, memory: float) -> int:
    """Return a block length: ``2 T^(1/3)``, or 6 correlation times, at most a fifth of a record."""
    wanted = max(2.0 * samples ** (1.0 / 3.0), 6.0 * memory)
    return int(np.clip(np.ceil(wanted), 1, max(1, samples // 5)))


def moving_block_bootstrap(
    scores: Sequence[np.ndarray],
    block_lengths: Sequence[int],
    draws: int,
    seed: int,
) -> np.ndarray:
    """Return bootstrap replicates ``(draws, p)`` of the estimation error (Kuensch 1989).

    A replicate of a sequence is put together from blocks of its scores, drawn with replacement. Its
    expectation is subtracted, as the blocks do not meet every sample equally often.

    Args:
        scores: ``(T, p)`` for each sequence, in parameter units (B J' r).
        block_lengths: Length of a block for each sequence [samples].
        draws: Number of replicates.
        seed: Seed of the draws.
    """
    rng = np.random.default_rng(seed)
    total = np.zeros((draws, scores[0].shape[1]))
    for score, length in zip(scores, block_lengths):
        samples, p = score.shape
        sums = np.cumsum(np.concatenate([np.zeros((1, p)), score]), axis=0)
        blocks = sums[length:] - sums[:-length]
        blocks = blocks - blocks.mean(axis=0)
        count = int(np.ceil(samples / length))
        # Blocks cover a little more than the record; and k blocks of l centred samples lose a
        # share l/T of their spread to the centring.
        correction = np.sqrt(samples / (count * length))
        if samples > length:
            correction /= np.sqrt(1.0 - length / samples)
        step = max(1, _DRAW_VALUES // (count * p))
        for start in range(0, draws, step):
            stop = min(start + step, draws)
            chosen = rng.integers(len(blocks), size=(stop - start, count))
            total[start:stop] += correction * blocks[chosen].sum(axis=1)
    return total
