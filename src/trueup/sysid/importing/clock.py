"""Detection of the clock of a recording for a new experiment file."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trueup.errors import ColumnError
from trueup.signals import Recording, read, suspect_units

_TIME_WORDS = re.compile(r"(^|[^a-z])(t|time|stamp|timestamp|clock|sec|ms)([^a-z]|$)", re.I)
_ASSUMED_RATE = 100.0  # assumed sampling rate of a file without a clock [Hz]


@dataclass(frozen=True)
class Clock:
    """Source of the times of a recording."""

    column: str = ""
    """Time column; empty if the format defines the clock, or a rate is given."""
    unit: str = "s"
    rate: float | None = None
    """Sampling rate [Hz], without a time column."""
    note: str = ""
    """Point to check, or empty."""

    def read(self, path: Path) -> Recording:
        """Read a recording with this clock, like an experiment."""
        if self.rate is not None:
            return read(path, rate=self.rate)
        return read(path, time=self.column, time_unit=self.unit) if self.column else read(path)


def find_clock(path: Path) -> tuple[Clock, Recording]:
    """Find the clock of a recording, and read the recording with it.

    A file without a known clock is read at an assumed rate that must be corrected.

    Raises:
      RecordingError: the recording cannot be read.
    """
    try:
        recording = read(path)
    except ColumnError:
        clock = _named_like_a_time(path)
        recording = clock.read(path)
    else:
        streams = recording.streams
        named = len({stream.clock_column for stream in streams}) == 1 and streams[0].clock_column
        clock = Clock(streams[0].clock_column, streams[0].clock_unit) if named else Clock()
    unit = _plausible_unit(clock, recording.streams[0].times)
    if unit == clock.unit:
        return clock, recording
    clock = Clock(clock.column, unit)
    return clock, clock.read(path)


def _named_like_a_time(path: Path) -> Clock:
    """An increasing column with a word for time in its name, or a rate."""
    raw = read(path, rate=1.0)
    for column in raw.columns:
        values = raw.column(column)[1]
        increases = len(values) > 2 and bool(np.all(np.diff(values) > 0))
        if increases and _TIME_WORDS.search(column):
            return Clock(column)
    return Clock(
        rate=_ASSUMED_RATE,
        note="no time column was found: correct rate (samples per second), or name the column "
        "with time",
    )


def _plausible_unit(clock: Clock, times: np.ndarray) -> str:
    """Unit of a time column: the one it was read in, unless its values are implausible."""
    if not clock.column or clock.unit != "s":
        return clock.unit
    sentence = suspect_units(clock.column, times, "time")
    found = re.search(r"the time unit as (\w+)", sentence or "")
    return found[1] if found else clock.unit
