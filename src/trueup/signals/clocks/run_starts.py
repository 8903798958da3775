"""Runs of one log, whose clock starts again with each, compared with rows in another order.

Rows of two runs must never be sorted by time: they would lie between each other.
"""

import numpy as np

from trueup.signals._samples import GAP_STEPS

_FEWEST = 10  # samples of a run
_IRREGULAR = 0.5  # smallest step of a regular clock, in usual steps
_REPEATED = 0.05  # largest share of repeated times of one run
# A gap this many times as long as the recorded duration is that of a robot that was switched off,
# or of two recordings in one file; the motion within it is unknown.
FAR_LONGER = 2.0


def run_starts(times: np.ndarray) -> np.ndarray:
    """Indices of the first samples of runs after the first, empty for one run or unsorted rows.

    Rows of one run that were logged in another order give a regular clock when they are sorted.
    Rows of two runs then repeat times, lie between each other, or far apart.
    """
    none = np.zeros(0, dtype=np.intp)
    steps = np.diff(times)
    back = np.flatnonzero(steps < 0) + 1
    if back.size == 0 or not (steps > 0).any():
        return none
    usual = float(np.median(steps[steps > 0]))
    if -steps.min() <= GAP_STEPS * usual:
        return none
    if np.diff(np.concatenate([[0], back, [len(times)]])).min() < _FEWEST:
        return none
    in_order = np.unique(times)
    apart = np.diff(in_order)
    even = float(np.median(apart))
    regular = apart.min() >= _IRREGULAR * even and apart.max() <= GAP_STEPS * even
    few_repeat = len(times) - in_order.size <= _REPEATED * len(times)
    return none if regular and few_repeat else back


def far_jumps(times: np.ndarray) -> np.ndarray:
    """Indices of the first samples after gaps that are far longer than the recording itself.

    Args:
        times: Increasing times (n,) [s].
    """
    steps = np.diff(times)
    if steps.size == 0:
        return np.zeros(0, dtype=np.intp)
    usual = float(np.median(steps))
    gaps = steps > GAP_STEPS * usual
    covered = float(np.sum(steps[~gaps]))
    return np.flatnonzero(gaps & (steps > FAR_LONGER * covered)) + 1
