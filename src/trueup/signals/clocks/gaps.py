"""Recordings with a gap in the clock: each stretch between gaps is a recording of its own."""

import itertools
from dataclasses import replace

import numpy as np

from trueup.errors import RecordingError
from trueup.signals._samples import GAP_STEPS
from trueup.signals.checks.clock import FEWEST_SAMPLES
from trueup.signals.recording import Recording


def usual_step(times: np.ndarray) -> float:
    """Median step of a clock [s], one that occurs: a gap is one of many of them."""
    return float(np.quantile(np.diff(times), 0.5, method="lower"))


def gap_ends(times: np.ndarray) -> np.ndarray:
    """Numbers of the samples after which a clock has a gap, shape (k,)."""
    if len(times) < 2:
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(np.diff(times) > GAP_STEPS * usual_step(times))


def split_at_gaps(recording: Recording) -> list[Recording]:
    """The stretches between gaps, or the recording itself where it has none.

    Values interpolated across a gap of more than `GAP_STEPS` usual steps would be inventions.
    Stretches of fewer than `FEWEST_SAMPLES` are left out; the others are named ``name_part1`` and
    so on.

    Args:
        recording: A recording with one clock, which increases.

    Raises:
        RecordingError: All stretches are too short, or there are several clocks.
    """
    stream = recording.stream
    edges = gap_ends(stream.times) + 1
    if not len(edges):
        return [recording]
    bounds = [0, *edges.tolist(), len(stream.times)]
    kept = [
        slice(first, last)
        for first, last in itertools.pairwise(bounds)
        if last - first >= FEWEST_SAMPLES
    ]
    if not kept:
        raise RecordingError(
            f"{recording.source or recording.name}: the clock has {len(edges)} gaps of more than "
            f"{GAP_STEPS:g} steps, and no stretch of {FEWEST_SAMPLES} samples between them: leave "
            "the recording out"
        )
    missing = float(np.diff(stream.times)[edges - 1].sum())
    short = len(bounds) - 1 - len(kept)
    note = f"split at {len(edges)} gaps in the clock, {missing:.3g} s together"
    note += f"; {short} stretches of fewer than {FEWEST_SAMPLES} samples left out" if short else ""
    noted = recording.noted(note)
    if len(kept) == 1:
        return [replace(noted, streams=(stream.rows(kept[0]),))]
    return [
        replace(noted, name=f"{recording.name}_part{number}", streams=(stream.rows(rows),))
        for number, rows in enumerate(kept, start=1)
    ]
