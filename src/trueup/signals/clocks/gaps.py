"""Recordings with gaps in the clock: each part between gaps becomes a separate recording."""

import itertools
from dataclasses import replace

import numpy as np

from trueup.errors import RecordingError
from trueup.signals._samples import GAP_STEPS
from trueup.signals.checks.clock import FEWEST_SAMPLES
from trueup.signals.recording import Recording


def usual_step(times: np.ndarray) -> float:
    """Median step of a clock [s], a step that occurs; a gap is a multiple of it."""
    return float(np.quantile(np.diff(times), 0.5, method="lower"))


def gap_ends(times: np.ndarray) -> np.ndarray:
    """Indices of the samples after which a clock has a gap, shape (k,)."""
    if len(times) < 2:
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(np.diff(times) > GAP_STEPS * usual_step(times))


def split_at_gaps(recording: Recording) -> list[Recording]:
    """Return the parts between gaps, or the recording itself if it has none.

    Interpolation across a gap of more than `GAP_STEPS` usual steps is not valid.
    Parts of fewer than `FEWEST_SAMPLES` samples are removed; the others are named ``name_part1``
    and so on.

    Args:
        recording: A recording with one clock, which increases.

    Raises:
        RecordingError: All parts are too short, or there are several clocks.
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
            f"{GAP_STEPS:g} steps, and fewer than {FEWEST_SAMPLES} samples between any two: omit "
            "the recording"
        )
    missing = float(np.diff(stream.times)[edges - 1].sum())
    short = len(bounds) - 1 - len(kept)
    note = f"split at {len(edges)} gaps in the clock, {missing:.3g} s in total"
    note += f"; {short} parts of fewer than {FEWEST_SAMPLES} samples removed" if short else ""
    noted = recording.noted(note)
    if len(kept) == 1:
        return [replace(noted, streams=(stream.rows(kept[0]),))]
    return [
        replace(noted, name=f"{recording.name}_part{number}", streams=(stream.rows(rows),))
        for number, rows in enumerate(kept, start=1)
    ]
