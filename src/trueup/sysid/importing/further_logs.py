"""Further logs of an experiment file, with the columns of the first."""

from collections.abc import Sequence
from pathlib import Path

from trueup.errors import RecordingError, listing
from trueup.signals import Recording, read
from trueup.sysid.importing.clock import Clock

_DATES = 1e8  # s; smaller times are no date of the last decades


def further_logs(
    logs: Sequence[Path],
    first: Recording,
    clock: Clock,
    used: Sequence[str],
    unnamed: bool = False,
    episodes: Sequence[int | None] = (),
) -> list[Recording]:
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
    recordings = [first]
    episodes = episodes or [None] * len(logs)
    for path, episode in zip(logs[1:], episodes[1:], strict=True):
        recording = _read(path, clock, unnamed) if episode is None else clock.read(path, episode)
        missing = [c for c in used if c not in recording.columns]
        if missing:
            raise RecordingError(
                f"{path.name} has no column {listing(missing)}, unlike {logs[0].name}; its "
                f"columns are {listing(recording.columns)}. Import logs with other columns "
                "separately. Topics of one run must be in one bag"
            )
        recordings.append(recording)
    _check_copies(logs, recordings)
    _check_overlap(logs, recordings)
    return recordings[1:]


def _read(path: Path, clock: Clock, unnamed: bool) -> Recording:
    if not unnamed:
        return clock.read(path)
    column = clock.column or None
    unit = clock.unit if column else None
    return read(path, time=column, rate=clock.rate, time_unit=unit, header=False)


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
            # the uptime of a robot begins again every day: only dates tell that two runs overlap
            if min(start, first_time) > _DATES and start < last_time and first_time < end:
                since, until = max(start, first_time), min(end, last_time)
                raise RecordingError(
                    f"{logs[j].name} and {logs[i].name} cover the same time ({since:.6g} to "
                    f"{until:.6g} s): they are of the same run. Give one of them, or merge "
                    "them into one file"
                )
