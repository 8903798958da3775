"""Reads recordings from files and folders of any known format."""

import hashlib
from pathlib import Path
from typing import Any

from trueup._input_files import check_regular
from trueup._memory_budget import MemoryBudget
from trueup.errors import RecordingError, TrueupError, UnitError, reason
from trueup.signals.readers._clock import build_streams
from trueup.signals.readers._pointers import check_not_pointer
from trueup.signals.readers._publishers import without_idle_publisher
from trueup.signals.readers.contents import Contents
from trueup.signals.readers.registry import (
    Reader,
    can_read,
    check_content,
    check_options,
    reader_named,
    reader_of,
)
from trueup.signals.recording import Recording


def read(
    path: str | Path,
    *,
    time: str | int | None = None,
    rate: float | None = None,
    format: str | None = None,
    time_unit: str | None = None,
    rollover: float | None = None,
    name: str | None = None,
    **options: Any,
) -> Recording:
    """Read one recording.

    Clocks are kept as recorded: they need not start at zero, and times that do not increase are
    reported by the quality checks. Only a counter that started again, such as one of microseconds
    in 32 bits, is continued, which ``notes`` of the recording says.

    Args:
        path: The file, or the folder of a format that uses folders.
        time: Column with the time; a number is the place of a column in a file without a header.
            Without it the format's own clock is used, or a usual name such as ``t``, ``time`` or
            ``timestamp``.
        rate: Sampling rate [Hz], where there is no time column.
        format: Format, where the suffix does not determine it: ``csv``, ``parquet``, ``npz``,
            ``mat``, ``json``, ``opensim``, ``hdf5``, ``mcap``, ``rosbag2``, ``lerobot``, or one
            that is registered.
        time_unit: Unit of the time column; without it what its name (``time_ms``) or the format
            says, else seconds.
        rollover: Value after which the time column starts again, in its unit, for a counter of
            other than 16, 24, 31 or 32 bits.
        name: Name of the recording; the file's stem where absent.
        options: Options of the format's reader, such as ``header`` and ``delimiter`` of csv,
            ``topics`` of mcap, ``episode`` of lerobot. None is the same as absent.

    Raises:
        RecordingError: The file is missing, empty, truncated or of another format, or contains
            several recordings.
        ColumnError: The time column does not exist, or none is found.
        UnitError: The time unit is unknown.
        MissingExtraError: The package that reads this format is not installed.
    """
    path = Path(path)
    reader = _reader(path, format)
    recordings = _recordings(path, reader, time, rate, time_unit, rollover, name, options)
    if len(recordings) > 1:
        choice = "episode=" if "episode" in reader.options else "read_all"
        raise RecordingError(
            f"{path} contains {len(recordings)} recordings, {recordings[0].name!r} to "
            f"{recordings[-1].name!r}: choose one with {choice}, or read all with read_all."
        )
    return recordings[0]


def read_all(
    path: str | Path,
    *,
    pattern: str = "*",
    time: str | int | None = None,
    rate: float | None = None,
    format: str | None = None,
    time_unit: str | None = None,
    rollover: float | None = None,
    **options: Any,
) -> list[Recording]:
    """Read every recording of a file or folder.

    A LeRobot data set gives one per episode. Any other folder gives those of its files that a
    reader supports and that match ``pattern`` (such as ``*.csv``), in the order of their names;
    folders in it are read where they are recordings themselves.

    Args and errors are those of :func:`read`. One file that cannot be read is an error.
    """
    path = Path(path)
    if path.is_dir() and format is None and not can_read(path):
        items = [item for item in sorted(path.glob(pattern)) if can_read(item)]
        if not items:
            raise RecordingError(
                f"The folder {path} contains no readable file matching {pattern!r}: give "
                "a folder with recordings, or another pattern."
            )
    else:
        items = [path]
    return [
        recording
        for item in items
        for recording in _recordings(
            item, _reader(item, format), time, rate, time_unit, rollover, None, options
        )
    ]


def _reader(path: Path, format: str | None) -> Reader:
    """Return the reader of a path after checking the first bytes of the file."""
    if not path.exists():
        raise RecordingError(f"No such file: {path}. Give the path of a recording.")
    check_regular(path)
    if path.is_dir():
        if not any(path.iterdir()):
            raise RecordingError(f"The folder {path} is empty: give one that contains a recording.")
        return reader_of(path) if format is None else reader_named(format)
    try:
        if path.stat().st_size == 0:
            raise RecordingError(f"{path} is empty (0 bytes): record or copy it again.")
        check_not_pointer(path)
    except OSError as error:
        raise RecordingError(f"{path} cannot be opened: {reason(error)}.") from error
    reader = reader_of(path) if format is None else reader_named(format)
    check_content(path, reader)
    if reader.is_text:
        MemoryBudget(path).take(path.stat().st_size)  # a text is read as a whole
    return reader


def _recordings(
    path: Path,
    reader: Reader,
    time: str | int | None,
    rate: float | None,
    time_unit: str | None,
    rollover: float | None,
    name: str | None,
    options: dict[str, Any],
) -> list[Recording]:
    given = {key: value for key, value in options.items() if value is not None}
    check_options(reader, given)
    try:
        found = reader.contents(path, given)
    except TrueupError:
        raise
    except Exception as error:
        # Any exception of a format's library on a damaged file becomes a RecordingError.
        cause = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise RecordingError(
            f"{path} cannot be read as {reader.name} ({cause}). It may be truncated or damaged: "
            "record or copy it again, or give its actual format."
        ) from error
    if not found:
        raise RecordingError(f"{path} contains no recording.")
    hashes: dict[Path, str] = {}
    clock = None if time is None else str(time)
    return [_recording(path, c, clock, rate, time_unit, rollover, name, hashes) for c in found]


def _recording(
    path: Path,
    contents: Contents,
    time: str | None,
    rate: float | None,
    time_unit: str | None,
    rollover: float | None,
    name: str | None,
    hashes: dict[Path, str],
) -> Recording:
    stem = path.name if path.is_dir() else path.stem
    label = name or "/".join(part for part in (stem, contents.name) if part)
    try:
        streams, metadata, notes = build_streams(contents, time, rate, time_unit, rollover)
    except UnitError as error:
        raise UnitError(f"{path}: {error}") from error
    except RecordingError as error:
        raise type(error)(f"{path}: {error}") from error
    cleaned = [without_idle_publisher(stream) for stream in streams]
    streams = tuple(stream for stream, _ in cleaned)
    notes = (*notes, *(note for _, note in cleaned if note))
    files = contents.files or (path,)
    for file in files:
        if file not in hashes:
            hashes[file] = _sha256(file)
    if contents.files:
        metadata["files"] = {str(f.relative_to(path)): hashes[f] for f in files}
        listed = "".join(f"{hashes[f]}  {f.relative_to(path)}\n" for f in files)
        digest = hashlib.sha256(listed.encode()).hexdigest()
    else:
        digest = hashes[path]
    return Recording(label, streams, str(path), digest, metadata, notes)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
