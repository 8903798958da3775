"""Detection of the clock of a recording for a new experiment file."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trueup.errors import ColumnError, RecordingError, listing
from trueup.signals import Recording, read, suspect_units
from trueup.signals.clocks.steps import unusable_steps

_TIME_WORDS = re.compile(r"(^|[^a-z])(t|time|stamp|timestamp|clock|sec|ms)([^a-z]|$)", re.I)


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

    def read(self, path: Path, episode: int | None = None) -> Recording:
        """Read a recording, or an episode of it, with this clock, like an experiment."""
        if self.rate is not None:
            return read(path, rate=self.rate, episode=episode)
        if self.column:
            return read(path, time=self.column, time_unit=self.unit, episode=episode)
        return read(path, episode=episode)


def find_clock(
    path: Path, rate: float | None = None, episode: int | None = None
) -> tuple[Clock, Recording]:
    """Find the clock of a recording, and read the recording with it.

    Args:
      path: the recording.
      rate: sampling rate [Hz], for a recording without a clock.
      episode: episode of a data set.

    Raises:
      RecordingError: the recording cannot be read, or has no clock and no rate is given.
    """
    if rate is not None:
        clock = Clock(rate=rate)
        return clock, clock.read(path, episode)
    try:
        recording = read(path, episode=episode)
    except ColumnError:
        clock = _named_like_a_time(path)
        recording = clock.read(path)
    else:
        streams = recording.streams
        named = len({stream.clock_column for stream in streams}) == 1 and streams[0].clock_column
        clock = Clock(streams[0].clock_column, streams[0].clock_unit) if named else Clock()
    times = recording.streams[0].times
    if clock.column and clock.unit == "s" and counts_rows(times):
        raise RecordingError(without_clock(path, recording, f"{clock.column!r} counts rows"))
    unit = _plausible_unit(clock, times)
    if unit != clock.unit:
        clock = Clock(clock.column, unit)
        recording = clock.read(path, episode)
    check_steps(path, recording)
    return clock, recording


def check_steps(path: Path, recording: Recording) -> None:
    """Refuse a recording with a clock on which slopes cannot be represented.

    Raises:
      RecordingError: the usual step of a clock is out of bounds.
    """
    for stream in recording.streams:
        if unusable := unusable_steps(stream.times):
            raise RecordingError(f"{path.name} has {unusable}")


def counts_rows(times: np.ndarray) -> bool:
    """Whether times are whole numbers one apart: a number of the row, or of a millisecond."""
    return len(times) > 2 and bool(np.all(np.diff(times) == 1.0)) and float(times[0]).is_integer()


def without_clock(path: Path, recording: Recording, why: str = "") -> str:
    """Sentence on a recording without a clock."""
    reason = f" ({why}, and its unit is unknown)" if why else ""
    return (
        f"{path.name} has no time column{reason}: give its rate with --rate (samples per second), "
        f"or add a column with the time such as t [s]. Its columns are "
        f"{listing(recording.columns)}"
    )


def _named_like_a_time(path: Path) -> Clock:
    """An increasing column with a word for time in its name.

    Raises:
      RecordingError: there is none.
    """
    raw = read(path, rate=1.0)
    for column in raw.columns:
        values = raw.column(column)[1]
        increases = len(values) > 2 and bool(np.all(np.diff(values) > 0))
        if increases and _TIME_WORDS.search(column):
            return Clock(column)
    raise RecordingError(without_clock(path, raw))


def _plausible_unit(clock: Clock, times: np.ndarray) -> str:
    """Unit of a time column: the one it was read in, unless its values are implausible."""
    if not clock.column or clock.unit != "s":
        return clock.unit
    sentence = suspect_units(clock.column, times, "time")
    found = re.search(r"the time unit as (\w+)", sentence or "")
    return found[1] if found else clock.unit
