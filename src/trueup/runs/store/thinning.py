"""Choice of the generations that a long run keeps, so that its files stay bounded.

A file that has reached its limit is thinned to half of it: of each block of ``s`` consecutive
generations the first stays, and the one with the best candidate; ``s`` is the smallest power of two
that suffices. Blocks of powers of two are nested, so that a file that is thinned again keeps what a
single thinning would have kept. The last generations stay whole: results are judged on them.

The choice depends on the generations alone, and not on the time of a checkpoint: a run that was
killed and resumed keeps the same ones.
"""

import numpy as np

_RECENT_SHARE = 0.25
"""Share of the limit for the last generations."""

LAST = 10
"""Last generations that stay whatever their size."""


def kept_generations(
    numbers: np.ndarray, sizes: np.ndarray, limit: float, best: np.ndarray | None = None
) -> np.ndarray:
    """Mask of the generations that stay when a file is thinned to half its limit ``(n,)``.

    Args:
      numbers: index of each generation ``(n,)``, ascending.
      sizes: size of each generation in the file ``(n,)`` [bytes].
      limit: limit of the file [bytes].
      best: lowest value of each objective in each generation ``(n, k)``, infinite where there is no
        valid candidate; None: the best candidate is kept elsewhere.
    """
    newer = np.cumsum(sizes[::-1])[::-1]  # size of each generation and those after it
    recent = newer <= _RECENT_SHARE * limit
    recent[-LAST:] = True
    stride = 2
    while True:
        kept = recent | (numbers % stride == 0)
        if best is not None:
            kept |= _best_of_blocks(numbers // stride, best)
        if sizes[kept].sum() <= limit / 2 or stride > numbers[-1]:
            return kept
        stride *= 2


def _best_of_blocks(blocks: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Mask of the first generation of each block with the block's lowest value of an objective."""
    found = np.zeros(len(blocks), bool)
    for values in best.T:
        order = np.lexsort((np.arange(len(blocks)), values, blocks))
        first = order[np.unique(blocks[order], return_index=True)[1]]
        found[first[np.isfinite(values[first])]] = True
    return found
