"""Recordings with a gap in the clock: each stretch between gaps is a recording of its own."""

import itertools
from dataclasses import replace

import numpy as np

from trueup.errors import RecordingError
from trueup.networks.data.raw_signals import RawSignals

GAP_STEPS = 5.0
"""A step longer than this many median steps is a gap, as in the checks of recordings."""

FEWEST_SAMPLES = 10
"""Stretches of fewer samples are left out."""


def stretches(raw: RawSignals) -> list[RawSignals]:
    """The stretches between gaps, or the recording itself where it has none.

    Values interpolated across a gap would be inventions, and a network's state is not carried over
    one: each stretch starts cold.

    Raises:
        RecordingError: all stretches are too short.
    """
    steps = np.diff(raw.times)
    edges = np.flatnonzero(steps > GAP_STEPS * np.quantile(steps, 0.5, method="lower")) + 1
    if not len(edges):
        return [raw]
    bounds = [0, *edges.tolist(), len(raw.times)]
    kept = [
        (first, last)
        for first, last in itertools.pairwise(bounds)
        if last - first >= FEWEST_SAMPLES
    ]
    if not kept:
        raise RecordingError(
            f"{raw.file.path}: the clock has {len(edges)} gaps of more than {GAP_STEPS:g} steps, "
            f"and no stretch of {FEWEST_SAMPLES} samples between them: leave the recording out"
        )
    missing = float(steps[edges - 1].sum())
    short = len(bounds) - 1 - len(kept)
    note = f"split at {len(edges)} gaps in the clock, {missing:.3g} s together"
    note += f"; {short} stretches of fewer than {FEWEST_SAMPLES} samples left out" if short else ""
    return [
        replace(
            raw,
            times=raw.times[first:last],
            signals={name: values[first:last] for name, values in raw.signals.items()},
            notes=(*raw.notes, note),
        )
        for first, last in kept
    ]


def stretch_names(name: str, count: int) -> list[str]:
    """Names of the stretches of a recording; its own where there is one."""
    return [name] if count == 1 else [f"{name}_part{k}" for k in range(1, count + 1)]
