"""Further logs of an experiment file, with the columns of the first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from trueup.errors import ColumnError, RecordingError, listing
from trueup.signals import Recording, read
from trueup.sysid.importing.clock import Clock, find_clock
from trueup.sysid.importing.other_prefixes import columns_under_prefix, with_names

_ZERO = 60.0  # s; clocks that start below it count from the beginning of the log
_DATES = 1e8  # s; smaller times are no date of the last decades


@dataclass(frozen=True)
class FurtherLog:
    """A log after the first."""

    recording: Recording
    """The log, with the names of the first."""
    clock: Clock
    names: Mapping[str, str] = field(default_factory=dict)
    """Its own column by that of the first, where they differ by a prefix."""


def further_logs(
    logs: Sequence[Path],
    first: Recording,
    clock: Clock,
    used: Sequence[str],
    unnamed: bool = False,
    episodes: Sequence[int | None] = (),
) -> list[FurtherLog]:
    """Read the logs after the first.

    Args:
      logs: files; the first one is already read.
      first: the first log.
      clock: its clock.
      used: columns that the others must have.
      unnamed: whether the files have no column names.
      episodes: episode of each log, where it is a data set.

    Raises:
      RecordingError: a log cannot be read, has other columns, is a copy of another, or covers the
        same time as another.
    """
    found = [FurtherLog(first, clock)]
    episodes = episodes or [None] * len(logs)
    for path, episode in zip(logs[1:], episodes[1:], strict=True):
        own, recording = _read(path, clock, unnamed, episode)
        missing = [c for c in used if c not in recording.columns]
        names = columns_under_prefix(first.columns, used, recording.columns) if missing else {}
        if missing and not names:
            raise RecordingError(
                f"{path.name} has no column {listing(missing)}, unlike {logs[0].name}; its "
                f"columns are {listing(recording.columns)}. Import {path.name} alone, with another "
                f"--output, or rename its columns to those of {logs[0].name}. Topics of one run "
                "must be in one bag"
            )
        found.append(FurtherLog(with_names(recording, names) if names else recording, own, names))
    recordings = [log.recording for log in found]
    _check_copies(logs, recordings)
    _check_overlap(logs, recordings)
    return found[1:]


def renamed_points(logs: Sequence[Path], first: Clock, further: Sequence[FurtherLog]) -> list[str]:
    """Sentences on logs whose columns have another prefix, or whose time has another name."""
    out = []
    for path, log in zip(logs[1:], further, strict=True):
        other = {c: name for c, name in log.names.items() if c != name}
        if other:
            some = next(iter(other))
            out.append(
                f"the columns of {path.name} are those of {logs[0].name} under another prefix: "
                f"{other[some]} is read as {some}. Check that they are of the same robot, in the "
                "same units"
            )
        elif log.clock.column != first.column:
            out.append(
                f"the time of {path.name} is {log.clock.column} [{log.clock.unit}], and not "
                f"{first.column}"
            )
    return out


def _read(path: Path, clock: Clock, unnamed: bool, episode: int | None) -> tuple[Clock, Recording]:
    """A log with the clock of the first, or with its own where it has no such column."""
    if not unnamed or episode is not None:
        try:
            return clock, clock.read(path, episode)
        except ColumnError:
            return find_clock(path, None, episode)
    column = clock.column or None
    unit = clock.unit if column else None
    return clock, read(path, time=column, rate=clock.rate, time_unit=unit, header=False)


def _check_copies(logs: Sequence[Path], recordings: Sequence[Recording]) -> None:
    seen: dict[tuple[str, str], Path] = {}
    for path, recording in zip(logs, recordings, strict=True):
        key = recording.sha256, str(recording.metadata.get("episode_index"))
        if key in seen:
            raise RecordingError(
                f"{path} is identical to {seen[key]}: give each log once, or its samples are "
                "counted twice"
            )
        seen[key] = path


def _check_overlap(logs: Sequence[Path], recordings: Sequence[Recording]) -> None:
    spans = [(r.streams[0].times[0], r.streams[0].times[-1]) for r in recordings]
    for i, (start, end) in enumerate(spans):
        for j, (first_time, last_time) in enumerate(spans[:i]):
            overlap = start < last_time and first_time < end
            # the uptime of a robot begins again every day: without dates, samples tell
            if (
                overlap
                and min(start, first_time) > _ZERO
                and (min(start, first_time) > _DATES or _same_samples(recordings[j], recordings[i]))
            ):
                since, until = max(start, first_time), min(end, last_time)
                raise RecordingError(
                    f"{logs[j].name} and {logs[i].name} cover the same time ({since:.6g} to "
                    f"{until:.6g} s): they are of the same run. Give one of them, or merge "
                    "them into one file"
                )


def _same_samples(one: Recording, other: Recording) -> bool:
    """Whether columns of two recordings have equal values at equal times."""
    equal = moving = 0
    for name in one.columns:
        if name not in other.columns:
            continue
        (times, values), (clock, others) = one.column(name), other.column(name)
        inside = (times >= clock[0]) & (times <= clock[-1])
        if inside.sum() < 10 or np.std(values[inside]) == 0:
            continue
        moving += 1
        apart = np.abs(np.interp(times[inside], clock, others) - values[inside])
        equal += float(np.median(apart)) < 1e-3 * float(np.std(values[inside]))
    return moving > 0 and equal == moving
