"""Recordings of several runs: each becomes a separate recording."""

from dataclasses import replace

import numpy as np

from trueup.errors import RecordingError
from trueup.signals.checks.clock import FEWEST_SAMPLES
from trueup.signals.clocks.run_starts import far_jumps, run_starts
from trueup.signals.recording import Recording, Stream


def _starts(times: np.ndarray) -> np.ndarray:
    """Indices of the first samples of runs after the first."""
    if (np.diff(times) < 0).any():
        return run_starts(times)
    found = far_jumps(times)
    lengths = np.diff(np.concatenate([[0], found, [len(times)]]))
    return found if lengths.min() >= FEWEST_SAMPLES else found[:0]


def runs_of(recording: Recording) -> list[Recording]:
    """The runs of a recording whose clocks start again or stand for long, named ``name_run1``.

    A recording of one run is returned as it is, as is one with runs of fewer than 10 samples.

    Raises:
        RecordingError: The clocks start again a different number of times.
    """
    starts = [_starts(stream.times) for stream in recording.streams]
    counts = {len(found) for found in starts}
    if counts == {0}:
        return [recording]
    if len(counts) > 1:
        said = ", ".join(
            f"{stream.name or 'the table'} {len(found)}"
            for stream, found in zip(recording.streams, starts, strict=True)
        )
        raise RecordingError(
            f"{recording.source or recording.name}: its clocks start again a different number of "
            f"times ({said}): split the log into one file for each run"
        )
    runs = []
    for number in range(counts.pop() + 1):
        streams: list[Stream] = []
        for stream, found in zip(recording.streams, starts, strict=True):
            edges = [0, *found.tolist(), len(stream.times)]
            streams.append(stream.rows(slice(edges[number], edges[number + 1])))
        name = f"{recording.name}_run{number + 1}"
        runs.append(replace(recording, name=name, streams=tuple(streams)))
    return runs
